// Grok 1 and 2. What the references do: the remote code of the converted Grok-1 checkpoint; sglang's models/grok.py,
// which the card of Grok-2 names (its config.json says model_type "git", the name of another model: architectures
// decides).
#include <algorithm>
#include <cmath>

#include "primus/hub/hf_config_reader.h"

namespace primus::hub {

namespace {

using spec::LayerSpec;
using spec::Model;

constexpr HfDefaults kGrok1{131072, 6144, 32768, 64, 48, 8, 0, 8192, 1e-5, 10000, true};
constexpr HfDefaults kGrok2{131072, 8192, 32768, 64, 64, 8, 128, 131072, 1e-5, 10000};

// Norms of the outputs too, and gated exact GELU.
void use_grok_layers(HfReader& r, Model& m, double cap) {
  for (LayerSpec& layer : m.layers) {
    layer.mlp.activation = spec::Activation::Gelu;
    layer.attention.logit_soft_cap = cap;
    layer.attention_output_norm = layer.mlp_output_norm = m.final_norm;
  }
  r.decide("layer.attention_output_norm", "true", "grok norms the outputs of attention and experts too");
  r.decide("moe.expert.activation", "gelu, gated", "the exact form");
  r.ignore({"hidden_act"}, "grok always computes gelu");
}

spec::Moe read_grok_experts(HfReader& r, const Model& m, const char* count) {
  spec::Moe moe;
  moe.expert = m.layers.front().mlp;
  moe.num_experts = r.integer({count}, 8, "moe.num_experts", 1);
  moe.top_k = r.integer({"num_experts_per_tok"}, 2, "moe.top_k", 1);
  moe.router.normalise_over_all = true;
  r.decide("moe.router", "softmax over all experts, not renormalised", "grok");
  ignore_balance(r);
  return moe;
}

void write_multipliers(const Model& m, Json& out) {
  out.erase("hidden_act");
  out["num_experts_per_tok"] = some_moe(m).top_k;
  out["embedding_multiplier_scale"] = m.embedding_multiplier;
  out["output_multiplier_scale"] = m.logit_multiplier;
}

// Written without a default: the reference has none.
double needed_number(HfReader& r, const char* key, std::string_view field) {
  if (!r.is_given(key)) r.error(key, std::string("the file has no '") + key + "'", "a number");
  return r.number({key}, 1, field);
}

}  // namespace

void read_grok1(HfReader& r, Model& m) {
  read_skeleton(r, m, kGrok1);
  const double scale = r.number({"attn_output_multiplier"}, 0.08838834764831845, "attention.softmax_scale");
  for (LayerSpec& layer : m.layers) layer.attention.softmax_scale = scale;
  use_grok_layers(r, m, r.number({"max_attn_value"}, 30, "attention.logit_soft_cap"));
  m.embedding_multiplier = r.number({"embedding_multiplier_scale"}, 78.38367176906169, "model.embedding_multiplier");
  m.logit_multiplier = r.number({"output_multiplier_scale"}, 0.5773502691896257, "model.logit_multiplier");
  use_experts(m, read_grok_experts(r, m, "num_experts"), [](int64_t) { return true; });
}

Json write_grok1(const Model& m) {
  Json out = write_skeleton(m, "grok-1", "Grok1ModelForCausalLM");
  const spec::Attention& a = m.layers.front().attention;
  write_multipliers(m, out);
  out["intermediate_size"] = some_moe(m).expert.ffn_size;
  out["num_experts"] = some_moe(m).num_experts;
  out["attn_output_multiplier"] = a.softmax_scale;
  out["max_attn_value"] = a.logit_soft_cap;
  return out;
}

void read_grok2(HfReader& r, Model& m) {
  read_skeleton(r, m, kGrok2);
  r.demand("rope_type", "original", "other rotations of this family are not built");
  r.ignore({"original_max_position_embeddings", "scaling_factor", "extrapolation_factor", "attn_factor", "beta_fast",
            "beta_slow"},
           "belongs to other kinds of rope_type");
  r.demand("rope_rotate_half_dims", false, "half heads with positions are not built for this family");
  r.demand("sliding_window_size", -1, "windows are not built for this family");
  r.demand("attn_logit_softcapping_method", "tanh", "other caps are not built");
  r.ignore({"global_attn_every_n"}, "every layer sees all without a window");
  use_grok_layers(r, m, std::max(0.0, r.number({"attn_logit_softcapping"}, 30, "attention.logit_soft_cap")));
  if (const int64_t length = r.integer({"attn_temperature_len"}, -1, "attention.temperature", -1); length > 0)
    for (LayerSpec& layer : m.layers) layer.attention.temperature = spec::TemperatureTuning{.log_length = length};
  m.embedding_multiplier = needed_number(r, "embedding_multiplier_scale", "model.embedding_multiplier");
  m.logit_multiplier = needed_number(r, "output_multiplier_scale", "model.logit_multiplier");
  m.logit_soft_cap = r.number({"final_logit_softcapping"}, 0, "model.logit_soft_cap");
  spec::Moe moe = read_grok_experts(r, m, "num_local_experts");
  moe.router.logit_soft_cap = r.number({"router_logit_softcapping"}, 30, "moe.router.logit_soft_cap");
  moe.router.dtype = spec::RouterDtype::Float32;
  r.decide("moe.router.dtype", "float32", "grok-2 always routes in it");
  const int64_t dense = moe.expert.ffn_size;
  moe.expert.ffn_size = r.integer({"moe_intermediate_size"}, dense, "moe.expert.ffn_size", 1);
  if (r.flag({"residual_moe"}, false, "")) {
    moe.shared_ffn_size = dense;
    r.decide("moe.shared_ffn_size", std::to_string(dense), "residual_moe: intermediate_size");
    moe.output_multiplier = std::sqrt(0.5);
    r.decide("moe.output_multiplier", "1 / sqrt 2", "of an MLP that every token passes and of the experts");
  }
  use_experts(m, moe, [](int64_t) { return true; });
}

Json write_grok2(const Model& m) {
  Json out = write_skeleton(m, "git", "Grok1ForCausalLM");
  const spec::Moe& moe = some_moe(m);
  const spec::Attention& a = m.layers.front().attention;
  write_multipliers(m, out);
  out["rope_type"] = "original";
  out["num_local_experts"] = moe.num_experts;
  out["moe_intermediate_size"] = moe.expert.ffn_size;
  if (moe.shared_ffn_size > 0) out["intermediate_size"] = moe.shared_ffn_size;
  out["residual_moe"] = moe.shared_ffn_size > 0;
  out["router_logit_softcapping"] = moe.router.logit_soft_cap;
  out["attn_logit_softcapping"] = a.logit_soft_cap;
  out["attn_temperature_len"] = a.temperature ? a.temperature->log_length : -1;
  out["sliding_window_size"] = -1;
  out["global_attn_every_n"] = 1;
  if (m.logit_soft_cap != 0) out["final_logit_softcapping"] = m.logit_soft_cap;
  return out;
}

}  // namespace primus::hub
