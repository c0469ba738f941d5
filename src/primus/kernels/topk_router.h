// The choice of a mixture's router: from logits to k experts a token and their weights.
// Legend: N tokens, E experts, k experts a token. Experts of a token come best first; of equal values the lowest index
// is better. Arithmetic is in the type of the logits: f32 or f64.
#pragma once

#include <cstdint>

#include "primus/tensor/fwd.h"

namespace primus::kernels {

enum class RouterScore {
  SoftmaxOverAll,     // softmax over E
  SoftmaxOverChosen,  // softmax over the k chosen logits
  Sigmoid,
  SqrtSoftplus,  // sqrt(log(1 + exp(x)))
};

struct TopKOptions {
  int64_t top_k = 1;
  // Equal contiguous groups of experts: only those of the best `top_groups` can be chosen. A group counts the sum of
  // its `sum_of` best values.
  int64_t num_groups = 1, top_groups = 1, sum_of = 1;
};

struct RouterOptions {
  RouterScore score = RouterScore::SoftmaxOverAll;
  TopKOptions top;
  bool renormalise = false;  // weights / (sum of the chosen + sum_floor)
  double sum_floor = 1e-20;  // keeps a sum of vanishing scores a divisor
  double scale = 1;          // multiplies the weights last
};

// The k best columns of every row of values [N, E] -> [N, k] i64. NaN counts as the lowest value.
at::Tensor choose_experts(const at::Tensor& values, const TopKOptions& options);

// What the choice looks at: the scores (logits where the softmax is over the chosen) plus bias [E] f32 where defined.
// Scores rise with logits, so without bias and groups it is the logits, which do not saturate. No gradient.
at::Tensor choice_values(const at::Tensor& logits, const at::Tensor& bias, const RouterOptions& options);

// Weights [N, k] of the chosen experts [N, k] i64, from logits [N, E].
at::Tensor router_weights_forward(const at::Tensor& logits, const at::Tensor& experts, const RouterOptions& options);
// The gradient of the logits [N, E].
at::Tensor router_weights_backward(const at::Tensor& d_weights, const at::Tensor& logits, const at::Tensor& experts,
                                   const RouterOptions& options);

// Rows and columns of exp(logits) scaled in turn until the columns' factors settle (mean change below 1e-4): the
// balanced assignment that Megatron's sinkhorn routing chooses from. [N, E] -> [N, E] f32, no gradient.
at::Tensor sinkhorn(const at::Tensor& logits);

// The plain forms, in libtorch operations; the weights are differentiable by autograd.
namespace reference {
at::Tensor choose_experts(const at::Tensor& values, const TopKOptions& options);
at::Tensor router_weights(const at::Tensor& logits, const at::Tensor& experts, const RouterOptions& options);
}  // namespace reference

}  // namespace primus::kernels
