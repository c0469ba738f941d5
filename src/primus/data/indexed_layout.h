// Where things lie in an .idx file; shared by the reader and the writer. Source: megatron-core indexed_dataset.py.
#pragma once

#include <array>
#include <cstdint>

namespace primus::data::layout {

inline constexpr std::array<char, 9> kMagic = {'M', 'M', 'I', 'D', 'I', 'D', 'X', '\0', '\0'};
inline constexpr uint64_t kVersion = 1;
inline constexpr int64_t kVersionAt = 9;      // u64
inline constexpr int64_t kTypeAt = 17;        // u8
inline constexpr int64_t kSequencesAt = 18;   // u64
inline constexpr int64_t kBoundariesAt = 26;  // u64
inline constexpr int64_t kHeaderBytes = 34;

}  // namespace primus::data::layout
