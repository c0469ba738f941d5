// The global gradient norm, in a form that shards cannot change: sums of squares in double over fixed blocks of
// kNormBlock elements of each flat tensor, and one canonical order for adding the blocks (tensors in name order, blocks
// in index order). Shards that are cut on block borders give the same block sums, hence the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "primus/tensor/fwd.h"

namespace primus::kernels {

inline constexpr int64_t kNormBlock = 4096;

// Blocks of a tensor or shard of numel elements; the last may be short.
constexpr int64_t num_norm_blocks(int64_t numel) {
  return (numel + kNormBlock - 1) / kNormBlock;
}

// The sum of squares of every block, appended to sums. tensor: fp32 or bf16 (others are converted), flat order,
// contiguous. One read of the tensor. Squares cannot overflow in double: a block sum is non-finite exactly when the
// block holds inf or NaN.
void append_block_square_sums(const at::Tensor& tensor, std::vector<double>& sums);

// The sum of squares of everything: blocks added in index order.
double combine_square_sums(std::span<const double> sums);
// False when any block held inf or NaN.
bool all_blocks_finite(std::span<const double> sums);

}  // namespace primus::kernels
