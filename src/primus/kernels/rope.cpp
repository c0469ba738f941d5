#include "primus/kernels/rope.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "primus/kernels/parallel.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

namespace {

double llama3_frequency(const RopeOptions& options, double w) {
  const double original = static_cast<double>(options.original_positions);
  const double wavelength = 2 * M_PI / w;
  if (wavelength > original / options.low_frequency_factor) return w / options.factor;
  if (wavelength < original / options.high_frequency_factor) return w;
  const double t = (original / wavelength - options.low_frequency_factor) /
                   (options.high_frequency_factor - options.low_frequency_factor);
  return (1 - t) * w / options.factor + t * w;
}

// The pair that makes this many turns over the original positions, as a real number.
double yarn_pair(const RopeOptions& options, double turns) {
  const double original = static_cast<double>(options.original_positions);
  return static_cast<double>(options.rotary_dim) * std::log(original / (turns * 2 * M_PI)) /
         (2 * std::log(options.base));
}

double yarn_frequency(const RopeOptions& options, double w, int64_t pair) {
  double low = yarn_pair(options, options.beta_fast), high = yarn_pair(options, options.beta_slow);
  if (options.whole_bounds) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(options.rotary_dim - 1));
  if (low == high) high += 0.001;
  const double ramp = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
  return w / options.factor * ramp + w * (1 - ramp);
}

double scaled_frequency(const RopeOptions& options, int64_t pair) {
  const double w = std::pow(options.base, -2.0 * static_cast<double>(pair) / static_cast<double>(options.rotary_dim));
  switch (options.scaling) {
    case RopeScaling::None:
      return w;
    case RopeScaling::Llama3:
      return llama3_frequency(options, w);
    case RopeScaling::Yarn:
      return yarn_frequency(options, w, pair);
  }
  return w;
}

int64_t position_of(const at::Tensor& positions, int64_t token, int64_t default_position) {
  if (!positions.defined()) return default_position;
  return positions.scalar_type() == at::kInt ? pointer<int32_t>(positions)[token] : pointer<int64_t>(positions)[token];
}

template <class X>
void copy_rest(const simd::RopeHeads<X>& a) {
  if (a.x == a.y || a.width == 2 * a.half) return;
  for (int64_t h = 0; h < a.num_heads; ++h) {
    std::memcpy(a.y + h * a.y_stride + 2 * a.half, a.x + h * a.x_stride + 2 * a.half,
                static_cast<size_t>(a.width - 2 * a.half) * sizeof(X));
  }
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> rope_table(const RopeOptions& options) {
  PRIMUS_CHECK(options.rotary_dim >= 2 && options.rotary_dim % 2 == 0, "rope: the rotary width must be even");
  PRIMUS_CHECK(options.num_positions >= 0 && options.base > 0 && options.factor > 0 && options.position_divisor > 0,
               "rope: positions, base, factor");
  const int64_t half = options.rotary_dim / 2;
  at::Tensor cos = at::empty({options.num_positions, half}, at::kFloat);
  at::Tensor sin = at::empty_like(cos);
  std::vector<double> frequency;
  for (int64_t i = 0; i < half; ++i) frequency.push_back(scaled_frequency(options, i) / options.position_divisor);
  float* cos_data = pointer<float>(cos);
  float* sin_data = pointer<float>(sin);
  for (int64_t position = 0; position < options.num_positions; ++position) {
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(position) * frequency[static_cast<size_t>(i)];
      cos_data[position * half + i] = static_cast<float>(options.amplitude * std::cos(angle));
      sin_data[position * half + i] = static_cast<float>(options.amplitude * std::sin(angle));
    }
  }
  return {cos, sin};
}

void rope_apply(at::Tensor y, const at::Tensor& x, const at::Tensor& cos_any, const at::Tensor& sin_any,
                const at::Tensor& positions_any, int64_t start_position, RopeLayout layout, RopeDirection direction) {
  PRIMUS_CHECK(x.dim() == 4 && y.sizes() == x.sizes() && y.scalar_type() == x.scalar_type(), "rope: [B,T,H,D] twice");
  PRIMUS_CHECK(2 * cos_any.size(1) <= x.size(3) && sin_any.sizes() == cos_any.sizes(),
               "rope: table wider than the head");
  PRIMUS_CHECK(!positions_any.defined() || positions_any.numel() == x.size(0) * x.size(1), "rope: positions are [B,T]");
  if (!is_fast(x)) {
    reference::rope_apply(y, x, cos_any, sin_any, positions_any, start_position, layout, direction);
    return;
  }
  PRIMUS_CHECK((x.stride(3) == 1 && y.stride(3) == 1) || x.size(3) == 1, "rope: the head dim must be dense");
  const at::Tensor cos = cos_any.contiguous();
  const at::Tensor sin = sin_any.contiguous();
  const at::Tensor positions = positions_any.defined() ? positions_any.contiguous() : positions_any;
  const int64_t num_tokens = x.size(1);
  const int64_t half = cos.size(1);
  const float* cos_data = pointer<float>(cos);
  const float* sin_data = pointer<float>(sin);
  const float sign = direction == RopeDirection::Forward ? 1.0F : -1.0F;
  with_element(x.scalar_type(), [&](auto element) {
    using X = decltype(element);
    const X* x_data = pointer<X>(x);
    X* y_data = pointer<X>(y);
    const auto rotate = layout == RopeLayout::HalfRotate ? simd::loops<X>().half_rotate : simd::loops<X>().interleaved;
    parallel_ranges(x.size(0) * num_tokens, min_rows(x.size(2) * x.size(3)), [&](int64_t begin, int64_t end) {
      for (int64_t token = begin; token < end; ++token) {
        const int64_t b = token / num_tokens;
        const int64_t t = token % num_tokens;
        const int64_t position = position_of(positions, token, start_position + t);
        PRIMUS_CHECK(position >= 0 && position < cos.size(0), "rope: a position outside the table");
        const simd::RopeHeads<X> heads{x_data + b * x.stride(0) + t * x.stride(1),
                                       y_data + b * y.stride(0) + t * y.stride(1),
                                       x.size(2),
                                       x.stride(2),
                                       y.stride(2),
                                       x.size(3),
                                       half};
        rotate(heads, cos_data + position * half, sin_data + position * half, sign);
        copy_rest(heads);
      }
    });
  });
}

}  // namespace primus::kernels
