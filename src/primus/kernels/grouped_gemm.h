// Products of rows that are sorted by expert with stacked weights: one product an expert, in the order of experts, no
// padding. An expert without rows costs nothing and its gradient is not touched.
// Legend: P rows, E experts, K input width, M output width; starts [E + 1]: first row of each expert.
#pragma once

#include <cstdint>
#include <vector>

#include "primus/kernels/gemm.h"

namespace primus::kernels {

// y [P, M]: rows of expert e are x w_e^T (+ bias_e).   x [P, K], w [E * M, K], bias [E * M] or undefined.
at::Tensor grouped_forward(const GemmRoute& route, const at::Tensor& x, const std::vector<int64_t>& starts,
                           const at::Tensor& w, const at::Tensor& bias);
// dx [P, K] = dy w_e.
at::Tensor grouped_dgrad(const GemmRoute& route, const at::Tensor& dy, const std::vector<int64_t>& starts,
                         const at::Tensor& w);
// main_grad [E * M, K] f32 (f64 for f64) += dy^T x, expert by expert.
void grouped_wgrad(const GemmRoute& route, const at::Tensor& dy, const at::Tensor& x,
                   const std::vector<int64_t>& starts, at::Tensor main_grad);
// bias_grad [E * M] f32 (f64) += column sums of dy, expert by expert.
void grouped_bias_grad(const at::Tensor& dy, const std::vector<int64_t>& starts, at::Tensor bias_grad);

namespace reference {
// The product in double.
at::Tensor grouped_forward(const at::Tensor& x, const std::vector<int64_t>& starts, const at::Tensor& w,
                           const at::Tensor& bias);
}  // namespace reference

}  // namespace primus::kernels
