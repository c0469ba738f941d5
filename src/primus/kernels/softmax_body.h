// Internal, compiled once per instruction set (see loops.h): loss and gradient of one row of logits.
#pragma once

#include "primus/kernels/loops.h"
#include "primus/kernels/simd_math.h"

namespace primus::kernels::simd {

namespace {

// Everything about one row of logits; in place when the gradient is asked for.
template <class X>
struct SoftmaxRowBody {
  // The maximum of 64 lanes at a time: four independent chains.
  static PRIMUS_INLINE float maximum(const X* x, int64_t n) {
    F16 top[4];
    for (F16& t : top) t = splat(-__builtin_inff());
    int64_t i = 0;
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
#pragma GCC unroll 4
      for (int64_t c = 0; c < 4; ++c) {
        const F16 value = load(x + i + c * kLanes);
        top[c] = select_less(top[c], value, value, top[c]);
      }
    }
    float result = -__builtin_inff();
    alignas(64) float lanes[kLanes];
    for (const F16& t : top) {
      store(lanes, t);
      for (const float lane : lanes) result = lane > result ? lane : result;
    }
    for (; i < n; ++i) result = to_float(x[i]) > result ? to_float(x[i]) : result;
    return result;
  }

  static PRIMUS_INLINE float sum_of_exp(const X* x, int64_t n, float top) {
    const F16 offset = splat(top);
    F16 sum[4];
    for (F16& s : sum) s = splat(0);
    int64_t i = 0;
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
#pragma GCC unroll 4
      for (int64_t c = 0; c < 4; ++c) sum[c] += exponential(load(x + i + c * kLanes) - offset);
    }
    float tail = 0;
    for (; i < n; i += kLanes) {
      const int64_t count = smaller(kLanes, n - i);
      alignas(64) float lanes[kLanes];
      store(lanes, exponential(load_first(x + i, count) - offset));
      for (int64_t j = 0; j < count; ++j) tail += lanes[j];
    }
    return sum_lanes((sum[0] + sum[1]) + (sum[2] + sum[3])) + tail;
  }

  // x <- weight * exp(x - lse)
  static PRIMUS_INLINE void gradient(X* x, int64_t n, float lse, float weight) {
    const F16 offset = splat(lse);
    const F16 factor = splat(weight);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store(x + i, exponential(load(x + i) - offset) * factor);
    if (i < n) store_first(x + i, exponential(load_first(x + i, n - i) - offset) * factor, n - i);
  }

  static void run(X* x, int64_t n, int64_t columns, int64_t label, float weight, bool wants_gradient, float* loss) {
    const float top = maximum(x, n);
    const float lse = top + __builtin_logf(sum_of_exp(x, n, top));
    *loss = label < 0 ? 0.0f : lse - to_float(x[label]);
    if (!wants_gradient) return;
    if (label < 0 || weight == 0) {
      std::memset(x, 0, static_cast<size_t>(columns) * sizeof(X));
      return;
    }
    const float probability = __builtin_expf(to_float(x[label]) - lse);
    gradient(x, n, lse, weight);
    // The label's own entry, rounded once.
    alignas(64) float lanes[kLanes] = {weight * (probability - 1)};
    store_first(x + label, load(lanes), 1);
    std::memset(x + n, 0, static_cast<size_t>(columns - n) * sizeof(X));
  }
};

}  // namespace

}  // namespace primus::kernels::simd
