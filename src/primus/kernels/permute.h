// Tokens to their experts and back: rows sorted by expert, without padding.
// Legend: N tokens, k experts a token, E experts, P = rows = (token, slot) pairs that were not dropped, H width.
#pragma once

#include <cstdint>
#include <vector>

#include "primus/tensor/fwd.h"

namespace primus::kernels {

// Where every (token, slot) pair goes. Rows of one expert are contiguous, in token order.
struct Dispatch {
  int64_t num_tokens = 0, top_k = 0;
  std::vector<int64_t> starts;       // [E + 1] first row of each expert
  std::vector<int64_t> row_of_pair;  // [N * k] -1: dropped
  std::vector<int64_t> pair_of_row;  // [P] token * k + slot

  int64_t num_rows() const { return static_cast<int64_t>(pair_of_row.size()); }
  int64_t num_experts() const { return static_cast<int64_t>(starts.size()) - 1; }
};

// experts: [N, k] i64; keep: [N, k] bool, or undefined: all.
Dispatch plan_dispatch(const at::Tensor& experts, const at::Tensor& keep, int64_t num_experts);

enum class DropOrder { LowestWeight, LastPosition };

// Which pairs stay when an expert takes at most `places` tokens of each group of tokens that compete. Of equal
// weights the later position is dropped.   experts, weights [b, t, k] -> [b * t, k] bool.
//   per_sequence: the tokens of one sequence compete; otherwise all b * t, in the order of their positions (position 0
//   of every sequence first).
at::Tensor keep_within_capacity(const at::Tensor& experts_btk, const at::Tensor& weights_btk, int64_t num_experts,
                                int64_t places, DropOrder order, bool per_sequence);

// rows[r] = x[token of r] (* weights[pair of r], rounded once).   x [N, H], weights [N, k] or undefined -> [P, H].
at::Tensor permute(const at::Tensor& x, const Dispatch& dispatch, const at::Tensor& weights);
// out[n] = sum over the slots of n, in order, of rows[row] (* weights[n, slot]); f32 sums (f64 for f64), rounded once.
//   rows [P, H] -> [N, H]. The gradient of permute, and permute is the gradient of this.
at::Tensor unpermute(const at::Tensor& rows, const Dispatch& dispatch, const at::Tensor& weights);

// The gradient of the weights, where rows' = rows * weights: out[pair of r] += a[r] . b[i], with i = r, or the token of
// r when b has a row a token. Dropped pairs get 0.   a [P, H], b [P, H] or [N, H] -> [N, k] f32 (f64 for f64).
at::Tensor pair_dots(const at::Tensor& a, const at::Tensor& b, bool b_by_token, const Dispatch& dispatch);

// rows[r] *= weights[pair of r], in place.
void scale_rows(at::Tensor rows, const Dispatch& dispatch, const at::Tensor& weights);

// The plain forms, in libtorch operations, any type.
namespace reference {
at::Tensor permute(const at::Tensor& x, const Dispatch& dispatch, const at::Tensor& weights);
at::Tensor unpermute(const at::Tensor& rows, const Dispatch& dispatch, const at::Tensor& weights);
at::Tensor pair_dots(const at::Tensor& a, const at::Tensor& b, bool b_by_token, const Dispatch& dispatch);
}  // namespace reference

}  // namespace primus::kernels
