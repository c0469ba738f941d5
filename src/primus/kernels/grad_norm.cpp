#include "primus/kernels/grad_norm.h"

#include <cmath>

#include "primus/kernels/parallel.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

namespace simd {

namespace {

using f32x8 = float __attribute__((vector_size(32)));
using f64x8 = double __attribute__((vector_size(64)));

struct D8 {
  f64x8 v;
};

PRIMUS_INLINE D8 add_squares(D8 sum, F16 x, bool upper) {
  const f32x8 half = upper ? __builtin_shufflevector(x.v, x.v, 8, 9, 10, 11, 12, 13, 14, 15)
                           : __builtin_shufflevector(x.v, x.v, 0, 1, 2, 3, 4, 5, 6, 7);
  const f64x8 wide = __builtin_convertvector(half, f64x8);
  return {sum.v + wide * wide};
}

PRIMUS_INLINE double sum_lanes(D8 x) {
  alignas(64) double a[8];
  std::memcpy(a, &x.v, sizeof a);
  return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}

// out[block] for blocks first..last. A square of an fp32 value is exact in double, so fused arithmetic changes nothing.
template <class X>
struct SquareSumBody {
  static PRIMUS_INLINE void run(const X* x, int64_t numel, double* out, int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) {
      const int64_t end = std::min(numel, (block + 1) * kNormBlock);
      D8 low0 = {f64x8{}};
      D8 high0 = low0;
      D8 low1 = low0;
      D8 high1 = low0;
      int64_t i = block * kNormBlock;
      for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
        const F16 a = load(x + i);
        const F16 b = load(x + i + kLanes);
        low0 = add_squares(low0, a, false);
        high0 = add_squares(high0, a, true);
        low1 = add_squares(low1, b, false);
        high1 = add_squares(high1, b, true);
      }
      for (; i < end; i += kLanes) {
        const F16 a = load_first(x + i, std::min(kLanes, end - i));
        low0 = add_squares(low0, a, false);
        high0 = add_squares(high0, a, true);
      }
      out[block] = sum_lanes(D8{(low0.v + high0.v) + (low1.v + high1.v)});
    }
  }
};

}  // namespace

}  // namespace simd

void append_block_square_sums(const at::Tensor& tensor, std::vector<double>& sums) {
  const at::Tensor x = (is_fast(tensor) ? tensor : tensor.to(at::kCPU, at::kFloat)).contiguous();
  const int64_t num_blocks = num_norm_blocks(x.numel());
  const size_t offset = sums.size();
  sums.resize(offset + static_cast<size_t>(num_blocks));
  double* const out = sums.data() + offset;
  with_element(x.scalar_type(), [&](auto element) {
    using X = decltype(element);
    const X* const data = pointer<X>(x);
    const int64_t numel = x.numel();
    parallel_ranges(num_blocks, 8, [&](int64_t first, int64_t last) {
      simd::run_best<simd::SquareSumBody<X>>(data, numel, out, first, last);
    });
  });
}

double combine_square_sums(std::span<const double> sums) {
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

bool all_blocks_finite(std::span<const double> sums) {
  for (const double sum : sums) {
    if (!std::isfinite(sum)) return false;
  }
  return true;
}

}  // namespace primus::kernels
