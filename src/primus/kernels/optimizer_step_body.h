// Internal, compiled once per instruction set (see loops.h): optimizer steps over flat spans.
#pragma once

#include "primus/kernels/loops.h"
#include "primus/kernels/simd_math.h"

namespace primus::kernels::simd {

namespace {

template <class G>
PRIMUS_INLINE F16 update(const AdamWFactors& f, F16 p, F16 g_raw, F16& m, F16& v) {
  const F16 g = multiply_add(splat(f.l2), p, g_raw * splat(f.grad_scale));
  m = multiply_add(splat(f.beta1), m, splat(f.one_minus_beta1) * g);
  v = multiply_add(splat(f.beta2), v, splat(f.one_minus_beta2) * (g * g));
  const F16 under_root = f.eps_root != 0 ? v + splat(f.eps_root) : v;
  const F16 denominator = multiply_add(square_root(under_root), splat(f.root_scale), splat(f.eps));
  return p * splat(f.keep) - splat(f.step_size) * m / denominator;
}

template <class G>
PRIMUS_INLINE F16 update(const SgdFactors& f, F16 p, F16 g_raw, F16& buffer, F16& /*second*/) {
  const F16 g = multiply_add(splat(f.l2), p, g_raw * splat(f.grad_scale));
  buffer = multiply_add(splat(f.old_share), buffer, g);
  // momentum 0: buffer is g. nesterov: g + momentum * buffer.
  const F16 direction = f.nesterov != 0 ? multiply_add(splat(f.momentum), buffer, g) : buffer;
  return p - splat(f.lr) * direction;
}

template <class Factors, class G>
struct StepBody {
  static void run(const StepSpans<G>& s, const Factors& f, int64_t begin, int64_t end) {
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      F16 m = s.first != nullptr ? load(s.first + i) : splat(0);
      F16 v = s.second != nullptr ? load(s.second + i) : splat(0);
      const F16 p = update<G>(f, load(s.master + i), load(s.grad + i), m, v);
      store(s.master + i, p);
      if (s.first != nullptr) store(s.first + i, m);
      if (s.second != nullptr) store(s.second + i, v);
      if (s.copy != nullptr) store(s.copy + i, p);
    }
    const int64_t n = end - i;
    if (n == 0) return;
    F16 m = s.first != nullptr ? load_first(s.first + i, n) : splat(0);
    F16 v = s.second != nullptr ? load_first(s.second + i, n) : splat(0);
    const F16 p = update<G>(f, load_first(s.master + i, n), load_first(s.grad + i, n), m, v);
    store_first(s.master + i, p, n);
    if (s.first != nullptr) store_first(s.first + i, m, n);
    if (s.second != nullptr) store_first(s.second + i, v, n);
    if (s.copy != nullptr) store_first(s.copy + i, p, n);
  }
};

}  // namespace

}  // namespace primus::kernels::simd
