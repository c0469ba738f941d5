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
