// Reasons that several tables of the megatron_bridge dialect share. Private to the room.
#pragma once

#include <string_view>

namespace primus::dialect {

inline constexpr std::string_view kNull =
    "null in every recipe, and Primus skips a value for a field that is null, so that upstream never sees it";
inline constexpr std::string_view kSft = "supervised fine-tuning";
inline constexpr std::string_view kPp = "pipeline parallelism";
inline constexpr std::string_view kMoe = "mixture of experts";
inline constexpr std::string_view kFp8 = "fp8";

}  // namespace primus::dialect
