// MKL's product of bf16 matrices that adds into an f32 one: a weight gradient in one pass, never rounded to bf16.
#pragma once

#include "primus/tensor/fwd.h"

namespace primus::kernels {

// False where libtorch was built without MKL or with one that lacks the routine.
bool has_mkl_sum();

// main [M, K] f32 = or += dy^T x for dy [N, M] and x [N, K] in bf16; the last dim of main is contiguous.
void mkl_sum(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& main, bool accumulate);

}  // namespace primus::kernels
