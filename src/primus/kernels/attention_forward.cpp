// Forward pass over tiles. Scores live as [key, query]; the output accumulates as [d, query].
#include <cmath>
#include <limits>

#include "primus/kernels/attention_pack.h"
#include "primus/kernels/tasks.h"

namespace primus::kernels {

using tile::kKeys;
using tile::kQueries;
using tile::Word;

AttentionShape::AttentionShape(const at::Tensor& q, const at::Tensor& k, const AttentionOptions& options,
                               int64_t words_hold)
    : b(q.size(0)),
      t(q.size(1)),
      s(k.size(1)),
      h(q.size(2)),
      g(k.size(2)),
      d(q.size(3)),
      query_tiles((t + kQueries - 1) / kQueries),
      key_tiles((s + kKeys - 1) / kKeys),
      d_lanes((d + 15) / 16 * 16),
      d_words((d + words_hold - 1) / words_hold),
      per_word(words_hold),
      scale(static_cast<float>(options.softmax_scale != 0 ? options.softmax_scale
                                                          : 1.0 / std::sqrt(static_cast<double>(d)))) {
  if (options.score_cap == 0) return;
  const bool own = options.cap_factors.defined();
  const int64_t rows = own ? options.cap_factors.size(0) : 1, padded = query_tiles * kQueries;
  const auto cap = static_cast<float>(options.score_cap);
  inward.assign(rows * padded, scale / cap);
  inward_stride = rows > 1 ? padded : 0;
  for (int64_t row = 0; own && row < rows; ++row) {
    const float* factors = options.cap_factors.const_data_ptr<float>() + row * t;
    for (int64_t query = 0; query < t; ++query) inward[row * padded + query] = scale / (cap * factors[query]);
  }
}

void cap_scores(const float* inward, float* scores, int64_t keys) {
  float outward[kQueries];
  for (int64_t lane = 0; lane < kQueries; ++lane) outward[lane] = 1 / inward[lane];
  for (int64_t key = 0; key < keys; ++key, scores += kQueries) {
    for (int64_t lane = 0; lane < kQueries; ++lane)
      scores[lane] = std::tanh(scores[lane] * inward[lane]) * outward[lane];
  }
}

VisibleKeys visible_keys(const AttentionOptions& options, int64_t num_batch, int64_t num_queries, int64_t num_keys) {
  const bool documents = options.document_start.defined();
  const int64_t padded = (num_queries + kQueries - 1) / kQueries * kQueries;
  const int64_t rows = documents ? num_batch : 1;
  VisibleKeys keys;
  keys.batch_stride = documents ? padded : 0;
  keys.low.assign(rows * padded, 0);
  keys.high.assign(rows * padded, 0);
  for (int64_t b = 0; b < rows; ++b) {
    int32_t* low = keys.low.data() + b * padded;
    int32_t* high = keys.high.data() + b * padded;
    const int32_t* start = documents ? options.document_start.const_data_ptr<int32_t>() + b * num_queries : nullptr;
    int64_t document_end = num_keys;
    for (int64_t t = num_queries - 1; t >= 0; --t) {
      if (documents && t + 1 < num_queries && start[t] != start[t + 1]) document_end = t + 1;
      const int64_t causal_end = std::max<int64_t>(0, t + 1 + num_keys - num_queries);
      low[t] = documents ? start[t] : 0;
      high[t] = static_cast<int32_t>(options.causal ? std::min(causal_end, document_end) : document_end);
    }
  }
  return keys;
}

namespace {

// Keys and values of all heads in the layout that tiles read: k as rows, v transposed tile by tile.
struct PackedKeys {
  at::Tensor words;
  int64_t head_words, v_offset;

