// The training half in megatron's keys.
#include "primus/dialect/megatron_words.h"
#include "primus/dialect/translate_writers.h"

namespace primus::dialect {

namespace {

const char* word_of(spec::WsdDecay decay) {
  switch (decay) {
    case spec::WsdDecay::Exponential:
      return "exponential";
    case spec::WsdDecay::Linear:
      return "linear";
    case spec::WsdDecay::Cosine:
      return "cosine";
    case spec::WsdDecay::MinusSqrt:
      return "minus_sqrt";
  }
  return "linear";
}

void write_schedules(const spec::RunSpec& run, KeyWriter& keys) {
  const spec::LrSchedule& lr = run.lr;
  keys.set("lr", lr.max_lr);
  keys.set("min_lr", lr.min_lr);
  keys.set("lr_decay_style", lr_decay_word(lr.decay));
  keys.set("lr_warmup_iters", steps_of(run, lr.warmup_samples));
  keys.set("lr_warmup_init", lr.warmup_init_lr);
  keys.set("lr_decay_iters", steps_of(run, lr.decay_samples));
  keys.set("nemo_aligned_lr_warmup", lr.warmup_counts_this_step);
  if (lr.decay == spec::LrDecay::WarmupStableDecay) {
    keys.set("lr_wsd_decay_style", word_of(lr.wsd_decay));
    keys.set("lr_wsd_decay_iters", steps_of(run, lr.wsd_samples));
  }
  const spec::WeightDecaySchedule& wd = run.weight_decay;
  keys.set("weight_decay", wd.start);
  if (wd.ramp == spec::WeightDecayRamp::Constant) return;
  keys.set("weight_decay_incr_style", wd.ramp == spec::WeightDecayRamp::Linear ? "linear" : "cosine");
  keys.set("start_weight_decay", wd.start);
  keys.set("end_weight_decay", wd.end);
}

void write_optimizer(const spec::RunSpec& run, KeyWriter& keys) {
  const spec::Optimizer& o = run.optimizer;
  keys.set("optimizer", o.kind == spec::OptimizerKind::Sgd ? "sgd" : "adam");
  keys.set("adam_beta1", o.beta1);
  keys.set("adam_beta2", o.beta2);
  keys.set("adam_eps", o.eps);
  keys.set("sgd_momentum", o.momentum);
  keys.set("decoupled_weight_decay", o.decoupled_weight_decay);
  keys.set("clip_grad", o.clip_grad_norm);
  keys.set("use_distributed_optimizer", o.shard_state);
  if (o.embedding_and_head_lr) keys.set("decoupled_lr", *o.embedding_and_head_lr);
  if (o.embedding_and_head_min_lr) keys.set("decoupled_min_lr", *o.embedding_and_head_min_lr);
}

void write_precision(const spec::RunSpec& run, KeyWriter& keys) {
  const spec::Precision& p = run.precision;
  keys.set("bf16", p.compute == spec::Dtype::BFloat16);
  keys.set("fp16", p.compute == spec::Dtype::Float16);
  if (p.grad_reduce == spec::Dtype::BFloat16) keys.set("grad_reduce_in_bf16", true);
  if (p.compute == spec::Dtype::Float16 && p.grad_reduce == spec::Dtype::Float32)
    keys.set("accumulate_allreduce_grads_in_fp32", true);
  if (p.low_precision.starts_with("fp8")) keys.set("fp8", "hybrid");
  if (p.low_precision == "fp4") keys.set("fp4", "e2m1");
  keys.set("calculate_per_token_loss", run.loss == spec::LossNormalisation::GlobalTokenMean);
  keys.set("check_for_nan_in_loss_and_grad", run.exit.fail_on_nan);
}

void write_megatron_layout(const spec::RunSpec& run, KeyWriter& keys) {
  const spec::Parallel& p = run.parallel;
  keys.set("tensor_model_parallel_size", p.tensor);
  keys.set("pipeline_model_parallel_size", p.pipeline);
  keys.set("context_parallel_size", p.context);
  keys.set("expert_model_parallel_size", p.expert);
  keys.set("expert_tensor_parallel_size", p.expert_tensor);
  if (p.stages_per_rank > 1) keys.set("num_virtual_stages_per_pipeline_rank", p.stages_per_rank);
  keys.set("sequence_parallel", p.tensor > 1);
  keys.set("deterministic_mode", p.deterministic);
  const spec::Recompute& r = run.recompute;
  if (r.kind == spec::RecomputeKind::Selective) {
    keys.set("recompute_granularity", "selective");
    config::List modules;
    for (const std::string& name : r.modules) modules.emplace_back(name);
    keys.set("recompute_modules", config::Value(std::move(modules)));
  }
  if (r.kind != spec::RecomputeKind::Full) return;
  keys.set("recompute_granularity", "full");
  if (r.layer_ids.size() == run.model.layers.size()) {
    keys.set("recompute_method", "uniform");
    keys.set("recompute_num_layers", r.layers_per_block);
    return;
  }
  config::List ids;
  for (const int64_t id : r.layer_ids) ids.emplace_back(id);
  keys.set("recompute_layer_ids", config::Value(std::move(ids)));
}

void write_megatron_data(const spec::RunSpec& run, KeyWriter& keys) {
  const spec::Data& data = run.data;
  const bool made_up = data.mock || (data.texts && data.texts->random_integers);
  keys.set("seq_length", data.sequence_length);
  keys.set("seed", run.seed);
  keys.set("mock_data", made_up);
  if (!made_up && !run.finetune) {
    const std::pair<const char*, const spec::DataBlend*> parts[] = {{"data_path", &data.blend},
                                                                    {"train_data_path", &data.train},
                                                                    {"valid_data_path", &data.valid},
                                                                    {"test_data_path", &data.test}};
    for (const auto& [key, blend] : parts)
      if (!blend->empty()) keys.set(key, paths_of(*blend));
    if (!data.split.empty()) keys.set("split", data.split);
    if (data.texts) keys.note("data: Megatron reads prepared .bin files; 'data prepare' makes them from texts");
  }
  keys.set("dataloader_type", data.order == spec::LoaderOrder::Cyclic ? "cyclic" : "single");
  keys.set("eod_mask_loss", data.mask_loss_at_eod);
  keys.set("reset_position_ids", data.reset_position_ids);
  keys.set("reset_attention_mask", data.reset_attention_mask);
  const spec::Tokenizer& tokenizer = run.tokenizer;
  keys.set("tokenizer_type", tokenizer.type.empty() ? "NullTokenizer" : tokenizer.type);
  if (!tokenizer.model.empty()) keys.set("tokenizer_model", tokenizer.model);
  if (tokenizer.vocab_size)
    keys.set("vocab_size", *tokenizer.vocab_size);
  else if (made_up && run.model.vocab_size > 0)
    keys.set("vocab_size", run.model.vocab_size - 1);  // the null tokenizer adds one that ends documents
}

}  // namespace

config::Value paths_of(const spec::DataBlend& blend) {
  config::List words;
  for (const spec::DataFile& file : blend.files) {
    if (blend.weighted) words.emplace_back(file.weight);
    words.emplace_back(file.prefix);
  }
  return config::Value(std::move(words));
}

void write_megatron_training(const spec::RunSpec& run, KeyWriter& keys) {
  keys.set("micro_batch_size", run.batch.micro_batch_size);
  keys.set("global_batch_size", run.batch.global_batch_size);
  keys.set("train_iters", run.exit.train_steps);
  write_schedules(run, keys);
  write_optimizer(run, keys);
  write_precision(run, keys);
  write_megatron_layout(run, keys);
  write_megatron_data(run, keys);
  keys.set("eval_iters", run.evaluation.num_batches);
  if (run.evaluation.interval_steps > 0) keys.set("eval_interval", run.evaluation.interval_steps);
  const spec::Checkpoint& c = run.checkpoint;
  if (c.save) keys.set("save", "checkpoints");
  if (c.interval_steps > 0) keys.set("save_interval", c.interval_steps);
  keys.set("disable_last_saving", !c.save_at_end);
  keys.set("async_save", c.asynchronous);
  keys.set("auto_continue_train", c.resume_by_default);
  keys.set("keep_last", c.keep_last);
  if (run.finetune) write_megatron_finetune(run, keys);
  keys.set("finetune", c.load_weights_only);
  if (!c.load_folder.empty()) keys.set("load", c.load_folder);
  keys.set("exit_on_missing_checkpoint", c.missing_load_is_error);
  keys.set("override_opt_param_scheduler", c.override_schedule);
  keys.set("log_interval", run.logging.interval_steps);
  keys.set("disable_tensorboard", !run.logging.tensorboard);
  keys.set("stderr_sink_level", run.logging.console_level);
  keys.set("file_sink_level", run.logging.file_level);
  write_module(run, keys);
}

}  // namespace primus::dialect
