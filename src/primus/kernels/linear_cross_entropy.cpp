#include "primus/kernels/linear_cross_entropy.h"

#include <cmath>

#include "primus/base/check.h"
#include "primus/kernels/loops.h"
#include "primus/kernels/parallel.h"

namespace primus::kernels {
namespace {

constexpr int64_t kLeastChunk = 64;
constexpr int64_t kMostChunkElements = int64_t{64} << 20;

struct Rows {
  int64_t in_softmax;  // columns that the softmax sums over
  bool wants_gradient;
};

template <class T>
void softmax_rows(T* logits, int64_t stride, int64_t columns, const Rows& rows, int64_t begin, int64_t end,
                  const int64_t* labels, const float* weights, float* loss) {
  const auto run = simd::loops<T>().softmax_row;
  for (int64_t r = begin; r < end; ++r) {
    run(logits + r * stride, rows.in_softmax, columns, labels[r], weights ? weights[r] : 1.0f, rows.wants_gradient,
        loss + r);
  }
}

void softmax_rows(double* logits, int64_t stride, int64_t columns, const Rows& rows, int64_t begin, int64_t end,
                  const int64_t* labels, const double* weights, double* loss) {
  for (int64_t r = begin; r < end; ++r) {
    double* x = logits + r * stride;
    const double top = *std::max_element(x, x + rows.in_softmax);
    double sum = 0;
    for (int64_t i = 0; i < rows.in_softmax; ++i) sum += std::exp(x[i] - top);
    const double lse = top + std::log(sum);
    loss[r] = labels[r] < 0 ? 0 : lse - x[labels[r]];
    if (!rows.wants_gradient) continue;
    const double weight = labels[r] < 0 ? 0 : weights[r];
    for (int64_t i = 0; i < columns; ++i) {
      x[i] = i < rows.in_softmax ? weight * (std::exp(x[i] - lse) - (i == labels[r] ? 1 : 0)) : 0;
    }
  }
}

// loss [n] from logits [n, V]; the logits become their gradient when weights are given.
void softmax_chunk(at::Tensor logits, const at::Tensor& labels, const at::Tensor& weights, int64_t in_softmax,
                   at::Tensor loss) {
  const int64_t n = logits.size(0), columns = logits.size(1), stride = logits.stride(0);
  const Rows rows{in_softmax, weights.defined()};
  const int64_t* label = labels.const_data_ptr<int64_t>();
  const auto each = [&](auto* data, auto* loss_data, const auto* weight) {
    parallel_ranges(n, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, columns)), [&](int64_t begin, int64_t end) {
      softmax_rows(data, stride, columns, rows, begin, end, label, weight, loss_data);
    });
  };
  if (logits.scalar_type() == at::kDouble) {
    each(static_cast<double*>(logits.mutable_data_ptr()), loss.mutable_data_ptr<double>(),
         weights.defined() ? weights.const_data_ptr<double>() : nullptr);
    return;
  }
  const float* weight = weights.defined() ? weights.const_data_ptr<float>() : nullptr;
  if (logits.scalar_type() == at::kFloat) {
    each(logits.mutable_data_ptr<float>(), loss.mutable_data_ptr<float>(), weight);
  } else if (logits.scalar_type() == at::kBFloat16) {
    each(static_cast<simd::Bf16*>(logits.mutable_data_ptr()), loss.mutable_data_ptr<float>(), weight);
  } else {
    at::Tensor wide = logits.to(at::kFloat);
    softmax_chunk(wide, labels, weights, in_softmax, loss);
    if (weights.defined()) logits.copy_(wide);
  }
}

at::ScalarType wide_type(const at::Tensor& t) {
  return t.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// Logits become cap * tanh(logit / cap), in place.
void cap_logits(const at::Tensor& logits, double cap) {
  if (cap != 0) logits.copy_(logits.to(wide_type(logits)).div_(cap).tanh_().mul_(cap));
}

// For d logit = d capped * (1 - tanh^2). Undefined without a cap.
at::Tensor tanh_squared(const at::Tensor& capped, double cap) {
  return cap == 0 ? at::Tensor() : at::div(capped.to(wide_type(capped)), cap).square_();
}

int64_t columns_in_softmax(int64_t num_rows, const CrossEntropyOptions& options) {
  return options.padded_rows_in_softmax || options.vocab_size == 0 ? num_rows : options.vocab_size;
}

void check_labels(const at::Tensor& labels, int64_t num_tokens, int64_t num_rows, const CrossEntropyOptions& options) {
  PRIMUS_CHECK(
      labels.scalar_type() == at::kLong && labels.dim() == 1 && labels.size(0) == num_tokens && labels.is_contiguous(),
      "cross entropy: labels must be int64 [N]");
  PRIMUS_CHECK(options.vocab_size >= 0 && options.vocab_size <= num_rows,
               "cross entropy: vocab_size exceeds the weight");
  const int64_t bound = options.vocab_size > 0 ? options.vocab_size : num_rows;
  const int64_t* label = labels.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < num_tokens; ++i) PRIMUS_CHECK(label[i] < bound, "cross entropy: label past the vocabulary");
}

