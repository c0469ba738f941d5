#include <algorithm>
#include <numbers>
#include <vector>

#include "gradcheck/models/reference_layers.h"

namespace primus::test {

namespace {

double llama3(const spec::Llama3RopeScaling& rule, double w) {
  const double wavelength = 2 * std::numbers::pi / w;
  const auto original = static_cast<double>(rule.original_max_positions);
  if (wavelength > original / rule.low_freq_factor) return w / rule.factor;
  if (wavelength < original / rule.high_freq_factor) return w;
  const double smooth = (original / wavelength - rule.low_freq_factor) / (rule.high_freq_factor - rule.low_freq_factor);
  return (1 - smooth) * w / rule.factor + smooth * w;
}

// arXiv 2309.00071, section 3.2, with the ramp over the pair's index as in the published code.
double yarn(const spec::YarnRopeScaling& rule, double w, int64_t pair, int64_t rotary, double base) {
  const auto pair_of = [&](double turns) {
    const double length = static_cast<double>(rule.original_max_positions) / (2 * std::numbers::pi * turns);
    return static_cast<double>(rotary) / 2 * std::log(length) / std::log(base);
  };
  double low = pair_of(rule.beta_fast), high = pair_of(rule.beta_slow);
  if (rule.whole_bounds) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(rotary) - 1);
  const double stretched = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
  return w * (1 - stretched) + w / rule.factor * stretched;
}

// Angle of every pair at every position: [b, t, rotary / 2].
at::Tensor angles(const spec::Rope& rope, int64_t rotary, const at::Tensor& positions) {
  std::vector<double> frequencies;
  for (int64_t i = 0; i < rotary / 2; ++i) {
    double w = std::pow(rope.base, -2.0 * static_cast<double>(i) / static_cast<double>(rotary));
    if (rope.llama3) w = llama3(*rope.llama3, w);
    if (rope.yarn) w = yarn(*rope.yarn, w, i, rotary, rope.base);
    frequencies.push_back(w / rope.position_divisor);
  }
  return positions.to(at::kDouble).unsqueeze(-1) * at::tensor(frequencies, at::kDouble);
}

}  // namespace

at::Tensor rotate(const at::Tensor& x_btnd, const spec::Rope& rope, const at::Tensor& positions) {
  const int64_t d = x_btnd.size(3);
  const auto rotary = static_cast<int64_t>(static_cast<double>(d) * rope.fraction);
  const double size = rope.yarn ? rope.yarn->cos_sin_factor : 1;
  const at::Tensor angle = angles(rope, rotary, positions).unsqueeze(2);
  const at::Tensor cos = angle.cos() * size, sin = angle.sin() * size;
  const at::Tensor turned = x_btnd.narrow(3, 0, rotary);
  const at::Tensor rest = x_btnd.narrow(3, rotary, d - rotary);
  const int64_t half = rotary / 2;
  const at::Tensor a = rope.interleaved ? turned.slice(3, 0, rotary, 2) : turned.narrow(3, 0, half);
  const at::Tensor b = rope.interleaved ? turned.slice(3, 1, rotary, 2) : turned.narrow(3, half, half);
  const at::Tensor first = a * cos - b * sin;
  const at::Tensor second = b * cos + a * sin;
  const at::Tensor pairs = rope.interleaved ? at::stack({first, second}, -1).flatten(3) : at::cat({first, second}, 3);
  return at::cat({pairs, rest}, 3);
}

}  // namespace primus::test
