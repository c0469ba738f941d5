// Backward pass over tiles. One task owns one head (or an interleaved share of its key tiles, when there are few heads)
// and walks key tiles outside, query tiles inside. The number of shares depends on the shape only: equal bits for any
// team.
#include <cmath>

#include "primus/kernels/attention_pack.h"
#include "primus/kernels/tasks.h"

namespace primus::kernels {

using tile::kKeys;
using tile::kQueries;
using tile::Word;

namespace {

constexpr int64_t kFewHeads = 8;

// Packed operands of one head, all query tiles, and the working set of one tile; carved from one block of words.
struct BackwardScratch {
  Word *q_lanes, *q_pairs, *dout_lanes, *dout_pairs;  // per query tile: [d_words, queries], [query words, d_lanes]
  Word *k_rows, *v_rows, *k_columns, *pairs;          // one key tile: rows, rows, [d, key words], work space
  Word *p_rows, *ds_rows, *ds_pairs;
  float *scores, *dprobabilities, *keep, *lse2, *delta;
  int64_t lanes_tile, pairs_tile;

  static int64_t size(const AttentionShape& s) { return carve(nullptr, s, nullptr); }
  BackwardScratch(Word* base, const AttentionShape& s) { carve(base, s, this); }

 private:
  static int64_t carve(Word* base, const AttentionShape& s, BackwardScratch* into) {
    BackwardScratch unused_target;
    BackwardScratch& w = into ? *into : unused_target;
    int64_t used = 0;
    const auto take = [&](int64_t words) {
      const int64_t at = used;
      used += words;
      return base ? base + at : nullptr;
    };
    const auto take_floats = [&](int64_t count) { return reinterpret_cast<float*>(take(count)); };
    w.lanes_tile = s.d_words * kQueries;
    w.pairs_tile = s.query_words() * s.d_lanes;
    w.q_lanes = take(s.query_tiles * w.lanes_tile);
    w.q_pairs = take(s.query_tiles * w.pairs_tile);
    w.dout_lanes = take(s.query_tiles * w.lanes_tile);
    w.dout_pairs = take(s.query_tiles * w.pairs_tile);
    w.k_rows = take(kKeys * s.d_words);
    w.v_rows = take(kKeys * s.d_words);
    w.k_columns = take(s.d * s.key_words());
    w.pairs = take(kKeys * s.d_lanes);
    w.p_rows = take(kKeys * kQueries);
    w.ds_rows = take(kKeys * kQueries);
    w.ds_pairs = take(kKeys * kQueries);
    w.scores = take_floats(kKeys * kQueries);
    w.dprobabilities = take_floats(kKeys * kQueries);
    w.keep = take_floats(kKeys * kQueries);
    w.lse2 = take_floats(s.query_tiles * kQueries);
    w.delta = take_floats(s.query_tiles * kQueries);
    return used;
  }
  BackwardScratch() = default;
};

struct Inputs {
  const at::Tensor &dout, &q, &k, &v, &out, &lse;
};

// f32 sums that leave the tasks. dk, dv: one [key tiles x kKeys, d_lanes] a query head. dq: one [query
// tile][d][queries] a task.
struct Partials {
  at::Tensor dk, dv, dq;
  int64_t kv_size, dq_size;

  Partials(const AttentionShape& s, int64_t shares)
      : kv_size(s.key_tiles * kKeys * s.d_lanes), dq_size(s.query_tiles * s.d * kQueries) {
    dk = at::empty({s.b * s.h * kv_size}, at::kFloat);
    dv = at::empty({s.b * s.h * kv_size}, at::kFloat);
    dq = at::empty({s.b * s.h * shares * dq_size}, at::kFloat);
  }
  float* dk_tile(const AttentionShape& s, int64_t head, int64_t j) const {
    return static_cast<float*>(dk.data_ptr()) + head * kv_size + j * kKeys * s.d_lanes;
  }
  float* dv_tile(const AttentionShape& s, int64_t head, int64_t j) const {
    return static_cast<float*>(dv.data_ptr()) + head * kv_size + j * kKeys * s.d_lanes;
  }
  float* dq_of(int64_t task) const { return static_cast<float*>(dq.data_ptr()) + task * dq_size; }
};

template <class Element>
struct HeadShare {
  const tile::Kernels& kernels;
  const AttentionShape& s;
  const AttentionOptions& options;
  const VisibleKeys& visible;
  const Inputs& in;
  const BackwardScratch& w;
  int64_t b, h;

