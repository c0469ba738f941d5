#include "primus/hub/hf_weights_naming.h"

#include <array>
#include <fmt/format.h>

#include "primus/base/strings.h"

namespace primus::hub {

namespace {

constexpr HfNaming skeleton(const char* family) {
  HfNaming naming{};
  naming.family = family;
  return naming;
}

// Norms of the outputs too: post_attention_layernorm is one of them here, not the MLP's input norm.
constexpr HfNaming gemma2() {
  HfNaming naming = skeleton("gemma2");
  naming.mlp_norm = "pre_feedforward_layernorm";
  naming.attn_post_norm = "post_attention_layernorm";
  naming.mlp_post_norm = "post_feedforward_layernorm";
  return naming;
}

constexpr HfNaming olmo2() {
  HfNaming naming = gemma2();
  naming.family = "olmo2";
  naming.attn_norm = naming.mlp_norm = "";
  return naming;
}

constexpr HfNaming glm4() {
  HfNaming naming = skeleton("glm4");
  naming.attn_post_norm = "post_self_attn_layernorm";
  naming.mlp_post_norm = "post_mlp_layernorm";
  naming.fused_gate_up = true;
  return naming;
}

constexpr HfNaming mixtral() {
  HfNaming naming = skeleton("mixtral");
  naming.moe = "block_sparse_moe";
  naming.gate = "w1", naming.up = "w3", naming.down = "w2";
  return naming;
}

constexpr HfNaming qwen3_moe() {
  HfNaming naming = skeleton("qwen3_moe");
  naming.moe = "mlp";
  return naming;
}

constexpr HfNaming deepseek_v2() {
  HfNaming naming = qwen3_moe();
  naming.family = "deepseek_v2";
  naming.shared = "shared_experts";
  naming.latent_attention = true;
  return naming;
}

constexpr HfNaming deepseek_v3(const char* family) {
  HfNaming naming = deepseek_v2();
  naming.family = family;
  naming.score_bias = "gate.e_score_correction_bias";
  naming.further_predictions = true;
  return naming;
}

constexpr HfNaming glm4_moe() {
  HfNaming naming = deepseek_v3("glm4_moe");
  naming.latent_attention = false;
  return naming;
}

constexpr HfNaming gpt_oss() {
  HfNaming naming = qwen3_moe();
  naming.family = "gpt_oss";
  naming.router = "router";
  naming.layout = ExpertLayout::InputsInterleaved;
  return naming;
}

constexpr HfNaming llama4() {
  HfNaming naming = skeleton("llama4_text");
  naming.mlp = naming.moe = "feed_forward";
  naming.router = "router";
  naming.shared = "shared_expert";
  naming.layout = ExpertLayout::InputsFirst;
  return naming;
}

constexpr HfNaming grok1() {
  HfNaming naming = skeleton("grok-1");
  naming.attention = "attn";
  naming.attn_norm = "pre_attn_norm", naming.mlp_norm = "pre_moe_norm";
  naming.attn_post_norm = "post_attn_norm", naming.mlp_post_norm = "post_moe_norm";
  naming.norm_gain = "scale";
  naming.moe = "moe_block";
  naming.gate = "linear", naming.up = "linear_v", naming.down = "linear_1";
  return naming;
}

constexpr HfNaming grok2() {
  HfNaming naming = skeleton("grok-2");
  naming.attn_norm = "pre_attn_norm", naming.mlp_norm = "pre_moe_norm";
  naming.attn_post_norm = "post_attn_norm", naming.mlp_post_norm = "post_moe_norm";
  naming.moe = "block_sparse_moe";
  naming.gate = "w1", naming.up = "w3", naming.down = "w2";
  naming.shared = "mlp", naming.shared_beside_moe = true;
  return naming;
}

// embedding_norm is the norm behind the layers, for all its name.
constexpr HfNaming lfm2(const char* family) {
  HfNaming naming = skeleton(family);
  naming.final_norm = "embedding_norm";
  naming.attn_norm = "operator_norm", naming.mlp_norm = "ffn_norm";
  naming.attention_out = "out_proj", naming.q_norm = "q_layernorm", naming.k_norm = "k_layernorm";
  naming.short_conv = "conv";
  naming.mlp = "feed_forward";
  naming.gate = naming.mlp_gate = "w1", naming.up = naming.mlp_up = "w3", naming.down = naming.mlp_down = "w2";
  return naming;
}

constexpr HfNaming lfm2_moe() {
  HfNaming naming = lfm2("lfm2_moe");
  naming.moe = "feed_forward";
  naming.score_bias = "expert_bias";
  return naming;
}

constexpr HfNaming qwen3_next(const char* family) {
  HfNaming naming = qwen3_moe();
  naming.family = family;
  naming.gate_in_queries = true;
  naming.gated_delta = "linear_attn";
  naming.delta_by_heads = std::string_view(family) == "qwen3_next";
  naming.shared = "shared_expert";
  naming.shared_gate = "shared_expert_gate";
  return naming;
}

constexpr HfNaming mamba2() {
  HfNaming naming = skeleton("mamba2");
  naming.root = "backbone.", naming.embedding = "embeddings", naming.final_norm = "norm_f";
  naming.attn_norm = "norm";
  naming.mamba2 = "mixer";
  return naming;
}

constexpr std::array kNamings = {skeleton("llama"),
                                 skeleton("mistral"),
                                 skeleton("qwen2"),
                                 skeleton("qwen3"),
                                 olmo2(),
                                 skeleton("gemma"),
                                 gemma2(),
                                 glm4(),
                                 skeleton("gpt2"),
                                 mixtral(),
                                 qwen3_moe(),
                                 deepseek_v2(),
                                 deepseek_v3("deepseek_v3"),
                                 deepseek_v3("kimi_k2"),
                                 gpt_oss(),
                                 llama4(),
                                 glm4_moe(),
                                 lfm2("lfm2"),
                                 lfm2_moe(),
                                 qwen3_next("qwen3_next"),
                                 qwen3_next("qwen3_5_text"),
                                 qwen3_next("qwen3_5_moe_text"),
                                 mamba2(),
                                 grok1(),
                                 grok2()};

}  // namespace

const HfNaming* find_hf_naming(std::string_view family) {
  if (family == "llama4") family = "llama4_text";
  if (family == "qwen3_5") family = "qwen3_5_text";
  if (family == "qwen3_5_moe") family = "qwen3_5_moe_text";
  for (const HfNaming& naming : kNamings)
    if (family == naming.family) return &naming;
  return nullptr;
}

std::vector<std::string> hf_spellings(const HfNaming& naming, const std::string& name) {
  std::vector<std::string> all = {name};
  for (const std::string_view prefix : {"model.", "transformer."})
    if (name.starts_with(prefix)) all.push_back(name.substr(prefix.size()));
  const std::string_view family = naming.family;
  const bool nests = family.starts_with("qwen3_5");
  if (family == "llama4_text" || nests) {
    if (!nests) all.push_back("language_model." + name);
    if (name.starts_with("model.")) all.push_back("model.language_model." + name.substr(6));
  }
  // In memory mixtral's block has another name.
  const std::string block = ".block_sparse_moe.";
  if (const size_t at = name.find(block); at != std::string::npos)
    all.push_back(name.substr(0, at) + ".mlp." + name.substr(at + block.size()));
  return all;
}

std::string first_names(const std::vector<std::string>& names) {
  const size_t most = 20;
  if (names.size() <= most) return join(names, ", ");
  return join({names.begin(), names.begin() + most}, ", ") + fmt::format(", and {} more", names.size() - most);
}

}  // namespace primus::hub
