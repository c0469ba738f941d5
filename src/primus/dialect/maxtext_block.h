// What tells MaxText's decoder blocks apart, and their attention. Private to the room.
#pragma once

#include "primus/dialect/maxtext.h"

namespace primus::dialect {

// A decoder_block: which keys it reads. ScaleIn: where the softmax's 1/sqrt(head width) is, in the first query weights
// (logits are not scaled) or on the logits.
struct MaxtextBlock {
  enum class ScaleIn : uint8_t { QueryWeights, Logits, Unknown };
  std::string_view name;
  ScaleIn scale;
  bool has_experts = false;
  bool qk_norm_key = false;   // reads use_qk_norm
  bool bias_key = false;      // reads attention_bias
  bool out_bias = false;      // which covers the output projection too
  bool output_norms = false;  // reads use_post_attn_norm and use_post_ffw_norm
  int64_t local_layers = 0;   // of each period; the layer behind them sees everything
  std::string_view other;     // not described here
};

struct MaxtextPositions {
  spec::Rope global, local;
  double latent_factor = 1;  // on latent attention's softmax scale
};
MaxtextPositions maxtext_positions(Translation& t, const MaxtextBlock& block);

// Of a global layer, without positions; `eps` is normalization_layer_epsilon.
spec::Attention maxtext_attention(Translation& t, const MaxtextSizes& sizes, const MaxtextBlock& block, double eps);

}  // namespace primus::dialect
