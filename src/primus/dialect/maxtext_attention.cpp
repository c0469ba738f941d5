// Positions and attention per decoder block. Source: MaxText's layers/attentions, attention_mla and embeddings, 0.2.5.
#include <algorithm>
#include <cmath>

#include "primus/dialect/maxtext_block.h"
#include "primus/dialect/yarn.h"

namespace primus::dialect {

namespace {

spec::YarnRopeScaling yarn(Translation& t) {
  spec::YarnRopeScaling y;
  y.factor = t.keys.number("rope_factor");
  y.original_max_positions = t.keys.integer("original_max_position_embeddings");
  y.beta_fast = t.keys.number("beta_fast");
  y.beta_slow = t.keys.number("beta_slow");
  y.whole_bounds = t.keys.flag("rope_truncate");
  y.cos_sin_factor = t.keys.flag("rope_attention_scaling") ? yarn_magnitude(y.factor, 1) : 1;
  return y;
}

spec::LatentAttention latent(Translation& t, double eps) {
  spec::LatentAttention m;
  m.q_lora_rank = t.keys.integer("q_lora_rank");
  m.kv_lora_rank = t.keys.integer("kv_lora_rank");
  m.nope_head_dim = t.keys.integer("qk_nope_head_dim");
  m.rope_head_dim = t.keys.integer("qk_rope_head_dim");
  m.v_head_dim = t.keys.integer("v_head_dim");
  m.latent_norm_eps = eps;
  return m;
}

std::optional<spec::QkNorm> qk_norm(Translation& t, const MaxtextBlock& block, double eps) {
  const bool asked = t.keys.flag("use_qk_norm"), gain = t.keys.flag("qk_norm_with_scale");
  const bool always = block.name == "gemma3" || block.name == "gemma4";
  if (!always && !(asked && block.qk_norm_key)) return std::nullopt;
  spec::QkNorm norm;
  norm.norm = {spec::NormKind::RmsNorm, eps, false};
  norm.has_gain = gain;
  if (block.name == "llama4") {  // x / rms(x) behind the rotation
    norm.norm.eps = 1e-6;
    norm.has_gain = false;
    norm.after_rope = true;
  }
  if (block.name == "olmo3") norm.scope = spec::QkNormScope::WholeProjection;
  return norm;
}

}  // namespace

// llama3.1 by the name's beginning or by rope_type; llama3 and llama3.3 turn plainly.
MaxtextPositions maxtext_positions(Translation& t, const MaxtextBlock& block) {
  MaxtextPositions p;
  const std::string type = t.keys.text("rope_type");
  const bool llama31 = t.keys.text("model_name").starts_with("llama3.1") || type == "llama3.1";
  const bool scaled = t.keys.flag("rope_use_scale");
  const spec::YarnRopeScaling y = yarn(t);
  const bool interleaved = t.keys.flag("rope_interleave");
  const double divisor = t.keys.number("rope_linear_scaling_factor"), mscale = t.keys.number("mscale");
  p.global.base = t.keys.number("rope_max_timescale");
  if (llama31) {
    p.global.interleaved = true;
    if (scaled) p.global.llama3 = spec::Llama3RopeScaling{};
  } else if (type == "yarn") {
    p.global.interleaved = interleaved;
    p.global.yarn = y;
  } else {
    p.global.position_divisor = divisor;
  }
  if (t.keys.integer("max_position_embeddings") > y.original_max_positions)
    p.latent_factor = std::pow(0.1 * mscale * std::log(std::max(y.factor, 1e-9)) + 1, 2);

  p.local = p.global;
  const double local_base = t.keys.number("local_rope_max_timescale");
  const double global_base = t.keys.number("global_rope_max_timescale");
  const double local_part = t.keys.number("local_rope_proportion");
  const double global_part = t.keys.number("global_rope_proportion");
  if (local_base > 0) p.local.base = local_base;
  if (block.name == "gemma3") p.local.position_divisor = 1;
  if (block.name != "gemma4") return p;
  if (global_base > 0) p.global.base = global_base;
  p.global.fraction = global_part;
  p.local.fraction = local_part;
  return p;
}

spec::Attention maxtext_attention(Translation& t, const MaxtextSizes& sizes, const MaxtextBlock& block, double eps) {
  spec::Attention a;
  a.num_heads = sizes.heads;
  a.num_kv_heads = sizes.kv_heads;
  a.head_dim = t.keys.integer("head_dim");
  const bool bias = t.keys.flag("attention_bias") && block.bias_key;
  a.qkv_bias = bias || block.name == "gpt3";
  a.out_bias = (bias && block.out_bias) || block.name == "gpt3";
  a.qk_norm = qk_norm(t, block, eps);
  a.logit_soft_cap = t.keys.maybe_number("attn_logits_soft_cap").value_or(0);
  const bool sink = t.keys.flag("attention_sink");
  if (sink && block.name == "gpt_oss") a.sink = spec::Sink::Learned;
  const bool by_query = block.scale == MaxtextBlock::ScaleIn::QueryWeights;
  a.softmax_scale = by_query ? 1 : 1 / std::sqrt(static_cast<double>(a.head_dim));
  // The 27B of gemma3 divides by the width per query head, its smaller siblings by the head's.
  if (t.keys.text("model_name") == "gemma3-27b" && block.name == "gemma3")
    a.softmax_scale = 1 / std::sqrt(std::floor(static_cast<double>(sizes.hidden) / static_cast<double>(sizes.heads)));
  const spec::LatentAttention m = latent(t, eps);
  (void)t.keys.text("attention_type");
  if (block.name != "deepseek") return a;
  a.latent = m;
  a.head_dim = m.nope_head_dim + m.rope_head_dim;
  a.num_kv_heads = a.num_heads;
  a.softmax_scale = 1 / std::sqrt(static_cast<double>(a.head_dim));
  return a;
}

}  // namespace primus::dialect
