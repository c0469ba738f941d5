// Batch, steps, schedules, optimizer, precision, evaluation, exit. Source: Megatron-LM d3528a21, arguments and
// training.
#include <cmath>

#include "primus/base/strings.h"
#include "primus/dialect/megatron.h"
#include "primus/dialect/megatron_words.h"
#include "primus/spec/schedule_values.h"
#include "primus/spec/validate.h"

namespace primus::dialect {

namespace {

void ramp_up(Translation& t, bool by_samples) {
  const std::vector<int64_t> ramp = t.keys.integers("rampup_batch_size");
  if (ramp.empty()) return;
  if (ramp.size() != 3)
    return t.error("rampup_batch_size", "a ramp-up is three numbers, not " + std::to_string(ramp.size()),
                   "[start, increment, samples]");
  if (!by_samples)
    return t.error("rampup_batch_size", "the batch can only grow when the length of training is given in sequences", {},
                   "write train_samples instead of train_iters");
  t.run.batch.rampup = spec::BatchRampup{ramp[0], ramp[1], ramp[2]};
}

// A key of the other way of counting (steps or sequences) cannot be used: upstream dies on an assertion there.
void refuse_other_unit(Translation& t, bool by_samples) {
  const char* by = by_samples ? "train_samples" : "train_iters";
  const std::pair<const char*, const char*> pairs[] = {{"lr_decay_iters", "lr_decay_samples"},
                                                       {"lr_warmup_iters", "lr_warmup_samples"},
                                                       {"lr_wsd_decay_iters", "lr_wsd_decay_samples"}};
  for (const auto& [steps, samples] : pairs) {
    const char* wrong = by_samples ? steps : samples;
    const char* right = by_samples ? samples : steps;
    if (!t.keys.is_given(wrong)) continue;
    const std::string neutral = std::string(wrong) == "lr_warmup_iters" ? "0" : "null";
    t.error(wrong, std::string(wrong) + " cannot be used with " + by, right,
            "set " + std::string(wrong) + ": " + neutral + " and write " + right);
  }
}

}  // namespace

void megatron_batch_and_steps(Translation& t) {
  spec::Batch& batch = t.run.batch;
  batch.micro_batch_size = t.needed("micro_batch_size", 1);
  const int64_t replicas = std::max<int64_t>(1, spec::data_parallel_size(t.run.parallel, t.options.world_size));
  batch.global_batch_size = t.keys.maybe_integer("global_batch_size").value_or(batch.micro_batch_size * replicas);
  batch.decrease_if_needed = t.keys.flag("decrease_batch_size_if_needed");

  const auto steps = t.keys.maybe_integer("train_iters");
  const auto samples = t.keys.maybe_integer("train_samples");
  if (steps && samples)
    t.error("train_samples", "the length of training is given twice", "train_iters or train_samples",
            "set train_iters: null to train for a number of sequences");
  if (!steps && !samples)
    t.error("train_iters", "the length of training is not given", "train_iters or train_samples",
            "add train_iters: 1000");
  ramp_up(t, samples.has_value() && !steps);
  const bool ramp_fits = !batch.rampup || (batch.rampup->increment_samples > 0 && batch.rampup->start_samples > 0);
  if (steps)
    t.run.exit.train_steps = *steps;
  else if (samples && ramp_fits)
    t.run.exit.train_steps = spec::steps_for_samples(batch, *samples);
}

void megatron_schedules(Translation& t) {
  spec::LrSchedule& lr = t.run.lr;
  const auto samples = t.keys.maybe_integer("train_samples");
  const bool by_samples = samples && !t.keys.maybe_integer("train_iters");
  const auto global = static_cast<double>(t.run.batch.global_batch_size);
  const double whole =
      by_samples ? static_cast<double>(*samples) : static_cast<double>(t.run.exit.train_steps) * global;
  const auto length = [&](const char* steps_key, const char* samples_key) -> std::optional<double> {
    const auto in_steps = t.keys.maybe_integer(steps_key), in_samples = t.keys.maybe_integer(samples_key);
    if (by_samples) return in_samples ? std::optional(static_cast<double>(*in_samples)) : std::nullopt;
    return in_steps ? std::optional(static_cast<double>(*in_steps) * global) : std::nullopt;
  };
  refuse_other_unit(t, by_samples);

  lr.decay = lr_decay_style(t.keys.text("lr_decay_style"));
  lr.wsd_decay = wsd_decay_style(t.keys.text("lr_wsd_decay_style"));
  const auto peak = t.keys.maybe_number("lr");
  if (!peak) t.error("lr", "the learning rate is not given", "a number", "add lr: 3.0e-4");
  lr.max_lr = peak.value_or(0);
  lr.min_lr = t.keys.number("min_lr");
  if (!peak) lr.min_lr = std::min(lr.min_lr, lr.max_lr);
  lr.warmup_init_lr = t.keys.number("lr_warmup_init");
  lr.decay_samples = length("lr_decay_iters", "lr_decay_samples").value_or(whole);
  lr.wsd_samples = length("lr_wsd_decay_iters", "lr_wsd_decay_samples").value_or(0);
  lr.warmup_samples = length("lr_warmup_iters", "lr_warmup_samples").value_or(0);
  const bool length_known = samples || t.keys.maybe_integer("train_iters");
  if (!length_known && lr.decay_samples <= 0) lr.decay_samples = lr.warmup_samples + 1;  // that error stands already
  lr.warmup_counts_this_step = t.keys.flag("nemo_aligned_lr_warmup");
  if (const auto fraction = t.keys.maybe_number("lr_warmup_fraction")) {
    const char* also = by_samples ? "lr_warmup_samples" : "lr_warmup_iters";
    if (t.keys.is_given(also))
      t.error("lr_warmup_fraction", "the warm-up is given twice", std::string("lr_warmup_fraction or ") + also,
              std::string("set ") + also + ": 0");
    lr.warmup_samples = *fraction * lr.decay_samples;
  }

  spec::WeightDecaySchedule& wd = t.run.weight_decay;
  const std::string ramp = t.keys.text("weight_decay_incr_style");
  const auto start = t.keys.maybe_number("start_weight_decay"), end = t.keys.maybe_number("end_weight_decay");
  wd.start = wd.end = t.keys.number("weight_decay");
  wd.ramp_samples = whole;
  if (ramp == "constant") {
    if (start || end)
      t.error(start ? "start_weight_decay" : "end_weight_decay", "a constant weight decay has no start and no end",
              "null", "set weight_decay, or weight_decay_incr_style: linear");
    return;
  }
  wd.ramp = ramp == "linear" ? spec::WeightDecayRamp::Linear : spec::WeightDecayRamp::Cosine;
  if (!start || !end)
    return t.error("weight_decay_incr_style", "a growing weight decay needs a start and an end",
                   "start_weight_decay and end_weight_decay");
  wd.start = *start;
  wd.end = *end;
}

namespace {

// A switch of upstream's that changes nothing here, and that upstream refuses in some company.
bool is_on(const Translation& t, const char* key) {
  const config::Value* value = t.keys.module().params.find(key);
  return value != nullptr && value->is_bool() && value->as_bool();
}

void check_optimizer_company(Translation& t) {
  const bool cut = t.keys.flag("use_distributed_optimizer");
  const bool cut_by_fsdp = is_on(t, "use_megatron_fsdp") || is_on(t, "use_custom_fsdp") || is_on(t, "use_torch_fsdp2");
  if (is_on(t, "overlap_param_gather") && !cut && !cut_by_fsdp)
    t.error("overlap_param_gather", "weights are gathered only where the distributed optimizer cuts them",
            "use_distributed_optimizer: true", "set overlap_param_gather: false");
  else if (is_on(t, "overlap_param_gather") && !cut_by_fsdp && !t.keys.flag("overlap_grad_reduce"))
    t.error("overlap_param_gather", "upstream gathers weights beside the work only together with gradients",
            "overlap_grad_reduce: true", "set overlap_param_gather: false");
  const bool muon = t.keys.text("optimizer").ends_with("muon");
  if (muon && cut)
    t.error("optimizer", "Muon does not work with the distributed optimizer", "use_distributed_optimizer: false");
  if (muon && t.keys.flag("fp16")) t.error("optimizer", "Muon does not work in fp16", "bf16: true, or neither");
}

}  // namespace

void megatron_optimizer(Translation& t) {
  check_optimizer_company(t);
  spec::Optimizer& o = t.run.optimizer;
  o.kind = t.keys.text("optimizer") == "sgd" ? spec::OptimizerKind::Sgd : spec::OptimizerKind::Adam;
  o.beta1 = t.keys.number("adam_beta1");
  o.beta2 = t.keys.number("adam_beta2");
  o.eps = t.keys.number("adam_eps");
  o.momentum = t.keys.number("sgd_momentum");
  o.decay_query_key_norms = t.keys.flag("apply_wd_to_qk_layernorm");
  o.decoupled_weight_decay = t.keys.flag("decoupled_weight_decay");
  o.clip_grad_norm = t.keys.number("clip_grad");
  o.embedding_and_head_lr = t.keys.maybe_number("decoupled_lr");
  o.embedding_and_head_min_lr = t.keys.maybe_number("decoupled_min_lr");
  if (t.keys.flag("use_distributed_optimizer")) o.shard_state = true;  // FSDP may have set it
  if (t.keys.flag("use_precision_aware_optimizer")) {
    const auto dtype = [&t](const char* key) {
      return t.keys.text(key) == "bf16" ? spec::Dtype::BFloat16 : spec::Dtype::Float32;
    };
    o.first_moment = dtype("exp_avg_dtype");
    o.second_moment = dtype("exp_avg_sq_dtype");
    o.gradients = dtype("main_grads_dtype");
    if (!o.shard_state)
      t.error("use_precision_aware_optimizer", "state in chosen precisions belongs to the distributed optimizer",
              "use_distributed_optimizer: true");
  }
  if (o.embedding_and_head_min_lr && !o.embedding_and_head_lr)
    t.error("decoupled_min_lr", "decoupled_min_lr needs decoupled_lr", "decoupled_lr");
  for (const char* beta : {"adam_beta1", "adam_beta2"})
    if (t.keys.number(beta) >= 1) t.error(beta, std::string(beta) + " of 1 never forgets", "less than 1");
}

void megatron_precision(Translation& t) {
  spec::Precision& p = t.run.precision;
  const bool bf16 = t.keys.flag("bf16"), fp16 = t.keys.flag("fp16");
  const bool reduce_bf16 = t.keys.flag("grad_reduce_in_bf16");
  const bool reduce_fp32 = t.keys.flag("accumulate_allreduce_grads_in_fp32");
  if (bf16 && fp16)
    t.error("fp16", "a run computes in bf16 or in fp16, not in both", "one of the two", "set bf16: false for fp16");
  p.compute = bf16 ? spec::Dtype::BFloat16 : fp16 ? spec::Dtype::Float16 : spec::Dtype::Float32;
  if (bf16 && reduce_bf16) p.grad_reduce = spec::Dtype::BFloat16;
  if (fp16 && !reduce_fp32) p.grad_reduce = spec::Dtype::Float16;
  if (reduce_bf16 && !bf16)
    t.error("grad_reduce_in_bf16", "gradients can only be summed in bf16 when the run computes in bf16", "bf16: true");
  p.loss_scale.constant = t.keys.maybe_number("loss_scale");
  p.loss_scale.initial = t.keys.number("initial_loss_scale");
  p.loss_scale.minimum = t.keys.number("min_loss_scale");
  p.loss_scale.window_steps = static_cast<int64_t>(t.keys.number("loss_scale_window"));
  p.loss_scale.hysteresis = t.keys.integer("hysteresis");
  t.run.loss = t.keys.flag("calculate_per_token_loss") ? spec::LossNormalisation::GlobalTokenMean
                                                       : spec::LossNormalisation::MicroBatchMean;
  const auto fp8 = t.keys.maybe_text("fp8"), fp4 = t.keys.maybe_text("fp4");
  const bool fp8_attention = t.keys.flag("enable_turbo_attention_float8");
  if (fp8 && fp4) t.error("fp4", "products are in fp8 or in fp4, not in both", "one of the two");
  if (!t.options.allow_precision_fallback)
    p.low_precision = fp4 ? "fp4" : fp8 ? "fp8" : fp8_attention ? "fp8 attention" : "";
  const bool dynamic_scale = fp16 && !p.loss_scale.constant;
  // A dynamic loss scale lives from overflows: upstream switches the check off there too.
  t.run.exit.fail_on_nan = t.keys.flag("check_for_nan_in_loss_and_grad") && !dynamic_scale;
}

void megatron_evaluation_and_exit(Translation& t) {
  t.run.evaluation.num_batches = t.keys.integer("eval_iters");
  t.run.evaluation.interval_steps = t.keys.maybe_integer("eval_interval").value_or(0);
  t.run.exit.duration_minutes = t.keys.maybe_number("exit_duration_in_mins");
  t.run.exit.interval_steps = t.keys.maybe_integer("exit_interval");
  t.run.exit.steps_to_skip = t.keys.integers("iterations_to_skip");
}

}  // namespace primus::dialect
