// Cross entropy straight from hidden states: the [tokens, vocabulary] logits exist only a chunk of tokens at a time.
//
// Logical dims: n tokens, h hidden, v rows of the weight (vocabulary and padding). x [N, H] and w [V, H]: f32, bf16,
// f16 or f64. Products are rounded to that type, as torch does; softmax and loss are f32 (f64) on them.
#pragma once

#include <cstdint>

#include "primus/kernels/gemm.h"
#include "primus/tensor/prelude.h"

namespace primus::kernels {

struct CrossEntropyOptions {
  int64_t vocab_size = 0;              // rows of w that are tokens; 0: all of them
  bool padded_rows_in_softmax = true;  // rows >= vocab_size take part in the sum of exp (megatron), or do not exist
  double soft_cap = 0;                 // logits are cap * tanh(logit / cap); 0: none
  int64_t chunk_tokens = 0;            // 0: as many as keep logits within an eighth of [N, V] f32, at least 64
};

struct CrossEntropyGrads {
  at::Tensor loss;  // f32 [N] (f64 for f64): per-token loss, not weighted; 0 where the label is negative
  at::Tensor dx;    // [N, H] of x's dtype: gradient of sum(weights * loss)
};

// Loss and both gradients in one pass over the vocabulary: the weight of every token in the total is known before
// forward (loss mask x normalisation x loss scale), so the gradient can be taken while the chunk's logits are in the
// cache; three products, where a backward that computes the logits again needs four (1024 x 32000 x 768 in bf16: 29 %
// more time).
//
// labels int64 [N]: below vocab_size; negative = ignored (weight 0). weights f32 (f64) [N].
// w_main_grad f32 (f64) [V, H] is overwritten (accumulate false) or added to, chunk by chunk in token order: it may
// belong to a weight that is tied to the embedding. Undefined: no weight gradient. Autograd functions must check that
// the incoming gradient is 1, or scale dx only after folding a known factor into `weights`. Memory beyond the results:
// one chunk of logits and, for 16-bit types, one block of the weight gradient.
CrossEntropyGrads linear_cross_entropy(const GemmRoute& route, const at::Tensor& x, const at::Tensor& w,
                                       const at::Tensor& labels, const at::Tensor& weights,
                                       const CrossEntropyOptions& options, at::Tensor w_main_grad, bool accumulate);

// Loss only, the same numbers (bit-equal for equal chunks).
at::Tensor linear_cross_entropy_loss(const GemmRoute& route, const at::Tensor& x, const at::Tensor& w,
                                     const at::Tensor& labels, const CrossEntropyOptions& options);

// Per-token loss f32 (f64) [N] from logits [N, V] with contiguous rows. Same rules for labels and padding.
at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels, const CrossEntropyOptions& options);

// The definition, whole matrices in f64. loss f64 [N], dx f64, dw f64 [V, H].
struct CrossEntropyReference {
  at::Tensor loss, dx, dw;
};
CrossEntropyReference linear_cross_entropy_reference(const at::Tensor& x, const at::Tensor& w, const at::Tensor& labels,
                                                     const at::Tensor& weights, const CrossEntropyOptions& options);

}  // namespace primus::kernels
