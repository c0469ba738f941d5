// Internal to attention: the driver that walks tiles. All tensors f32 or bf16 with a contiguous last dim.
#pragma once

#include <vector>

#include "primus/kernels/attention.h"
#include "primus/kernels/attention_tile.h"

namespace primus::kernels {

// Which keys each query sees: low <= key < high; [B or 1, T padded to whole tiles], padding sees nothing.
struct VisibleKeys {
  std::vector<int32_t> low, high;
  int64_t batch_stride = 0;  // 0: the same for every b
};
VisibleKeys visible_keys(const AttentionOptions& options, int64_t num_batch, int64_t num_queries, int64_t num_keys);

// What both passes need to know about the shape. Padded counts are whole tiles.
struct AttentionShape {
  int64_t b, t, s, h, g, d;
  int64_t query_tiles, key_tiles;
  int64_t d_lanes;  // d rounded up to 16
  int64_t d_words;  // words of a row
  int64_t per_word;
  float scale;
  // With a cap: each query's scale / cap, [B or 1, T padded to whole tiles]; empty without one.
  std::vector<float> inward;
  int64_t inward_stride = 0;  // 0: the same for every b

  AttentionShape(const at::Tensor& q, const at::Tensor& k, const AttentionOptions& options, int64_t words_hold);
  int64_t key_words() const { return tile::kKeys / per_word; }
  int64_t query_words() const { return tile::kQueries / per_word; }
  bool capped() const { return !inward.empty(); }
  const float* inward_of(int64_t batch, int64_t tile) const {
    return inward.data() + batch * inward_stride + tile * tile::kQueries;
  }
};

// Raw products [keys, queries of a tile] whose scaled value is cap * tanh(scale * score / cap). inward: inward_of.
void cap_scores(const float* inward, float* scores, int64_t keys);

void attention_forward_tiled(const tile::Kernels& kernels, const at::Tensor& q, const at::Tensor& k,
                             const at::Tensor& v, const AttentionOptions& options, at::Tensor out, at::Tensor lse);
void attention_backward_tiled(const tile::Kernels& kernels, const at::Tensor& dout, const at::Tensor& q,
                              const at::Tensor& k, const at::Tensor& v, const at::Tensor& out, const at::Tensor& lse,
                              const AttentionOptions& options, AttentionGrads& grads);

}  // namespace primus::kernels
