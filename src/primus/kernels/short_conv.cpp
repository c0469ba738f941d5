#include "primus/kernels/short_conv.h"

#include "primus/kernels/column_sum.h"
#include "primus/kernels/parallel.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

namespace {

void check_short_conv(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias, const at::Tensor& state,
                      const ShortConvOptions& options) {
  PRIMUS_CHECK(x.dim() == 3 && x.size(1) >= 1, "short convolution: x is [B, T, C], T at least 1");
  PRIMUS_CHECK(w.dim() == 2 && w.size(0) == x.size(2) && w.size(1) >= 2 && w.size(1) <= simd::kMaxTaps,
               "short convolution: w is [C, K], K from 2 to 8");
  PRIMUS_CHECK(!bias.defined() || bias.numel() == x.size(2), "short convolution: the bias is [C]");
  PRIMUS_CHECK(!state.defined() || (state.sizes() == at::IntArrayRef({x.size(0), x.size(2), w.size(1) - 1}) &&
                                    state.scalar_type() == x.scalar_type()),
               "short convolution: the state is [B, C, K-1], of x's type");
  const at::Tensor& starts = options.document_start;
  PRIMUS_CHECK(!starts.defined() || (starts.scalar_type() == at::kInt && starts.sizes() == x.sizes().slice(0, 2)),
               "short convolution: document starts are int32 [B, T]");
}

// Where the rows of the input are, those of the state before them.
template <class X>
struct ShortConvSource {
  ShortConvSource(const at::Tensor& x_btc, const at::Tensor& state_any, const at::Tensor& starts_any, int64_t taps)
      : x(x_btc),
        state(state_any.defined() ? state_any.transpose(1, 2).contiguous() : at::Tensor()),
        starts(starts_any.defined() ? starts_any.contiguous() : at::Tensor()),
        tokens(x_btc.size(1)),
        width(x_btc.size(2)),
        old_rows(taps - 1) {}

  int64_t start(int64_t b, int64_t t) const { return starts.defined() ? pointer<int32_t>(starts)[b * tokens + t] : 0; }
  // Input of position s for a reader at t; null where it reads nothing.
  const X* row(int64_t b, int64_t t, int64_t s) const {
    const int64_t first = start(b, t);
    if (s >= 0) return s >= first ? pointer<X>(x) + b * x.stride(0) + s * x.stride(1) : nullptr;
    if (first > 0 || !state.defined()) return nullptr;
    return pointer<X>(state) + (b * old_rows + old_rows + s) * width;
  }

  at::Tensor x, state, starts;
  int64_t tokens, width, old_rows;
};

template <class X>
simd::ShortConvRow<X> taps_of(const ShortConvSource<X>& source, const at::Tensor& w_kc, const at::Tensor& bias,
                              bool silu, int64_t index, float* sums) {
  simd::ShortConvRow<X> row{};
  const int64_t b = index / source.tokens, t = index % source.tokens, taps = w_kc.size(0);
  row.width = source.width;
  row.silu = silu;
  row.bias = bias.defined() ? pointer<float>(bias) : nullptr;
  row.d_bias = sums != nullptr && bias.defined() ? sums + taps * source.width : nullptr;
  for (int64_t k = 0; k < taps; ++k) {
    const X* x = source.row(b, t, t - taps + 1 + k);
    if (x == nullptr) continue;
    row.x[row.num_taps] = x;
    row.w[row.num_taps] = pointer<float>(w_kc) + k * source.width;
    row.dw[row.num_taps] = sums != nullptr ? sums + k * source.width : nullptr;
    ++row.num_taps;
  }
  return row;
}

template <class X>
simd::ShortConvReaders readers_of(const ShortConvSource<X>& source, const at::Tensor& w_kc, const at::Tensor& dz,
                                  int64_t index) {
  simd::ShortConvReaders readers{};
  const int64_t b = index / source.tokens, t = index % source.tokens, taps = w_kc.size(0);
  readers.width = source.width;
  for (int64_t reader = t; reader < std::min(source.tokens, t + taps); ++reader) {
    if (source.start(b, reader) > t) break;
    readers.dz[readers.count] = pointer<float>(dz) + (b * source.tokens + reader) * source.width;
    readers.w[readers.count] = pointer<float>(w_kc) + (taps - 1 - (reader - t)) * source.width;
    ++readers.count;
  }
  return readers;
}

at::Tensor last_inputs(const at::Tensor& x, const at::Tensor& state, const at::Tensor& starts, int64_t rows) {
  at::Tensor last = at::zeros({x.size(0), rows, x.size(2)}, x.options());
  const int64_t tokens = x.size(1), kept = std::min(rows, tokens);
  if (state.defined() && kept < rows) {
    last.narrow(1, 0, rows - kept).copy_(state.transpose(1, 2).narrow(1, kept, rows - kept));
  }
  last.narrow(1, rows - kept, kept).copy_(x.narrow(1, tokens - kept, kept));
  for (int64_t b = 0; starts.defined() && b < x.size(0); ++b) {
    const int64_t start = starts[b][tokens - 1].item<int32_t>();
    if (start > 0) last[b].narrow(0, 0, std::clamp<int64_t>(rows - tokens + start, 0, rows)).zero_();
  }
  return last.transpose(1, 2).contiguous();
}

// Slices of a wider projection need no copy.
at::Tensor with_dense_channels(const at::Tensor& x) {
  return x.stride(2) == 1 || x.size(2) == 1 ? x : x.contiguous();
}

at::Tensor tap_rows(const at::Tensor& w) {
  return w.to(at::kFloat).t().contiguous();
}

}  // namespace

