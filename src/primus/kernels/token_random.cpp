#include "primus/kernels/token_random.h"

#include "primus/kernels/parallel.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

namespace {

template <class F>
at::Tensor fill(int64_t num_features, PhiloxKey key, const at::Tensor& samples_any, const at::Tensor& positions_any,
                const F& value_of) {
  PRIMUS_CHECK(samples_any.numel() == positions_any.numel(), "one sample index and one position a row expected");
  const at::Tensor samples = samples_any.to(at::kLong).contiguous();
  const at::Tensor positions = positions_any.to(at::kLong).contiguous();
  const int64_t* const sample_of = pointer<int64_t>(samples);
  const int64_t* const position_of = pointer<int64_t>(positions);
  const at::Tensor out = at::empty({samples.numel(), num_features}, at::kFloat);
  auto* const to = out.mutable_data_ptr<float>();
  parallel_ranges(samples.numel(), min_rows(num_features), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const auto sample = static_cast<uint64_t>(sample_of[n]);
      for (int64_t f = 0; f < num_features; f += 4) {
        const PhiloxCounter words =
            philox4x32(key, {static_cast<uint32_t>(f / 4), static_cast<uint32_t>(position_of[n]),
                             static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32)});
        for (int64_t i = 0; i < std::min<int64_t>(4, num_features - f); ++i) {
          to[n * num_features + f + i] = value_of(words[static_cast<size_t>(i)]);
        }
      }
    }
  });
  return out;
}

}  // namespace

at::Tensor token_uniform(int64_t num_features, PhiloxKey key, const at::Tensor& samples, const at::Tensor& positions,
                         double low, double high) {
  return fill(num_features, key, samples, positions, [&](uint32_t word) {
    return static_cast<float>(low + (high - low) * static_cast<double>(uniform_from_word(word)));
  });
}

at::Tensor token_normal(int64_t num_features, PhiloxKey key, const at::Tensor& samples, const at::Tensor& positions) {
  return fill(num_features, key, samples, positions,
              [](uint32_t word) { return static_cast<float>(normal_from_word(word)); });
}

}  // namespace primus::kernels
