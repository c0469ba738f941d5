#include "primus/spec/fingerprint.h"

namespace primus::spec {

namespace {

// Only what is switched on, so that plain models keep their fingerprints.
void add_family(const LayerSpec& layer, Json& out) {
  const Attention& a = layer.attention;
  if (!layer.other_mixer.empty()) out["mixer"] = layer.other_mixer;
  if (layer.short_conv) out["short_conv"] = {layer.short_conv->kernel_size, layer.short_conv->bias};
  if (layer.gated_delta) {
    const GatedDelta& g = *layer.gated_delta;
    out["gated_delta"] = {g.num_key_heads,  g.num_value_heads, g.key_head_dim,
                          g.value_head_dim, g.kernel_size,     g.output_norm.zero_centered_gain};
  }
  if (layer.mamba2) {
    const Mamba2& m = *layer.mamba2;
    out["mamba2"] = {m.num_heads, m.head_dim, m.num_groups, m.state_dim, m.kernel_size, m.bias, m.conv_bias};
  }
  if (!layer.has_mixer) out["has_mixer"] = false;
  if (!layer.has_mlp) out["has_mlp"] = false;
  if (!layer.norms_in_front) out["norms_in_front"] = false;
  if (layer.attention_output_norm) out["attention_output_norm"] = true;
  if (layer.mlp_output_norm) out["mlp_output_norm"] = true;
  if (a.latent)
    out["latent"] = {a.latent->q_lora_rank,   a.latent->kv_lora_rank, a.latent->nope_head_dim,
                     a.latent->rope_head_dim, a.latent->v_head_dim,   a.latent->norm_latents};
  if (a.qk_norm)
    out["qk_norm"] = {a.qk_norm->has_gain, a.qk_norm->scope == QkNormScope::PerHead, a.qk_norm->after_rope};
  if (a.rope && a.rope->interleaved) out["rope_interleaved"] = true;
  if (a.rope && a.rope->fraction != 1) out["rope_fraction"] = a.rope->fraction;
  if (a.rope && a.rope->llama3) out["rope_llama3"] = a.rope->llama3->factor;
  if (a.rope && a.rope->yarn) out["rope_yarn"] = a.rope->yarn->factor;
  if (a.window_keys) out["window_keys"] = *a.window_keys;
  if (a.chunk_size) out["chunk_size"] = *a.chunk_size;
  if (a.sink != Sink::None) out["sink"] = static_cast<int>(a.sink);
  if (a.output_gate) out["output_gate"] = true;
  if (a.values_are_keys) out["values_are_keys"] = true;
  if (a.value_norm) out["value_norm"] = a.value_norm->has_gain;
  if (!layer.moe) return;
  const Moe& moe = *layer.moe;
  out["experts"] = {{"count", moe.num_experts},
                    {"top_k", moe.top_k},
                    {"ffn_size", moe.expert.ffn_size},
                    {"bias", moe.expert.bias},
                    {"shared_ffn_size", moe.shared_ffn_size},
                    {"shared_gate", moe.shared_gate},
                    {"latent_size", moe.latent_size},
                    {"router_bias", moe.router.bias},
                    {"expert_bias", moe.router.expert_bias.has_value()}};
}

}  // namespace

Json model_fingerprint(const Model& model) {
  Json layers = Json::array();
  for (const LayerSpec& layer : model.layers) {
    const Attention& a = layer.attention;
    layers.push_back({{"heads", a.num_heads},
                      {"kv_heads", a.num_kv_heads},
                      {"head_dim", a.head_dim},
                      {"qkv_bias", a.qkv_bias},
                      {"out_bias", a.out_bias},
                      {"rope_base", a.rope ? Json(a.rope->base) : Json(nullptr)},
                      {"ffn_size", layer.mlp.ffn_size},
                      {"activation", static_cast<int>(layer.mlp.activation)},
                      {"gated", layer.mlp.gated},
                      {"mlp_bias", layer.mlp.bias},
                      {"layer_norm", layer.input_norm.kind == NormKind::LayerNorm}});
    add_family(layer, layers.back());
  }
  Json out = {{"hidden_size", model.hidden_size},
              {"vocab_size", model.vocab_size},
              {"num_layers", model.layers.size()},
              {"tied_embeddings", model.tied_embeddings},
              {"learned_positions", model.learned_positions ? Json(model.max_positions) : Json(nullptr)},
              {"layers", layers}};
  if (model.mtp) out["mtp_depth"] = model.mtp->depth;
  if (model.embedding_multiplier != 1) out["embedding_multiplier"] = model.embedding_multiplier;
  if (model.logit_multiplier != 1) out["logit_multiplier"] = model.logit_multiplier;
  return out;
}

}  // namespace primus::spec
