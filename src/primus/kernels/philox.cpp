#include "primus/kernels/philox.h"

#include "primus/kernels/fixed_arithmetic.h"
#include "primus/kernels/parallel.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

namespace {

// Stream elements are made in aligned groups of this many: sixteen counters, four words each.
constexpr int64_t kGroup = 64;

}  // namespace

namespace {

// make(group, out): the 64 values of one group.
template <class Make>
void fill(const at::Tensor& target, int64_t begin, const Make& make) {
  PRIMUS_CHECK(is_fast(target) && target.is_contiguous() && begin >= 0, "random fills are for contiguous CPU tensors");
  const int64_t end = begin + target.numel();
  const int64_t first_group = begin / kGroup;
  const int64_t num_groups = target.numel() == 0 ? 0 : (end + kGroup - 1) / kGroup - first_group;
  at::Tensor buffer = target.scalar_type() == at::kFloat ? target : at::empty({target.numel()}, at::kFloat);
  float* data = pointer<float>(buffer);
  parallel_ranges(num_groups, 64, [&](int64_t group_begin, int64_t group_end) {
    float values[kGroup];
    for (int64_t g = first_group + group_begin; g < first_group + group_end; ++g) {
      const int64_t from = std::max(begin, g * kGroup);
      const int64_t to = std::min(end, (g + 1) * kGroup);
      if (to - from == kGroup) {
        make(static_cast<uint64_t>(g), data + (from - begin));
      } else {
        make(static_cast<uint64_t>(g), static_cast<float*>(values));
        std::copy(values + (from - g * kGroup), values + (to - g * kGroup), data + (from - begin));
      }
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
  const auto run = simd::best_loops().normal_group;
  fill(target, begin, [&](uint64_t group, float* out) { run(key, group, mean, std, out); });
}

void fill_truncated_normal(at::Tensor target, PhiloxKey key, int64_t begin, double mean, double std, double low,
                           double high) {
  PRIMUS_CHECK(low < high, "truncated normal: low < high expected");
  const double p_low = normal_probability(low);
  const double p_width = normal_probability(high) - p_low;
  PRIMUS_CHECK(p_width > 0, "truncated normal: no probability between low and high");
  const auto run = simd::best_loops().philox_group;
  fill(target, begin, [&](uint64_t group, float* out) {
    uint32_t words[kGroup];
    run(key, group, words);
    for (int64_t i = 0; i < kGroup; ++i) {
      const double u = (static_cast<double>(words[i]) + 0.5) * 0x1p-32;
      const double z = inverse_normal(std::clamp(p_low + p_width * u, 0x1p-60, 1.0 - 0x1p-53));
      out[i] = static_cast<float>(mean + std * std::clamp(z, low, high));
    }
  });
}

void fill_uniform(at::Tensor target, PhiloxKey key, int64_t begin, double low, double high) {
  const auto run = simd::best_loops().uniform_group;
  fill(target, begin, [&](uint64_t group, float* out) { run(key, group, low, high - low, out); });
}

}  // namespace primus::kernels
