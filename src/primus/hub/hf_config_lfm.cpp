// LFM2: short convolutions beside attention. What its reference does: transformers 5.24, modeling_lfm2.py and
// modeling_lfm2_moe.py.
#include <algorithm>

#include "primus/hub/hf_config_reader.h"

namespace primus::hub {

namespace {

using spec::LayerSpec;
using spec::Model;

constexpr HfDefaults kLfm2{65536, 2560, 12288, 32, 32, 8, 0, 128000, 1e-5, 1e6, true, 0, 1, std::nullopt, "norm_eps"};
constexpr HfDefaults kLfm2Moe{65536, 2048, 7168, 32, 32, 8, 0, 128000, 1e-5, 1e6, true, 0, 1, std::nullopt, "norm_eps"};

// What both families share: attention with norms on queries and keys, or a short convolution.
void read_lfm_layers(HfReader& r, Model& m, const HfDefaults& defaults) {
  read_skeleton(r, m, defaults);
  if (r.is_given("tie_embedding"))
    m.tied_embeddings = r.flag({"tie_embedding"}, m.tied_embeddings, "model.tied_embeddings");
  r.ignore({"hidden_act"}, "lfm2 always computes silu");
  r.decide("attention.qk_norm", "per head, before the rotation", "lfm2 always has it");
  const spec::ShortConv conv{r.integer({"conv_L_cache"}, 3, "short_conv.kernel_size", 1),
                             r.flag({"conv_bias"}, false, "short_conv.bias")};
  const std::vector<std::string> types = r.layer_types(m.layers.size(), "short_conv", {"conv", "full_attention"});
  const std::vector<int64_t> attending = r.integers("full_attn_idxs", "short_conv");
  const bool by_index = types.empty() && r.is_given("full_attn_idxs");
  for (size_t i = 0; i < m.layers.size(); ++i) {
    LayerSpec& layer = m.layers[i];
    layer.attention.qk_norm = spec::QkNorm{m.final_norm};
    layer.attention.dropout = 0;
    const bool is_listed = std::find(attending.begin(), attending.end(), static_cast<int64_t>(i)) != attending.end();
    if (types.empty() ? by_index && !is_listed : types[i] == "conv") layer.short_conv = conv;
  }
}

// The reference may shrink the width that the file names: two thirds, then a multiple, then rounded up.
void read_width(HfReader& r, Model& m) {
  int64_t width = m.layers.front().mlp.ffn_size;
  if (r.is_given("block_ff_dim")) width = r.integer({"block_ff_dim"}, width, "mlp.ffn_size", 1);
  const bool adjusts = r.flag({"block_auto_adjust_ff_dim"}, true, "mlp.ffn_size");
  const auto times = r.maybe_number({"block_ffn_dim_multiplier"}, "mlp.ffn_size");
  const bool rounds = times || !r.is_null("block_ffn_dim_multiplier");
  const int64_t unit = r.integer({"block_multiple_of"}, 256, "mlp.ffn_size", 1);
  if (adjusts) {
    width = 2 * width / 3;
    if (rounds) {
      width = static_cast<int64_t>(times.value_or(1) * static_cast<double>(width));
      width = (width + unit - 1) / unit * unit;
    }
    r.decide("mlp.ffn_size", std::to_string(width), "block_auto_adjust_ff_dim: two thirds, rounded up");
  }
  for (LayerSpec& layer : m.layers) layer.mlp.ffn_size = width;
}

Json write_lfm_layers(const Model& m, const char* type, const char* architecture) {
  Json out = write_skeleton(m, type, architecture);
  out.erase("hidden_act"), out.erase("attention_dropout"), out.erase("rms_norm_eps");
  out["norm_eps"] = m.final_norm.eps;
  const auto attends_at = std::find_if(m.layers.begin(), m.layers.end(), spec::attends);
  const spec::Attention& a = (attends_at == m.layers.end() ? m.layers.front() : *attends_at).attention;
  out["num_attention_heads"] = a.num_heads, out["num_key_value_heads"] = a.num_kv_heads, out["head_dim"] = a.head_dim;
  Json types = Json::array();
  for (const LayerSpec& layer : m.layers) {
    types.push_back(layer.short_conv ? "conv" : "full_attention");
    if (!layer.short_conv) continue;
    out["conv_L_cache"] = layer.short_conv->kernel_size;
    out["conv_bias"] = layer.short_conv->bias;
  }
  out["layer_types"] = types;
  return out;
}

}  // namespace

void read_lfm2(HfReader& r, Model& m) {
  read_lfm_layers(r, m, kLfm2);
  read_width(r, m);
  r.ignore({"block_dim", "block_mlp_init_scale", "block_norm_eps", "block_out_init_scale", "block_use_swiglu",
            "block_use_xavier_init", "conv_dim", "conv_dim_out", "conv_use_xavier_init", "num_heads", "use_pos_enc"},
           "not read by the reference");
}

Json write_lfm2(const Model& m) {
  Json out = write_lfm_layers(m, "lfm2", "Lfm2ForCausalLM");
  out["block_auto_adjust_ff_dim"] = false;
  return out;
}

void read_lfm2_moe(HfReader& r, Model& m) {
  read_lfm_layers(r, m, kLfm2Moe);
  if (!r.is_given("layer_types"))
    r.error("layer_types", "the file does not say which layers attend", "a list of types");
  spec::Moe moe;
  moe.expert = m.layers.front().mlp;
  moe.expert.ffn_size = r.integer({"moe_intermediate_size"}, 1792, "moe.expert.ffn_size", 1);
  moe.num_experts = r.integer({"num_experts"}, 32, "moe.num_experts", 1);
  moe.top_k = r.integer({"num_experts_per_tok"}, 4, "moe.top_k", 1);
  moe.router.score = spec::RouterScore::Sigmoid;
  moe.router.renormalise = r.flag({"norm_topk_prob"}, true, "moe.router.renormalise");
  moe.router.sum_floor = 1e-6;
  moe.router.scale = r.number({"routed_scaling_factor"}, 1, "moe.router.scale");
  if (r.flag({"use_expert_bias"}, true, "moe.router.expert_bias")) moe.router.expert_bias = spec::ExpertBias{};
  r.decide("moe.router", "sigmoid scores, the bias on the choice only", "lfm2_moe");
  r.ignore({"output_router_logits", "router_aux_loss_coef"}, "belongs to training");
  const int64_t dense = r.integer({"num_dense_layers"}, 2, "moe");
  use_experts(m, moe, [&](int64_t i) { return i >= dense; });
}

Json write_lfm2_moe(const Model& m) {
  Json out = write_lfm_layers(m, "lfm2_moe", "Lfm2MoeForCausalLM");
  const auto first =
      std::find_if(m.layers.begin(), m.layers.end(), [](const LayerSpec& l) { return l.moe.has_value(); });
  out["num_dense_layers"] = first - m.layers.begin();
  if (first == m.layers.end()) return out;
  const spec::Moe& moe = *first->moe;
  out["num_experts"] = moe.num_experts;
  out["num_experts_per_tok"] = moe.top_k;
  out["moe_intermediate_size"] = moe.expert.ffn_size;
  out["norm_topk_prob"] = moe.router.renormalise;
  out["routed_scaling_factor"] = moe.router.scale;
  out["use_expert_bias"] = moe.router.expert_bias.has_value();
  return out;
}

}  // namespace primus::hub
