// Architecture and first weights per decoder block. Source: MaxText's layers and models, 0.2.5.
#include <algorithm>
#include <bit>
#include <cmath>

#include "primus/base/strings.h"
#include "primus/dialect/maxtext_block.h"

namespace primus::dialect {

namespace {

using spec::Activation;

using Block = MaxtextBlock;
using ScaleIn = MaxtextBlock::ScaleIn;

constexpr Block kBlocks[] = {
    {.name = "default", .scale = ScaleIn::QueryWeights},
    {.name = "llama2", .scale = ScaleIn::QueryWeights},
    {.name = "mistral", .scale = ScaleIn::QueryWeights},
    {.name = "mixtral", .scale = ScaleIn::QueryWeights, .has_experts = true},
    {.name = "deepseek", .scale = ScaleIn::Logits, .has_experts = true},
    {.name = "gemma", .scale = ScaleIn::QueryWeights},
    {.name = "gemma2", .scale = ScaleIn::QueryWeights, .output_norms = true, .local_layers = 1},
    {.name = "gemma3", .scale = ScaleIn::Logits, .output_norms = true, .local_layers = 5},
    {.name = "gemma4", .scale = ScaleIn::QueryWeights, .has_experts = true, .output_norms = true, .local_layers = 5},
    {.name = "qwen2", .scale = ScaleIn::Logits, .qk_norm_key = true, .bias_key = true},
    {.name = "qwen3", .scale = ScaleIn::Logits, .qk_norm_key = true},
    {.name = "qwen3_moe", .scale = ScaleIn::Logits, .has_experts = true, .qk_norm_key = true},
    {.name = "gpt3", .scale = ScaleIn::Logits},
    {.name = "gpt_oss",
     .scale = ScaleIn::Logits,
     .has_experts = true,
     .bias_key = true,
     .out_bias = true,
     .local_layers = 1},
    {.name = "llama4", .scale = ScaleIn::Logits, .has_experts = true, .qk_norm_key = true},
    {.name = "olmo3",
     .scale = ScaleIn::Logits,
     .qk_norm_key = true,
     .bias_key = true,
     .out_bias = true,
     .local_layers = 3},
    {.name = "deepseek4", .scale = ScaleIn::Unknown, .other = "compressed-attention"},
    {.name = "gemma4_small", .scale = ScaleIn::Unknown, .other = "per-layer-embedding"},
    {.name = "qwen3_custom_moe", .scale = ScaleIn::Unknown, .other = "custom qwen3"},
    {.name = "qwen3_next", .scale = ScaleIn::Unknown, .other = "gated delta net"},
    {.name = "qwen3_5", .scale = ScaleIn::Unknown, .other = "gated delta net"},
    {.name = "simple", .scale = ScaleIn::Unknown, .other = "one-matrix"},
    {.name = "simple_mlp", .scale = ScaleIn::Unknown, .other = "plain MLP"},
    {.name = "envy", .scale = ScaleIn::Unknown, .other = "envy"},
};

const Block& find_block(const std::string& name) {
  const auto* found =
      std::find_if(std::begin(kBlocks), std::end(kBlocks), [&](const Block& b) { return b.name == name; });
  return found == std::end(kBlocks) ? kBlocks[0] : *found;
}

bool is_gemma(const Block& block) {
  return block.name.starts_with("gemma");
}

// Every key of the topic is read, whatever the block: what a block ignores is said once, here.
void say_what_is_ignored(Translation& t, const Block& block) {
  const auto ignored = [&](bool reads, const char* key) {
    if (reads || !t.keys.is_given(key)) return;
    t.warning(key, "the " + std::string(block.name) + " block does not read '" + key + "'");
  };
  if (!block.other.empty()) return;
  const bool deepseek = block.name == "deepseek", llama4 = block.name == "llama4", gpt_oss = block.name == "gpt_oss";
  ignored(block.has_experts, "num_experts");
  ignored(block.qk_norm_key, "use_qk_norm");
  ignored(block.bias_key, "attention_bias");
  ignored(gpt_oss, "mlp_bias");
  ignored(gpt_oss, "attention_sink");
  ignored(gpt_oss || deepseek, "mlp_activations_limit");
  ignored(block.output_norms, "use_post_attn_norm");
  ignored(block.output_norms, "use_post_ffw_norm");
  ignored(block.local_layers > 0, "sliding_window_size");
  ignored(llama4, "chunk_attn_window_size");
  ignored(llama4, "nope_layer_interval");
  ignored(llama4, "temperature_tuning");
  ignored(deepseek, "attention_type");
  ignored(block.name == "gpt3", "trainable_position_size");
}

// The first activation is the gate's; "linear" beside it is the up projection.
spec::Mlp mlp(Translation& t, int64_t ffn, const Block& block) {
  const std::vector<std::string> names = t.keys.texts("mlp_activations");
  const double limit = t.keys.number("mlp_activations_limit");
  const bool gpt_oss = block.name == "gpt_oss";
  spec::Mlp mlp;
  mlp.ffn_size = ffn;
  mlp.bias = block.name == "gpt3" || (gpt_oss && t.keys.flag("mlp_bias"));
  (void)t.keys.flag("mlp_bias");
  const auto is_linear = [](const std::string& name) { return name == "linear"; };
  const auto gate = std::find_if_not(names.begin(), names.end(), is_linear);
  const std::string act = gate == names.end() ? "linear" : *gate;
  mlp.gated = names.size() == 2 && std::count_if(names.begin(), names.end(), is_linear) == 1;
  if ((!mlp.gated && names.size() != 1) || act == "linear")
    t.error("mlp_activations", "an MLP has one activation, with or without a linear half beside it",
            "[silu, linear], [gelu, linear] or [gelu]");
  mlp.activation = act == "gelu" ? Activation::GeluTanh : Activation::Silu;
  if (act == "sigmoid" && gpt_oss) mlp.activation = Activation::QuickGelu;  // gate * sigmoid(1.702 gate)
  if ((act == "sigmoid" && !gpt_oss) || act == "relu")
    t.error("mlp_activations",
            "an MLP with '" + act + "' is not built yet in the " + std::string(block.name) + " block", "silu or gelu");
  if (limit > 0 && (gpt_oss || block.name == "deepseek")) mlp.clamp = limit;
  if (gpt_oss) mlp.up_offset = 1;
  return mlp;
}

// Fan-in laws: attention normal, MLP and output layer normal within two standard deviations (their spread is corrected
// for the cut); the query weights carry the softmax scale where the logits do not.
spec::LayerInit first_weights(Translation& t, const MaxtextSizes& sizes, const spec::LayerSpec& layer, bool by_query) {
  constexpr double kCutSpread = 0.87962566103423978;  // of a normal cut at two standard deviations
  const auto fan_in = [](int64_t width) { return 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, width))); };
  const double scale = std::sqrt(t.keys.number("dense_init_scale")) / kCutSpread;
  const int64_t ffn = layer.moe ? layer.moe->expert.ffn_size : layer.mlp.ffn_size;
  const spec::Attention& a = layer.attention;
  spec::LayerInit init;
  init.qkv_std = fan_in(sizes.hidden);
  if (by_query) init.query_std = init.qkv_std * fan_in(a.head_dim);
  init.attention_out_std = fan_in(a.num_heads * (a.latent ? a.latent->v_head_dim : a.head_dim));
  init.mlp_gate_std = init.mlp_up_std = init.router_std = scale * fan_in(sizes.hidden);
  init.mlp_down_std = scale * fan_in(ffn);
  init.mlp_cut = 2;
  spec::Init& model = t.run.model.init;
  model.std = model.embedding_std = fan_in(sizes.hidden);
  model.residual_output_std = init.attention_out_std;
  if (!t.run.model.tied_embeddings) {
    model.head_std = fan_in(sizes.hidden) / kCutSpread;
    model.head_cut = 2 * model.head_std;
  }
  return init;
}

