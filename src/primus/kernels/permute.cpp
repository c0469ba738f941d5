#include "primus/kernels/permute.h"

#include <bit>
#include <cstring>
#include <numeric>

#include "primus/kernels/parallel.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

namespace {

size_t at_index(int64_t i) {
  return static_cast<size_t>(i);
}

// Weights of rows and the like: [P] f32 in row order.
std::vector<float> weights_by_row(const at::Tensor& weights_any, const Dispatch& dispatch) {
  if (!weights_any.defined()) return {};
  PRIMUS_CHECK(weights_any.numel() == dispatch.num_tokens * dispatch.top_k, "permute: one weight a pair expected");
  const at::Tensor weights = weights_any.to(at::kFloat).contiguous();
  const float* const from = weights.const_data_ptr<float>();
  std::vector<float> by_row(dispatch.pair_of_row.size());
  for (size_t r = 0; r < by_row.size(); ++r) by_row[r] = from[dispatch.pair_of_row[r]];
  return by_row;
}

inline float wide(float x) {
  return x;
}
inline float wide(simd::Bf16 x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16);
}

// target = x * factor, rounded once.
template <class X>
void scale_row(X* target, const X* x, float factor, int64_t width) {
  if (target != x) std::memcpy(target, x, static_cast<size_t>(width) * sizeof(X));
  simd::loops<X>().scale(target, factor, width);
}

// sum (+)= factor * x
template <class X>
void add_scaled(float* sum, const X* x, float factor, int64_t width, bool first) {
  if (first) {
    for (int64_t i = 0; i < width; ++i) sum[i] = factor * wide(x[i]);
  } else {
    for (int64_t i = 0; i < width; ++i) sum[i] += factor * wide(x[i]);
  }
}

template <class X>
void round_row(X* target, const float* sum, int64_t width) {
  if constexpr (std::is_same_v<X, float>) {
    std::memcpy(target, sum, static_cast<size_t>(width) * sizeof(float));
  } else {
    simd::loops<float>().to_bf16(target, sum, width);
  }
}

template <class X>
void unpermute_rows(const X* rows, X* out, int64_t width, const Dispatch& d, const std::vector<float>& factors) {
  parallel_ranges(d.num_tokens, min_rows(width), [&](int64_t begin, int64_t end) {
    std::vector<float> sum(at_index(width));
    for (int64_t n = begin; n < end; ++n) {
      bool first = true;
      for (int64_t j = 0; j < d.top_k; ++j) {
        const int64_t row = d.row_of_pair[at_index(n * d.top_k + j)];
        if (row < 0) continue;
        add_scaled(sum.data(), rows + row * width, factors.empty() ? 1.0F : factors[at_index(row)], width, first);
        first = false;
      }
      if (first) std::fill(sum.begin(), sum.end(), 0.0F);
      round_row(out + n * width, sum.data(), width);
    }
  });
}

struct Candidate {
  int64_t pair;
  float weight;
  int64_t place;  // in the order of positions
};

// Marks the pairs of one expert that find no place. `candidates` in order of position.
void drop_beyond(std::vector<Candidate>& candidates, int64_t places, DropOrder order, bool* keep) {
  if (static_cast<int64_t>(candidates.size()) <= places) return;
  if (order == DropOrder::LowestWeight) {
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return a.weight != b.weight ? a.weight > b.weight : a.place < b.place;
    });
  }
  for (size_t i = at_index(places); i < candidates.size(); ++i) keep[candidates[i].pair] = false;
}

}  // namespace

Dispatch plan_dispatch(const at::Tensor& experts_any, const at::Tensor& keep_any, int64_t num_experts) {
  const at::Tensor experts = experts_any.contiguous();
  PRIMUS_CHECK(experts.dim() == 2 && experts.scalar_type() == at::kLong, "permute: experts [N, k] i64 expected");
  const at::Tensor keep = keep_any.defined() ? keep_any.contiguous() : keep_any;
  const bool* const stays = keep.defined() ? keep.const_data_ptr<bool>() : nullptr;
  const int64_t* const chosen = experts.const_data_ptr<int64_t>();
  Dispatch d{
      .num_tokens = experts.size(0), .top_k = experts.size(1), .starts = {}, .row_of_pair = {}, .pair_of_row = {}};
  const int64_t num_pairs = experts.numel();
  d.starts.assign(at_index(num_experts + 1), 0);
  for (int64_t p = 0; p < num_pairs; ++p) {
    PRIMUS_CHECK(chosen[p] >= 0 && chosen[p] < num_experts, "permute: an expert that does not exist");
    if (!stays || stays[p]) ++d.starts[at_index(chosen[p] + 1)];
  }
  std::partial_sum(d.starts.begin(), d.starts.end(), d.starts.begin());
  d.row_of_pair.assign(at_index(num_pairs), -1);
  d.pair_of_row.resize(at_index(d.starts.back()));
  std::vector<int64_t> next(d.starts.begin(), d.starts.end() - 1);
  for (int64_t p = 0; p < num_pairs; ++p) {
    if (stays && !stays[p]) continue;
    const int64_t row = next[at_index(chosen[p])]++;
    d.row_of_pair[at_index(p)] = row;
    d.pair_of_row[at_index(row)] = p;
  }
  return d;
}

