#include "primus/kernels/philox.h"

#include "primus/kernels/fixed_arithmetic.h"
#include "primus/kernels/normal_tables.h"
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

template <size_t kSize>
PRIMUS_INLINE D8 polynomial(const double (&c)[kSize], D8 x) {
  f64x8 sum = f64x8{} + c[kSize - 1];
  for (size_t i = kSize - 1; i-- > 0;) sum = sum * x.v + c[i];
  return {sum};
}

PRIMUS_INLINE D8 centred(const uint32_t* words) {
  u32x8 w;
  std::memcpy(&w, words, sizeof w);
  return {(__builtin_convertvector(w, f64x8) + 0.5) * 0x1p-32 - 0.5};
}

// fixed_log of philox_ref.cpp, lane by lane the same operations.
PRIMUS_INLINE D8 fixed_log(D8 x) {
  u64x8 bits;
  std::memcpy(&bits, &x.v, sizeof bits);
  const i64x8 exponent_bits = __builtin_convertvector(bits >> 52, i64x8) - 1023;
  f64x8 exponent = __builtin_convertvector(exponent_bits, f64x8);
  bits = (bits & 0xFFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL;
  f64x8 m;
  std::memcpy(&m, &bits, sizeof m);
  const i64x8 high = m > 1.4142135623730951;
  exponent = high ? exponent + 1.0 : exponent;
  m = high ? m * 0.5 : m;
  const f64x8 s = (m - 1.0) / (m + 1.0);
  return {exponent * 0.6931471805599453 + 2.0 * s * polynomial(kLogSeries, D8{s * s}).v};
}

// |z| for eight tail words; r stays below 4.8 for 32-bit words, so the far tail is never needed.
PRIMUS_INLINE D8 tail(D8 q) {
  const f64x8 p = q.v + 0.5;
  const f64x8 smaller = q.v < 0.0 ? p : 1.0 - p;
  const f64x8 square = -fixed_log({smaller}).v;
  alignas(64) double lanes[8];
  std::memcpy(lanes, &square, sizeof lanes);
  for (double& lane : lanes) lane = __builtin_sqrt(lane);
  f64x8 r;
  std::memcpy(&r, lanes, sizeof r);
  const D8 t = {r - 1.6};
  return {polynomial(kQuantileC, t).v / polynomial(kQuantileD, t).v};
}

// normal_from_word of 64 words: the centre of the distribution for all, then the tails (one word in seven), gathered
// into vectors.
struct NormalBody {
  static PRIMUS_INLINE void run(const uint32_t* words, double* z) {
    alignas(64) uint32_t tail_words[kGroup] = {};
    uint8_t place[kGroup];
    int64_t num_tails = 0;
    for (int64_t i = 0; i < kGroup; i += 8) {
      const f64x8 q = centred(words + i).v;
      const D8 r = {0.180625 - q * q};
      const f64x8 value = q * polynomial(kQuantileA, r).v / polynomial(kQuantileB, r).v;
      std::memcpy(z + i, &value, sizeof value);
    }
    for (int64_t i = 0; i < kGroup; ++i) {
      const double q = (static_cast<double>(words[i]) + 0.5) * 0x1p-32 - 0.5;
      tail_words[num_tails] = words[i];
      place[num_tails] = static_cast<uint8_t>(i);
      num_tails += q < -0.425 || q > 0.425 ? 1 : 0;
    }
    for (int64_t i = 0; i < num_tails; i += 8) {
      const D8 q = centred(tail_words + i);
      const f64x8 size = tail(q).v;
      const f64x8 value = q.v < 0.0 ? -size : size;
      for (int64_t j = 0; j < 8 && i + j < num_tails; ++j) z[place[i + j]] = value[j];
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
