// Families with experts. Each function names what its reference does (transformers 5.24, modeling_*.py).
#include <algorithm>
#include <cmath>

#include "primus/hub/hf_config_reader.h"

namespace primus::hub {

namespace {

using spec::LayerSpec;
using spec::Model;

constexpr HfDefaults kMixtral{32000, 4096, 14336, 32, 32, 8, 0, 131072, 1e-5, 1000000};
constexpr HfDefaults kQwen3Moe{151936, 2048, 6144, 24, 32, 4, 0, 32768, 1e-6, 10000};
constexpr HfDefaults kGptOss{
    201088, 2880,
    2880,   36,
    64,     8,
    64,     131072,
    1e-5,   150000,
    false,  std::nullopt,
    1,      spec::YarnRopeScaling{.factor = 32, .original_max_positions = 4096, .whole_bounds = false}};
constexpr HfDefaults kLlama4{202048, 5120, 8192, 48, 40, 8, 128, 131072, 1e-5, 500000};
constexpr HfDefaults kGlm4Moe{151552, 4096, 10944, 46, 96, 8, 0, 131072, 1e-5, 10000, false, std::nullopt, 0.5};

void read_silu(HfReader& r, Model& m) {
  const spec::Activation activation = read_activation(r, {"hidden_act"}, "silu");
  for (LayerSpec& layer : m.layers) layer.mlp.activation = activation;
}

// Leading dense layers, then experts: sigmoid scores (DeepSeek-V3, Kimi K2, GLM-4 MoE).
spec::Moe read_sigmoid_experts(HfReader& r, Model& m, int64_t experts, int64_t top_k, int64_t width, int64_t shared,
                               double scale, int64_t groups, int64_t top_groups) {
  spec::Moe moe;
  moe.expert = m.layers.front().mlp;
  moe.num_experts = r.integer({"n_routed_experts", "num_local_experts"}, experts, "moe.num_experts", 1);
  moe.top_k = r.integer({"num_experts_per_tok"}, top_k, "moe.top_k", 1);
  moe.expert.ffn_size = r.integer({"moe_intermediate_size"}, width, "moe.expert.ffn_size", 1);
  const int64_t num_shared = r.integer({"n_shared_experts"}, shared, "");
  moe.shared_ffn_size = num_shared * moe.expert.ffn_size;
  r.decide("moe.shared_ffn_size", std::to_string(moe.shared_ffn_size), "n_shared_experts x moe_intermediate_size");
  moe.router.score = spec::RouterScore::Sigmoid;
  moe.router.renormalise = r.flag({"norm_topk_prob"}, true, "moe.router.renormalise");
  moe.router.scale = r.number({"routed_scaling_factor"}, scale, "moe.router.scale");
  const int64_t num_groups = r.integer({"n_group"}, groups, "moe.router.groups", 1);
  const int64_t limit = r.integer({"topk_group"}, top_groups, "moe.router.groups", 1);
  if (num_groups > 1) moe.router.groups = spec::GroupLimit{num_groups, limit, spec::GroupScore::SumOfTop, 2};
  moe.router.expert_bias = spec::ExpertBias{};
  moe.router.dtype = spec::RouterDtype::Float32;
  r.decide("moe.router.expert_bias", "on the choice only", "e_score_correction_bias is a buffer of the checkpoint");
  r.demand("scoring_func", "sigmoid", "another score in this family");
  r.demand("topk_method", "noaux_tc", "another choice of experts in this family");
  ignore_balance(r);
  r.ignore({"num_nextn_predict_layers"},
           "the reference has no layers of multi-token prediction; train with mtp_num_layers to have them");
  return moe;
}

void read_latent_attention(HfReader& r, Model& m, double score_factor) {
  spec::LatentAttention latent;
  latent.q_lora_rank = r.is_null("q_lora_rank") ? 0 : r.integer({"q_lora_rank"}, 1536, "attention.latent.q_lora_rank");
  if (latent.q_lora_rank == 0 && r.find("q_lora_rank") == nullptr)
    r.decide("attention.latent.q_lora_rank", "0", "q_lora_rank is null: one query projection");
  latent.kv_lora_rank = r.integer({"kv_lora_rank"}, 512, "attention.latent.kv_lora_rank", 1);
  latent.nope_head_dim = r.integer({"qk_nope_head_dim"}, 128, "attention.latent.nope_head_dim");
  latent.rope_head_dim = r.integer({"qk_rope_head_dim"}, 64, "attention.latent.rope_head_dim", 2);
  latent.v_head_dim = r.integer({"v_head_dim"}, 128, "attention.latent.v_head_dim", 1);
  latent.latent_norm_eps = 1e-6;
  r.decide("attention.latent.latent_norm_eps", "1e-06", "the reference leaves these norms at their own default");
  r.ignore({"qk_head_dim"}, "qk_nope_head_dim + qk_rope_head_dim");
  r.ignore({"head_dim"}, "the width of the rotated part; qk_rope_head_dim says it");
  r.ignore({"num_key_value_heads"}, "latent attention has keys and values of every head");
  const bool bias = r.flag({"attention_bias"}, false, "attention.qkv_bias");
  if (bias) r.decide("attention.qkv_bias", "true", "on the projections to the latents, and on the output");
  for (LayerSpec& layer : m.layers) {
    spec::Attention& a = layer.attention;
    a.latent = latent;
    a.num_kv_heads = a.num_heads;
    a.head_dim = latent.nope_head_dim + latent.rope_head_dim;
    a.softmax_scale = score_factor / std::sqrt(static_cast<double>(a.head_dim));
    a.rope->interleaved = true;
    a.qkv_bias = a.out_bias = bias;
  }
  r.decide("rope.interleaved", "true", "pairs (2i, 2i+1) of the rope part");
}

// The skeleton, and the factor on the scores.
double read_deepseek_skeleton(HfReader& r, Model& m, const HfDefaults& d) {
  double score_factor = 1;
  read_skeleton(r, m, d, &score_factor);
  read_silu(r, m);
  return score_factor;
}

bool is_dense(const LayerSpec& layer) {
  return !layer.moe.has_value();
}

int64_t leading_dense(const Model& m) {
  const auto first = std::find_if_not(m.layers.begin(), m.layers.end(), is_dense);
  return first - m.layers.begin();
}

}  // namespace

void read_mixtral(HfReader& r, Model& m) {
  read_skeleton(r, m, kMixtral);
  read_silu(r, m);
  spec::Moe moe;
  moe.expert = m.layers.front().mlp;
  moe.num_experts = r.integer({"num_local_experts"}, 8, "moe.num_experts", 1);
  moe.top_k = r.integer({"num_experts_per_tok"}, 2, "moe.top_k", 1);
  moe.router.normalise_over_all = moe.router.renormalise = true;
  r.decide("moe.router.renormalise", "true", "mixtral: softmax over all experts, top-k, always renormalised");
  ignore_balance(r);
  const auto window = read_window(r, true, "attention.window_keys");
  if (window)
    for (LayerSpec& layer : m.layers) layer.attention.window_keys = *window;
  use_experts(m, moe, [](int64_t) { return true; });
}

Json write_mixtral(const Model& m) {
  Json out = write_skeleton(m, "mixtral", "MixtralForCausalLM");
  const spec::Moe& moe = some_moe(m);
  out["intermediate_size"] = moe.expert.ffn_size;
  out["num_local_experts"] = moe.num_experts;
  out["num_experts_per_tok"] = moe.top_k;
  const auto window = m.layers.front().attention.window_keys;
  out["sliding_window"] = window ? Json(*window) : Json(nullptr);
  return out;
}

void read_qwen3_moe(HfReader& r, Model& m) {
  read_skeleton(r, m, kQwen3Moe);
  read_silu(r, m);
  read_attention_bias(r, m, false, true);
  for (LayerSpec& layer : m.layers) layer.attention.qk_norm = spec::QkNorm{m.final_norm};
  r.decide("attention.qk_norm", "per head, before the rotation", "qwen3_moe always has it");
  spec::Moe moe;
  moe.expert = m.layers.front().mlp;
  moe.num_experts = r.integer({"num_experts", "num_local_experts"}, 128, "moe.num_experts", 1);
  moe.top_k = r.integer({"num_experts_per_tok"}, 8, "moe.top_k", 1);
  moe.expert.ffn_size = r.integer({"moe_intermediate_size"}, 768, "moe.expert.ffn_size", 1);
  moe.router.normalise_over_all = true;
  moe.router.renormalise = r.flag({"norm_topk_prob"}, false, "moe.router.renormalise");
  ignore_balance(r);
  const int64_t step = r.integer({"decoder_sparse_step"}, 1, "moe", 1);
  const std::vector<int64_t> dense = r.integers("mlp_only_layers", "moe");
  const bool on = r.flag({"use_sliding_window"}, false, "");
  const auto window = read_window(r, on, "");
  r.ignore({"max_window_layers"}, "qwen3_moe has its window on all layers, or on none");
  if (on && window)
    for (LayerSpec& layer : m.layers) layer.attention.window_keys = *window;
  if (window) r.decide("attention.window_keys", on ? std::to_string(*window) : "none", "use_sliding_window");
  use_experts(m, moe, [&](int64_t i) {
    return (i + 1) % step == 0 && std::find(dense.begin(), dense.end(), i) == dense.end();
  });
}

Json write_qwen3_moe(const Model& m) {
  Json out = write_skeleton(m, "qwen3_moe", "Qwen3MoeForCausalLM");
  const spec::Moe& moe = some_moe(m);
  Json dense = Json::array();
  for (size_t i = 0; i < m.layers.size(); ++i) {
    if (!is_dense(m.layers[i])) continue;
    dense.push_back(i);
    out["intermediate_size"] = m.layers[i].mlp.ffn_size;
  }
  const spec::Attention& a = m.layers.front().attention;
  out["attention_bias"] = a.qkv_bias;
  out["num_experts"] = moe.num_experts;
  out["num_experts_per_tok"] = moe.top_k;
  out["moe_intermediate_size"] = moe.expert.ffn_size;
  out["norm_topk_prob"] = moe.router.renormalise || !moe.router.normalise_over_all;
  out["decoder_sparse_step"] = 1;
  out["mlp_only_layers"] = dense;
  out["use_sliding_window"] = a.window_keys.has_value();
  out["sliding_window"] = a.window_keys ? Json(*a.window_keys) : Json(nullptr);
  return out;
}

void read_deepseek_v2(HfReader& r, Model& m) {
  constexpr HfDefaults kDefaults{102400, 4096, 11008, 32, 32, 0, 64, 2048, 1e-6, 10000};
  const double score_factor = read_deepseek_skeleton(r, m, kDefaults);
  read_latent_attention(r, m, score_factor);
  const bool bias = r.flag({"mlp_bias"}, false, "mlp.bias");
  if (bias) r.error("mlp_bias", "'mlp_bias: true' is not built in this family", "false");
  spec::Moe moe;
  moe.expert = m.layers.front().mlp;
  moe.num_experts = r.integer({"n_routed_experts", "num_local_experts"}, 64, "moe.num_experts", 1);
  moe.top_k = r.integer({"num_experts_per_tok"}, 0, "moe.top_k", 1);
  moe.expert.ffn_size = r.integer({"moe_intermediate_size"}, 1407, "moe.expert.ffn_size", 1);
  moe.shared_ffn_size = r.integer({"n_shared_experts"}, 2, "") * moe.expert.ffn_size;
  r.decide("moe.shared_ffn_size", std::to_string(moe.shared_ffn_size), "n_shared_experts x moe_intermediate_size");
  moe.router.normalise_over_all = true;
  moe.router.scale = r.number({"routed_scaling_factor"}, 1, "moe.router.scale");
  moe.router.dtype = spec::RouterDtype::Float32;
  const std::string method = r.text({"topk_method"}, "greedy", "moe.router.groups");
  const auto groups = r.maybe_integer({"n_group"}, "moe.router.groups");
  const auto top_groups = r.maybe_integer({"topk_group"}, "moe.router.groups");
  if (method == "group_limited_greedy" && groups && top_groups)
    moe.router.groups = spec::GroupLimit{*groups, *top_groups, spec::GroupScore::Max, 1};
  else if (method != "greedy")
    r.error("topk_method", "the choice '" + method + "' is not built, or lacks n_group and topk_group",
            "greedy, group_limited_greedy");
  r.ignore({"norm_topk_prob"}, "the reference never renormalises");
  r.demand("scoring_func", "softmax", "another score in this family");
  ignore_balance(r);
  const int64_t first = r.integer({"first_k_dense_replace"}, 0, "moe");
  const int64_t every = r.integer({"moe_layer_freq"}, 1, "moe", 1);
  use_experts(m, moe, [&](int64_t i) { return i >= first && i % every == 0; });
}

namespace {

Json write_deepseek(const Model& m, const char* type, const char* architecture) {
  Json out = write_skeleton(m, type, architecture);
  const spec::Attention& a = m.layers.front().attention;
  const spec::Moe& moe = some_moe(m);
  out.erase("head_dim");
  write_rope(m, out, true);
  out["first_k_dense_replace"] = leading_dense(m);
  out["moe_layer_freq"] = 1;
  out["n_routed_experts"] = moe.num_experts;
  out["num_experts_per_tok"] = moe.top_k;
  out["moe_intermediate_size"] = moe.expert.ffn_size;
  const int64_t width = std::max<int64_t>(1, moe.expert.ffn_size);
  out["n_shared_experts"] = moe.shared_ffn_size / width;
  out["routed_scaling_factor"] = moe.router.scale;
  if (!a.latent) return out;
  out["attention_bias"] = a.qkv_bias;
  out["q_lora_rank"] = a.latent->q_lora_rank == 0 ? Json(nullptr) : Json(a.latent->q_lora_rank);
  out["kv_lora_rank"] = a.latent->kv_lora_rank;
  out["qk_nope_head_dim"] = a.latent->nope_head_dim;
  out["qk_rope_head_dim"] = a.latent->rope_head_dim;
  out["v_head_dim"] = a.latent->v_head_dim;
  return out;
}

Json write_sigmoid_router(const Model& m, Json out) {
  const spec::Router& router = some_moe(m).router;
  out["scoring_func"] = "sigmoid";
  out["topk_method"] = "noaux_tc";
  out["norm_topk_prob"] = router.renormalise;
  out["n_group"] = router.groups ? router.groups->num_groups : 1;
  out["topk_group"] = router.groups ? router.groups->top_groups : 1;
  return out;
}

}  // namespace

Json write_deepseek_v2(const Model& m) {
  Json out = write_deepseek(m, "deepseek_v2", "DeepseekV2ForCausalLM");
  const spec::Router& router = some_moe(m).router;
  out["scoring_func"] = "softmax";
  out["norm_topk_prob"] = false;
  out["topk_method"] = router.groups ? "group_limited_greedy" : "greedy";
  if (router.groups) out["n_group"] = router.groups->num_groups, out["topk_group"] = router.groups->top_groups;
  return out;
}

void read_deepseek_v3(HfReader& r, Model& m) {
  constexpr HfDefaults kDefaults{129280, 7168, 18432, 61, 128, 128, 64, 4096, 1e-6, 10000};
  const double score_factor = read_deepseek_skeleton(r, m, kDefaults);
  read_latent_attention(r, m, score_factor);
  const bool pairs = r.flag({"rope_interleave"}, true, "rope.interleaved");
  for (LayerSpec& layer : m.layers) layer.attention.rope->interleaved = pairs;
  const spec::Moe moe = read_sigmoid_experts(r, m, 256, 8, 2048, 1, 2.5, 8, 4);
  const int64_t first = r.integer({"first_k_dense_replace"}, 3, "moe");
  const int64_t every = r.integer({"moe_layer_freq"}, 1, "moe", 1);
  use_experts(m, moe, [&](int64_t i) { return i >= first && i % every == 0; });
}

Json write_deepseek_v3(const Model& m) {
  Json out = write_sigmoid_router(m, write_deepseek(m, "deepseek_v3", "DeepseekV3ForCausalLM"));
  const auto& rope = m.layers.front().attention.rope;
  out["rope_interleave"] = !rope || rope->interleaved;
  return out;
}

Json write_kimi_k2(const Model& m) {
  return write_sigmoid_router(m, write_deepseek(m, "kimi_k2", "DeepseekV3ForCausalLM"));
}

void read_glm4_moe(HfReader& r, Model& m) {
  read_skeleton(r, m, kGlm4Moe);
  read_silu(r, m);
  read_attention_bias(r, m, false, false);
  if (r.flag({"use_qk_norm"}, false, "attention.qk_norm"))
    for (LayerSpec& layer : m.layers) layer.attention.qk_norm = spec::QkNorm{m.final_norm};
  const spec::Moe moe = read_sigmoid_experts(r, m, 128, 8, 1408, 1, 1, 1, 1);
  const int64_t first = r.integer({"first_k_dense_replace"}, 1, "moe");
  use_experts(m, moe, [&](int64_t i) { return i >= first; });
}

Json write_glm4_moe(const Model& m) {
  Json out = write_sigmoid_router(m, write_skeleton(m, "glm4_moe", "Glm4MoeForCausalLM"));
  out.erase("scoring_func"), out.erase("topk_method");
  const spec::Attention& a = m.layers.front().attention;
  const spec::Moe& moe = some_moe(m);
  out["partial_rotary_factor"] = a.rope ? a.rope->fraction : 1;
  out["attention_bias"] = a.qkv_bias;
  out["use_qk_norm"] = a.qk_norm.has_value();
  out["first_k_dense_replace"] = leading_dense(m);
  out["n_routed_experts"] = moe.num_experts;
  out["num_experts_per_tok"] = moe.top_k;
  out["moe_intermediate_size"] = moe.expert.ffn_size;
  out["n_shared_experts"] = moe.shared_ffn_size / std::max<int64_t>(1, moe.expert.ffn_size);
  out["routed_scaling_factor"] = moe.router.scale;
  return out;
}

void read_gpt_oss(HfReader& r, Model& m) {
  read_skeleton(r, m, kGptOss);
  r.demand("hidden_act", "silu", "another activation in this family");
  read_attention_bias(r, m, true, true);
  spec::Moe moe;
  moe.expert = m.layers.front().mlp;
  moe.expert.bias = moe.router.bias = true;
  moe.expert.activation = spec::Activation::QuickGelu;  // x sigmoid(1.702 x)
  moe.expert.up_offset = 1;
  moe.expert.clamp = r.number({"swiglu_limit"}, 7, "moe.expert.clamp");
  r.demand("swiglu_alpha", 1.702, "another slope of the activation");
  moe.num_experts = r.integer({"num_local_experts", "num_experts"}, 128, "moe.num_experts", 1);
  moe.top_k = r.integer({"num_experts_per_tok", "experts_per_token"}, 4, "moe.top_k", 1);
  r.decide("moe.router", "softmax over the chosen logits, with a bias", "gpt_oss");
  ignore_balance(r);
  for (LayerSpec& layer : m.layers) layer.attention.sink = spec::Sink::Learned;
  r.decide("attention.sink", "one learned logit a head", "gpt_oss");
  const int64_t window = r.is_null("sliding_window") ? 0 : r.integer({"sliding_window"}, 128, "attention.window_keys");
  read_layer_types(r, m, window, [](int64_t i) { return i % 2 == 0; });
  use_experts(m, moe, [](int64_t) { return true; });
}

Json write_gpt_oss(const Model& m) {
  Json out = write_skeleton(m, "gpt_oss", "GptOssForCausalLM");
  const spec::Moe& moe = some_moe(m);
  out["intermediate_size"] = moe.expert.ffn_size;
  out["attention_bias"] = m.layers.front().attention.qkv_bias;
  out["num_local_experts"] = moe.num_experts;
  out["num_experts_per_tok"] = moe.top_k;
  out["swiglu_limit"] = moe.expert.clamp;
  if (out["rope_scaling"].is_null()) out["rope_scaling"] = {{"rope_type", "default"}};  // absent would mean yarn
  Json types = Json::array();
  for (const LayerSpec& layer : m.layers) {
    types.push_back(layer.attention.window_keys ? "sliding_attention" : "full_attention");
    if (layer.attention.window_keys) out["sliding_window"] = *layer.attention.window_keys;
  }
  out["layer_types"] = types;
  return out;
}

namespace {

// Empty: chunks where there is rotation.
std::vector<std::string> read_chunk_types(HfReader& r, size_t count, bool has_chunks) {
  const std::vector<std::string> types =
      r.layer_types(count, "attention.chunk_size", {"full_attention", "chunked_attention"});
  if (!has_chunks && std::find(types.begin(), types.end(), "chunked_attention") != types.end())
    r.error("layer_types", "layers attend in chunks, and there is no attention_chunk_size",
            "an attention_chunk_size, or full_attention");
  return types;
}

}  // namespace

void read_llama4(HfReader& r, Model& m) {
  read_skeleton(r, m, kLlama4);
  read_silu(r, m);
  read_attention_bias(r, m, false, true);
  spec::Moe moe;
  moe.expert = m.layers.front().mlp;
  moe.num_experts = r.integer({"num_local_experts"}, 16, "moe.num_experts", 1);
  moe.top_k = r.integer({"num_experts_per_tok"}, 1, "moe.top_k", 1);
  moe.shared_ffn_size = moe.expert.ffn_size;
  moe.router.score = spec::RouterScore::Sigmoid;
  moe.router.weight_on_input = true;
  r.decide("moe.router", "sigmoid of the chosen logits, on the experts' input", "llama4");
  r.decide("moe.shared_ffn_size", std::to_string(moe.shared_ffn_size), "one shared expert of intermediate_size");
  ignore_balance(r);
  const int64_t dense = r.integer({"intermediate_size_mlp"}, 16384, "mlp.ffn_size", 1);
  for (LayerSpec& layer : m.layers) layer.mlp.ffn_size = dense;

  const auto count = static_cast<int64_t>(m.layers.size());
  std::vector<int64_t> no_rope = r.integers("no_rope_layers", "attention.rope");
  const int64_t interval = r.integer({"no_rope_layer_interval"}, 4, "", 1);
  if (no_rope.empty())
    for (int64_t i = 0; i < count; ++i) no_rope.push_back((i + 1) % interval != 0);
  if (static_cast<int64_t>(no_rope.size()) != count)
    r.error("no_rope_layers",
            "'no_rope_layers' speaks of " + std::to_string(no_rope.size()) + " layers of " + std::to_string(count),
            "one number a layer: 1 with rotation, 0 without");
  no_rope.resize(static_cast<size_t>(count), 1);
  const auto chunk = r.is_null("attention_chunk_size")
                         ? std::nullopt
                         : std::optional(r.integer({"attention_chunk_size"}, 8192, "attention.chunk_size", 1));
  const std::vector<std::string> types = read_chunk_types(r, static_cast<size_t>(count), chunk.has_value());
  const bool norms = r.flag({"use_qk_norm"}, true, "attention.qk_norm");
  const bool tuned = r.flag({"attn_temperature_tuning"}, true, "attention.temperature");
  const spec::TemperatureTuning tuning{r.number({"attn_scale"}, 0.1, ""), r.number({"floor_scale"}, 8192, "")};
  r.ignore({"for_vision", "attn_dropout"}, "not read by the text model");
  for (int64_t i = 0; i < count; ++i) {
    spec::Attention& a = m.layers[static_cast<size_t>(i)].attention;
    a.rope->interleaved = true;
    if (types.empty() ? no_rope[static_cast<size_t>(i)] != 0 : types[static_cast<size_t>(i)] == "chunked_attention")
      a.chunk_size = chunk;
    if (no_rope[static_cast<size_t>(i)] == 0) {
      a.rope.reset();
      if (tuned) a.temperature = tuning;
      continue;
    }
    if (norms) a.qk_norm = spec::QkNorm{m.final_norm, false, spec::QkNormScope::PerHead, true};
  }
  const bool is_listed = r.is_given("moe_layers");  // an empty list: no layer
  const std::vector<int64_t> listed = r.integers("moe_layers", "moe");
  const int64_t step = r.integer({"interleave_moe_layer_step"}, 1, "moe", 1);
  use_experts(m, moe, [&](int64_t i) {
    return !is_listed ? (i + 1) % step == 0 : std::find(listed.begin(), listed.end(), i) != listed.end();
  });
}

Json write_llama4(const Model& m) {
  Json out = write_skeleton(m, "llama4_text", "Llama4ForCausalLM");
  const spec::Moe& moe = some_moe(m);
  out["intermediate_size"] = moe.expert.ffn_size;
  out["attention_bias"] = m.layers.front().attention.qkv_bias;
  out["num_local_experts"] = moe.num_experts;
  out["num_experts_per_tok"] = moe.top_k;
  Json with_rope = Json::array(), with_experts = Json::array(), types = Json::array();
  bool norms = false, tuned = false;
  out["attention_chunk_size"] = nullptr;
  for (size_t i = 0; i < m.layers.size(); ++i) {
    const spec::Attention& a = m.layers[i].attention;
    with_rope.push_back(a.rope ? 1 : 0);
    types.push_back(a.chunk_size ? "chunked_attention" : "full_attention");
    if (!is_dense(m.layers[i])) with_experts.push_back(i);
    out["intermediate_size_mlp"] = m.layers[i].mlp.ffn_size;
    if (a.chunk_size) out["attention_chunk_size"] = *a.chunk_size;
    norms = norms || a.qk_norm;
    if (a.temperature)
      out["attn_scale"] = a.temperature->scale, out["floor_scale"] = whole_if_near(a.temperature->floor_scale);
    tuned = tuned || a.temperature;
  }
  out["no_rope_layers"] = with_rope;
  out["layer_types"] = types;
  out["moe_layers"] = with_experts;
  out["use_qk_norm"] = norms;
  out["attn_temperature_tuning"] = tuned;
  return out;
}

}  // namespace primus::hub
