// Dropout of hidden states. Every decision is a pure function of (stream, sample, position, feature): nothing is
// stored, backward and recomputation ask again, and no layout or batch split changes it. Legend: N rows (tokens), F
// features.
#pragma once

#include <cstdint>

#include "primus/kernels/philox.h"
#include "primus/tensor/fwd.h"

namespace primus::kernels {

// y = x * keep / (1 - p); keep where word >= p * 2^32, with word f % 4 of
// philox4x32(key, {f / 4, position, low and high half of the sample}). x: [.., F] fp32 or bf16 (others: libtorch
// operations on the same mask). samples, positions: int64 [N], global sample index and position in the sample of each
// row; first_feature: global index of column 0 (tensor parallel), a multiple of 4. The gradient is the same call on dy.
// p in [0, 1): 0 returns x itself.
at::Tensor dropout(const at::Tensor& x, double p, PhiloxKey key, const at::Tensor& samples, const at::Tensor& positions,
                   int64_t first_feature);

// The keep decisions as fp32 0 or 1, [N, F].
at::Tensor dropout_mask(int64_t num_features, double p, PhiloxKey key, const at::Tensor& samples,
                        const at::Tensor& positions, int64_t first_feature);

}  // namespace primus::kernels
