// Internal, compiled once per instruction set (see loops.h): activations, plain and gated.
#pragma once

#include "primus/kernels/activation.h"
#include "primus/kernels/loops.h"
#include "primus/kernels/simd_math.h"

namespace primus::kernels::simd {

namespace {

// The standard normal distribution function with a relative error of about 1e-6, also in the far lower tail (0.5 (1 +
// erf) would lose it to cancellation): erfc(z) = t exp(-z^2 + P(t)), t = 1 / (1 + z/2). Source: Numerical Recipes,
// section 6.2, erfcc.
PRIMUS_INLINE F16 normal_cdf(F16 x, F16 minus_half_square) {
  const F16 one = splat(1.0F);
  const F16 z = select_less(x, splat(0.0F), splat(-0.70710678F) * x, splat(0.70710678F) * x);
  const F16 t = one / multiply_add(splat(0.5F), z, one);
  F16 p = splat(0.17087277F);
  p = multiply_add(p, t, splat(-0.82215223F));
  p = multiply_add(p, t, splat(1.48851587F));
  p = multiply_add(p, t, splat(-1.13520398F));
  p = multiply_add(p, t, splat(0.27886807F));
  p = multiply_add(p, t, splat(-0.18628806F));
  p = multiply_add(p, t, splat(0.09678418F));
  p = multiply_add(p, t, splat(0.37409196F));
  p = multiply_add(p, t, splat(1.00002368F));
  p = multiply_add(p, t, splat(-1.26551223F));
  const F16 tail = splat(0.5F) * t * exponential(minus_half_square + p);
  return select_less(x, splat(0.0F), tail, one - tail);
}

struct ValueAndSlope {
  F16 value;
  F16 slope;
};

template <Activation kAct>
PRIMUS_INLINE ValueAndSlope evaluate(F16 x) {
  const F16 one = splat(1.0F);
  const F16 zero = splat(0.0F);
  if constexpr (kAct == Activation::SquaredRelu || kAct == Activation::Relu) {
    const F16 positive = select_less(x, zero, zero, x);  // NaN passes
    if constexpr (kAct == Activation::SquaredRelu) return {positive * positive, positive + positive};
    return {positive, select_less(zero, x, one, zero)};
  } else if constexpr (kAct == Activation::Gelu) {
    const F16 minus_half_square = x * x * splat(-0.5F);
    const F16 cdf = normal_cdf(x, minus_half_square);
    const F16 pdf = exponential(minus_half_square) * splat(0.39894228F);
    return {x * cdf, multiply_add(x, pdf, cdf)};
  } else {
    F16 s = x;
    F16 ds = one;
    if constexpr (kAct == Activation::QuickGelu) {
      s = x * splat(1.702F);
      ds = splat(1.702F);
    } else if constexpr (kAct == Activation::GeluTanh) {
      const F16 square = x * x;
      s = x * multiply_add(square, splat(1.5957691F * 0.044715F), splat(1.5957691F));
      ds = multiply_add(square, splat(1.5957691F * 3 * 0.044715F), splat(1.5957691F));
    }
    const F16 p = sigmoid(s);
    return {x * p, multiply_add(x * p * (one - p), ds, p)};
  }
}

PRIMUS_INLINE F16 bias_at(const float* bias, int64_t column, int64_t n) {
  if (bias == nullptr) return splat(0.0F);
  return n == kLanes ? load(bias + column) : load_first(bias + column, n);
}
// Forward and backward are two compilations, so that the forward pass does not pay for the slope; whole vectors and the
// tail of a row are two calls of one step, so that the compiler sees the number of lanes.
template <Activation kAct, class X, bool kBackward>
struct PlainBody {
  static PRIMUS_INLINE void step([[maybe_unused]] const X* dy, const X* x, const float* bias, X* out, int64_t f,
                                 int64_t n) {
    const ValueAndSlope a = evaluate<kAct>(read(x + f, n) + bias_at(bias, f, n));
    if constexpr (kBackward) {
      write(out + f, read(dy + f, n) * a.slope, n);
    } else {
      write(out + f, a.value, n);
    }
  }
  static void run(const X* dy, const X* x, const float* bias, X* out, int64_t width, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t start = row * width;
      const X* dy_row = kBackward ? dy + start : nullptr;
      int64_t f = 0;
      for (; f + kLanes <= width; f += kLanes) step(dy_row, x + start, bias, out + start, f, kLanes);
      if (f < width) step(dy_row, x + start, bias, out + start, f, width - f);
    }
  }
};

template <Activation kAct, class X, bool kBackward>
struct GatedBody {
  static PRIMUS_INLINE void step([[maybe_unused]] const X* dy, const X* gate_up, const float* bias, X* out,
                                 int64_t width, int64_t f, int64_t n) {
    const ValueAndSlope gate = evaluate<kAct>(read(gate_up + f, n) + bias_at(bias, f, n));
    const F16 up = read(gate_up + width + f, n) + bias_at(bias, width + f, n);
    if constexpr (kBackward) {
      const F16 d = read(dy + f, n);
      write(out + f, d * up * gate.slope, n);
      write(out + width + f, d * gate.value, n);
    } else {
      write(out + f, gate.value * up, n);
    }
  }
  static void run(const X* dy, const X* gate_up, const float* bias, X* out, int64_t width, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const X* dy_row = kBackward ? dy + row * width : nullptr;
      const X* in_row = gate_up + row * 2 * width;
      X* out_row = out + row * width * (kBackward ? 2 : 1);
      int64_t f = 0;
      for (; f + kLanes <= width; f += kLanes) step(dy_row, in_row, bias, out_row, width, f, kLanes);
      if (f < width) step(dy_row, in_row, bias, out_row, width, f, width - f);
    }
  }
};

}  // namespace

}  // namespace primus::kernels::simd
