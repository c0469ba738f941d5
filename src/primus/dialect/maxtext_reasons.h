// Reasons that several tables of the maxtext dialect share. Private to the room.
#pragma once

#include <string_view>

namespace primus::dialect {

inline constexpr std::string_view kXla =
    "tunes XLA, JAX or a kernel of upstream; the numbers are the same up to rounding";
inline constexpr std::string_view kMultimodal = "read only with use_multimodal";
inline constexpr std::string_view kQuantized = "read only with quantization";
inline constexpr std::string_view kEngram = "read only with engram_layers";
inline constexpr std::string_view kIndexer = "read only with use_indexer";
inline constexpr std::string_view kRealData = "read only by a dataset_type other than synthetic";

}  // namespace primus::dialect
