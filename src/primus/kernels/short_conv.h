// The short causal convolution in front of linear-attention and state-space mixers: every channel by itself, K taps.
// Legend: B batch, T tokens, C channels, K taps (2..8).
//
// y[b,t,c] = act(bias[c] + sum_k w[c,k] x[b, t-K+1+k, c]): torch's Conv1d(groups=C, padding=K-1)[..:T], whose weight
// [C, 1, K] is w here; act is the identity (LFM2) or SiLU (Mamba 2, gated delta net). Taps before the first position
// read the initial state, zero where there is none; taps before the document's first position read zero.
#pragma once

#include "primus/tensor/prelude.h"

namespace primus::kernels {

struct ShortConvOptions {
  bool silu = false;
  // int32 [B, T], not decreasing in t: the first position of each token's document. Undefined: 0. The document that
  // starts at 0 goes on from the initial state.
  at::Tensor document_start;
};

struct ShortConvResult {
  at::Tensor y;  // [B, T, C] contiguous, type of x
  // [B, C, K-1], type of x: the last K-1 inputs of the last document, the newest last, zero before its start.
  at::Tensor final_state;
};

// x [B, T, C] f32 or bf16 (f64, f16, other devices: the reference), any strides; w [C, K], bias [C] or undefined, of
// any float type; initial_state [B, C, K-1] of x's type or undefined. Sums in f32.
ShortConvResult short_conv_forward(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias,
                                   const at::Tensor& initial_state, const ShortConvOptions& options);

struct ShortConvGrads {
  at::Tensor dx;      // [B, T, C], type of x
  at::Tensor dw;      // [C, K] f32 (f64 for f64 input)
  at::Tensor d_bias;  // [C] f32 (f64); undefined where the bias is
};
// Arguments as of the forward pass; the activation's input is computed again. States are for generation and carry no
// gradient. Equal bits for any number of threads.
ShortConvGrads short_conv_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& w,
                                   const at::Tensor& bias, const at::Tensor& initial_state,
                                   const ShortConvOptions& options);

// The plain forms: libtorch operations in f32 (f64 for f64 input), any device.
namespace reference {
ShortConvResult short_conv_forward(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias,
                                   const at::Tensor& initial_state, const ShortConvOptions& options);
ShortConvGrads short_conv_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& w,
                                   const at::Tensor& bias, const at::Tensor& initial_state,
                                   const ShortConvOptions& options);
}  // namespace reference

}  // namespace primus::kernels