  const Word* k_tile(const AttentionShape& s, int64_t b, int64_t g, int64_t j) const {
    return head(s, b, g) + j * kKeys * s.d_words;
  }
  const Word* v_tile(const AttentionShape& s, int64_t b, int64_t g, int64_t j) const {
    return head(s, b, g) + v_offset + j * s.d * s.key_words();
  }
  Word* head(const AttentionShape& s, int64_t b, int64_t g) const {
    return static_cast<Word*>(words.data_ptr()) + (b * s.g + g) * head_words;
  }
};

template <class Element>
PackedKeys pack_keys(const tile::Kernels& kernels, const AttentionShape& s, const at::Tensor& k, const at::Tensor& v) {
  PackedKeys packed;
  packed.v_offset = s.key_tiles * kKeys * s.d_words;
  packed.head_words = packed.v_offset + s.key_tiles * s.d * s.key_words();
  packed.words = at::empty({s.b * s.g * packed.head_words}, at::kInt);
  const int64_t pair_words = s.key_words() * s.d_lanes;
  const at::Tensor scratch = at::empty({tensor::num_threads() * pair_words}, at::kInt);
  parallel_tasks(s.b * s.g * s.key_tiles, [&](int64_t task, int64_t worker) {
    const int64_t j = task % s.key_tiles, g = task / s.key_tiles % s.g, b = task / s.key_tiles / s.g;
    const int64_t first = j * kKeys, rows = std::min<int64_t>(kKeys, s.s - first);
    pack_rows(head_rows<Element>(k, b, g), first, rows, s, const_cast<Word*>(packed.k_tile(s, b, g, j)));
    Word* pairs = static_cast<Word*>(scratch.data_ptr()) + worker * pair_words;
    pack_pairs(head_rows<Element>(v, b, g), first, rows, s, pairs);
    kernels.transpose(pairs, s.d_lanes, const_cast<Word*>(packed.v_tile(s, b, g, j)), s.key_words(),
                      static_cast<int>(s.key_words()), static_cast<int>(s.d));
  });
  return packed;
}

// What one worker needs besides the packed keys; offsets in words.
struct ForwardScratch {
  Word *q_rows, *q_lanes, *probabilities;
  float *scores, *out, *out_rows, *keep, *max, *sum;

  static int64_t size(const AttentionShape& s) {
    return 2 * kQueries * s.d_words + 3 * kKeys * kQueries + 2 * kQueries * s.d_lanes + 2 * kQueries;
  }
  ForwardScratch(Word* base, const AttentionShape& s) {
    const auto take = [&](int64_t words) { return std::exchange(base, base + words); };
    q_rows = take(kQueries * s.d_words);
    q_lanes = take(kQueries * s.d_words);
    probabilities = take(kKeys * kQueries);
    scores = reinterpret_cast<float*>(take(kKeys * kQueries));
    keep = reinterpret_cast<float*>(take(kKeys * kQueries));
    out = reinterpret_cast<float*>(take(kQueries * s.d_lanes));
    out_rows = reinterpret_cast<float*>(take(kQueries * s.d_lanes));
    max = reinterpret_cast<float*>(take(kQueries));
    sum = reinterpret_cast<float*>(take(kQueries));
  }
};

// One tile of queries of one head, over all the keys it sees.
template <class Element>
struct QueryTile {
  const tile::Kernels& kernels;
  const AttentionShape& s;
  const AttentionOptions& options;
  const VisibleKeys& visible;
  const PackedKeys& keys;
  int64_t b, h, i;