int64_t chunk_tokens(const at::Tensor& x, int64_t num_rows, const CrossEntropyOptions& options) {
  if (options.chunk_tokens > 0) return options.chunk_tokens;
  const int64_t bytes = x.element_size();
  const int64_t eighth = x.size(0) * 4 / (8 * bytes);
  return std::max(kLeastChunk, std::min(eighth, kMostChunkElements / std::max<int64_t>(1, num_rows)));
}

}  // namespace

CrossEntropyGrads linear_cross_entropy(const GemmRoute& route, const at::Tensor& x, const at::Tensor& w,
                                       const at::Tensor& labels, const at::Tensor& weights,
                                       const CrossEntropyOptions& options, at::Tensor w_main_grad, bool accumulate) {
  const int64_t n = x.size(0), rows = w.size(0);
  check_labels(labels, n, rows, options);
  PRIMUS_CHECK(
      weights.scalar_type() == wide_type(x) && weights.dim() == 1 && weights.size(0) == n && weights.is_contiguous(),
      "cross entropy: weights must be f32 [N]");
  CrossEntropyGrads result{at::empty({n}, x.options().dtype(wide_type(x))), at::empty(x.sizes(), x.options())};
  const int64_t chunk = std::min(n, chunk_tokens(x, rows, options));
  const at::Tensor buffer = at::empty({chunk, rows}, x.options());
  for (int64_t begin = 0; begin < n; begin += chunk) {
    const int64_t count = std::min(chunk, n - begin);
    const at::Tensor x_chunk = x.narrow(0, begin, count);
    at::Tensor logits = buffer.narrow(0, 0, count);
    linear_forward_out(route, x_chunk, w, logits);
    cap_logits(logits, options.soft_cap);
    const at::Tensor squares = tanh_squared(logits, options.soft_cap);
    softmax_chunk(logits, labels.narrow(0, begin, count), weights.narrow(0, begin, count),
                  columns_in_softmax(rows, options), result.loss.narrow(0, begin, count));
    if (squares.defined()) logits.copy_(logits * (1 - squares));
    linear_dgrad_out(route, logits, w, result.dx.narrow(0, begin, count));
    if (w_main_grad.defined()) linear_wgrad(route, logits, x_chunk, w_main_grad, accumulate || begin > 0);
  }
  if (n == 0 && w_main_grad.defined() && !accumulate) w_main_grad.zero_();
  return result;
}

at::Tensor linear_cross_entropy_loss(const GemmRoute& route, const at::Tensor& x, const at::Tensor& w,
                                     const at::Tensor& labels, const CrossEntropyOptions& options) {
  const int64_t n = x.size(0), rows = w.size(0);
  check_labels(labels, n, rows, options);
  at::Tensor loss = at::empty({n}, x.options().dtype(wide_type(x)));
  const int64_t chunk = std::min(n, chunk_tokens(x, rows, options));
  const at::Tensor buffer = at::empty({chunk, rows}, x.options());
  for (int64_t begin = 0; begin < n; begin += chunk) {
    const int64_t count = std::min(chunk, n - begin);
    at::Tensor logits = buffer.narrow(0, 0, count);
    linear_forward_out(route, x.narrow(0, begin, count), w, logits);
    cap_logits(logits, options.soft_cap);
    softmax_chunk(logits, labels.narrow(0, begin, count), {}, columns_in_softmax(rows, options),
                  loss.narrow(0, begin, count));
  }
  return loss;
}

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels, const CrossEntropyOptions& options) {
  PRIMUS_CHECK(logits.dim() == 2 && (logits.stride(1) == 1 || logits.size(1) <= 1),
               "cross_entropy: logits must be [N, V] rows");
  check_labels(labels, logits.size(0), logits.size(1), options);
  at::Tensor loss = at::empty({logits.size(0)}, logits.options().dtype(wide_type(logits)));
  softmax_chunk(logits, labels, {}, columns_in_softmax(logits.size(1), options), loss);
  return loss;
}

}  // namespace primus::kernels
