#include "primus/dialect/proxy_keys.h"

#include <algorithm>

#include "primus/dialect/bridge_config.h"
#include "primus/dialect/maxtext.h"
#include "primus/dialect/maxtext_models.h"
#include "primus/dialect/torchtitan_flavors.h"

namespace primus::dialect {

namespace {

using enum ProxyRule;

constexpr int64_t kEvalBatches = 2, kSmallHead = 32, kFewKeys = 64;

constexpr ProxyKey kMegatron[] = {
    {"num_layers", To, Size::Layers},
    {"num_attention_heads", To, Size::Heads},
    {"num_query_groups", ToWhereGiven, Size::Groups},
    {"hidden_size", To, Size::Hidden},
    {"kv_channels", ToWhereGiven, Size::HeadDim},
    {"ffn_hidden_size", ToWhereGiven, Size::Ffn},
    {"q_lora_rank", ToWhereGiven, Size::QueryRank},
    {"kv_lora_rank", To, Size::KeyValueRank},
    {"qk_head_dim", To, Size::NopeDim},
    {"qk_pos_emb_head_dim", To, Size::RopeDim},
    {"v_head_dim", To, Size::ValueDim},
    {"num_experts", To, Size::Experts},
    {"moe_ffn_hidden_size", ToWhereGiven, Size::ExpertFfn},
    {"moe_shared_expert_intermediate_size", ToWhereGiven, Size::SharedFfn},
    {"moe_latent_size", ToWhereGiven, Size::ExpertWidth},
    {"routed_expert_hidden_size", ToWhereGiven, Size::ExpertWidth},
    {"moe_layer_freq", Pattern},
    {"linear_attention_freq", Pattern},
    {"window_attn_skip_freq", Pattern},
    {"no_rope_freq", Pattern},
    {"lfm_layer_types", Pattern},
    {"compress_ratios", Pattern},
    {"hybrid_override_pattern", Pattern},
    {"window_size", ProxyRule::Window, Size::Window},
    {"sink_sliding_window", InStep, Size::Window},
    {"attn_sliding_window", OfMixer, Size::Layers, kFewKeys},
    {"attention_chunk_size", ToWhereGiven, Size::Chunk},
    {"linear_num_key_heads", WithHeads},
    {"linear_num_value_heads", WithHeads},
    {"linear_key_head_dim", OfMixer, Size::Layers, kSmallHead},
    {"linear_value_head_dim", OfMixer, Size::Layers, kSmallHead},
    {"mamba_state_dim", OfMixer, Size::Layers, kSmallHead},
    {"mamba_head_dim", OfMixer, Size::Layers, kSmallHead},
    {"mamba_num_groups", OfMixer, Size::Layers, 1},
    {"mamba_num_heads", WithHeads},
    {"index_topk", OfMixer, Size::Layers, kFewKeys},
    {"index_head_dim", OfMixer, Size::Layers, kSmallHead},
    {"index_n_heads", WithHeads},
    {"o_lora_rank", OfMixer, Size::Layers, kSmallHead},
    {"seq_length", To, Size::Sequence},
    {"max_position_embeddings", ToWhereGiven, Size::Positions},
    {"vocab_size", MockVocab, Size::Vocab},
    {"padded_vocab_size", ToNothing, Size::Vocab},
    {"recompute_num_layers", AtMostLayers},
    {"recompute_layer_ids", LayersOnly},
    {"num_layers_per_virtual_pipeline_stage", PerStage},
    {"decoder_first_pipeline_num_layers", ToNothing, Size::Layers},
    {"decoder_last_pipeline_num_layers", ToNothing, Size::Layers},
    {"decoder_pipeline_manual_split_list", Stages},
    {"pipeline_model_parallel_layout", Stages},
    {"account_for_embedding_in_pipeline_split", ToNothing, Size::Layers},
    {"account_for_loss_in_pipeline_split", ToNothing, Size::Layers},
    {"micro_batch_size", To, Size::Micro},
    {"global_batch_size", ToWhereGiven, Size::Global},
    {"train_iters", ToWhereGiven, Size::Steps},
    {"train_samples", SamplesOfRun},
    {"lr_decay_iters", WithTraining},
    {"lr_decay_samples", SamplesOfRun},
    {"lr_wsd_decay_iters", WithTraining},
    {"lr_wsd_decay_samples", SamplesOfRun},
    {"lr_warmup_iters", Warmup},
    {"lr_warmup_samples", SamplesOfRun},
    {"rampup_batch_size", Ramp},
    {"eval_iters", OfEvaluation, Size::Steps, kEvalBatches},
    {"eval_interval", WithEvaluation},
    {"save_interval", WithSaving},
};

constexpr ProxyKey kTorchTitan[] = {
    {"model.n_layers", To, Size::Layers},
    {"model.n_heads", To, Size::Heads},
    {"model.n_kv_heads", ToWhereGiven, Size::Groups},
    {"model.dim", To, Size::Hidden},
    {"model.head_dim", To, Size::HeadDim},
    {"model.multiple_of", AtMost, Size::FfnUnit, kSmallHead},
    {"model.hidden_dim", To, Size::Ffn},
    {"model.inter_dim", To, Size::Ffn},
    {"model.moe_inter_dim", To, Size::ExpertFfn},
    {"model.q_lora_rank", To, Size::QueryRank},
    {"model.kv_lora_rank", To, Size::KeyValueRank},
    {"model.qk_nope_head_dim", To, Size::NopeDim},
    {"model.qk_rope_head_dim", To, Size::RopeDim},
    {"model.v_head_dim", To, Size::ValueDim},
    {"model.moe_args.num_experts", To, Size::Experts},
    {"model.original_seq_len", To, Size::YarnStart},
    {"model.sliding_window_size", To, Size::Window},
    {"model.fixed_attn_block_size", To, Size::Chunk},
    {"training.seq_len", To, Size::Sequence},
    {"training.local_batch_size", To, Size::Micro},
    {"training.global_batch_size", To, Size::Global},
    {"training.steps", To, Size::Steps},
    {"lr_scheduler.total_steps", WithTraining},
    {"lr_scheduler.warmup_steps", Warmup},
    {"validation.seq_len", OfEvaluation, Size::Steps, 256},
    {"validation.local_batch_size", OfEvaluation, Size::Steps, 2},
    {"validation.freq", WithEvaluation},
    {"validation.steps", OfEvaluation, Size::Steps, kEvalBatches},
    {"checkpoint.interval", WithSaving},
};

constexpr ProxyKey kMaxText[] = {
    {"base_num_decoder_layers", To, Size::Layers},
    {"base_num_query_heads", To, Size::Heads},
    {"base_num_kv_heads", To, Size::Groups},
    {"base_emb_dim", To, Size::Hidden},
    {"head_dim", To, Size::HeadDim},
    {"global_head_dim", To, Size::GlobalHeadDim},
    {"global_num_kv_heads", To, Size::GlobalGroups},
    {"base_mlp_dim", To, Size::Ffn},
    {"q_lora_rank", To, Size::QueryRank},
    {"kv_lora_rank", To, Size::KeyValueRank},
    {"qk_nope_head_dim", To, Size::NopeDim},
    {"qk_rope_head_dim", To, Size::RopeDim},
    {"v_head_dim", To, Size::ValueDim},
    {"num_experts", To, Size::Experts},
    {"base_moe_mlp_dim", To, Size::ExpertFfn},
    {"sliding_window_size", To, Size::Window},
    {"chunk_attn_window_size", To, Size::Chunk},
    {"vocab_size", MockVocab, Size::Vocab},
    {"global_parameter_scale", AtMost, Size::Layers, 1},
    {"num_layers_per_pipeline_stage", PerStage},
    {"max_target_length", To, Size::Sequence},
    {"per_device_batch_size", AtMost, Size::Micro, 2},
    {"gradient_accumulation_steps", AtMost, Size::MicroBatches, 4},
    {"steps", To, Size::Steps},
    {"learning_rate_schedule_steps", WithTraining},
    {"eval_interval", WithEvaluation},
    {"eval_steps", OfEvaluation, Size::Steps, kEvalBatches},
    {"checkpoint_period", WithSaving},
};

constexpr ProxyKey kBridge[] = {
    {"model.num_layers", To, Size::Layers},
    {"model.num_attention_heads", To, Size::Heads},
    {"model.num_query_groups", To, Size::Groups},
    {"model.hidden_size", To, Size::Hidden},
    {"model.kv_channels", To, Size::HeadDim},
    {"model.ffn_hidden_size", To, Size::Ffn},
    {"model.q_lora_rank", To, Size::QueryRank},
    {"model.kv_lora_rank", To, Size::KeyValueRank},
    {"model.qk_head_dim", To, Size::NopeDim},
    {"model.qk_pos_emb_head_dim", To, Size::RopeDim},
    {"model.v_head_dim", To, Size::ValueDim},
    {"model.num_moe_experts", To, Size::Experts},
    {"model.moe_ffn_hidden_size", To, Size::ExpertFfn},
    {"model.moe_shared_expert_intermediate_size", To, Size::SharedFfn},
    {"model.moe_layer_freq", Pattern},
    {"model.window_attn_skip_freq", Pattern},
    {"model.no_rope_freq", Pattern},
    {"model.hybrid_override_pattern", Pattern},
    {"model.window_size", ProxyRule::Window, Size::Window},
    {"model.mamba_num_groups", OfMixer, Size::Layers, 1},
    {"model.mamba_state_dim", OfMixer, Size::Layers, kSmallHead},
    {"model.mamba_head_dim", OfMixer, Size::Layers, kSmallHead},
    {"model.seq_length", To, Size::Sequence},
    {"dataset.seq_length", To, Size::Sequence},
    {"model.vocab_size", MockVocab, Size::Vocab},
    {"tokenizer.vocab_size", MockVocab, Size::Vocab},
    {"model.recompute_num_layers", AtMostLayers},
    {"model.account_for_embedding_in_pipeline_split", ToNothing, Size::Layers},
    {"model.account_for_loss_in_pipeline_split", ToNothing, Size::Layers},
    {"train.micro_batch_size", To, Size::Micro},
    {"train.global_batch_size", To, Size::Global},
    {"train.train_iters", To, Size::Steps},
    {"scheduler.lr_decay_iters", WithTraining},
    {"scheduler.lr_warmup_iters", Warmup},
    {"train.eval_iters", OfEvaluation, Size::Steps, kEvalBatches},
    {"train.eval_interval", WithEvaluation},
    {"checkpoint.save_interval", WithSaving},
};

bool is_given(const config::Value* value) {
  return value != nullptr && !value->is_null();
}

}  // namespace

std::span<const ProxyKey> proxy_keys(std::string_view framework) {
  if (framework == "megatron") return kMegatron;
  if (framework == "torchtitan") return kTorchTitan;
  if (framework == "maxtext") return kMaxText;
  if (framework == "megatron_bridge") return kBridge;
  return {};
}

// What a dialect makes of the keys before it reads the sizes.
struct ProxyView::Resolved {
  explicit Resolved(const config::Module& module) : keys(module) {}