  void accumulate(const at::Tensor& q, const ForwardScratch& w) const {
    const int64_t first_query = i * kQueries, queries = std::min<int64_t>(kQueries, s.t - first_query);
    pack_rows(head_rows<Element>(q, b, h), first_query, queries, s, w.q_rows);
    kernels.transpose(w.q_rows, s.d_words, w.q_lanes, kQueries, kQueries, static_cast<int>(s.d_words));
    std::fill_n(w.max, kQueries, -std::numeric_limits<float>::infinity());
    std::fill_n(w.sum, kQueries, 0.0f);
    std::fill_n(w.out, s.d * kQueries, 0.0f);
    const int64_t g = h / (s.h / s.g);
    const TileBounds bounds(visible, b, i);
    for (int64_t j = 0; j < s.key_tiles; ++j) {
      const int64_t first_key = j * kKeys, count = std::min<int64_t>(kKeys, s.s - first_key);
      if (bounds.sees_none(first_key, count)) continue;
      kernels.product(keys.k_tile(s, b, g, j), s.d_words, w.q_lanes, kQueries, w.scores, kQueries,
                      static_cast<int>(count), kQueries, static_cast<int>(s.d_words), false);
      if (s.capped()) cap_scores(s.inward_of(b, i), w.scores, count);
      tile::ForwardStep step{w.scores, static_cast<int>(count), s.scale * 1.44269504f, {}, nullptr, w.max, w.sum,
                             w.out,    static_cast<int>(s.d),   w.probabilities};
      if (!bounds.sees_all(first_key, count)) step.mask = tile_mask(visible, b, i, first_key);
      if (options.dropout.p > 0) {
        fill_keep_scale(options.dropout, b, h, first_query, queries, first_key, count, w.keep);
        step.keep_scale = w.keep;
      }
      kernels.forward_step(step);
      const int key_words = static_cast<int>((count + s.per_word - 1) / s.per_word);
      kernels.product(keys.v_tile(s, b, g, j), s.key_words(), w.probabilities, kQueries, w.out, kQueries,
                      static_cast<int>(s.d), kQueries, key_words, true);
    }
  }

  void write(const ForwardScratch& w, const at::Tensor& out, const at::Tensor& lse) const {
    const int64_t first_query = i * kQueries, queries = std::min<int64_t>(kQueries, s.t - first_query);
    float* lse_row = lse.mutable_data_ptr<float>() + (b * s.h + h) * s.t + first_query;
    float inverse[kQueries];
    for (int64_t q = 0; q < kQueries; ++q) inverse[q] = w.sum[q] == 0 ? 0.0f : 1.0f / w.sum[q];
    for (int64_t q = 0; q < queries; ++q) lse_row[q] = w.max[q] * 0.693147181f + std::log(w.sum[q]);
    for (int64_t r = 0; r < s.d; ++r) {
      for (int64_t q = 0; q < kQueries; ++q) w.out[r * kQueries + q] *= inverse[q];
    }
    kernels.transpose(reinterpret_cast<const Word*>(w.out), kQueries, reinterpret_cast<Word*>(w.out_rows), s.d_lanes,
                      static_cast<int>(s.d), kQueries);
    const HeadRows<Element> rows = mutable_head_rows<Element>(out, b, h);
    for (int64_t q = 0; q < queries; ++q) narrow_row(w.out_rows + q * s.d_lanes, rows.row(first_query + q), s.d);
  }
};

template <class Element>
void forward(const tile::Kernels& kernels, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
             const AttentionOptions& options, const at::Tensor& out, const at::Tensor& lse) {
  const AttentionShape s(q, k, options, kernels.per_word);
  const VisibleKeys visible = visible_keys(options, s.b, s.t, s.s);
  const PackedKeys keys = pack_keys<Element>(kernels, s, k, v);
  const int64_t size = ForwardScratch::size(s);
  const at::Tensor scratch = at::empty({tensor::num_threads() * size}, at::kInt);
  const int64_t heads = s.b * s.h;
  // Later queries see more keys: they go first, so that the threads end together.
  parallel_tasks(heads * s.query_tiles, [&](int64_t task, int64_t worker) {
    const int64_t i = s.query_tiles - 1 - task / heads, head = task % heads;
    const ForwardScratch w(static_cast<Word*>(scratch.data_ptr()) + worker * size, s);
    const QueryTile<Element> queries{kernels, s, options, visible, keys, head / s.h, head % s.h, i};
    queries.accumulate(q, w);
    queries.write(w, out, lse);
  });
}

}  // namespace

void attention_forward_tiled(const tile::Kernels& kernels, const at::Tensor& q, const at::Tensor& k,
                             const at::Tensor& v, const AttentionOptions& options, at::Tensor out, at::Tensor lse) {
  if (q.scalar_type() == at::kBFloat16) {
    forward<simd::Bf16>(kernels, q, k, v, options, out, lse);
  } else {
    forward<float>(kernels, q, k, v, options, out, lse);
  }
}

}  // namespace primus::kernels
