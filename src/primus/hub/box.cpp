#include "primus/hub/box.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <numeric>

#include "primus/base/check.h"

namespace primus::hub {

int64_t num_elements(const Box& box) {
  return std::accumulate(box.size.begin(), box.size.end(), int64_t{1}, std::multiplies<>());
}

std::string to_string(const Box& box) {
  std::string text = "[";
  for (size_t dim = 0; dim < box.size.size(); ++dim) {
    text += fmt::format("{}{}:{}", dim > 0 ? ", " : "", box.offset[dim], box.offset[dim] + box.size[dim]);
  }
  return text + "]";
}

std::optional<Box> intersect(const Box& a, const Box& b) {
  PRIMUS_CHECK(a.size.size() == b.size.size(), "boxes of different rank");
  Box common = a;
  for (size_t dim = 0; dim < a.size.size(); ++dim) {
    const int64_t begin = std::max(a.offset[dim], b.offset[dim]);
    const int64_t end = std::min(a.offset[dim] + a.size[dim], b.offset[dim] + b.size[dim]);
    if (end <= begin) return std::nullopt;
    common.offset[dim] = begin;
    common.size[dim] = end - begin;
  }
  return common;
}

// Subtracts, so that hostile offsets cannot wrap round.
std::string outside_fault(const std::vector<int64_t>& shape, const Box& box) {
  if (box.offset.size() != shape.size() || box.size.size() != shape.size()) {
    return fmt::format("a box has {} dims, the tensor {}", box.size.size(), shape.size());
  }
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    const int64_t offset = box.offset[dim], size = box.size[dim];
    if (offset < 0 || size < 0 || offset > shape[dim] || size > shape[dim] - offset) {
      return fmt::format("a box with offset {} and size {} in dim {} does not fit into {}", offset, size, dim,
                         shape[dim]);
    }
  }
  return "";
}

std::string tiling_fault(const std::vector<int64_t>& shape, const std::vector<Box>& boxes) {
  int64_t covered = 0;
  for (const Box& box : boxes) {
    if (std::string fault = outside_fault(shape, box); !fault.empty()) return fault;
    if (__builtin_add_overflow(covered, num_elements(box), &covered)) return "boxes overlap";
  }
  std::vector<const Box*> sorted;
  for (const Box& box : boxes) {
    if (num_elements(box) > 0) sorted.push_back(&box);
  }
  const auto begin_of = [&](const Box* box) { return shape.empty() ? 0 : box->offset[0]; };
  std::ranges::sort(sorted, {}, begin_of);
  for (size_t i = 0; i < sorted.size(); ++i) {
    for (size_t j = i + 1; j < sorted.size(); ++j) {
      if (!shape.empty() && begin_of(sorted[j]) >= begin_of(sorted[i]) + sorted[i]->size[0]) break;
      if (intersect(*sorted[i], *sorted[j])) {
        return fmt::format("boxes overlap: {} and {}", to_string(*sorted[i]), to_string(*sorted[j]));
      }
    }
  }
  const int64_t wanted = num_elements(Box{.offset = {}, .size = shape});
  if (covered != wanted) return fmt::format("boxes cover {} of {} elements", covered, wanted);
  return "";
}

void copy_box(const Box& part, const Box& source, const std::byte* source_data, const Box& destination,
              std::byte* destination_data, size_t element_bytes) {
  const size_t num_dims = part.size.size();
  if (num_elements(part) == 0) return;
  // Trailing dims that are whole in both buffers join the row: it is copied with one memcpy.
  size_t row_dim = num_dims;
  size_t row_bytes = element_bytes;
  while (row_dim > 0) {
    --row_dim;
    row_bytes *= static_cast<size_t>(part.size[row_dim]);
    if (part.size[row_dim] != source.size[row_dim] || part.size[row_dim] != destination.size[row_dim]) break;
  }
  const auto position = [&](const Box& buffer, const std::vector<int64_t>& at) {
    int64_t flat = 0;
    for (size_t dim = 0; dim < num_dims; ++dim) flat = flat * buffer.size[dim] + at[dim] - buffer.offset[dim];
    return static_cast<size_t>(flat) * element_bytes;
  };
  std::vector<int64_t> at = part.offset;
  for (;;) {
    std::memcpy(destination_data + position(destination, at), source_data + position(source, at), row_bytes);
    size_t dim = row_dim;
    while (dim > 0) {
      --dim;
      if (++at[dim] < part.offset[dim] + part.size[dim]) break;
      at[dim] = part.offset[dim];
      if (dim == 0) return;
    }
    if (row_dim == 0) return;
  }
}

}  // namespace primus::hub
