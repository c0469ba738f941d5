// The differentiable ops of mixers that read the tokens before them through a convolution or a state.
// Legend: b micro-batch, t tokens, c channels, H value heads, G key heads or groups.
#pragma once

#include <string>

#include "primus/nn/context.h"
#include "primus/nn/parameter.h"
#include "primus/spec/norm.h"

namespace primus::nn {

// The values of a small parameter in f32, as a tensor of the graph: what is made of it is plain libtorch, and its
// gradient reaches main_grad. anchor: any tensor of the same pass that needs a gradient.
at::Tensor value_of(Parameter& parameter, const at::Tensor& anchor);

// The causal convolution of every channel by itself (kernels/short_conv.h), inside documents. With a cache it goes on
// from the state `name`.
//   x [b, t, c], weight [c, k], bias [c] or null -> [b, t, c]
at::Tensor short_conv(const at::Tensor& x_btc, Parameter& weight, Parameter* bias, bool silu, const std::string& name,
                      const Context& context);

// The gated delta rule (kernels/gated_delta.h), inside documents; q and k are brought to length 1 head by head.
//   q, k [b, t, G, K], v [b, t, H, V], decay (its logarithm), beta [b, t, H] f32 -> [b, t, H, V]
at::Tensor gated_delta(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& decay,
                       const at::Tensor& beta, const std::string& name, const Context& context);

// The scan of Mamba 2 (kernels/ssd.h), inside documents: decays -exp(a_log) [H], skip D [H].
//   x [b, t, H, P], dt [b, t, H] f32, b, c [b, t, G, N] -> [b, t, H, P]
struct ScanInputs {
  at::Tensor x, dt, b, c;
};
at::Tensor ssd(const ScanInputs& in, Parameter& a_log, Parameter& skip, const std::string& name,
               const Context& context);

// RMS norm joined with a SiLU gate (kernels/gated_norm.h). group: columns that share a mean of squares; 0: all.
//   x, z [.., w], gain [w] -> [.., w]
at::Tensor gated_norm(const at::Tensor& x, const at::Tensor& z, Parameter& gain, const spec::Norm& kind,
                      bool gate_first, int64_t group);

}  // namespace primus::nn
