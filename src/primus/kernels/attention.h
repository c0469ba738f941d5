// Scaled dot-product attention, forward and backward, in O(T) memory.
//
// Logical dims: b batch, t query position, s key position, h query head, g key/value head (h = g * heads per group), d
// head dim. q [B, T, H, D], k and v [B, S, G, D]: f32, bf16, f16 or f64; any strides with a contiguous last dim (a
// slice of a fused qkv tensor needs no copy); H a multiple of G. f16 is computed in f32, f64 by the plain reference.
//
// Source: Dao, "FlashAttention-2" (arXiv 2307.08691), with scores kept as [key, query] tiles so that queries lie along
// vector lanes: running maxima and sums need no horizontal operations.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "primus/base/result.h"
#include "primus/tensor/prelude.h"

namespace primus::kernels {

enum class AttentionMethod {
  Tiled,         // own tiles; bf16 by vdpbf16ps where the CPU has it, else as TiledFloat32
  TiledFloat32,  // own tiles, operands widened to f32 as they are packed
  Torch,         // libtorch's CPU flash attention; calls with documents, dropout or T != S still use own tiles
};

struct AttentionRoute {
  AttentionMethod f32 = AttentionMethod::Tiled;
  AttentionMethod bf16 = AttentionMethod::Tiled;

  bool operator==(const AttentionRoute&) const = default;
  std::string to_string() const;  // "f32=tiled,bf16=tiled"
  static Result<AttentionRoute> parse(std::string_view text);
};

// Times the methods on one small shape (milliseconds) and returns the fastest per dtype.
AttentionRoute choose_attention_route();

// Which probabilities survive dropout: keep[i] = 1 or 0 for key positions first_key + i, i < count. A pure function of
// its arguments (counter-based random numbers), since backward asks again, in another order and from several threads at
// once.
struct AttentionDropout {
  double p = 0;  // in [0, 1): survivors are scaled by 1 / (1 - p)
  void (*keep)(const void* context, int64_t b, int64_t h, int64_t query, int64_t first_key, int64_t count,
               uint8_t* keep) = nullptr;
  const void* context = nullptr;
};

struct AttentionOptions {
  bool causal = true;        // key s is seen by query t when s <= t + S - T
  double softmax_scale = 0;  // 0: 1 / sqrt(D)
  double score_cap = 0;      // cap * tanh(scaled score / cap), not together with dropout; 0: none
  at::Tensor cap_factors;    // f32 [B or 1, T]: each query's cap is score_cap times its own; undefined: 1
  // int32 [B, T], T == S, not decreasing in t. Causal: the first key that each query sees, for documents, windows and
  // chunks alike. Otherwise: the first position of each token's document. Undefined: 0.
  at::Tensor document_start;
  AttentionDropout dropout;  // p == 0: off
};

// out [B, T, H, D] contiguous, of q's dtype; lse [B, H, T] f32 (f64 for f64): log of the sum of exp(scale * q.k).
std::tuple<at::Tensor, at::Tensor> attention_forward(const AttentionRoute& route, const at::Tensor& q,
                                                     const at::Tensor& k, const at::Tensor& v,
                                                     const AttentionOptions& options);

struct AttentionGrads {
  at::Tensor dq, dk, dv;  // shapes and dtypes of q, k, v
};
// dout [B, T, H, D]; out and lse from attention_forward with the same options. `into`: where the gradients go;
// undefined members are allocated contiguous, defined ones may be strided views (slices of one fused dqkv) and are
// overwritten. Equal bits for any number of threads.
AttentionGrads attention_backward(const AttentionRoute& route, const at::Tensor& dout, const at::Tensor& q,
                                  const at::Tensor& k, const at::Tensor& v, const at::Tensor& out,
                                  const at::Tensor& lse, const AttentionOptions& options, AttentionGrads into = {});

// The plain form: whole [T, S] matrices, one loop per line of the definition. Same shapes; any float dtype, computed in
// f64.
std::tuple<at::Tensor, at::Tensor> attention_forward_reference(const at::Tensor& q, const at::Tensor& k,
                                                               const at::Tensor& v, const AttentionOptions& options);
AttentionGrads attention_backward_reference(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                                            const at::Tensor& v, const AttentionOptions& options);

}  // namespace primus::kernels
