// Qwen3-Next and the text half of Qwen 3.5: gated delta nets, and attention with a gate on its output. What their
// reference does: transformers 5.24, modeling_qwen3_next.py, modeling_qwen3_5.py and modeling_qwen3_5_moe.py.
#include <algorithm>

#include "primus/hub/hf_config_reader.h"

namespace primus::hub {

namespace {

using spec::LayerSpec;
using spec::Model;

constexpr HfDefaults kQwen3Next{151936, 2048, 5632, 48, 16, 2, 256, 32768, 1e-6, 10000, false, std::nullopt, 0.25};
constexpr HfDefaults kQwen35{248320, 4096, 12288, 32, 16, 4, 256, 32768, 1e-6, 10000, false, std::nullopt, 0.25};
constexpr HfDefaults kQwen35Moe{248320, 2048, 512, 40, 16, 2, 256, 32768, 1e-6, 10000, false, std::nullopt, 0.25};

// Per layer "linear_attention" or "full_attention"; without the list every n-th layer attends.
std::vector<bool> read_attending(HfReader& r, size_t count) {
  const std::vector<std::string> types = r.layer_types(count, "gated_delta", {"linear_attention", "full_attention"});
  const int64_t interval = r.integer({"full_attention_interval"}, 4, types.empty() ? "gated_delta" : "", 1);
  std::vector<bool> attending(count, true);
  for (size_t i = 0; i < count; ++i)
    attending[i] = types.empty() ? (static_cast<int64_t>(i) + 1) % interval == 0 : types[i] == "full_attention";
  return attending;
}

void read_next_layers(HfReader& r, Model& m, const HfDefaults& defaults) {
  read_skeleton(r, m, defaults);
  read_attention_bias(r, m, false, true);
  r.demand("hidden_act", "silu", "another activation, which the convolution would have too");
  r.demand("attn_output_gate", true, "attention without a gate on its output in this family");
  r.ignore({"mamba_ssm_dtype"}, "states and decays are in fp32 here");
  r.ignore({"num_nextn_predict_layers", "mtp_num_hidden_layers", "mtp_use_dedicated_embeddings"},
           "the reference has no layers of multi-token prediction");
  m.final_norm.zero_centered_gain = true;
  r.decide("norm.zero_centered_gain", "true", "these norms multiply by 1 + weight");
  r.decide("attention.qk_norm", "per head, before the rotation", "qwen3_next always has it");
  r.decide("attention.output_gate", "true", "the second half of every head's queries");
  spec::GatedDelta delta;
  delta.num_key_heads = r.integer({"linear_num_key_heads"}, 16, "gated_delta.num_key_heads", 1);
  delta.num_value_heads = r.integer({"linear_num_value_heads"}, 32, "gated_delta.num_value_heads", 1);
  delta.key_head_dim = r.integer({"linear_key_head_dim"}, 128, "gated_delta.key_head_dim", 1);
  delta.value_head_dim = r.integer({"linear_value_head_dim"}, 128, "gated_delta.value_head_dim", 1);
  delta.kernel_size = r.integer({"linear_conv_kernel_dim"}, 4, "gated_delta.kernel_size", 1);
  delta.output_norm.eps = m.final_norm.eps;
  if (delta.num_value_heads % delta.num_key_heads != 0)
    r.error("linear_num_key_heads",
            std::to_string(delta.num_value_heads) + " value heads cannot be shared out over " +
                std::to_string(delta.num_key_heads) + " key heads",
            "a divisor of " + std::to_string(delta.num_value_heads));
  const std::vector<bool> attending = read_attending(r, m.layers.size());
  for (size_t i = 0; i < m.layers.size(); ++i) {
    LayerSpec& layer = m.layers[i];
    layer.input_norm = layer.post_attention_norm = m.final_norm;
    layer.attention.qk_norm = spec::QkNorm{m.final_norm};
    layer.attention.output_gate = true;
    if (!attending[i]) layer.gated_delta = delta;
  }
}

spec::Moe read_next_experts(HfReader& r, const Model& m, int64_t experts, int64_t top_k) {
  spec::Moe moe;
  moe.expert = m.layers.front().mlp;
  moe.num_experts = r.integer({"num_experts"}, experts, "moe.num_experts");
  moe.top_k = r.integer({"num_experts_per_tok"}, top_k, "moe.top_k", 1);
  moe.expert.ffn_size = r.integer({"moe_intermediate_size"}, 512, "moe.expert.ffn_size", 1);
  moe.shared_ffn_size = r.integer({"shared_expert_intermediate_size"}, 512, "moe.shared_ffn_size", 1);
  moe.shared_gate = true;
  r.decide("moe.shared_gate", "true", "sigmoid(x w) on the shared expert's output");
  moe.router.normalise_over_all = true;
  r.ignore({"router_aux_loss_coef", "output_router_logits"}, "belongs to training");
  return moe;
}

Json write_next_layers(const Model& m, const char* type, const char* architecture) {
  Json out = write_skeleton(m, type, architecture);
  const auto attends_at = std::find_if(m.layers.begin(), m.layers.end(), spec::attends);
  const spec::Attention& a = (attends_at == m.layers.end() ? m.layers.front() : *attends_at).attention;
  out["num_attention_heads"] = a.num_heads, out["num_key_value_heads"] = a.num_kv_heads, out["head_dim"] = a.head_dim;
  out["attention_bias"] = a.qkv_bias;
  out["attention_dropout"] = a.dropout;
  out["partial_rotary_factor"] = a.rope ? a.rope->fraction : 1;
  Json types = Json::array();
  for (const LayerSpec& layer : m.layers) {
    types.push_back(layer.gated_delta ? "linear_attention" : "full_attention");
    if (!layer.gated_delta) continue;
    const spec::GatedDelta& g = *layer.gated_delta;
    out["linear_num_key_heads"] = g.num_key_heads, out["linear_num_value_heads"] = g.num_value_heads;
    out["linear_key_head_dim"] = g.key_head_dim, out["linear_value_head_dim"] = g.value_head_dim;
    out["linear_conv_kernel_dim"] = g.kernel_size;
  }
  out["layer_types"] = types;
  return out;
}

void write_next_experts(const Model& m, Json& out) {
  const auto first =
      std::find_if(m.layers.begin(), m.layers.end(), [](const LayerSpec& l) { return l.moe.has_value(); });
  if (first == m.layers.end()) return;
  const spec::Moe& moe = *first->moe;
  out["num_experts"] = moe.num_experts;
  out["num_experts_per_tok"] = moe.top_k;
  out["moe_intermediate_size"] = moe.expert.ffn_size;
  out["shared_expert_intermediate_size"] = moe.shared_ffn_size;
}

}  // namespace

void read_qwen3_next(HfReader& r, Model& m) {
  read_next_layers(r, m, kQwen3Next);
  spec::Moe moe = read_next_experts(r, m, 512, 10);
  moe.router.renormalise = r.flag({"norm_topk_prob"}, true, "moe.router.renormalise");
  const int64_t step = r.integer({"decoder_sparse_step"}, 1, "moe", 1);
  const std::vector<int64_t> dense = r.integers("mlp_only_layers", "moe");
  use_experts(m, moe, [&](int64_t i) {
    return moe.num_experts > 0 && (i + 1) % step == 0 && std::find(dense.begin(), dense.end(), i) == dense.end();
  });
}

Json write_qwen3_next(const Model& m) {
  Json out = write_next_layers(m, "qwen3_next", "Qwen3NextForCausalLM");
  out["num_experts"] = 0;
  write_next_experts(m, out);
  Json dense = Json::array();
  for (size_t i = 0; i < m.layers.size(); ++i) {
    if (m.layers[i].moe) {
      out["norm_topk_prob"] = m.layers[i].moe->router.renormalise || !m.layers[i].moe->router.normalise_over_all;
      continue;
    }
    dense.push_back(i);
    out["intermediate_size"] = m.layers[i].mlp.ffn_size;
  }
  out["decoder_sparse_step"] = 1;
  out["mlp_only_layers"] = dense;
  return out;
}

void read_qwen3_5(HfReader& r, Model& m) {
  read_next_layers(r, m, kQwen35);
}

Json write_qwen3_5(const Model& m) {
  return write_next_layers(m, "qwen3_5_text", "Qwen3_5ForCausalLM");
}

void read_qwen3_5_moe(HfReader& r, Model& m) {
  read_next_layers(r, m, kQwen35Moe);
  spec::Moe moe = read_next_experts(r, m, 256, 8);
  moe.router.renormalise = true;
  r.decide("moe.router.renormalise", "true", "qwen3_5_moe: softmax over all experts, top-k, always renormalised");
  use_experts(m, moe, [](int64_t) { return true; });
}

Json write_qwen3_5_moe(const Model& m) {
  Json out = write_next_layers(m, "qwen3_5_moe_text", "Qwen3_5MoeForCausalLM");
  out.erase("intermediate_size");
  write_next_experts(m, out);
  return out;
}

}  // namespace primus::hub
