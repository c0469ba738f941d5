#include "primus/kernels/topk_router.h"

#include <cmath>
#include <limits>
#include <vector>

#include "primus/base/check.h"
#include "primus/kernels/parallel.h"

namespace primus::kernels {

namespace {

template <class F>
void with_float_or_double(const at::Tensor& t, const F& f) {
  PRIMUS_CHECK(t.is_cpu() && (t.scalar_type() == at::kFloat || t.scalar_type() == at::kDouble),
               "router: f32 or f64 on the CPU expected");
  t.scalar_type() == at::kFloat ? f(float{}) : f(double{});
}

int64_t rows_per_thread(int64_t width) {
  return std::max<int64_t>(1, 4096 / std::max<int64_t>(1, width));
}

// Columns of the `count` best of values[0..n), best first, into best. NaN counts as the lowest value.
template <class T>
void select_best(const T* values, int64_t n, int64_t count, int64_t* best, T* best_values) {
  int64_t filled = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T value = std::isnan(values[i]) ? -std::numeric_limits<T>::infinity() : values[i];
    if (filled == count && !(value > best_values[count - 1])) continue;
    int64_t place = filled < count ? filled++ : count - 1;
    for (; place > 0 && value > best_values[place - 1]; --place) {
      best[place] = best[place - 1];
      best_values[place] = best_values[place - 1];
    }
    best[place] = i;
    best_values[place] = value;
  }
}

void check_top_k(const at::Tensor& values, const TopKOptions& o) {
  const int64_t num_experts = values.size(1);
  PRIMUS_CHECK(o.num_groups >= 1 && num_experts % o.num_groups == 0 && o.top_groups >= 1 &&
                   o.top_groups <= o.num_groups && o.sum_of >= 1 && o.sum_of <= num_experts / o.num_groups,
               "router: groups of equal size, and no more of them chosen than there are");
  PRIMUS_CHECK(o.top_k >= 1 && o.top_k <= num_experts / o.num_groups * o.top_groups,
               "router: more experts a token than it can choose from");
}

// One row's choice; scratch lives as long as a thread's share.
template <class T>
class RowChooser {
 public:
  RowChooser(int64_t num_experts, const TopKOptions& options)
      : options_(options),
        group_size_(num_experts / options.num_groups),
        masked_(static_cast<size_t>(num_experts)),
        group_scores_(static_cast<size_t>(options.num_groups)),
        places_(static_cast<size_t>(num_experts)),
        best_values_(static_cast<size_t>(num_experts)) {}

  void choose(const T* values, int64_t* experts) {
    const bool limited = options_.top_groups < options_.num_groups;
    select_best(limited ? inside_best_groups(values) : values, group_size_ * options_.num_groups, options_.top_k,
                experts, best_values_.data());
  }

 private:
  const T* inside_best_groups(const T* values) {
    for (int64_t g = 0; g < options_.num_groups; ++g) {
      select_best(values + g * group_size_, group_size_, options_.sum_of, places_.data(), best_values_.data());
      T sum = 0;
      for (int64_t i = 0; i < options_.sum_of; ++i) sum += best_values_[static_cast<size_t>(i)];
      group_scores_[static_cast<size_t>(g)] = sum;
    }
    select_best(group_scores_.data(), options_.num_groups, options_.top_groups, places_.data(), best_values_.data());
    std::fill(masked_.begin(), masked_.end(), -std::numeric_limits<T>::infinity());
    for (int64_t i = 0; i < options_.top_groups; ++i) {
      const int64_t first = places_[static_cast<size_t>(i)] * group_size_;
      std::copy_n(values + first, group_size_, masked_.begin() + first);
    }
    return masked_.data();
  }

