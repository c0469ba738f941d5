// The gated delta rule, forward and backward: linear attention whose state forgets by a gate and is corrected by the
// error of what it predicts.
// Legend: B batch, T tokens, H value heads, G query/key heads (H a multiple; head h reads g = h / (H / G)), K and V
// widths of keys and values, L chunk, N chunks (T / L, rounded up).
//
// Per head, with state S [K, V] and scale s:
//   S' = exp(g_t) S;   S = S' + beta_t k_t (v_t - S'^T k_t)^T;   out_t = s S^T q_t
// Source: Yang, Kautz, Hatamizadeh 2024 (arXiv 2412.06464), eq. 10; chunks by the UT transform of Yang et al. 2024
// (arXiv 2406.06484), section 3.
#pragma once

#include <cstdint>

#include "primus/tensor/prelude.h"

namespace primus::kernels {

struct GatedDeltaOptions {
  bool normalize_qk = false;  // q and k are first divided by sqrt(sum of squares + 1e-6), head by head
  double scale = 0;           // of queries; 0: 1 / sqrt(K)
  int64_t chunk = 64;         // results differ in the last bits only
  // int32 [B, T], not decreasing in t: the first position of each token's document; the state is zero at its start.
  // Undefined: 0. The document that starts at 0 goes on from the initial state.
  at::Tensor document_start;
  bool keep_states = true;  // chunk_states are returned; only the backward pass needs them
};

struct GatedDeltaInputs {
  at::Tensor q, k;           // [B, T, G, K]
  at::Tensor v;              // [B, T, H, V]
  at::Tensor g;              // [B, T, H] log of the decay, <= 0
  at::Tensor beta;           // [B, T, H]
  at::Tensor initial_state;  // [B, H, K, V] f32 (f64), or undefined for zero
};

struct GatedDeltaResult {
  at::Tensor out;           // [B, T, H, V] contiguous, type of v
  at::Tensor final_state;   // [B, H, K, V] f32 (f64 for f64 v)
  at::Tensor chunk_states;  // [B, H, N, K, V]: the state before every chunk; undefined without keep_states
};

// Inputs f32 or bf16, in any mixture (or all f64), any strides; T >= 1. Arithmetic and state f32 (f64). O(T) memory.
// Equal bits for any number of threads.
GatedDeltaResult gated_delta_forward(const GatedDeltaInputs& in, const GatedDeltaOptions& options);

struct GatedDeltaGrads {
  at::Tensor dq, dk, dv;       // shapes and types of q, k, v
  at::Tensor dg, d_beta;       // [B, T, H] f32 (f64)
  at::Tensor d_initial_state;  // [B, H, K, V] f32 (f64); undefined where the initial state is
};
// dout [B, T, H, V]; chunk_states from the forward pass with the same options; d_final_state [B, H, K, V] or undefined.
GatedDeltaGrads gated_delta_backward(const at::Tensor& dout, const at::Tensor& d_final_state,
                                     const GatedDeltaInputs& in, const at::Tensor& chunk_states,
                                     const GatedDeltaOptions& options);

// The plain form: the recurrence above, token by token, in f64. chunk_states is undefined.
namespace reference {
GatedDeltaResult gated_delta_forward(const GatedDeltaInputs& in, const GatedDeltaOptions& options);
GatedDeltaGrads gated_delta_backward(const at::Tensor& dout, const at::Tensor& d_final_state,
                                     const GatedDeltaInputs& in, const GatedDeltaOptions& options);
}  // namespace reference

}  // namespace primus::kernels
