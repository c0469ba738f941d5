// Architectures by name: the model_name of maxtext, the recipe of megatron_bridge.
#include <algorithm>
#include <cmath>

#include "primus/base/strings.h"
#include "primus/dialect/bridge.h"
#include "primus/dialect/maxtext_models.h"
#include "primus/dialect/to_spec.h"
#include "primus/dialect/translate_writers.h"
#include "primus/spec/architecture.h"

namespace primus::dialect {

namespace {

std::optional<spec::Model> model_of(std::string_view framework, config::Map params) {
  config::Module module;
  module.name = "pre_trainer";
  module.framework = framework;
  module.params = config::Value(std::move(params));
  config::Experiment experiment;
  experiment.modules.push_back(std::move(module));
  const auto run = to_spec(experiment, {}, {.world_size = 0, .for_training = false});
  return run.ok() ? std::optional(run->model) : std::nullopt;
}

// Sizes and forms; a vocabulary that one side leaves to the tokenizer, and where the pairs of a rotation lie, aside.
std::vector<std::string> differences_of(const spec::Model& wanted, const spec::Model& got) {
  spec::Model a = canonical_model(wanted), b = canonical_model(got);
  if (a.vocab_size == 0 || b.vocab_size == 0) a.vocab_size = b.vocab_size = 0;
  a.max_positions = b.max_positions;
  for (spec::Model* model : {&a, &b})
    for (spec::LayerSpec& layer : model->layers)
      if (layer.attention.rope) layer.attention.rope->interleaved = false;
  return spec::architecture_differences(a, b);
}

bool same_architecture(const spec::Model& wanted, const spec::Model& got) {
  if (wanted.hidden_size != got.hidden_size || wanted.layers.size() != got.layers.size()) return false;
  return differences_of(wanted, got).empty();
}

std::optional<spec::Model> model_of_recipe(const BridgeRecipe& recipe) {
  config::Map params;
  params.set("recipe", config::Value(std::string(recipe.module)));
  params.set("flavor", config::Value(std::string(recipe.flavor)));
  if (recipe.builder->finetunes)
    params.set("pretrained_checkpoint", config::Value("weights"));
  else
    params.set("mock", config::Value(true));
  return model_of("megatron_bridge", std::move(params));
}

std::string maxtext_name_of(const spec::RunSpec& run) {
  for (const std::string& name : maxtext_model_names()) {
    config::Map params;
    params.set("model_name", config::Value(name));
    params.set("max_target_length", config::Value(run.data.sequence_length));
    params.set("dataset_type", config::Value("synthetic"));
    const auto model = model_of("maxtext", std::move(params));
    if (model && same_architecture(run.model, *model)) return name;
  }
  return "default";
}

void write_sizes(const spec::Model& model, KeyWriter& keys) {
  const spec::LayerSpec& layer = model.layers.front();
  const spec::Attention& a = layer.attention;
  const char* dense = a.qk_norm ? "qwen3" : a.qkv_bias ? "qwen2" : "llama2";
  keys.set("decoder_block", !layer.moe ? dense : a.qk_norm ? "qwen3_moe" : "mixtral");
  keys.set("base_emb_dim", model.hidden_size);
  keys.set("base_num_decoder_layers", static_cast<int64_t>(model.layers.size()));
  keys.set("base_num_query_heads", a.num_heads);
  keys.set("base_num_kv_heads", a.num_kv_heads);
  keys.set("head_dim", a.head_dim);
  keys.set("base_mlp_dim", layer.moe ? layer.moe->expert.ffn_size : layer.mlp.ffn_size);
  if (model.vocab_size > 0) keys.set("vocab_size", model.vocab_size);
  keys.set("normalization_layer_epsilon", layer.input_norm.eps);
  keys.set("logits_via_embedding", model.tied_embeddings);
  if (model.tied_embeddings) keys.set("normalize_embedding_logits", model.logit_multiplier != 1);
  keys.set("mlp_activations", config::Value(config::List{config::Value("silu"), config::Value("linear")}));
  if (a.qk_norm) keys.set("use_qk_norm", true);
  if (a.qkv_bias) keys.set("attention_bias", true);
  if (a.rope) {
    keys.set("rope_max_timescale", static_cast<int64_t>(std::llround(a.rope->base)));
    keys.set("rope_type", a.rope->llama3 && a.rope->llama3->factor != 1 ? "llama3.1" : "default");
  }
  if (!layer.moe) return;
  keys.set("base_moe_mlp_dim", layer.moe->expert.ffn_size);
  keys.set("num_experts", layer.moe->num_experts);
  keys.set("num_experts_per_tok", layer.moe->top_k);
}

}  // namespace

spec::Model canonical_model(spec::Model model) {
  for (spec::LayerSpec& layer : model.layers) {
    spec::Attention& a = layer.attention;
    if (layer.init && layer.init->query_std > 0 && a.softmax_scale == 1)
      a.softmax_scale = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, a.head_dim)));
    if (a.rope && a.rope->llama3 && a.rope->llama3->factor == 1) a.rope->llama3.reset();
  }
  return model;
}

void write_maxtext_model(const spec::RunSpec& run, KeyWriter& keys) {
  const std::string name = maxtext_name_of(run);
  keys.set("base_config", "base.yml");
  keys.set("model_name", name);
  if (name == "default")
    write_sizes(run.model, keys);
  else if (run.model.vocab_size > 0)
    keys.note("model_name " + name + " sets the architecture, its vocabulary included");
}

bool write_bridge_model(const spec::RunSpec& run, KeyWriter& keys) {
  spec::Model wanted = run.model;
  if (run.data.mock) wanted.vocab_size = 0;  // of made-up data: the recipe has its own
  for (const BridgeRecipe& recipe : bridge_recipes()) {
    if (recipe.builder->finetunes != run.finetune.has_value()) continue;
    const auto model = model_of_recipe(recipe);
    if (!model || !same_architecture(wanted, *model)) continue;
    keys.set("recipe", std::string(recipe.module));
    keys.set("flavor", std::string(recipe.flavor));
    return true;
  }
  return false;
}

Diagnostic no_such_recipe(const spec::RunSpec& run) {
  std::string_view nearest;
  std::vector<std::string> fewest;
  for (const BridgeRecipe& recipe : bridge_recipes()) {
    const auto model = recipe.builder->finetunes != run.finetune.has_value() ? std::nullopt : model_of_recipe(recipe);
    if (!model) continue;
    std::vector<std::string> differences = differences_of(run.model, *model);
    if (!nearest.empty() && differences.size() >= fewest.size()) continue;
    nearest = recipe.flavor;
    fewest = std::move(differences);
  }
  constexpr size_t kMost = 8;
  if (const size_t all = fewest.size(); all > kMost) {
    fewest.resize(kMost);
    fewest.push_back("and " + std::to_string(all - kMost) + " more");
  }
  Diagnostic finding = error_at({}, std::string("no ") + (run.finetune ? "fine-tuning" : "pre-training") +
                                        " recipe of megatron_bridge has this architecture");
  if (!nearest.empty()) finding.found = "the nearest, " + std::string(nearest) + ", lacks " + join(fewest, "; ");
  finding.suggestion = "config list flavors --framework megatron_bridge shows the recipes";
  return finding;
}

}  // namespace primus::dialect
