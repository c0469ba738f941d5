// Inputs of the tests of kernels that go along the time axis in chunks and carry a state.
#pragma once

#include <cstdint>
#include <vector>

#include "parity/kernels/kernel_cases.h"

namespace primus::kernels::cases {

// Around a chunk of 64 and its double, and long enough for a second span of chunks.
inline const std::vector<int64_t> kLengths = {1, 5, 63, 64, 65, 130, 1050};

// Lengths of documents packed into a row: starts at, before and after the borders of chunks, several in one chunk.
inline const std::vector<int64_t> kDocuments = {3, 60, 1, 64, 2, 1, 1, 70, 128, 5};

inline int64_t total(const std::vector<int64_t>& lengths) {
  int64_t sum = 0;
  for (const int64_t length : lengths) sum += length;
  return sum;
}

// int32 [B, T]: the same documents in every row.
inline at::Tensor document_starts(const std::vector<int64_t>& lengths, int64_t num_batch) {
  at::Tensor starts = at::empty({total(lengths)}, at::kInt);
  int64_t first = 0;
  for (const int64_t length : lengths) {
    starts.narrow(0, first, length).fill_(first);
    first += length;
  }
  return starts.unsqueeze(0).expand({num_batch, -1}).contiguous();
}

// f(first, length) of every document.
template <class F>
void for_each_document(const std::vector<int64_t>& lengths, const F& f) {
  int64_t first = 0;
  for (const int64_t length : lengths) {
    f(first, length);
    first += length;
  }
}

// bf16: one rounding of the result (2^-9), and of what the gradients are summed from.
inline double output_tolerance(at::ScalarType type) {
  return type == at::kDouble ? 1e-12 : type == at::kFloat ? 3e-6 : 0.0041;
}

// Largest difference over the largest entry: for sums whose terms cancel.
inline double spread(const at::Tensor& a, const at::Tensor& b) {
  EXPECT_EQ(a.sizes(), b.sizes());
  EXPECT_TRUE(at::isfinite(a).all().item<bool>());
  const at::Tensor x = a.to(at::kDouble), y = b.to(at::kDouble);
  return (x - y).abs().max().item<double>() / std::max(1e-30, y.abs().max().item<double>());
}

}  // namespace primus::kernels::cases