  spec::RunSpec run;
  Diagnostics unheard;  // to_spec tells them
  ToSpecOptions options{.world_size = 0, .for_training = false};
  Reader keys;
  Translation translation{keys, run, unheard, options};
  std::optional<config::Module> settings;  // maxtext
  std::optional<TitanModel> flavor;        // torchtitan
  std::unique_ptr<BridgeConfig> container;
};

ProxyView::ProxyView(const config::Module& module) : module_(module), resolved_(std::make_unique<Resolved>(module)) {
  Translation& t = resolved_->translation;
  if (module.framework == "maxtext") resolved_->settings = maxtext_settings(t);
  if (module.framework == "megatron_bridge") {
    resolved_->container = std::make_unique<BridgeConfig>(t);
    resolve_bridge(t, *resolved_->container);
  }
  if (module.framework != "torchtitan") return;
  const auto family = titan_family(t.keys.text("model.name"));
  if (family) resolved_->flavor = titan_model(*family, t.keys.text("model.flavor"));
}

ProxyView::~ProxyView() = default;

namespace {

// Whether MaxText's file of that model has the key.
bool name_sets(const std::string& model_name, std::string_view key) {
  const MaxtextModel* model = find_maxtext_model(model_name);
  if (model == nullptr) return false;
  const std::string word = std::string(key) + ":";
  const auto has = [&word](std::string_view keys) {
    for (size_t at = keys.find(word); at != std::string_view::npos; at = keys.find(word, at + 1))
      if (at == 0 || keys[at - 1] == ' ' || keys[at - 1] == ',') return true;
    return false;
  };
  return has(model->keys) || has(model->more);
}

// A flavor's own value of an argument; null for upstream's None and for what is no integer.
TypedValue flavor_value(const TitanModel& model, std::string_view key) {
  for (const TitanArgument& argument : titan_arguments()) {
    if (argument.key != key) continue;
    if (const auto* member = std::get_if<int64_t TitanModel::*>(&argument.member)) return {model.*(*member)};
    const auto* maybe = std::get_if<std::optional<int64_t> TitanModel::*>(&argument.member);
    if (maybe != nullptr && (model.*(*maybe)).has_value()) return {*(model.*(*maybe))};
  }
  return {};
}

}  // namespace

TypedValue ProxyView::value(std::string_view key) const {
  if (find_parameter(module_.framework, key) == nullptr) return {};
  if (resolved_->container) return resolved_->container->value(key);
  const config::Module& module = resolved_->settings ? *resolved_->settings : module_;
  const Parameter* row = find_parameter(module.framework, key);
  if (row == nullptr) return {};
  const config::Value* value = find_value(module.params, key);
  if (value == nullptr && resolved_->flavor) {
    const TypedValue of_flavor = flavor_value(*resolved_->flavor, key);
    if (!of_flavor.is_null()) return of_flavor;
  }
  if (value == nullptr) return table_value(*row, row->default_text);
  Diagnostics ignored;
  NumericText also_ignored;
  return read_typed(*row, *value, ignored, also_ignored).value_or(TypedValue{});
}

std::optional<int64_t> ProxyView::integer(std::string_view key) const {
  const TypedValue typed = value(key);
  const auto* integer = std::get_if<int64_t>(&typed.data);
  return integer == nullptr ? std::nullopt : std::optional(*integer);
}

double ProxyView::number(std::string_view key) const {
  const TypedValue typed = value(key);
  if (const auto* integer = std::get_if<int64_t>(&typed.data)) return static_cast<double>(*integer);
  const auto* number = std::get_if<double>(&typed.data);
  return number == nullptr ? 0 : *number;
}

const config::Value* ProxyView::written(std::string_view key) const {
  const config::Module& module = resolved_->settings ? *resolved_->settings : module_;
  return find_value(module.params, key);
}

bool ProxyView::pretrains() const {
  return !resolved_->container || !resolved_->container->recipe->builder->finetunes;
}

std::string ProxyView::permission() const {
  if (!resolved_->settings || resolved_->keys.text("model_name") == "default") return {};
  return resolved_->keys.flag("override_model_config") ? std::string{} : "override_model_config";
}

std::vector<std::string> ProxyView::places(std::string_view key) const {
  const std::string own(key);
  if (module_.framework == "torchtitan") {
    const std::string name = resolved_->keys.text("model.name");
    for (const TitanArgument& argument : titan_arguments())
      if (argument.key == key && !has_argument(argument, name)) return {};
    return {own};
  }
  if (resolved_->settings) {
    // What model_name sets can only be changed from above it.
    const config::Value* overrides = module_.params.find("override_model");
    const bool is_overridden = overrides != nullptr && overrides->find(key) != nullptr;
    return {is_overridden || name_sets(resolved_->keys.text("model_name"), key) ? "override_model." + own : own};
  }
  if (!resolved_->container) return {own};
  const BridgeConfig& container = *resolved_->container;
  std::vector<std::string> places;
  const bool no_section = !is_given(find_value(module_.params, key));
  for (const std::string_view name : container.argument_names()) {
    const bool lands = bridge_argument_path(name) == key || (name == "seq_length" && key == "dataset.seq_length");
    if (lands && is_given(module_.params.find(name))) places.emplace_back(name);
  }
  const size_t dot = key.find('.');
  const std::string_view flat = key.substr(dot + 1);  // eval_interval and the like count above all sections
  const bool counts_last = flat == "eval_interval" || flat == "eval_iters" || flat == "save_interval";
  if (counts_last && is_given(module_.params.find(flat))) return {std::string(flat)};
  if ((places.empty() || !no_section) && !container.value(key).is_null()) places.push_back(own);
  return places;
}

}  // namespace primus::dialect
