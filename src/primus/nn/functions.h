// The differentiable ops of a decoder layer. Each saves Parameter handles, and adds weight gradients to main_grad
// itself. Legend: b micro-batch, t tokens, h hidden, k input width, m output width, q = heads * head_dim, g = kv heads
// * head_dim.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "primus/nn/context.h"
#include "primus/nn/parameter.h"
#include "primus/spec/model.h"

namespace primus::nn {

// y = x W^T + bias.   x [b, t, k], weight [m, k], bias [m] or null -> [b, t, m]
at::Tensor linear(const at::Tensor& x_btk, Parameter& weight, Parameter* bias, const Context& context);

// RMSNorm or LayerNorm over the last dim, statistics in f32.   x [b, t, h], gain [h], bias [h] (LayerNorm) -> (x, y).
// What goes on with the residual stream must read the returned x: its gradient is then added to that of the norm in one
// pass.
std::pair<at::Tensor, at::Tensor> norm(const at::Tensor& x_bth, Parameter& gain, Parameter* bias,
                                       const spec::Norm& kind);

// sum = residual + branch; y = norm(sum), in one pass. Returns (sum, y). The norm reads the rounded sum.
std::pair<at::Tensor, at::Tensor> add_norm(const at::Tensor& residual_bth, const at::Tensor& branch_bth,
                                           Parameter& gain, Parameter* bias, const spec::Norm& kind);

// act(gate) * up on a fused [b, t, 2 f] tensor (gate first), or act(x) on [b, t, f]; clamped and shifted where the MLP
// says so. The MLP must outlive the backward pass.
at::Tensor activation(const at::Tensor& x_btf, const spec::Mlp& mlp);

// Inverted dropout by a counter-based stream keyed by `name`; the mask is made again in backward.
at::Tensor dropout(const at::Tensor& x_bth, double probability, const std::string& name, const Context& context);

// sum over tokens of weight * cross entropy, straight from hidden states (no [tokens, vocab] tensor is kept).
//   x [b, t, h], head [V, h], labels [b, t] i64, weights [b, t] f32  ->  scalar f32; token_loss [b, t] f32 receives
//   the unweighted losses. soft_cap: of the logits; 0: none.
at::Tensor head_loss(const at::Tensor& x_bth, Parameter& head, const at::Tensor& labels, const at::Tensor& weights,
                     at::Tensor& token_loss, double soft_cap, const Context& context);

// The token losses alone, without gradients.
at::Tensor head_token_losses(const at::Tensor& x_bth, const Parameter& head, const at::Tensor& labels, double soft_cap,
                             const Context& context);

// Runs `segment` without keeping its activations and again in backward. The segment must be a pure function of x and of
// parameters (random streams are stateless, so dropout repeats itself).
using Segment = std::function<at::Tensor(const at::Tensor&)>;
at::Tensor recompute(const Segment& segment, const at::Tensor& x);

// Frees the values of `tensor` now. When the gradient of `result` arrives, `make` makes them again, with the same bits,
// for what was computed from them on the way to `result`. Nothing happens where no gradients are taken. tensor and what
// `make` returns: contiguous, with a storage of their own.
void release_until_backward(const at::Tensor& tensor, const at::Tensor& result, std::function<at::Tensor()> make);

}  // namespace primus::nn