  void pack_queries() const {
    const HeadRows<const Element> q = head_rows<Element>(in.q, b, h), dout = head_rows<Element>(in.dout, b, h),
                                  out = head_rows<Element>(in.out, b, h);
    const float* lse = in.lse.const_data_ptr<float>() + (b * s.h + h) * s.t;
    for (int64_t i = 0; i < s.query_tiles; ++i) {
      const int64_t first = i * kQueries, rows = std::min<int64_t>(kQueries, s.t - first);
      for (const bool is_q : {true, false}) {
        const HeadRows<const Element>& from = is_q ? q : dout;
        pack_rows(from, first, rows, s, w.k_rows);  // the key tile's space is free until the keys come
        kernels.transpose(w.k_rows, s.d_words, (is_q ? w.q_lanes : w.dout_lanes) + i * w.lanes_tile, kQueries, kQueries,
                          static_cast<int>(s.d_words));
        pack_pairs(from, first, rows, s, (is_q ? w.q_pairs : w.dout_pairs) + i * w.pairs_tile);
      }
      for (int64_t r = 0; r < kQueries; ++r) {
        w.lse2[first + r] = r < rows ? lse[first + r] * 1.44269504f : 0.0f;
        w.delta[first + r] = 0.0f;
        if (r < rows) w.delta[first + r] = simd::loops<Element>().dot(dout.row(first + r), out.row(first + r), s.d);
      }
    }
  }

  void pack_key_tile(int64_t j) const {
    const int64_t g = h / (s.h / s.g), first = j * kKeys, rows = std::min<int64_t>(kKeys, s.s - first);
    pack_rows(head_rows<Element>(in.k, b, g), first, rows, s, w.k_rows);
    pack_rows(head_rows<Element>(in.v, b, g), first, rows, s, w.v_rows);
    pack_pairs(head_rows<Element>(in.k, b, g), first, rows, s, w.pairs);
    kernels.transpose(w.pairs, s.d_lanes, w.k_columns, s.key_words(), static_cast<int>(s.key_words()),
                      static_cast<int>(s.d));
  }

  void probabilities(int64_t i, int64_t j, const TileBounds& bounds) const {
    const int64_t first_key = j * kKeys, count = std::min<int64_t>(kKeys, s.s - first_key);
    const int keys = static_cast<int>(count), depth = static_cast<int>(s.d_words);
    kernels.product(w.k_rows, depth, w.q_lanes + i * w.lanes_tile, kQueries, w.scores, kQueries, keys, kQueries, depth,
                    false);
    kernels.product(w.v_rows, depth, w.dout_lanes + i * w.lanes_tile, kQueries, w.dprobabilities, kQueries, keys,
                    kQueries, depth, false);
    if (s.capped()) cap_products(i, keys);
    tile::BackwardStep step{
        w.scores, w.dprobabilities, keys,      s.scale, {}, nullptr, w.lse2 + i * kQueries, w.delta + i * kQueries,
        w.p_rows, w.ds_rows,        w.ds_pairs};
    if (!bounds.sees_all(first_key, count)) step.mask = tile_mask(visible, b, i, first_key);
    if (options.dropout.p > 0) {
      const int64_t queries = std::min<int64_t>(kQueries, s.t - i * kQueries);
      fill_keep_scale(options.dropout, b, h, i * kQueries, queries, first_key, count, w.keep);
      step.keep_scale = w.keep;
    }
    kernels.backward_step(step);
  }

  // With a cap the gradient of a raw score has one more factor, c = 1 - tanh^2. The step multiplies by (dp - delta), so
  // dp becomes (dp - delta) c + delta.
  void cap_products(int64_t i, int keys) const {
    const float* inward = s.inward_of(b, i);
    cap_scores(inward, w.scores, keys);
    for (int key = 0; key < keys; ++key) {
      for (int lane = 0; lane < kQueries; ++lane) {
        const int at = key * kQueries + lane;
        const float tanh = w.scores[at] * inward[lane], delta = w.delta[i * kQueries + lane];
        w.dprobabilities[at] = (w.dprobabilities[at] - delta) * (1 - tanh * tanh) + delta;
      }
    }
  }

