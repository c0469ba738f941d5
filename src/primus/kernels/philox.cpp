#include "primus/kernels/philox.h"

#include "primus/kernels/fixed_arithmetic.h"
#include "primus/kernels/parallel.h"
#include "primus/kernels/philox_words.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

namespace {

// Stream elements are made in aligned groups of this many: sixteen counters, four words each.
constexpr int64_t kGroup = 64;

}  // namespace

namespace simd {

namespace {

using f64x8 = double __attribute__((vector_size(64)));
using i64x8 = int64_t __attribute__((vector_size(64)));

struct GroupBody {
  static PRIMUS_INLINE void run(PhiloxKey key, uint64_t group, uint32_t* words) {
    const uint64_t first = group * kLanes;  // counter of lane 0; a group never crosses a 2^32 border
    PhiloxLanes c;
    c.word[0] = lane_numbers() + static_cast<uint32_t>(first);
    c.word[1] = u32x16{} + static_cast<uint32_t>(first >> 32);
    c.word[2] = u32x16{};
    c.word[3] = u32x16{};
    store_interleaved(words, philox_lanes(key, c));
  }
};

struct D8 {
  f64x8 v;
};

PRIMUS_INLINE D8 polynomial(const double (&c)[8], D8 x) {
  f64x8 sum = f64x8{} + c[7];
  for (int i = 6; i >= 0; --i) sum = sum * x.v + c[i];
  return {sum};
}

// The centre of AS 241 (|p - 0.5| <= 0.425) for 64 words; the other lanes, one in seven, by the scalar function. Same operations
// in the same order as normal_from_word.
struct NormalBody {
  static PRIMUS_INLINE void run(const uint32_t* words, double* z) {
    static constexpr double kA[8] = {3.3871328727963666080,    1.3314166789178437745e+2, 1.9715909503065514427e+3,
                                     1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                     3.3430575583588128105e+4, 2.5090809287301226727e+3};
    static constexpr double kB[8] = {1.0,                      4.2313330701600911252e+1, 6.8718700749205790830e+2,
                                     5.3941960214247511077e+3, 2.1213794301586595867e+4, 3.9307895800092710610e+4,
                                     2.8729085735721942674e+4, 5.2264952788528545610e+3};
    for (int64_t i = 0; i < kGroup; i += 8) {
      u32x8 w;
      std::memcpy(&w, words + i, sizeof w);
      const f64x8 q = (__builtin_convertvector(w, f64x8) + 0.5) * 0x1p-32 - 0.5;
      const D8 r = {0.180625 - q * q};
      const f64x8 value = q * polynomial(kA, r).v / polynomial(kB, r).v;
      std::memcpy(z + i, &value, sizeof value);
    }
    for (int64_t i = 0; i < kGroup; ++i) {
      const double q = (static_cast<double>(words[i]) + 0.5) * 0x1p-32 - 0.5;
      if (!(q >= -0.425 && q <= 0.425)) z[i] = normal_from_word(words[i]);
    }
  }
};

}  // namespace

}  // namespace simd

namespace {

// transform(words, values): 64 words to 64 doubles.
template <class Transform>
void fill(const at::Tensor& target, PhiloxKey key, int64_t begin, const Transform& transform) {
  PRIMUS_CHECK(is_fast(target) && target.is_contiguous() && begin >= 0, "random fills are for contiguous CPU tensors");
  const int64_t end = begin + target.numel();
  const int64_t first_group = begin / kGroup;
  const int64_t num_groups = target.numel() == 0 ? 0 : (end + kGroup - 1) / kGroup - first_group;
  at::Tensor buffer = target.scalar_type() == at::kFloat ? target : at::empty({target.numel()}, at::kFloat);
  float* data = pointer<float>(buffer);
  parallel_ranges(num_groups, 64, [&](int64_t group_begin, int64_t group_end) {
    alignas(64) uint32_t words[kGroup];
    alignas(64) double values[kGroup];
    for (int64_t g = first_group + group_begin; g < first_group + group_end; ++g) {
      simd::run_best<simd::GroupBody>(key, static_cast<uint64_t>(g), words + 0);
      transform(static_cast<const uint32_t*>(words), values + 0);
      const int64_t from = std::max(begin, g * kGroup);
      const int64_t to = std::min(end, (g + 1) * kGroup);
      for (int64_t i = from; i < to; ++i) data[i - begin] = static_cast<float>(values[i - g * kGroup]);
    }
  });
  if (!buffer.is_same(target)) target.copy_(buffer.reshape(target.sizes()));
}

// The standard normal distribution function by bisection of its inverse: only needed twice a fill, and free of libm.
double normal_probability(double z) {
  double low = 0x1p-60;
  double high = 1.0 - 0x1p-53;
  if (z <= inverse_normal(low)) return 0.0;
  if (z >= inverse_normal(high)) return 1.0;
  for (int i = 0; i < 200; ++i) {
    const double middle = low + (high - low) * 0.5;
    if (middle <= low || middle >= high) break;
    (inverse_normal(middle) < z ? low : high) = middle;
  }
  return low;
}

}  // namespace

void fill_normal(at::Tensor target, PhiloxKey key, int64_t begin, double mean, double std) {
  fill(target, key, begin, [&](const uint32_t* words, double* values) {
    simd::run_best<simd::NormalBody>(words, values);
    for (int64_t i = 0; i < kGroup; ++i) values[i] = mean + std * values[i];
  });
}

void fill_truncated_normal(at::Tensor target, PhiloxKey key, int64_t begin, double mean, double std, double low,
                           double high) {
  PRIMUS_CHECK(low < high, "truncated normal: low < high expected");
  const double p_low = normal_probability(low);
  const double p_width = normal_probability(high) - p_low;
  PRIMUS_CHECK(p_width > 0, "truncated normal: no probability between low and high");
  fill(target, key, begin, [&](const uint32_t* words, double* values) {
    for (int64_t i = 0; i < kGroup; ++i) {
      const double u = (static_cast<double>(words[i]) + 0.5) * 0x1p-32;
      const double z = inverse_normal(std::clamp(p_low + p_width * u, 0x1p-60, 1.0 - 0x1p-53));
      values[i] = mean + std * std::clamp(z, low, high);
    }
  });
}

void fill_uniform(at::Tensor target, PhiloxKey key, int64_t begin, double low, double high) {
  fill(target, key, begin, [&](const uint32_t* words, double* values) {
    for (int64_t i = 0; i < kGroup; ++i) {
      values[i] = low + (high - low) * static_cast<double>(uniform_from_word(words[i]));
    }
  });
}

}  // namespace primus::kernels