struct LayerKinds {
  spec::LayerSpec dense, expert;  // equal without experts
  MaxtextPositions positions;
  int64_t window = 0, chunk = 0, nope_interval = -1, dense_first = 0, expert_step = 1;
  int64_t global_head_dim = 0, global_kv_heads = 0;
  bool values_are_keys = false, tempered = false;
};

// gemma4's global layers have heads of another width, and may read the keys as values.
void make_global_gemma4(const LayerKinds& kinds, spec::Attention& a) {
  if (kinds.global_head_dim > 0) a.head_dim = kinds.global_head_dim;
  if (kinds.global_kv_heads > 0) a.num_kv_heads = kinds.global_kv_heads;
  a.values_are_keys = kinds.values_are_keys;
}

void make_llama4(const LayerKinds& kinds, int64_t index, spec::Attention& a) {
  const bool nope = kinds.nope_interval > 0 && (index + 1) % kinds.nope_interval == 0;
  if (!nope) {
    if (kinds.chunk > 0) a.chunk_size = kinds.chunk;
    return;
  }
  a.rope.reset();
  a.qk_norm.reset();
  if (kinds.tempered) a.temperature = spec::TemperatureTuning{};
}

spec::LayerSpec layer_at(const LayerKinds& kinds, const Block& block, int64_t index) {
  const bool dense = block.name == "deepseek" ? index < kinds.dense_first
                     : block.name == "llama4" ? (index + 1) % kinds.expert_step != 0
                                              : false;
  spec::LayerSpec layer = dense ? kinds.dense : kinds.expert;
  const int64_t period = block.local_layers + 1;
  const bool local = block.local_layers > 0 && index % period != period - 1;
  if (block.name != "gpt3") layer.attention.rope = local ? kinds.positions.local : kinds.positions.global;
  if (local && kinds.window > 0) layer.attention.window_keys = kinds.window;
  if (block.name == "gemma4" && !local) make_global_gemma4(kinds, layer.attention);
  if (block.name == "llama4") make_llama4(kinds, index, layer.attention);
  return layer;
}

