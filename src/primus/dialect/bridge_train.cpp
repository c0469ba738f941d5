// Ranks, batch, schedules, optimizer, precision, recomputation, evaluation. Source: Megatron-Bridge 0.3.0, config
// container and its validation.
#include <algorithm>

#include "primus/dialect/bridge_config.h"
#include "primus/dialect/megatron_words.h"

namespace primus::dialect {

namespace {

void schedules(Translation& t, BridgeConfig& config) {
  spec::LrSchedule& lr = t.run.lr;
  const auto global = static_cast<double>(t.run.batch.global_batch_size);
  const double whole = static_cast<double>(t.run.exit.train_steps) * global;
  lr.decay = lr_decay_style(config.text("scheduler.lr_decay_style"));
  lr.wsd_decay = wsd_decay_style(config.text("scheduler.lr_wsd_decay_style"));
  lr.max_lr = config.number("optimizer.lr");
  lr.min_lr = config.maybe_number("optimizer.min_lr").value_or(0.1 * lr.max_lr);
  lr.warmup_init_lr = config.number("scheduler.lr_warmup_init");
  const auto decay = config.maybe_integer("scheduler.lr_decay_iters");
  lr.decay_samples = decay ? static_cast<double>(*decay) * global : whole;
  lr.warmup_samples = static_cast<double>(config.integer("scheduler.lr_warmup_iters")) * global;

  // The scheduler's start and end replace the optimizer's decay: the recipes' 0.033, not their 0.1.
  spec::WeightDecaySchedule& wd = t.run.weight_decay;
  const double plain = config.number("optimizer.weight_decay");
  const auto start = config.maybe_number("scheduler.start_weight_decay");
  const auto end = config.maybe_number("scheduler.end_weight_decay");
  const std::string ramp = config.text("scheduler.weight_decay_incr_style");
  wd.start = start.value_or(plain);
  wd.end = end.value_or(plain);
  wd.ramp_samples = whole;
  wd.ramp = ramp == "linear"   ? spec::WeightDecayRamp::Linear
            : ramp == "cosine" ? spec::WeightDecayRamp::Cosine
                               : spec::WeightDecayRamp::Constant;
  if (ramp == "constant" && wd.start != wd.end)
    t.error("scheduler.weight_decay_incr_style", "a constant weight decay has one value, not a start and an end",
            "equal values", "write linear or cosine");
}

void optimizer(Translation& t, BridgeConfig& config) {
  spec::Optimizer& o = t.run.optimizer;
  o.kind = config.text("optimizer.optimizer") == "sgd" ? spec::OptimizerKind::Sgd : spec::OptimizerKind::Adam;
  o.beta1 = config.number("optimizer.adam_beta1");
  o.beta2 = config.number("optimizer.adam_beta2");
  o.eps = config.number("optimizer.adam_eps");
  o.momentum = config.number("optimizer.sgd_momentum");
  o.decoupled_weight_decay = config.flag("optimizer.decoupled_weight_decay");
  o.clip_grad_norm = config.number("optimizer.clip_grad");
  // Either switch turns both on.
  const bool by_ddp = config.flag("ddp.use_distributed_optimizer");
  o.shard_state = config.flag("optimizer.use_distributed_optimizer") || by_ddp;
  for (const char* beta : {"adam_beta1", "adam_beta2"})
    if (config.number("optimizer." + std::string(beta)) >= 1)
      t.error(beta, std::string(beta) + " of 1 never forgets", "less than 1");
}

void precision(Translation& t, BridgeConfig& config) {
  spec::Precision& p = t.run.precision;
  const bool bf16 = config.flag("mixed_precision.bf16"), fp16 = config.flag("mixed_precision.fp16");
  const bool reduce_fp32 = config.flag("mixed_precision.grad_reduce_in_fp32");
  p.compute = fp16 ? spec::Dtype::Float16 : bf16 ? spec::Dtype::BFloat16 : spec::Dtype::Float32;
  p.grad_reduce = reduce_fp32 ? spec::Dtype::Float32 : p.compute;
  const auto fp8 = config.maybe_text("mixed_precision.fp8"), fp4 = config.maybe_text("mixed_precision.fp4");
  if (fp8 || fp4) {
    p.low_precision = fp4 ? "fp4" : "fp8";
    if (t.options.allow_precision_fallback) {
      t.warning("precision_config", p.low_precision + " is not built yet: the run computes in " +
                                        (fp16 ? "fp16" : "bf16") + " instead, as --allow-precision-fallback allows");
      p.low_precision.clear();
    }
  }
  p.loss_scale.constant = config.maybe_number("mixed_precision.loss_scale");
  p.loss_scale.initial = config.number("mixed_precision.initial_loss_scale");
  p.loss_scale.minimum = config.number("mixed_precision.min_loss_scale");
  p.loss_scale.window_steps = static_cast<int64_t>(config.number("mixed_precision.loss_scale_window"));
  p.loss_scale.hysteresis = config.integer("mixed_precision.hysteresis");
  t.run.loss = config.flag("model.calculate_per_token_loss") ? spec::LossNormalisation::GlobalTokenMean
                                                             : spec::LossNormalisation::MicroBatchMean;
  const bool dynamic_scale = fp16 && !p.loss_scale.constant;
  t.run.exit.fail_on_nan = config.flag("rerun_state_machine.check_for_nan_in_loss") && !dynamic_scale;
}

void recompute(Translation& t, BridgeConfig& config) {
  spec::Recompute& r = t.run.recompute;
  const auto granularity = config.maybe_text("model.recompute_granularity");
  const auto method = config.maybe_text("model.recompute_method");
  const auto count = config.maybe_integer("model.recompute_num_layers");
  std::vector<std::string> modules = config.texts("model.recompute_modules");
  const auto layers = static_cast<int64_t>(t.run.model.layers.size());
  if (!granularity) return;
  if (*granularity == "selective") {
    r.kind = spec::RecomputeKind::Selective;
    r.modules = modules.empty() ? std::vector<std::string>{"core_attn"} : std::move(modules);
    if (method) t.error("recompute_method", "recompute_method belongs to recompute_granularity full", "null");
    return;
  }
  r.kind = spec::RecomputeKind::Full;
  if (!method || !count)
    return t.error("recompute_granularity", "full recomputation needs to know which layers",
                   "recompute_method and recompute_num_layers", "add recompute_method: uniform");
  const bool uniform = *method == "uniform";
  if (uniform && *count < 1) t.error("recompute_num_layers", "a chunk of no layers", "at least 1");
  r.layers_per_block = uniform ? std::max<int64_t>(1, *count) : 1;
  for (int64_t i = 0; i < (uniform ? layers : std::min(layers, *count)); ++i) r.layer_ids.push_back(i);
}

}  // namespace

void bridge_parallel(Translation& t, BridgeConfig& config) {
  spec::Parallel& p = t.run.parallel;
  p.tensor = config.integer("model.tensor_model_parallel_size");
  p.pipeline = config.integer("model.pipeline_model_parallel_size");
  p.context = config.integer("model.context_parallel_size");
  p.expert = config.integer("model.expert_model_parallel_size");
  p.stages_per_rank = config.maybe_integer("model.virtual_pipeline_model_parallel_size").value_or(1);
  const auto expert_tensor = config.maybe_integer("model.expert_tensor_parallel_size");
  // Null: the experts are cut like everything else; a model without experts has none to cut.
  const bool experts = !config.value("model.num_moe_experts").is_null();
  p.expert_tensor = expert_tensor.value_or(experts ? p.tensor : 1);
  const bool by_ddp = config.flag("ddp.use_megatron_fsdp"), by_dist = config.flag("dist.use_megatron_fsdp");
  if (by_ddp || by_dist) p.weight_shards = 0;
  p.overlap_grad_reduce = config.flag("ddp.overlap_grad_reduce");
  p.timeout_minutes = static_cast<double>(config.integer("dist.distributed_timeout_minutes"));
  p.deterministic = config.flag("model.deterministic_mode");
}

void bridge_train(Translation& t, BridgeConfig& config) {
  spec::Batch& batch = t.run.batch;
  batch.micro_batch_size = std::max<int64_t>(1, config.integer("train.micro_batch_size"));
  batch.global_batch_size = std::max<int64_t>(1, config.integer("train.global_batch_size"));
  batch.decrease_if_needed = config.flag("train.decrease_batch_size_if_needed");
  t.run.exit.train_steps = config.integer("train.train_iters");
  t.run.exit.steps_to_skip = config.integers("train.iterations_to_skip");
  t.run.evaluation.num_batches = config.integer("train.eval_iters");
  t.run.evaluation.interval_steps = config.integer("train.eval_interval");
  schedules(t, config);
  optimizer(t, config);
  precision(t, config);
  recompute(t, config);
}

}  // namespace primus::dialect
