// The training half in the keys of megatron_bridge: arguments of the recipe, and maps for its container.
#include <algorithm>

#include "primus/dialect/bridge.h"
#include "primus/dialect/megatron_words.h"
#include "primus/dialect/translate_writers.h"

namespace primus::dialect {

namespace {

const BridgeRecipe& recipe_of(const KeyWriter& keys) {
  const config::Value* flavor = keys.params().find("flavor");
  for (const BridgeRecipe& recipe : bridge_recipes())
    if (flavor != nullptr && flavor->is_string() && flavor->as_string() == recipe.flavor) return recipe;
  return bridge_recipes().front();
}

bool takes(const BridgeRecipe& recipe, std::string_view argument) {
  bool found = false;
  for_each_setting(recipe.builder->arguments,
                   [&](std::string_view name, std::string_view) { found |= name == argument; });
  return found;
}

// Ranks: some recipes fix them, so that upstream drops these keys.
void write_ranks(const spec::RunSpec& run, const BridgeRecipe& recipe, KeyWriter& keys) {
  const spec::Parallel& p = run.parallel;
  const std::pair<const char*, int64_t> ranks[] = {{"tensor_model_parallel_size", p.tensor},
                                                   {"pipeline_model_parallel_size", p.pipeline},
                                                   {"context_parallel_size", p.context},
                                                   {"expert_model_parallel_size", p.expert}};
  for (const auto& [key, value] : ranks)
    if (takes(recipe, key)) keys.set(key, value);
}

// The recipes hold no length of a last phase, so that WSD can be said only where that phase is the whole way down.
const char* decay_style(const spec::LrSchedule& lr) {
  if (lr.decay != spec::LrDecay::WarmupStableDecay) return lr_decay_word(lr.decay);
  if (lr.wsd_samples < lr.decay_samples - lr.warmup_samples) return nullptr;
  return lr.wsd_decay == spec::WsdDecay::Linear   ? "linear"
         : lr.wsd_decay == spec::WsdDecay::Cosine ? "cosine"
                                                  : nullptr;
}

// Values of the container that no argument sets. A value is taken only where the recipe has one of the same type.
void write_container(const spec::RunSpec& run, KeyWriter& keys) {
  const spec::Optimizer& o = run.optimizer;
  keys.set("optimizer.optimizer", o.kind == spec::OptimizerKind::Sgd ? "sgd" : "adam");
  keys.set("optimizer.adam_beta1", o.beta1);
  keys.set("optimizer.adam_beta2", o.beta2);
  keys.set("optimizer.adam_eps", o.eps);
  keys.set("optimizer.clip_grad", o.clip_grad_norm);
  if (const char* style = decay_style(run.lr)) keys.set("scheduler.lr_decay_style", style);
  keys.set("scheduler.lr_warmup_init", run.lr.warmup_init_lr);
  keys.set("scheduler.start_weight_decay", run.weight_decay.start);
  keys.set("scheduler.end_weight_decay", run.weight_decay.end);
  if (run.weight_decay.ramp != spec::WeightDecayRamp::Constant)
    keys.set("scheduler.weight_decay_incr_style",
             run.weight_decay.ramp == spec::WeightDecayRamp::Linear ? "linear" : "cosine");
  keys.set("rng.seed", run.seed);
  keys.set(run.finetune ? "dataset.seed" : "dataset.random_seed", run.data.seed);
  keys.set("ddp.overlap_grad_reduce", run.parallel.overlap_grad_reduce);
  keys.set("dist.distributed_timeout_minutes", static_cast<int64_t>(run.parallel.timeout_minutes));
  const spec::Checkpoint& c = run.checkpoint;
  keys.set("checkpoint.finetune", c.load_weights_only);
  keys.set("checkpoint.exit_on_missing_checkpoint", c.missing_load_is_error);
  keys.set("checkpoint.async_save", c.asynchronous);
  keys.set("rerun_state_machine.check_for_nan_in_loss", run.exit.fail_on_nan);
  if (run.finetune) return;
  keys.set("dataset.dataloader_type", run.data.order == spec::LoaderOrder::Cyclic ? "cyclic" : "single");
  keys.set("dataset.eod_mask_loss", run.data.mask_loss_at_eod);
  keys.set("dataset.reset_position_ids", run.data.reset_position_ids);
  keys.set("dataset.reset_attention_mask", run.data.reset_attention_mask);
}

void write_bridge_finetune(const spec::RunSpec& run, const BridgeRecipe& recipe, KeyWriter& keys) {
  const spec::Finetune& tune = *run.finetune;
  keys.set("finetune_lr", run.lr.max_lr);
  keys.set("packed_sequence", tune.packed_sequences);
  keys.set("dataset.dataset_name", tune.dataset);
  if (!tune.dataset.ends_with("squad"))
    keys.note(
        "dataset: the recipe reads records as those of SQuAD (context, question, answers); a set of another form "
        "needs a function of its own in the container");
  if (!tune.adapter)
    keys.set("peft", "none");
  else
    keys.set("peft", tune.adapter->kind == spec::AdapterKind::DoRA ? "dora" : "lora");
  if (tune.pretrained_folder.empty()) {
    const spec::Checkpoint& c = run.checkpoint;
    if (c.load_weights_only && !c.load_folder.empty()) keys.set("pretrained_checkpoint", c.load_folder);
    return;
  }
  if (recipe.builder->takes_hf_path) return keys.set("hf_path", tune.pretrained_folder);
  keys.set("pretrained_checkpoint", tune.pretrained_folder);
  keys.note(
      "pretrained_checkpoint: Megatron Bridge wants a Megatron checkpoint there; "
      "AutoBridge.import_ckpt makes it from a Hugging Face model");
}

void write_bridge_data(const spec::RunSpec& run, KeyWriter& keys) {
  const bool made_up = run.data.mock || (run.data.texts && run.data.texts->random_integers);
  keys.set("mock", made_up);
  if (made_up) return;
  const std::pair<const char*, const spec::DataBlend*> parts[] = {{"data_paths", &run.data.blend},
                                                                  {"train_data_path", &run.data.train},
                                                                  {"valid_data_path", &run.data.valid},
                                                                  {"test_data_path", &run.data.test}};
  for (const auto& [key, blend] : parts)
    if (!blend->empty()) keys.set(key, paths_of(*blend));
}

}  // namespace

void write_bridge_training(const spec::RunSpec& run, KeyWriter& keys) {
  const BridgeRecipe& recipe = recipe_of(keys);
  keys.set("train_iters", run.exit.train_steps);
  keys.set("global_batch_size", run.batch.global_batch_size);
  keys.set("micro_batch_size", run.batch.micro_batch_size);
  keys.set("seq_length", run.data.sequence_length);
  if (!run.finetune) keys.set("lr", run.lr.max_lr);
  keys.set("min_lr", run.lr.min_lr);
  keys.set("lr_warmup_iters", steps_of(run, run.lr.warmup_samples));
  keys.set("lr_decay_iters", steps_of(run, run.lr.decay_samples));
  write_ranks(run, recipe, keys);
  if (run.finetune)
    write_bridge_finetune(run, recipe, keys);
  else
    write_bridge_data(run, keys);
  keys.set("precision_config", run.precision.compute == spec::Dtype::Float16 ? "fp16_mixed" : "bf16_mixed");
  write_container(run, keys);
  keys.set("log_interval", run.logging.interval_steps);
  keys.set("eval_iters", run.evaluation.num_batches);
  if (run.evaluation.interval_steps > 0) keys.set("eval_interval", run.evaluation.interval_steps);
  if (run.checkpoint.interval_steps > 0) keys.set("save_interval", run.checkpoint.interval_steps);
  keys.set("skip_save", !run.checkpoint.save);
  keys.set("stderr_sink_level", run.logging.console_level);
  keys.set("file_sink_level", run.logging.file_level);
  write_module(run, keys);
}

}  // namespace primus::dialect
