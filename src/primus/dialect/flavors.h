// The models that the frameworks' own packages know by name.
#pragma once

#include <string>
#include <vector>

namespace primus::dialect {

struct Flavor {
  std::string framework;
  std::string family;  // torchtitan: model.name; megatron_bridge: recipe; maxtext: empty
  std::string name;    // model.flavor; flavor; model_name
};

// In the order of the dialects' tables.
std::vector<Flavor> all_flavors();

}  // namespace primus::dialect
