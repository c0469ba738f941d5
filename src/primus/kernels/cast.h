// Passes over big tensors: conversions between fp32 and bf16, accumulation, scaling. All run at memory speed, on all
// threads, and give the same bits with any number of them. CPU, contiguous; other devices and types go through
// libtorch.
#pragma once

#include "primus/tensor/fwd.h"

namespace primus::kernels {

// target = source, rounded to nearest even where it narrows (NaN stays NaN). Same numel; fp32 or bf16 each.
void cast_into(at::Tensor target, const at::Tensor& source);
// target (fp32) += source (fp32 or bf16): a product's gradient into the main gradient.
void add_into(at::Tensor target, const at::Tensor& source);
// target *= factor.
void scale_in_place(at::Tensor target, double factor);

}  // namespace primus::kernels