  void key_tile(int64_t j, const std::vector<TileBounds>& bounds, float* dk, float* dv, float* dq) const {
    const int64_t first_key = j * kKeys, count = std::min<int64_t>(kKeys, s.s - first_key);
    const int keys = static_cast<int>(count), lanes = static_cast<int>(s.d_lanes);
    const int key_words = static_cast<int>((count + s.per_word - 1) / s.per_word);
    const int64_t query_words = s.query_words();
    bool first = true;
    for (int64_t i = 0; i < s.query_tiles; ++i) {
      if (bounds[i].sees_none(first_key, count)) continue;
      if (first) pack_key_tile(j);
      probabilities(i, j, bounds[i]);
      kernels.product(w.p_rows, query_words, w.dout_pairs + i * w.pairs_tile, lanes, dv, lanes, keys, lanes,
                      static_cast<int>(query_words), !first);
      kernels.product(w.ds_rows, query_words, w.q_pairs + i * w.pairs_tile, lanes, dk, lanes, keys, lanes,
                      static_cast<int>(query_words), !first);
      kernels.product(w.k_columns, s.key_words(), w.ds_pairs, kQueries, dq + i * s.d * kQueries, kQueries,
                      static_cast<int>(s.d), kQueries, key_words, true);
      first = false;
    }
    if (first) {
      std::fill_n(dk, keys * lanes, 0.0f);
      std::fill_n(dv, keys * lanes, 0.0f);
    }
  }
};

template <class Element>
void write_dq(const tile::Kernels& kernels, const AttentionShape& s, const Partials& partials, int64_t shares,
              const at::Tensor& dq) {
  const int64_t tile_size = s.d * kQueries;
  const at::Tensor scratch = at::empty({tensor::num_threads() * kQueries * s.d_lanes}, at::kFloat);
  parallel_tasks(s.b * s.h * s.query_tiles, [&](int64_t task, int64_t worker) {
    const int64_t head = task / s.query_tiles, i = task % s.query_tiles;
    float* sum = partials.dq_of(head * shares) + i * tile_size;
    for (int64_t c = 1; c < shares; ++c) {
      const float* more = partials.dq_of(head * shares + c) + i * tile_size;
      for (int64_t e = 0; e < tile_size; ++e) sum[e] += more[e];
    }
    float* rows = static_cast<float*>(scratch.data_ptr()) + worker * kQueries * s.d_lanes;
    kernels.transpose(reinterpret_cast<const Word*>(sum), kQueries, reinterpret_cast<Word*>(rows), s.d_lanes,
                      static_cast<int>(s.d), kQueries);
    const HeadRows<Element> to = mutable_head_rows<Element>(dq, head / s.h, head % s.h);
    for (int64_t q = 0; q < kQueries && i * kQueries + q < s.t; ++q) {
      narrow_row(rows + q * s.d_lanes, to.row(i * kQueries + q), s.d);
    }
  });
}

// dk and dv of a group: its heads' sums, in head order.
template <class Element>
void write_dkv(const AttentionShape& s, const Partials& partials, const AttentionGrads& grads) {
  const int64_t ratio = s.h / s.g;
  parallel_tasks(s.b * s.g * s.key_tiles, [&](int64_t task, int64_t) {
    const int64_t j = task % s.key_tiles, g = task / s.key_tiles % s.g, b = task / s.key_tiles / s.g;
    const int64_t head = b * s.h + g * ratio, rows = std::min<int64_t>(kKeys, s.s - j * kKeys);
    for (const bool is_k : {true, false}) {
      const auto sums = [&](int64_t r) {
        return is_k ? partials.dk_tile(s, head + r, j) : partials.dv_tile(s, head + r, j);
      };
      float* total = sums(0);
      for (int64_t r = 1; r < ratio; ++r) simd::loops<float>().add_to_float(total, sums(r), rows * s.d_lanes);
      const HeadRows<Element> to = mutable_head_rows<Element>(is_k ? grads.dk : grads.dv, b, g);
      for (int64_t row = 0; row < rows; ++row) narrow_row(total + row * s.d_lanes, to.row(j * kKeys + row), s.d);
    }
  });
}

template <class Element>
void backward(const tile::Kernels& kernels, const Inputs& in, const AttentionOptions& options, AttentionGrads& grads) {
  const AttentionShape s(in.q, in.k, options, kernels.per_word);
  const VisibleKeys visible = visible_keys(options, s.b, s.t, s.s);
  const int64_t heads = s.b * s.h;
  const int64_t shares = std::min(s.key_tiles, (kFewHeads + heads - 1) / heads);
  const Partials partials(s, shares);
  const int64_t size = BackwardScratch::size(s);
  const at::Tensor scratch = at::empty({max_workers(heads * shares) * size}, at::kInt);
  parallel_tasks(heads * shares, [&](int64_t task, int64_t worker) {
    const int64_t head = task / shares, b = head / s.h;
    const BackwardScratch w(static_cast<Word*>(scratch.data_ptr()) + worker * size, s);
    const HeadShare<Element> share{kernels, s, options, visible, in, w, b, head % s.h};
    share.pack_queries();
    std::vector<TileBounds> bounds;
    for (int64_t i = 0; i < s.query_tiles; ++i) bounds.emplace_back(visible, b, i);
    std::fill_n(partials.dq_of(task), partials.dq_size, 0.0f);
    for (int64_t j = task % shares; j < s.key_tiles; j += shares) {
      share.key_tile(j, bounds, partials.dk_tile(s, head, j), partials.dv_tile(s, head, j), partials.dq_of(task));
    }
  });
  write_dq<Element>(kernels, s, partials, shares, grads.dq);
  write_dkv<Element>(s, partials, grads);
}

}  // namespace

void attention_backward_tiled(const tile::Kernels& kernels, const at::Tensor& dout, const at::Tensor& q,
                              const at::Tensor& k, const at::Tensor& v, const at::Tensor& out, const at::Tensor& lse,
                              const AttentionOptions& options, AttentionGrads& grads) {
  const Inputs in{dout, q, k, v, out, lse};
  if (q.scalar_type() == at::kBFloat16) {
    backward<simd::Bf16>(kernels, in, options, grads);
  } else {
    backward<float>(kernels, in, options, grads);
  }
}

}  // namespace primus::kernels
