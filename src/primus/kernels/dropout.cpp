#include "primus/kernels/dropout.h"

#include <cmath>

#include "primus/kernels/parallel.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

namespace {

uint32_t threshold_of(double p) {
  PRIMUS_CHECK(p >= 0 && p < 1, "dropout: a probability in [0, 1)");
  return static_cast<uint32_t>(std::min(4294967295.0, std::floor(p * 4294967296.0)));
}

void drop_rows(const at::Tensor& x, const at::Tensor& y, double p, float scale, PhiloxKey key,
               const at::Tensor& samples_any, const at::Tensor& positions_any, int64_t first_feature) {
  const int64_t width = x.size(-1);
  const int64_t num_rows = width == 0 ? 0 : x.numel() / width;
  PRIMUS_CHECK(samples_any.numel() == num_rows && positions_any.numel() == num_rows && first_feature % 4 == 0,
               "dropout: one sample index and one position a row, features from a multiple of 4");
  const at::Tensor samples = samples_any.to(at::kLong).contiguous();
  const at::Tensor positions = positions_any.to(at::kLong).contiguous();
  const int64_t* const sample_of = pointer<int64_t>(samples);
  const int64_t* const position_of = pointer<int64_t>(positions);
  const uint32_t threshold = threshold_of(p);
  with_element(x.scalar_type(), [&](auto element) {
    using X = decltype(element);
    const X* const x_data = pointer<X>(x);
    X* const y_data = pointer<X>(y);
    parallel_ranges(num_rows, min_rows(width), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const auto sample = static_cast<uint64_t>(sample_of[row]);
        const PhiloxCounter start = {static_cast<uint32_t>(first_feature / 4), static_cast<uint32_t>(position_of[row]),
                                     static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32)};
        simd::loops<X>().dropout_row(x_data + row * width, y_data + row * width, width, key, start.data(), threshold,
                                     scale);
      }
    });
  });
}

}  // namespace

at::Tensor dropout_mask(int64_t num_features, double p, PhiloxKey key, const at::Tensor& samples,
                        const at::Tensor& positions, int64_t first_feature) {
  const at::Tensor ones = at::ones({samples.numel(), num_features}, at::kFloat);
  drop_rows(ones, ones, p, 1.0F, key, samples, positions, first_feature);
  return ones;
}

at::Tensor dropout(const at::Tensor& x_any, double p, PhiloxKey key, const at::Tensor& samples,
                   const at::Tensor& positions, int64_t first_feature) {
  if (p == 0) return x_any;
  if (!is_fast(x_any)) {
    const at::Tensor mask =
        dropout_mask(x_any.size(-1), p, key, samples, positions, first_feature).reshape(x_any.sizes());
    return x_any * (mask.to(x_any.device(), x_any.scalar_type()) / (1 - p));
  }
  const at::Tensor x = x_any.contiguous();
  at::Tensor y = at::empty_like(x);
  drop_rows(x, y, p, static_cast<float>(1 / (1 - p)), key, samples, positions, first_feature);
  return y;
}

}  // namespace primus::kernels
