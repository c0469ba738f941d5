// Internal: arguments of the innermost loops (loops.h). Legend: X, G are float or Bf16. Absent pointers are null.
#pragma once

#include <cstdint>

namespace primus::kernels::simd {

// The bits of a bfloat16: what kernels see in place of c10::BFloat16.
struct Bf16 {
  uint16_t bits;
};

// Gains and biases are fp32 rows here, zero-centred gains already shifted.
template <class X>
struct NormForwardRows {
  const X* x;
  const X* residual;
  X* sum;
  X* y;
  const float* gain;
  const float* bias;
  float* mean;
  float* rstd;
  int64_t width;
  float eps;
};

template <class X>
struct NormBackwardRows {
  const X* dy;
  const X* x;
  const X* d_residual;
  X* dx;
  const float* gain;
  const float* mean;
  const float* rstd;
  int64_t width;
};

// All heads of one token.
template <class X>
struct RopeHeads {
  const X* x;
  X* y;
  int64_t num_heads;
  int64_t x_stride;
  int64_t y_stride;
  int64_t width;  // D
  int64_t half;   // R/2
};

inline constexpr int64_t kMaxTaps = 8;

// One position of the short convolution: only the taps that read something, oldest first.
template <class X>
struct ShortConvRow {
  int64_t num_taps;
  const X* x[kMaxTaps];
  const float* w[kMaxTaps];  // each tap's weights of all channels
  float* dw[kMaxTaps];       // added to
  const float* bias;
  float* d_bias;  // added to
  int64_t width;
  bool silu;
};

// The gradient of one input position: the later positions that read it.
struct ShortConvReaders {
  int64_t count;
  const float* dz[kMaxTaps];
  const float* w[kMaxTaps];
  int64_t width;
};

// Rows of `width`, in groups of `group` columns with one rstd each.
template <class X>
struct GatedNormRows {
  const X* dy;
  const X* x;
  const X* z;
  const float* gain;
  float* rstd;  // written forward, read backward
  X* y;
  X* dx;
  X* dz;
  int64_t width;
  int64_t group;
  float eps;
};

template <class G>
struct StepSpans {
  float* master;
  const G* grad;
  float* first;
  float* second;
  Bf16* copy;
};

struct AdamWFactors {
  float grad_scale;
  float l2;    // weight decay added to the gradient
  float keep;  // 1 - lr wd
  float beta1;
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
  float step_size;   // lr / (1 - b1^t)
  float root_scale;  // 1 / sqrt(1 - b2^t)
  float eps;
  float eps_root;  // added to v: (1 - b2^t) times the one under the root
};

struct SgdFactors {
  float grad_scale;
  float l2;
  float lr;
  float momentum;
  float old_share;  // momentum, or 0 in the first step
  float nesterov;   // 1 or 0
};

}  // namespace primus::kernels::simd
