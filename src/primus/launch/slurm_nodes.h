// The two things that every task of a Slurm step must agree on without talking: the first host and a port.
#pragma once

#include <string>
#include <string_view>

namespace primus::launch {

// First host of a Slurm node list: "gpu[03-05,9],login" -> "gpu03". An empty list gives an empty text.
std::string first_host(std::string_view node_list);

// A port in [20000, 40000) that is the same in every task of a step and differs between neighbouring jobs and steps.
int slurm_port(std::string_view job_id, std::string_view step_id);

}  // namespace primus::launch
