// RMSNorm joined with a SiLU gate, as linear-attention and state-space blocks end.
// Legend: N rows (all leading dims), H width, W width of a group (H a multiple).
#pragma once

#include <cstdint>
#include <tuple>

#include "primus/tensor/fwd.h"

namespace primus::kernels {

enum class GateOrder {
  NormFirst,  // y = norm(x) * g * silu(z): gated delta net
  GateFirst,  // y = norm(x * silu(z)) * g: Mamba 2
};

struct GatedNormOptions {
  double eps = 1e-6;
  GateOrder order = GateOrder::NormFirst;
  int64_t group = 0;  // W: the mean of squares is over groups of so many columns; 0: over all H
};

// norm(u) = u / sqrt(mean(u^2) + eps). x, z [.., H] f32 or bf16 (f64, f16, other devices: the reference); gain [H] of
// any float type. Returns y (type and shape of x) and rstd [N, H / W] f32 (f64). Arithmetic in f32, one rounding.
// Source: transformers 5.24, Qwen3NextRMSNormGated and MambaRMSNormGated.
std::tuple<at::Tensor, at::Tensor> gated_rms_norm_forward(const at::Tensor& x, const at::Tensor& z,
                                                          const at::Tensor& gain, const GatedNormOptions& options);
using GatedNormGrads = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
// Returns dx, dz (type of x) and d_gain [H] f32 (f64). Equal bits for any number of threads.
GatedNormGrads gated_rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& z,
                                       const at::Tensor& gain, const at::Tensor& rstd, const GatedNormOptions& options);

// The plain forms: libtorch operations in f32 (f64 for f64 input), any device.
namespace reference {
std::tuple<at::Tensor, at::Tensor> gated_rms_norm_forward(const at::Tensor& x, const at::Tensor& z,
                                                          const at::Tensor& gain, const GatedNormOptions& options);
GatedNormGrads gated_rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& z,
                                       const at::Tensor& gain, const at::Tensor& rstd, const GatedNormOptions& options);
}  // namespace reference

}  // namespace primus::kernels
