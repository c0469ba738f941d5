// A box: the part [offset, offset + size) of a tensor, per dim. Shards of checkpoints are boxes of whole tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace primus::hub {

struct Box {
  std::vector<int64_t> offset;
  std::vector<int64_t> size;

  bool operator==(const Box&) const = default;
};

int64_t num_elements(const Box& box);
// "[4:8, 0:16]"; "[]" for rank 0.
std::string to_string(const Box& box);
// The common part; nothing when empty. A rank 0 box meets every rank 0 box.
std::optional<Box> intersect(const Box& a, const Box& b);

// Why a box does not lie in a tensor of `shape`, as a sentence part; empty when it does.
std::string outside_fault(const std::vector<int64_t>& shape, const Box& box);
// Why `boxes` do not fill a tensor of `shape` exactly once, as a sentence part ("boxes overlap: ..."); empty when they
// do. Cost: sorts by the first dim; linear for shards cut along it.
std::string tiling_fault(const std::vector<int64_t>& shape, const std::vector<Box>& boxes);

// Copies the elements of `part` (global coordinates) from a contiguous buffer that holds `source` to a contiguous one
// that holds `destination`. `part` must lie in both; the buffers must not overlap.
void copy_box(const Box& part, const Box& source, const std::byte* source_data, const Box& destination,
              std::byte* destination_data, size_t element_bytes);

}  // namespace primus::hub
