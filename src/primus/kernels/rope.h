// Rotary position embedding. Legend: B batch, T tokens, H heads, D head width, R rotated part of it (R <= D, even).
#pragma once

#include <cstdint>
#include <tuple>

#include "primus/tensor/fwd.h"

namespace primus::kernels {

enum class RopeScaling {
  None,
  Llama3,  // long wavelengths / factor, short ones kept, a ramp between (Llama 3.1 reference code)
  Yarn,    // the same idea with a ramp over the pair's index (Peng et al. 2023, section 3.2)
};

struct RopeOptions {
  int64_t num_positions = 0;
  int64_t rotary_dim = 0;  // R
  double base = 10000.0;
  RopeScaling scaling = RopeScaling::None;
  double factor = 8.0;
  double low_frequency_factor = 1.0;
  double high_frequency_factor = 4.0;
  int64_t original_positions = 8192;
  double beta_fast = 32.0, beta_slow = 1.0;  // Yarn: pairs with more, or fewer, turns over the original positions
  bool whole_bounds = true;                  // Yarn: the ramp's ends are rounded to whole pairs
  double position_divisor = 1.0;             // linear scaling, on top of the others: position / divisor
  double amplitude = 1.0;                    // cos and sin are multiplied by it

  bool operator==(const RopeOptions&) const = default;
};

enum class RopeLayout {
  HalfRotate,   // pairs (i, i + R/2)
  Interleaved,  // pairs (2i, 2i + 1)
};

enum class RopeDirection {
  Forward,   // by +angle
  Backward,  // by -angle: the gradient
};

// amplitude * cos and sin of position * w_i, both fp32 [num_positions, R/2], computed in double; w_i = base^(-2i/R),
// then scaled. Source: Su et al. 2021, section 3.2.2.
std::tuple<at::Tensor, at::Tensor> rope_table(const RopeOptions& options);

// y1 = x1 cos - x2 sin, y2 = x2 cos + x1 sin on the first R entries of every head; the others are copied. x, y: [B, T,
// H, D], fp32 or bf16 (fp64, fp16, other devices: reference path), last dim dense, the others strided as they like
// (slices of a fused qkv). y may be x itself (in place) but must not overlap it otherwise. positions: int32 or int64
// [B, T], or undefined for start_position + t. A position outside the table is an InternalError: callers check sequence
// lengths.
void rope_apply(at::Tensor y, const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                const at::Tensor& positions, int64_t start_position, RopeLayout layout, RopeDirection direction);

// The plain form: libtorch operations in fp32 (fp64 for fp64 input), any device.
namespace reference {
void rope_apply(at::Tensor y, const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                const at::Tensor& positions, int64_t start_position, RopeLayout layout, RopeDirection direction);
}  // namespace reference

}  // namespace primus::kernels
