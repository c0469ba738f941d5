#include "primus/kernels/short_conv.h"

namespace primus::kernels::reference {

namespace {

struct ShortConvParts {
  at::Tensor padded;             // [B, K-1 + T, C]: the state and the input
  std::vector<at::Tensor> seen;  // of every tap, oldest first: [B, T, 1], 1 where it reads a position of the document
  at::Tensor w, z;               // z: the activation's input
};

at::ScalarType arithmetic_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

ShortConvParts short_conv_parts(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias,
                                const at::Tensor& initial_state, const ShortConvOptions& options) {
  const auto type = arithmetic_type(x);
  const int64_t tokens = x.size(1), taps = w.size(1);
  const at::Tensor before = initial_state.defined()
                                ? initial_state.transpose(1, 2).to(type)
                                : at::zeros({x.size(0), taps - 1, x.size(2)}, x.options().dtype(type));
  ShortConvParts p;
  p.padded = at::cat({before, x.to(type)}, 1);
  p.w = w.to(type);
  p.z = at::zeros({x.size(0), tokens, x.size(2)}, p.padded.options());
  if (bias.defined()) p.z = p.z + bias.to(type);
  const at::Tensor position = at::arange(tokens, x.options().dtype(at::kLong));
  for (int64_t k = 0; k < taps; ++k) {
    at::Tensor seen = at::ones({x.size(0), tokens, 1}, p.padded.options());
    if (options.document_start.defined()) {
      const at::Tensor& start = options.document_start;
      seen = (position - taps + 1 + k >= start).logical_or(start == 0).to(type).unsqueeze(-1);
    }
    p.seen.push_back(seen);
    p.z = p.z + p.padded.narrow(1, k, tokens) * seen * p.w.select(1, k);
  }
  return p;
}

}  // namespace

ShortConvResult short_conv_forward(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias,
                                   const at::Tensor& initial_state, const ShortConvOptions& options) {
  const ShortConvParts p = short_conv_parts(x, w, bias, initial_state, options);
  const int64_t tokens = x.size(1), old_rows = w.size(1) - 1;
  at::Tensor last = p.padded.narrow(1, tokens, old_rows);
  if (options.document_start.defined()) {
    const at::Tensor position = at::arange(tokens - old_rows, tokens, x.options().dtype(at::kLong));
    const at::Tensor start = options.document_start.select(1, tokens - 1).unsqueeze(1);
    last = last * (position >= start).logical_or(start == 0).to(last.scalar_type()).unsqueeze(-1);
  }
  const at::Tensor y = options.silu ? p.z * p.z.sigmoid() : p.z;
  return {y.to(x.scalar_type()), last.transpose(1, 2).to(x.scalar_type()).contiguous()};
}

ShortConvGrads short_conv_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& w,
                                   const at::Tensor& bias, const at::Tensor& initial_state,
                                   const ShortConvOptions& options) {
  const ShortConvParts p = short_conv_parts(x, w, bias, initial_state, options);
  const int64_t tokens = x.size(1), taps = w.size(1);
  at::Tensor dz = dy.to(p.z.scalar_type());
  if (options.silu) dz = dz * p.z.sigmoid() * (1 + p.z * (1 - p.z.sigmoid()));
  at::Tensor d_padded = at::zeros_like(p.padded);
  ShortConvGrads grads;
  grads.dw = at::empty_like(p.w);
  for (int64_t k = 0; k < taps; ++k) {
    const at::Tensor seen_dz = dz * p.seen[static_cast<size_t>(k)];
    grads.dw.select(1, k).copy_((seen_dz * p.padded.narrow(1, k, tokens)).sum({0, 1}));
    d_padded.narrow(1, k, tokens).add_(seen_dz * p.w.select(1, k));
  }
  grads.dx = d_padded.narrow(1, taps - 1, tokens).to(x.scalar_type()).contiguous();
  if (bias.defined()) grads.d_bias = dz.sum({0, 1});
  return grads;
}

}  // namespace primus::kernels::reference
