// Steps 1 and 2 of upstream: which function the recipe is, what it is called with, and what it then returns.
#include <algorithm>
#include <array>

#include "primus/base/strings.h"
#include "primus/dialect/bridge_config.h"

namespace primus::dialect {

namespace {

// ---------------------------------------------------------------- which recipe
std::string_view without_package(std::string_view module) {
  for (const std::string_view prefix : {"primus.backends.megatron_bridge.recipes.", "megatron.bridge.recipes."})
    if (module.starts_with(prefix)) return module.substr(prefix.size());
  return module;
}

// What stands in where no recipe can be found, so that the other keys are checked all the same.
const BridgeRecipe& any_recipe() {
  const auto recipes = bridge_recipes();
  return *std::find_if(recipes.begin(), recipes.end(),
                       [](const BridgeRecipe& recipe) { return recipe.flavor == "llama32_1b_pretrain_config"; });
}

void no_such_module(Translation& t, std::string_view module) {
  std::vector<std::string> modules;
  for (const BridgeRecipe& recipe : bridge_recipes())
    if (modules.empty() || modules.back() != recipe.module) modules.emplace_back(recipe.module);
  const auto others = bridge_other_modules();
  const bool upstream_has_it = std::find(others.begin(), others.end(), module) != others.end();
  t.error("recipe",
          upstream_has_it
              ? "the recipes of '" + std::string(module) + "' exist upstream, and are not described here yet"
              : "there is no recipe module '" + std::string(module) + "'",
          join(modules, ", "), did_you_mean(std::string(module), modules));
}

const BridgeRecipe* find_recipe(Translation& t) {
  const auto given = t.keys.maybe_text("recipe"), flavor = t.keys.maybe_text("flavor");
  if (!given || !flavor) {
    const char* key = given ? "flavor" : "recipe";
    t.error(key, std::string("'") + key + "' is not given: it names the function that makes the configuration",
            given ? "qwen3_8b_finetune_config, for example" : "qwen.qwen3, for example");
    return nullptr;
  }
  const std::string_view module = without_package(*given);
  std::vector<std::string> flavors;
  for (const BridgeRecipe& recipe : bridge_recipes()) {
    if (recipe.module != module) continue;
    if (recipe.flavor == *flavor) return &recipe;
    flavors.emplace_back(recipe.flavor);
  }
  if (flavors.empty())
    no_such_module(t, module);
  else
    t.error("flavor", "the recipe module '" + std::string(module) + "' has no function '" + *flavor + "'",
            join(flavors, ", "), did_you_mean(*flavor, flavors));
  return nullptr;
}

// ---------------------------------------------------------------- which model
// "NousResearch/Meta-Llama-3-8B-Instruct" and "meta-llama/Llama-3-8B" have one architecture.
std::string plain_name(std::string_view name) {
  const size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  if (name.starts_with("Meta-")) name.remove_prefix(5);
  for (const std::string_view tail : {"-Instruct", "-Base", "-hf", "-Chat"})
    if (name.ends_with(tail)) name.remove_suffix(tail.size());
  return to_lower(name);
}

const BridgeModel* find_model(std::string_view name) {
  for (const BridgeModel& model : bridge_models())
    if (plain_name(model.name) == plain_name(name)) return &model;
  return nullptr;
}

void choose_model(Translation& t, BridgeConfig& config) {
  const BridgeRecipe& recipe = *config.recipe;
  config.model = find_model(recipe.model);
  config.hf_path = recipe.model.find('/') == std::string_view::npos ? "" : std::string(recipe.model);
  const auto given = t.keys.maybe_text("hf_path");
  if (!given) return;
  config.hf_path = *given;
  if (!recipe.builder->takes_hf_path) {
    t.warning("hf_path",
              "upstream stops here: " + std::string(recipe.flavor) + " gives hf_path itself ('" +
                  std::string(recipe.model) +
                  "'), and Python refuses a second one (\"got multiple values for keyword argument 'hf_path'\"); this "
                  "program takes the recipe's architecture, and tokenizer and weights of '" +
                  *given + "'",
              "drop hf_path, and give pretrained_checkpoint");
    return;
  }
  if (const BridgeModel* model = find_model(*given)) {
    config.model = model;
    return;
  }
  t.warning("hf_path",
            "upstream reads the architecture of '" + *given +
                "' from Hugging Face; it is not in the table here, so that the recipe's own is taken: " +
                std::string(recipe.model),
            "import its config.json if it differs");
}

// ---------------------------------------------------------------- arguments
bool may_be_null(std::string_view name, std::string_view default_text) {
  constexpr std::array<std::string_view, 4> kAlso = {"precision_config", "peft", "pipeline_dtype",
                                                     "virtual_pipeline_model_parallel_size"};
  return default_text == "null" || std::find(kAlso.begin(), kAlso.end(), name) != kAlso.end();
}

void read_user_arguments(Translation& t, BridgeConfig& config) {
  const config::Value& params = t.keys.module().params;
  for_each_setting(config.recipe->builder->arguments, [&](std::string_view name, std::string_view default_text) {
    const Parameter* row = find_parameter(kBridgeFramework, name);
    if (!row->spec_field.empty()) (void)t.keys.map(name);  // remembered as taken
    const config::Value* value = params.find(name);
    if (value == nullptr) return;
    Diagnostics ignored;  // told by check_parameters
    NumericText also_ignored;
    auto typed = read_typed(*row, *value, ignored, also_ignored);
    if (!typed) return;
    if (typed->is_null() && !may_be_null(name, default_text) && name != "save_interval" && name != "finetune_lr")
      return t.warning(name, "'" + std::string(name) + ": null' is no value that the recipe can use; its own is taken",
                       "drop the key, or give a value");
    if (typed->is_null() && name == "finetune_lr") return;
    config.set_argument(row->name, std::move(*typed));
  });
}

void choose_adapter(Translation& t, BridgeConfig& config) {
  const BridgeBuilder& builder = *config.recipe->builder;
  if (!builder.finetunes) return;
  config.adapter = "lora";
  if (const TypedValue* value = config.argument("peft"); value != nullptr) {
    config.adapter = value->is_null() ? "" : to_lower(value->to_text());
    const config::Value* given = t.keys.module().params.find("peft");
    if (given != nullptr && !given->is_null() && (given->is_map() || given->is_list())) {
      t.error("peft", "'peft' is the name of a kind of adapter; upstream stops on a map", "lora, dora or none",
              "write peft: lora; the recipe decides rank and targets");
      config.adapter = "lora";
    } else if (config.adapter != "lora" && config.adapter != "dora" && config.adapter != "none" &&
               !config.adapter.empty()) {
      t.error("peft", "there is no kind of adapter '" + config.adapter + "'", "lora, dora or none");
      config.adapter = "lora";
    }
    if (config.adapter == "none") config.adapter.clear();
  }
  if (config.adapter == "dora") config.adapter_alpha = 64;
  config.adapter_targets = {"linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"};
}

void call_recipe(Translation& t, BridgeConfig& config) {
  const BridgeRecipe& recipe = *config.recipe;
  const BridgeBuilder& builder = *recipe.builder;
  config.set_arguments(builder.arguments);
  config.set_arguments(recipe.arguments);
  // Which of the two further lists holds depends on the user's peft, above which the user's own values lie.
  BridgeConfig user = config;
  Diagnostics unheard;
  Translation quiet{t.keys, t.run, unheard, t.options};
  read_user_arguments(quiet, user);
  choose_adapter(t, user);
  config.adapter = user.adapter;
  config.adapter_alpha = user.adapter_alpha;
  config.adapter_targets = user.adapter_targets;
  config.set_arguments(config.adapter.empty() ? recipe.full : recipe.adapted);
  read_user_arguments(t, config);
  config.packed = config.argument_flag("packed_sequence");
  config.set_arguments(config.packed ? builder.packed : builder.unpacked, true);
}

// ---------------------------------------------------------------- what arguments set
struct Landing {
  std::string_view argument, path, also = {};
};
constexpr Landing kLandings[] = {
    {"train_iters", "train.train_iters"},
    {"global_batch_size", "train.global_batch_size"},
    {"micro_batch_size", "train.micro_batch_size"},
    {"seq_length", "model.seq_length", "dataset.seq_length"},
    {"eval_interval", "train.eval_interval"},
    {"eval_iters", "train.eval_iters"},
    {"save_interval", "checkpoint.save_interval"},
    {"lr", "optimizer.lr"},
    {"finetune_lr", "optimizer.lr"},
    {"min_lr", "optimizer.min_lr"},
    {"adam_beta1", "optimizer.adam_beta1"},
    {"adam_beta2", "optimizer.adam_beta2"},
    {"adam_eps", "optimizer.adam_eps"},
    {"clip_grad", "optimizer.clip_grad"},
    {"lr_warmup_iters", "scheduler.lr_warmup_iters"},
    {"lr_decay_iters", "scheduler.lr_decay_iters"},
    {"tensor_model_parallel_size", "model.tensor_model_parallel_size"},
    {"pipeline_model_parallel_size", "model.pipeline_model_parallel_size"},
    {"virtual_pipeline_model_parallel_size", "model.virtual_pipeline_model_parallel_size"},
    {"context_parallel_size", "model.context_parallel_size"},
    {"expert_model_parallel_size", "model.expert_model_parallel_size"},
    {"expert_tensor_parallel_size", "model.expert_tensor_parallel_size"},
    {"sequence_parallel", "model.sequence_parallel"},
    {"pipeline_dtype", "model.pipeline_dtype"},
    {"account_for_embedding_in_pipeline_split", "model.account_for_embedding_in_pipeline_split"},
    {"account_for_loss_in_pipeline_split", "model.account_for_loss_in_pipeline_split"},
    {"use_megatron_fsdp", "ddp.use_megatron_fsdp"},
    {"pretrained_checkpoint", "checkpoint.pretrained_checkpoint"},
    {"seed", "rng.seed", "dataset.seed"},
    {"check_for_nan_in_loss", "rerun_state_machine.check_for_nan_in_loss"},
    {"recompute_granularity", "model.recompute_granularity"},
    {"recompute_method", "model.recompute_method"},
    {"recompute_num_layers", "model.recompute_num_layers"},
};

struct NamedPrecision {
  std::string_view name, settings;
  bool of_mlperf = false;
};
constexpr std::string_view kBf16 = "mixed_precision.bf16=true mixed_precision.grad_reduce_in_fp32=true";
constexpr std::string_view kFp16 = "mixed_precision.fp16=true mixed_precision.grad_reduce_in_fp32=false";
constexpr std::string_view kBf16Fp8 =
    "mixed_precision.bf16=true mixed_precision.grad_reduce_in_fp32=true mixed_precision.fp8=hybrid";
constexpr std::string_view kFp16Fp8 =
    "mixed_precision.fp16=true mixed_precision.grad_reduce_in_fp32=false mixed_precision.fp8=hybrid";
constexpr NamedPrecision kPrecisions[] = {
    {"bf16_mixed", kBf16},
    {"fp16_mixed", kFp16},
    {"bf16_with_fp8_delayed_scaling_mixed", kBf16Fp8},
    {"fp16_with_fp8_delayed_scaling_mixed", kFp16Fp8},
    {"bf16_with_fp8_current_scaling_mixed", kBf16Fp8},
    {"fp16_with_fp8_current_scaling_mixed", kFp16Fp8},
    {"bf16_with_fp8_subchannel_scaling_mixed", kBf16Fp8},
    {"fp16_with_fp8_subchannel_scaling_mixed", kFp16Fp8},
    {"nemotron_h_bf16_with_fp8_current_scaling_mixed", kBf16Fp8},
    {"nanov2_bf16_with_fp8_current_scaling_mixed", kBf16Fp8},
    {"bf16_with_mxfp8_mixed",
     "mixed_precision.bf16=true mixed_precision.grad_reduce_in_fp32=true mixed_precision.fp8=e4m3"},
    {"fp16_with_mxfp8_mixed",
     "mixed_precision.fp16=true mixed_precision.grad_reduce_in_fp32=false mixed_precision.fp8=e4m3"},
    {"bf16_with_nvfp4_mixed",
     "mixed_precision.bf16=true mixed_precision.grad_reduce_in_fp32=true mixed_precision.fp4=e2m1"},
    {"bf16_with_fp8_hybrid", kBf16Fp8, true},
    {"bf16_with_mxfp4_mixed",
     "mixed_precision.bf16=true mixed_precision.grad_reduce_in_fp32=false mixed_precision.fp4=e2m1", true},
};

void set_precision(Translation& t, BridgeConfig& config) {
  std::string name = config.argument_text("precision_config");
  if (name.empty()) name = "bf16_mixed";  // null: the model's own, bf16 too
  std::replace(name.begin(), name.end(), '-', '_');
  const bool mlperf = config.recipe->module.starts_with("mlperf");
  std::vector<std::string> names;
  for (const NamedPrecision& precision : kPrecisions) {
    if (precision.of_mlperf && !mlperf) continue;
    if (precision.name == name) return config.set_all(precision.settings);
    names.emplace_back(precision.name);
  }
  t.error("precision_config", "there is no precision '" + name + "'", join(names, ", "), did_you_mean(name, names));
  config.set_all(kBf16);
}

void set_tokenizer(BridgeConfig& config) {
  if (config.argument_flag("use_null_tokenizer")) {
    config.set("tokenizer.tokenizer_type", {std::string("NullTokenizer")});
    config.set("tokenizer.vocab_size", {kNullTokenizerIds});
    return;
  }
  config.set("tokenizer.tokenizer_type", {std::string("HuggingFaceTokenizer")});
  if (!config.hf_path.empty()) config.set("tokenizer.tokenizer_model", {config.hf_path});
}

// mock_data is another name of mock, and any path of data switches it off.
void set_data(Translation& t, BridgeConfig& config) {
  if (config.recipe->builder->finetunes) return;
  if (t.keys.flag("mock_data")) config.set_argument("mock", {true});
  bool any = false;
  for (const char* name : {"data_paths", "train_data_path", "valid_data_path", "test_data_path"}) {
    std::vector<std::string> paths = config.argument_texts(name);
    if (paths.size() == 1 && (paths[0].empty() || to_lower(paths[0]) == "none")) {
      paths.clear();
      config.set_argument(name, {});
    }
    any = any || !paths.empty();
  }
  config.mock = !any;
  if (!any && !config.argument_flag("mock"))
    t.warning("mock", "no data are given, so that this trains on made-up data, as upstream does without a word",
              "write mock: true if that is meant, else data_paths");
  const bool whole = !config.argument_texts("data_paths").empty();
  if (!any || whole) config.set("dataset.split", {std::string(any ? "9999,8,2" : "1,1,1")});
}

void set_container(Translation& t, BridgeConfig& config) {
  const BridgeRecipe& recipe = *config.recipe;
  config.set_all(config.model->family, "model.");
  config.set_all(config.model->settings, "model.");
  config.set_all(recipe.builder->settings);
  config.set_all(recipe.builder->more_settings);
  for (const Landing& landing : kLandings) {
    const TypedValue* value = config.argument(landing.argument);
    if (value == nullptr || (value->is_null() && landing.path.starts_with("model.recompute"))) continue;
    config.set(landing.path, *value);
    if (!landing.also.empty()) config.set(landing.also, *value);
  }
  if (const TypedValue* decay = config.argument("weight_decay"); decay != nullptr)
    for (const char* path : {"optimizer.weight_decay", "scheduler.start_weight_decay", "scheduler.end_weight_decay"})
      config.set(path, *decay);
  if (config.argument_flag("enable_recompute"))
    config.set_all("model.recompute_granularity=full model.recompute_method=uniform model.recompute_num_layers=1");
  set_precision(t, config);
  set_tokenizer(config);
  set_data(t, config);
  if (!recipe.builder->adapter.empty())
    config.set_all("adapter.target_modules=" + std::string(recipe.builder->adapter));
  config.set_all(recipe.settings);
  config.set_all(config.adapter.empty() ? recipe.full_settings : recipe.adapted_settings);
  // The recipe of mamba lets the user choose.
  if (const std::string own = config.argument_text("tokenizer_model"); !own.empty())
    config.set("tokenizer.tokenizer_model", {own});
}

void set_flat_keys(Translation& t, BridgeConfig& config) {
  constexpr std::pair<const char*, const char*> kFlat[] = {{"log_interval", "logger.log_interval"},
                                                           {"eval_interval", "train.eval_interval"},
                                                           {"eval_iters", "train.eval_iters"},
                                                           {"save_interval", "checkpoint.save_interval"}};
  for (const auto& [key, path] : kFlat)
    if (const auto value = t.keys.maybe_integer(key)) config.set(path, {*value});
  if (t.keys.flag("skip_save")) config.set_all("checkpoint.save=null checkpoint.save_interval=0");
}

}  // namespace

std::string bridge_argument_path(std::string_view name) {
  for (const Landing& landing : kLandings)
    if (landing.argument == name) return std::string(landing.path);
  return {};
}

void resolve_bridge(Translation& t, BridgeConfig& config) {
  config.recipe = find_recipe(t);
  const bool known = config.recipe != nullptr;
  if (!known) config.recipe = &any_recipe();
  Diagnostics unheard;  // what is only wrong with a recipe that was not meant
  Translation quiet{t.keys, t.run, unheard, t.options};
  Translation& heard = known ? t : quiet;
  choose_model(heard, config);
  call_recipe(heard, config);
  set_container(heard, config);
  merge_bridge_maps(heard, config);
  set_flat_keys(heard, config);
  report_dropped_arguments(heard, config);
}

}  // namespace primus::dialect
