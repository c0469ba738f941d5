// RMSNorm and LayerNorm over the last dimension, forward and backward, plain and fused with the residual addition.
// Legend: N rows (all leading dims), H width.
#pragma once

#include <cstdint>
#include <tuple>

#include "primus/tensor/fwd.h"

namespace primus::kernels {

struct NormOptions {
  double eps = 1e-5;
  bool zero_centered = false;  // the gain is stored as g - 1
};

// y = x / sqrt(mean(x^2) + eps) * g. x: [.., H] fp32 or bf16 (fp64, fp16, other devices: reference path); gain: [H]
// fp32 or bf16. Returns y (type and shape of x) and rstd [N] (fp32; fp64 for fp64 input). All arithmetic in fp32.
// Source: Zhang and Sennrich 2019, eq. 4.
std::tuple<at::Tensor, at::Tensor> rms_norm_forward(const at::Tensor& x, const at::Tensor& gain,
                                                    const NormOptions& options);
// sum = x + residual (rounded to x's type), then the norm of sum. Returns sum, y, rstd.
std::tuple<at::Tensor, at::Tensor, at::Tensor> add_rms_norm_forward(const at::Tensor& x, const at::Tensor& residual,
                                                                    const at::Tensor& gain, const NormOptions& options);
// x: the forward's input (for the fused form: sum). d_residual: gradient that reaches x by the residual path, added to
// dx in the same pass; undefined for none. Returns dx (type of x) and d_gain [H] fp32, summed over fixed blocks of
// rows: the bits do not depend on the number of threads.
std::tuple<at::Tensor, at::Tensor> rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& gain,
                                                     const at::Tensor& rstd, const NormOptions& options,
                                                     const at::Tensor& d_residual);

// y = (x - mean(x)) / sqrt(var(x) + eps) * g + b. bias: [H] or undefined. Returns y, mean [N], rstd [N].
// Source: Ba, Kiros, Hinton 2016.
std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm_forward(const at::Tensor& x, const at::Tensor& gain,
                                                                  const at::Tensor& bias, const NormOptions& options);
// Returns sum, y, mean, rstd.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> add_layer_norm_forward(const at::Tensor& x,
                                                                                  const at::Tensor& residual,
                                                                                  const at::Tensor& gain,
                                                                                  const at::Tensor& bias,
                                                                                  const NormOptions& options);
// Returns dx, d_gain [H], d_bias [H] (fp32). d_residual as above.
std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm_backward(const at::Tensor& dy, const at::Tensor& x,
                                                                   const at::Tensor& gain, const at::Tensor& mean,
                                                                   const at::Tensor& rstd, const NormOptions& options,
                                                                   const at::Tensor& d_residual);

// The plain, obvious forms: libtorch operations in fp32 (fp64 for fp64 input), any device.
namespace reference {
std::tuple<at::Tensor, at::Tensor> rms_norm_forward(const at::Tensor& x, const at::Tensor& gain,
                                                    const NormOptions& options);
std::tuple<at::Tensor, at::Tensor> rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& gain,
                                                     const at::Tensor& rstd, const NormOptions& options,
                                                     const at::Tensor& d_residual);
std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm_forward(const at::Tensor& x, const at::Tensor& gain,
                                                                  const at::Tensor& bias, const NormOptions& options);
std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm_backward(const at::Tensor& dy, const at::Tensor& x,
                                                                   const at::Tensor& gain, const at::Tensor& mean,
                                                                   const at::Tensor& rstd, const NormOptions& options,
                                                                   const at::Tensor& d_residual);
}  // namespace reference

}  // namespace primus::kernels