ShortConvResult short_conv_forward(const at::Tensor& x_any, const at::Tensor& w, const at::Tensor& bias_any,
                                   const at::Tensor& initial_state, const ShortConvOptions& options) {
  check_short_conv(x_any, w, bias_any, initial_state, options);
  if (!is_fast(x_any)) return reference::short_conv_forward(x_any, w, bias_any, initial_state, options);
  const at::Tensor x = with_dense_channels(x_any), w_kc = tap_rows(w), bias = as_float_row(bias_any);
  ShortConvResult result{at::empty(x.sizes(), x.options()),
                         last_inputs(x, initial_state, options.document_start, w.size(1) - 1)};
  with_element(x.scalar_type(), [&](auto element) {
    using X = decltype(element);
    const ShortConvSource<X> source(x, initial_state, options.document_start, w.size(1));
    X* const y = pointer<X>(result.y);
    parallel_ranges(x.size(0) * source.tokens, min_rows(source.width), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        simd::loops<X>().short_conv(taps_of(source, w_kc, bias, options.silu, i, nullptr), y + i * source.width);
      }
    });
  });
  return result;
}

ShortConvGrads short_conv_backward(const at::Tensor& dy_any, const at::Tensor& x_any, const at::Tensor& w,
                                   const at::Tensor& bias_any, const at::Tensor& initial_state,
                                   const ShortConvOptions& options) {
  check_short_conv(x_any, w, bias_any, initial_state, options);
  PRIMUS_CHECK(dy_any.sizes() == x_any.sizes(), "short convolution backward: dy is of x's shape");
  if (!is_fast(x_any)) return reference::short_conv_backward(dy_any, x_any, w, bias_any, initial_state, options);
  const at::Tensor x = with_dense_channels(x_any), dy = dy_any.to(x.scalar_type()).contiguous();
  const at::Tensor w_kc = tap_rows(w), bias = as_float_row(bias_any);
  const int64_t taps = w.size(1), width = x.size(2), sums_width = (taps + 1) * width;
  const RowBlocks blocks(x.size(0) * x.size(1));
  const at::Tensor dz = at::empty(x.sizes(), x.options().dtype(at::kFloat));
  const at::Tensor sums = at::zeros({blocks.count(), sums_width}, dz.options());
  ShortConvGrads grads;
  grads.dx = at::empty(x.sizes(), x.options());
  with_element(x.scalar_type(), [&](auto element) {
    using X = decltype(element);
    const ShortConvSource<X> source(x, initial_state, options.document_start, taps);
    const X* const dy_data = pointer<X>(dy);
    X* const dx = pointer<X>(grads.dx);
    float* const dz_data = pointer<float>(dz);
    float* const sums_data = pointer<float>(sums);
    parallel_ranges(blocks.count(), 1, [&](int64_t first, int64_t last) {
      for (int64_t block = first; block < last; ++block) {
        for (int64_t i = blocks.begin(block); i < blocks.end(block); ++i) {
          const auto row = taps_of(source, w_kc, bias, options.silu, i, sums_data + block * sums_width);
          simd::loops<X>().short_conv_slope(row, dy_data + i * width, dz_data + i * width);
        }
      }
    });
    parallel_ranges(blocks.rows, min_rows(width), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        simd::loops<X>().short_conv_input(readers_of(source, w_kc, dz, i), dx + i * width);
      }
    });
  });
  const at::Tensor total = sum_block_rows(sums).view({taps + 1, width});
  grads.dw = total.narrow(0, 0, taps).t().contiguous();
  if (bias.defined()) grads.d_bias = total[taps].contiguous();
  return grads;
}

}  // namespace primus::kernels
