// The scan of Mamba 2 (state-space duality), forward and backward.
// Legend: B batch, T tokens, H heads, P width of a head, G groups of heads that share b and c (H a multiple; head h
// reads group h / (H / G)), N width of the state, L chunk.
//
// Per head, with state S [P, N]:
//   S = exp(dt_t a) S + dt_t x_t b_t^T;   out_t = S c_t + d x_t
// Source: Dao, Gu 2024 (arXiv 2405.21060), section 6 and listing 1.
#pragma once

#include <cstdint>

#include "primus/tensor/prelude.h"

namespace primus::kernels {

struct SsdOptions {
  int64_t chunk = 64;  // results differ in the last bits only
  // int32 [B, T], not decreasing in t: the first position of each token's document; the state is zero at its start.
  // Undefined: 0. The document that starts at 0 goes on from the initial state.
  at::Tensor document_start;
  bool keep_states = true;  // chunk_states are returned; only the backward pass needs them
};

struct SsdInputs {
  at::Tensor x;              // [B, T, H, P]
  at::Tensor dt;             // [B, T, H] > 0: after bias, softplus and bounds
  at::Tensor a;              // [H] < 0
  at::Tensor b, c;           // [B, T, G, N]
  at::Tensor d;              // [H], or undefined for none
  at::Tensor initial_state;  // [B, H, P, N] f32 (f64), or undefined for zero
};

struct SsdResult {
  at::Tensor out;           // [B, T, H, P] contiguous, type of x
  at::Tensor final_state;   // [B, H, P, N] f32 (f64 for f64 x)
  at::Tensor chunk_states;  // [B, H, chunks, P, N]: the state before every chunk; undefined without keep_states
};

// Inputs f32 or bf16, in any mixture (or all f64), any strides; T >= 1. Arithmetic and state f32 (f64). O(T) memory.
// Equal bits for any number of threads.
SsdResult ssd_forward(const SsdInputs& in, const SsdOptions& options);

struct SsdGrads {
  at::Tensor dx, db, dc;       // shapes and types of x, b, c
  at::Tensor d_dt;             // [B, T, H] f32 (f64)
  at::Tensor da, dd;           // [H] f32 (f64); dd undefined where d is
  at::Tensor d_initial_state;  // [B, H, P, N] f32 (f64); undefined where the initial state is
};
// dout [B, T, H, P]; chunk_states from the forward pass with the same options; d_final_state [B, H, P, N] or undefined.
SsdGrads ssd_backward(const at::Tensor& dout, const at::Tensor& d_final_state, const SsdInputs& in,
                      const at::Tensor& chunk_states, const SsdOptions& options);

// The plain form: the recurrence above, token by token, in f64. chunk_states is undefined.
namespace reference {
SsdResult ssd_forward(const SsdInputs& in, const SsdOptions& options);
SsdGrads ssd_backward(const at::Tensor& dout, const at::Tensor& d_final_state, const SsdInputs& in,
                      const SsdOptions& options);
}  // namespace reference

}  // namespace primus::kernels