  TopKOptions options_;
  int64_t group_size_;
  std::vector<T> masked_, group_scores_;
  std::vector<int64_t> places_;
  std::vector<T> best_values_;
};

// d score / d logit, from the score itself where that is enough.
template <class T>
T slope(RouterScore kind, T logit, T score) {
  if (kind == RouterScore::Sigmoid) return score * (1 - score);
  const T sigmoid = 1 / (1 + std::exp(-logit));
  return score > 0 ? sigmoid / (2 * score) : T(0);
}

template <class T>
T score_of(RouterScore kind, T logit) {
  if (kind == RouterScore::Sigmoid) return 1 / (1 + std::exp(-logit));
  return std::sqrt(std::max(logit, T(0)) + std::log1p(std::exp(-std::abs(logit))));
}

struct RowMax {
  template <class T>
  static T of(const T* row, int64_t n) {
    T largest = row[0];
    for (int64_t i = 1; i < n; ++i) largest = std::max(largest, row[i]);
    return largest;
  }
};

// The chosen experts' scores v[0..k), before renormalising; for a softmax over all also the row's denominator.
template <class T>
void chosen_scores(const RouterOptions& o, const T* logits, int64_t num_experts, const int64_t* experts, T* v) {
  const int64_t k = o.top.top_k;
  if (o.score == RouterScore::Sigmoid || o.score == RouterScore::SqrtSoftplus) {
    for (int64_t j = 0; j < k; ++j) v[j] = score_of(o.score, logits[experts[j]]);
    return;
  }
  for (int64_t j = 0; j < k; ++j) v[j] = logits[experts[j]];
  const bool over_all = o.score == RouterScore::SoftmaxOverAll;
  const T largest = over_all ? RowMax::of(logits, num_experts) : RowMax::of(v, k);
  T sum = 0;
  if (over_all) {
    for (int64_t e = 0; e < num_experts; ++e) sum += std::exp(logits[e] - largest);
  } else {
    for (int64_t j = 0; j < k; ++j) sum += std::exp(v[j] - largest);
  }
  for (int64_t j = 0; j < k; ++j) v[j] = std::exp(v[j] - largest) / sum;
}

// dv[0..k): gradients of the chosen scores from those of the weights.
template <class T>
void undo_weighting(const RouterOptions& o, const T* dw, const T* v, T* dv) {
  const int64_t k = o.top.top_k;
  const T scale = static_cast<T>(o.scale);
  for (int64_t j = 0; j < k; ++j) dv[j] = dw[j] * scale;
  if (!o.renormalise) return;
  T sum = static_cast<T>(o.sum_floor), along = 0;
  for (int64_t j = 0; j < k; ++j) sum += v[j];
  for (int64_t j = 0; j < k; ++j) along += dv[j] * (v[j] / sum);
  for (int64_t j = 0; j < k; ++j) dv[j] = (dv[j] - along) / sum;
}

template <class T>
void row_backward(const RouterOptions& o, const T* logits, int64_t num_experts, const int64_t* experts, const T* v,
                  const T* dv, T* d_logits) {
  const int64_t k = o.top.top_k;
  if (o.score == RouterScore::Sigmoid || o.score == RouterScore::SqrtSoftplus) {
    for (int64_t j = 0; j < k; ++j) d_logits[experts[j]] = dv[j] * slope(o.score, logits[experts[j]], v[j]);
    return;
  }
  T along = 0;
  for (int64_t j = 0; j < k; ++j) along += dv[j] * v[j];
  if (o.score == RouterScore::SoftmaxOverAll) {
    const T largest = RowMax::of(logits, num_experts);
    T sum = 0;
    for (int64_t e = 0; e < num_experts; ++e) sum += d_logits[e] = std::exp(logits[e] - largest);
    for (int64_t e = 0; e < num_experts; ++e) d_logits[e] *= -along / sum;
    for (int64_t j = 0; j < k; ++j) d_logits[experts[j]] += dv[j] * v[j];
  } else {
    for (int64_t j = 0; j < k; ++j) d_logits[experts[j]] = v[j] * (dv[j] - along);
  }
}

void check_weights(const at::Tensor& logits, const at::Tensor& experts, const RouterOptions& options) {
  PRIMUS_CHECK(logits.dim() == 2 && experts.dim() == 2 && experts.size(0) == logits.size(0) &&
                   experts.size(1) == options.top.top_k && experts.scalar_type() == at::kLong &&
                   experts.is_contiguous() && logits.is_contiguous(),
               "router: logits [N, E] and experts [N, k] do not fit");
}

}  // namespace

at::Tensor choose_experts(const at::Tensor& values_any, const TopKOptions& options) {
  check_top_k(values_any, options);
  const at::Tensor values = values_any.contiguous();
  const int64_t num_experts = values.size(1);
  const at::Tensor experts = at::empty({values.size(0), options.top_k}, at::kLong);
  with_float_or_double(values, [&](auto element) {
    using T = decltype(element);
    const T* const from = values.const_data_ptr<T>();
    int64_t* const to = experts.mutable_data_ptr<int64_t>();
    parallel_ranges(values.size(0), rows_per_thread(num_experts), [&](int64_t begin, int64_t end) {
      RowChooser<T> chooser(num_experts, options);
      for (int64_t n = begin; n < end; ++n) chooser.choose(from + n * num_experts, to + n * options.top_k);
    });
  });
  return experts;
}

