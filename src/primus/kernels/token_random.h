// Random numbers of tokens' features: pure functions of (stream, sample, position, feature), like dropout's decisions.
#pragma once

#include "primus/kernels/philox.h"
#include "primus/tensor/fwd.h"

namespace primus::kernels {

// Word f % 4 of philox4x32(key, {f / 4, position, low and high half of the sample}) for feature f.
//   samples, positions: i64 [N] -> f32 [N, F]
// Uniform in [low, high).
at::Tensor token_uniform(int64_t num_features, PhiloxKey key, const at::Tensor& samples, const at::Tensor& positions,
                         double low, double high);
// Standard normal.
at::Tensor token_normal(int64_t num_features, PhiloxKey key, const at::Tensor& samples, const at::Tensor& positions);

}  // namespace primus::kernels