// What gemma4 has in each layer and nothing here describes: a factor per layer; with experts a second set of norms, a
// vector on the router's input and a factor per expert.
int64_t gemma4_extras(const spec::LayerSpec& layer, int64_t hidden) {
  return layer.moe ? 1 + 4 * hidden + layer.moe->num_experts : 1;
}

LayerKinds layer_kinds(Translation& t, const MaxtextSizes& sizes, const Block& block) {
  const double eps = t.keys.number("normalization_layer_epsilon");
  const bool attention_norm = t.keys.flag("use_post_attn_norm"), mlp_norm = t.keys.flag("use_post_ffw_norm");
  const bool value_gain = t.keys.flag("v_norm_with_scale");
  spec::Norm norm{block.name == "gpt3" ? spec::NormKind::LayerNorm : spec::NormKind::RmsNorm, eps, false};
  t.run.model.final_norm = norm;
  if (is_gemma(block)) norm.eps = 1e-6;  // whatever normalization_layer_epsilon says
  LayerKinds kinds;
  kinds.positions = maxtext_positions(t, block);
  spec::LayerSpec layer;
  layer.input_norm = layer.post_attention_norm = norm;
  layer.attention = maxtext_attention(t, sizes, block, eps);
  if (layer.attention.latent) layer.attention.softmax_scale *= kinds.positions.latent_factor;
  if (block.name == "gemma4") layer.attention.value_norm = spec::QkNorm{.norm = norm, .has_gain = value_gain};
  if (block.output_norms && attention_norm) layer.attention_output_norm = norm;
  if (block.output_norms && mlp_norm) layer.mlp_output_norm = norm;
  if (block.name == "olmo3") {
    layer.norms_in_front = false;
    layer.attention_output_norm = layer.mlp_output_norm = norm;
  }
  layer.other_mixer = block.other;
  layer.mlp = mlp(t, sizes.ffn, block);
  kinds.dense = kinds.expert = layer;
  kinds.expert.moe = maxtext_moe(t, sizes, std::string(block.has_experts ? block.name : ""), layer.mlp);
  const bool by_query = block.scale == ScaleIn::QueryWeights;
  for (spec::LayerSpec* kind : {&kinds.dense, &kinds.expert}) {
    if (block.scale != ScaleIn::Unknown) kind->init = first_weights(t, sizes, *kind, by_query);
    if (block.name == "gemma4") kind->other_parameters = gemma4_extras(*kind, sizes.hidden);
  }
  kinds.window = t.keys.integer("sliding_window_size");
  kinds.chunk = t.keys.integer("chunk_attn_window_size");
  kinds.nope_interval = t.keys.integer("nope_layer_interval");
  kinds.dense_first = t.keys.integer("first_num_dense_layers");
  kinds.expert_step = std::max<int64_t>(1, t.keys.integer("interleave_moe_layer_step"));
  kinds.global_head_dim = t.keys.integer("global_head_dim");
  kinds.global_kv_heads = t.keys.integer("global_num_kv_heads");
  kinds.values_are_keys = t.keys.flag("share_kv_projections");
  kinds.tempered = t.keys.flag("temperature_tuning");
  return kinds;
}