at::Tensor choice_values(const at::Tensor& logits, const at::Tensor& bias, const RouterOptions& options) {
  const at::NoGradGuard no_gradients;
  const bool limited = options.top.top_groups < options.top.num_groups;
  if (!bias.defined() && !limited) return logits.detach();
  at::Tensor values = logits.detach();
  if (options.score == RouterScore::SoftmaxOverAll) values = at::softmax(values, -1);
  if (options.score == RouterScore::Sigmoid) values = at::sigmoid(values);
  if (options.score == RouterScore::SqrtSoftplus) values = at::softplus(values).sqrt();
  return bias.defined() ? values + bias.to(values.scalar_type()) : values;
}

at::Tensor router_weights_forward(const at::Tensor& logits_any, const at::Tensor& experts,
                                  const RouterOptions& options) {
  const at::Tensor logits = logits_any.contiguous();
  check_weights(logits, experts, options);
  const int64_t num_experts = logits.size(1), k = options.top.top_k;
  const at::Tensor weights = at::empty({logits.size(0), k}, logits.options());
  with_float_or_double(logits, [&](auto element) {
    using T = decltype(element);
    const T* const from = logits.const_data_ptr<T>();
    const int64_t* const chosen = experts.const_data_ptr<int64_t>();
    T* const to = weights.mutable_data_ptr<T>();
    parallel_ranges(logits.size(0), rows_per_thread(num_experts), [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        T* const w = to + n * k;
        chosen_scores(options, from + n * num_experts, num_experts, chosen + n * k, w);
        T divisor = static_cast<T>(options.sum_floor);
        for (int64_t j = 0; j < k; ++j) divisor += w[j];
        const T scale = static_cast<T>(options.scale);
        for (int64_t j = 0; j < k; ++j) w[j] = (options.renormalise ? w[j] / divisor : w[j]) * scale;
      }
    });
  });
  return weights;
}

at::Tensor router_weights_backward(const at::Tensor& d_weights_any, const at::Tensor& logits_any,
                                   const at::Tensor& experts, const RouterOptions& options) {
  const at::Tensor logits = logits_any.contiguous(), d_weights = d_weights_any.contiguous();
  check_weights(logits, experts, options);
  const int64_t num_experts = logits.size(1), k = options.top.top_k;
  const at::Tensor d_logits = at::zeros_like(logits);
  with_float_or_double(logits, [&](auto element) {
    using T = decltype(element);
    const T* const from = logits.const_data_ptr<T>();
    const T* const dw = d_weights.const_data_ptr<T>();
    const int64_t* const chosen = experts.const_data_ptr<int64_t>();
    T* const to = d_logits.mutable_data_ptr<T>();
    parallel_ranges(logits.size(0), rows_per_thread(num_experts), [&](int64_t begin, int64_t end) {
      std::vector<T> v(static_cast<size_t>(k)), dv(static_cast<size_t>(k));
      for (int64_t n = begin; n < end; ++n) {
        const T* const row = from + n * num_experts;
        const int64_t* const mine = chosen + n * k;
        chosen_scores(options, row, num_experts, mine, v.data());
        undo_weighting(options, dw + n * k, v.data(), dv.data());
        row_backward(options, row, num_experts, mine, v.data(), dv.data(), to + n * num_experts);
      }
    });
  });
  return d_logits;
}

at::Tensor sinkhorn(const at::Tensor& logits) {
  const at::NoGradGuard no_gradients;
  constexpr double kTiny = 1e-8, kTolerance = 1e-4;
  constexpr int kMostRounds = 1000;
  const at::Tensor cost = logits.detach().to(at::kFloat).exp();
  const double rows = 1.0 / static_cast<double>(cost.size(0)), columns = 1.0 / static_cast<double>(cost.size(1));
  at::Tensor of_row = at::ones({cost.size(0)}), of_column = at::ones({cost.size(1)});
  for (int round = 0; round < kMostRounds; ++round) {
    of_row = rows / ((of_column * cost).sum(1) + kTiny);
    const at::Tensor next = columns / ((of_row.unsqueeze(1) * cost).sum(0) + kTiny);
    const double change = (next - of_column).abs().mean().item<double>();
    of_column = next;
    if (!(change > kTolerance)) break;
  }
  return of_column * cost * of_row.unsqueeze(1);
}

}  // namespace primus::kernels