at::Tensor keep_within_capacity(const at::Tensor& experts_btk, const at::Tensor& weights_btk, int64_t num_experts,
                                int64_t places, DropOrder order, bool per_sequence) {
  PRIMUS_CHECK(experts_btk.dim() == 3 && experts_btk.sizes() == weights_btk.sizes() && places >= 0,
               "capacity: experts and weights [b, t, k] expected");
  const int64_t b = experts_btk.size(0), t = experts_btk.size(1), k = experts_btk.size(2);
  const at::Tensor experts = experts_btk.contiguous(), weights = weights_btk.detach().to(at::kFloat).contiguous();
  const int64_t* const chosen = experts.const_data_ptr<int64_t>();
  const float* const weight = weights.const_data_ptr<float>();
  const at::Tensor keep = at::ones({b * t, k}, at::kBool);
  bool* const stays = keep.mutable_data_ptr<bool>();
  const int64_t num_groups = per_sequence ? b : 1;
  for (int64_t group = 0; group < num_groups; ++group) {
    std::vector<std::vector<Candidate>> of_expert(at_index(num_experts));
    for (int64_t position = 0; position < t; ++position) {
      for (int64_t s = per_sequence ? group : 0; s < (per_sequence ? group + 1 : b); ++s) {
        for (int64_t j = 0; j < k; ++j) {
          const int64_t pair = (s * t + position) * k + j;
          std::vector<Candidate>& mine = of_expert[at_index(chosen[pair])];
          mine.push_back({pair, weight[pair], static_cast<int64_t>(mine.size())});
        }
      }
    }
    for (std::vector<Candidate>& candidates : of_expert) drop_beyond(candidates, places, order, stays);
  }
  return keep;
}

at::Tensor permute(const at::Tensor& x_any, const Dispatch& d, const at::Tensor& weights) {
  PRIMUS_CHECK(x_any.dim() == 2 && x_any.size(0) == d.num_tokens, "permute: x [N, H] expected");
  if (!is_fast(x_any)) return reference::permute(x_any, d, weights);
  const at::Tensor x = x_any.contiguous();
  const int64_t width = x.size(1);
  const std::vector<float> factors = weights_by_row(weights, d);
  const at::Tensor rows = at::empty({d.num_rows(), width}, x.options());
  with_element(x.scalar_type(), [&](auto element) {
    using X = decltype(element);
    const X* const from = pointer<X>(x);
    X* const to = pointer<X>(rows);
    parallel_ranges(d.num_rows(), min_rows(width), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const X* const source = from + d.pair_of_row[at_index(r)] / d.top_k * width;
        if (factors.empty()) {
          std::memcpy(to + r * width, source, static_cast<size_t>(width) * sizeof(X));
        } else {
          scale_row(to + r * width, source, factors[at_index(r)], width);
        }
      }
    });
  });
  return rows;
}

at::Tensor unpermute(const at::Tensor& rows_any, const Dispatch& d, const at::Tensor& weights) {
  PRIMUS_CHECK(rows_any.dim() == 2 && rows_any.size(0) == d.num_rows(), "unpermute: rows [P, H] expected");
  if (!is_fast(rows_any)) return reference::unpermute(rows_any, d, weights);
  const at::Tensor rows = rows_any.contiguous();
  const int64_t width = rows.size(1);
  const std::vector<float> factors = weights_by_row(weights, d);
  const at::Tensor out = at::empty({d.num_tokens, width}, rows.options());
  with_element(rows.scalar_type(), [&](auto element) {
    using X = decltype(element);
    unpermute_rows(pointer<X>(rows), pointer<X>(out), width, d, factors);
  });
  return out;
}

at::Tensor pair_dots(const at::Tensor& a_any, const at::Tensor& b_any, bool b_by_token, const Dispatch& d) {
  PRIMUS_CHECK(a_any.size(0) == d.num_rows() && b_any.size(0) == (b_by_token ? d.num_tokens : d.num_rows()) &&
                   a_any.size(1) == b_any.size(1) && a_any.scalar_type() == b_any.scalar_type(),
               "pair_dots: a and b do not fit");
  if (!is_fast(a_any)) return reference::pair_dots(a_any, b_any, b_by_token, d);
  const at::Tensor a = a_any.contiguous(), b = b_any.contiguous();
  const int64_t width = a.size(1);
  const at::Tensor out = at::zeros({d.num_tokens, d.top_k}, at::kFloat);
  float* const to = out.mutable_data_ptr<float>();
  with_element(a.scalar_type(), [&](auto element) {
    using X = decltype(element);
    const X* const a_rows = pointer<X>(a);
    const X* const b_rows = pointer<X>(b);
    parallel_ranges(d.num_rows(), min_rows(width), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t pair = d.pair_of_row[at_index(r)];
        to[pair] = simd::loops<X>().dot(a_rows + r * width, b_rows + (b_by_token ? pair / d.top_k : r) * width, width);
      }
    });
  });
  return out;
}

void scale_rows(at::Tensor rows, const Dispatch& d, const at::Tensor& weights) {
  PRIMUS_CHECK(rows.dim() == 2 && rows.size(0) == d.num_rows() && rows.is_contiguous(), "scale_rows: rows [P, H]");
  if (!is_fast(rows)) {
    const at::Tensor pairs = at::tensor(d.pair_of_row, at::kLong);
    rows.mul_(weights.reshape({-1}).index_select(0, pairs).unsqueeze(1));
    return;
  }
  const int64_t width = rows.size(1);
  const std::vector<float> factors = weights_by_row(weights, d);
  with_element(rows.scalar_type(), [&](auto element) {
    using X = decltype(element);
    X* const data = pointer<X>(rows);
    parallel_ranges(d.num_rows(), min_rows(width), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) simd::loops<X>().scale(data + r * width, factors[at_index(r)], width);
    });
  });
}

}  // namespace primus::kernels