// The balancing loss enters as the mean over the layers that have experts.
void share_balance_losses(spec::Model& model) {
  const auto has_experts = [](const spec::LayerSpec& layer) { return layer.moe.has_value(); };
  const auto count = static_cast<double>(std::count_if(model.layers.begin(), model.layers.end(), has_experts));
  for (spec::LayerSpec& layer : model.layers)
    if (layer.moe)
      for (spec::BalanceLoss& loss : layer.moe->router.balance_losses) loss.coefficient /= count;
}

void head_and_vocabulary(Translation& t, const Block& block) {
  spec::Model& model = t.run.model;
  model.vocab_size = model.padded_vocab_size = t.keys.integer("vocab_size");
  model.vocab_divisor = 1;
  model.tied_embeddings = t.keys.flag("logits_via_embedding");
  const bool divided = t.keys.flag("normalize_embedding_logits");
  if (model.tied_embeddings && divided) model.logit_multiplier = 1 / std::sqrt(static_cast<double>(model.hidden_size));
  model.logit_soft_cap = t.keys.maybe_number("final_logits_soft_cap").value_or(0);
  t.run.logit_z_loss = t.keys.number("z_loss_multiplier");
  model.max_positions = t.keys.integer("max_position_embeddings");
  const int64_t learned = t.keys.integer("trainable_position_size");
  if (block.name != "gpt3" || learned <= 0) return;
  model.learned_positions = true;
  model.max_positions = learned;
}

}  // namespace

// The scale doubles width and depth in turn: heads and MLP first, then the width, then the depth.
MaxtextSizes maxtext_sizes(Translation& t) {
  const int64_t scale = std::max<int64_t>(1, t.keys.integer("global_parameter_scale"));
  const int64_t log2 = std::bit_width(static_cast<uint64_t>(scale)) - 1;
  constexpr int64_t kMostDoublings = 20;
  if (!std::has_single_bit(static_cast<uint64_t>(scale)) || log2 > kMostDoublings)
    t.error("global_parameter_scale",
            "the sizes can only be doubled, and " + format_thousands(scale) + " is no such factor", "1, 2, 4, 8, ...",
            "write the base_ sizes themselves");
  const int64_t all = std::min(log2, kMostDoublings) / 3, rest = log2 % 3;
  const auto doubled = [](int64_t size, int64_t times) { return size << times; };
  constexpr int64_t kMostSize = 1'000'000'000;
  const auto size = [&](const char* key) { return std::min(t.keys.integer(key), kMostSize); };
  MaxtextSizes sizes;
  sizes.hidden = doubled(size("base_emb_dim"), all + (rest > 1));
  sizes.heads = doubled(size("base_num_query_heads"), all + (rest > 0));
  sizes.kv_heads = doubled(size("base_num_kv_heads"), all + (rest > 0));
  sizes.ffn = doubled(size("base_mlp_dim"), all + (rest > 0));
  const int64_t expert = size("base_moe_mlp_dim");
  sizes.expert_ffn = expert > 0 ? doubled(expert, all + (rest > 0)) : expert;
  sizes.layers = doubled(size("base_num_decoder_layers"), all);
  return sizes;
}

void maxtext_model(Translation& t) {
  spec::Model& model = t.run.model;
  const Block& block = find_block(t.keys.text("decoder_block"));
  const MaxtextSizes sizes = maxtext_sizes(t);
  model.hidden_size = sizes.hidden;
  model.flops_formula = spec::FlopsFormula::MaxText;
  (void)t.keys.flag("override_model_config");
  head_and_vocabulary(t, block);
  const LayerKinds kinds = layer_kinds(t, sizes, block);
  say_what_is_ignored(t, block);
  const int64_t per_count = block.name == "gemma2" ? 2 : 1;  // pairs: local, global
  const int64_t layers = t.limited_layers("base_num_decoder_layers", sizes.layers * per_count);
  if (block.name == "llama4" && layers % kinds.expert_step != 0)
    t.error("interleave_moe_layer_step",
            format_thousands(layers) + " layers are no whole number of periods of " + std::to_string(kinds.expert_step),
            "a divisor of base_num_decoder_layers");
  model.layers.reserve(static_cast<size_t>(layers));
  for (int64_t i = 0; i < layers; ++i) model.layers.push_back(layer_at(kinds, block, i));
  share_balance_losses(model);
  const int64_t depth = t.keys.integer("mtp_num_layers");
  const double weight = t.keys.number("mtp_loss_scaling_factor");
  if (depth > 0) model.mtp = spec::MultiTokenPrediction{depth, weight};
}

}  // namespace primus::dialect
