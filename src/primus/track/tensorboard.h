// Pieces of the TensorBoard event format, for the sink and its tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace primus::track {

std::string version_event(double wall_time);
std::string scalar_event(double wall_time, int64_t step, std::string_view tag, float number);
// Length, checksum, event, checksum.
std::string event_record(std::string_view event);

}  // namespace primus::track
