// Ranks, batch, schedules, optimizer, precision, recomputation. Source: torchtitan's train.py,
// components/lr_scheduler.py and distributed/activation_checkpoint.py.
#include <algorithm>
#include <cmath>

#include "primus/base/strings.h"
#include "primus/dialect/torchtitan.h"
#include "primus/spec/validate.h"

namespace primus::dialect {

namespace {

// Each rank holds several stages in these.
bool is_looped(const std::string& schedule) {
  return schedule != "1F1B" && schedule != "GPipe" && schedule != "PipelineScheduleSingle";
}

// Ranks along data parallelism, at least 1 (a world that does not divide is the batch check's finding). Nobody trains:
// the layout's own smallest number of ranks is enough.
int64_t data_ranks(const Translation& t) {
  const spec::Parallel& p = t.run.parallel;
  const int64_t given = t.options.world_size;
  const int64_t world = t.options.for_training ? given : std::max(given, spec::smallest_world(p));
  return std::max<int64_t>(1, spec::data_parallel_size(p, world));
}

struct StepPlan {
  int64_t total = 0, warmup = 0, decay = 0;
};

// Lengths of the phases in steps, cut to what fits as upstream does.
StepPlan step_plan(Translation& t) {
  StepPlan plan;
  const int64_t steps = t.run.exit.train_steps;
  plan.total = t.keys.maybe_integer("lr_scheduler.total_steps").value_or(steps);
  const int64_t warmup = t.keys.integer("lr_scheduler.warmup_steps");
  plan.warmup = std::min(warmup, plan.total);
  if (warmup > plan.total)
    t.warning("lr_scheduler.warmup_steps",
              "the warm-up of " + std::to_string(warmup) + " steps is cut to the " + std::to_string(plan.total) +
                  " of the schedule: the rate reaches its peak with the last of them",
              "warm up for fewer steps than that, or train longer");
  plan.decay = plan.total - plan.warmup;
  if (const auto ratio = t.keys.maybe_number("lr_scheduler.decay_ratio")) {
    const auto wanted = static_cast<int64_t>(std::nearbyint(static_cast<double>(plan.total) * *ratio));
    if (wanted > plan.decay && warmup <= plan.total)
      t.warning("lr_scheduler.decay_ratio",
                "warm-up and decay take " + std::to_string(plan.warmup + wanted) + " of " + std::to_string(plan.total) +
                    " steps: the decay is cut to " + std::to_string(plan.decay),
                "make the ratio smaller, or the warm-up shorter");
    plan.decay = std::min(plan.decay, wanted);
  }
  if (plan.total < steps)
    t.error("lr_scheduler.total_steps",
            "the schedule of " + std::to_string(plan.total) + " steps ends before the " + std::to_string(steps) +
                " of training: upstream's rate leaves its range behind it",
            "at least training.steps", "leave it out: it is training.steps then");
  return plan;
}

}  // namespace

void titan_parallel(Translation& t) {
  spec::Parallel& p = t.run.parallel;
  p.tensor = t.keys.integer("parallelism.tensor_parallel_degree");
  p.pipeline = t.keys.integer("parallelism.pipeline_parallel_degree");
  p.context = t.keys.integer("parallelism.context_parallel_degree");
  p.expert = t.keys.integer("parallelism.expert_parallel_degree");
  const int64_t expert_tensor = t.keys.integer("parallelism.expert_tensor_parallel_degree");
  p.expert_tensor = p.expert > 1 ? expert_tensor : 1;  // upstream reads it with expert parallelism only
  const std::string schedule = t.keys.text("parallelism.pipeline_parallel_schedule");
  p.stages_per_rank = p.pipeline > 1 && is_looped(schedule) ? 2 : 1;
  const int64_t shards = t.keys.integer("parallelism.data_parallel_shard_degree");
  const int64_t copies = t.keys.integer("parallelism.data_parallel_replicate_degree");
  const int64_t left = std::max<int64_t>(1, data_ranks(t) / std::max<int64_t>(1, copies));
  p.weight_shards = shards > 0 ? shards : copies > 1 || left == 1 ? left : 0;
  p.deterministic = t.keys.flag("debug.deterministic");
  p.timeout_minutes = t.keys.number("comm.init_timeout_seconds") / 60;
}

void titan_batch(Translation& t) {
  spec::Batch& batch = t.run.batch;
  const int64_t local = t.keys.integer("training.local_batch_size");
  const int64_t piece = t.keys.integer("parallelism.pipeline_parallel_microbatch_size");
  const int64_t global = t.keys.integer("training.global_batch_size");
  const int64_t unit = local * data_ranks(t);
  const bool pipelined = t.run.parallel.pipeline > 1;
  batch.micro_batch_size = pipelined ? piece : local;
  batch.global_batch_size = global < 0 ? unit : global;
  if (global == 0)
    t.error("training.global_batch_size", "a batch of 0 sequences trains nothing", "at least 1, or -1",
            "write -1 for local_batch_size x data-parallel ranks");
  if (pipelined && local % piece != 0)
    t.error("parallelism.pipeline_parallel_microbatch_size",
            "the local batch of " + std::to_string(local) + " is no whole number of pieces of " + std::to_string(piece),
            "a divisor of training.local_batch_size");
  if (pipelined && global > 0 && global % unit != 0)
    t.error("training.global_batch_size",
            "the global batch of " + std::to_string(global) + " is no multiple of local batch x data-parallel ranks",
            "a multiple of " + std::to_string(unit));
  t.run.exit.train_steps = t.keys.integer("training.steps");
  t.run.exit.fail_on_nan = false;  // upstream goes on
  t.run.loss = spec::LossNormalisation::GlobalTokenMean;
}

void titan_schedules(Translation& t) {
  spec::LrSchedule& lr = t.run.lr;
  const StepPlan plan = step_plan(t);
  const auto batch = static_cast<double>(std::max<int64_t>(1, t.run.batch.global_batch_size));
  const std::string style = t.keys.text("lr_scheduler.decay_type");
  lr.max_lr = t.keys.number("optimizer.lr");
  lr.min_lr = lr.max_lr * t.keys.number("lr_scheduler.min_lr_factor");
  lr.warmup_samples = static_cast<double>(plan.warmup) * batch;
  lr.warmup_ends_at_peak = true;
  // Upstream's stable phase is one virtual step longer than what is left, so that the last rate is not zero: the step
  // with index c decays by (c - (total - decay)) / decay.
  lr.decay = plan.decay > 0 ? spec::LrDecay::WarmupStableDecay : spec::LrDecay::Constant;
  lr.decay_samples = static_cast<double>(plan.decay > 0 ? plan.total : plan.total + 1) * batch;
  lr.wsd_samples = static_cast<double>(plan.decay) * batch;
  lr.wsd_decay = style == "cosine" ? spec::WsdDecay::Cosine
                 : style == "sqrt" ? spec::WsdDecay::MinusSqrt
                                   : spec::WsdDecay::Linear;
}

void titan_optimizer(Translation& t) {
  spec::Optimizer& o = t.run.optimizer;
  o.kind = spec::OptimizerKind::Adam;
  o.decoupled_weight_decay = t.keys.text("optimizer.name") != "Adam";
  o.beta1 = t.keys.number("optimizer.beta1");
  o.beta2 = t.keys.number("optimizer.beta2");
  o.eps = t.keys.number("optimizer.eps");
  o.decay_vectors = true;  // upstream has one group of weights
  o.clip_grad_norm = t.keys.number("training.max_norm");
  t.run.weight_decay.start = t.run.weight_decay.end = t.keys.number("optimizer.weight_decay");
  for (const char* beta : {"optimizer.beta1", "optimizer.beta2"})
    if (t.keys.number(beta) >= 1) t.error(beta, std::string(beta) + " of 1 never forgets", "less than 1");
  if (o.clip_grad_norm == 0)
    t.error("training.max_norm", "gradients cut to a norm of 0 are all zero upstream", "greater than 0",
            "write a large number, such as 1.0e9, to leave gradients as they are");
}

void titan_precision(Translation& t) {
  spec::Precision& p = t.run.precision;
  const auto dtype = [&t](const char* key) {
    return t.keys.text(key) == "bfloat16" ? spec::Dtype::BFloat16 : spec::Dtype::Float32;
  };
  p.compute = dtype("training.mixed_precision_param");
  p.stored = dtype("training.dtype");
  p.grad_reduce = dtype("training.mixed_precision_reduce");
  const bool cast_embedding = t.keys.flag("primus_turbo.enable_embedding_autocast");
  t.run.model.fp32_residual = !cast_embedding && p.compute == spec::Dtype::BFloat16;

  const bool turbo = t.keys.flag("primus_turbo.enable_primus_turbo");
  const bool moe = std::any_of(t.run.model.layers.begin(), t.run.model.layers.end(),
                               [](const spec::LayerSpec& layer) { return layer.moe.has_value(); });
  const bool grouped = t.keys.flag("primus_turbo.use_turbo_grouped_mm");
  const bool moe_fp8 = t.keys.flag("primus_turbo.use_moe_fp8");
  const bool attention = t.keys.flag("primus_turbo.use_turbo_attention");
  const bool attention_fp8 = t.keys.flag("primus_turbo.enable_attention_float8");
  const std::vector<std::string> converters = t.keys.texts("model.converters");
  const auto quantizes = [](const std::string& name) { return name.starts_with("quantize."); };
  const auto quantizer = std::find_if(converters.begin(), converters.end(), quantizes);
  std::string_view asked;
  if (turbo && attention && attention_fp8) asked = "primus_turbo.enable_attention_float8";
  if (turbo && grouped && moe_fp8 && moe) asked = "primus_turbo.use_moe_fp8";
  if (quantizer != converters.end()) asked = "model.converters";
  if (asked.empty()) return;
  if (t.options.allow_precision_fallback)
    return t.warning(asked,
                     "fp8 products are not built yet: the run computes in bf16 instead, as "
                     "--allow-precision-fallback allows");
  // Here, where it is known which of the keys asks for them; spec::engine_limits would name the first.
  if (t.options.for_training)
    return t.error(asked, "training with fp8 products is not built yet", {},
                   (asked == "model.converters" ? "take '" + *quantizer + "' out of the list"
                                                : "write " + std::string(asked) + ": false") +
                       ", or pass --allow-precision-fallback, to compute in bf16");
  p.low_precision = "fp8";
}

void titan_recompute(Translation& t) {
  spec::Recompute& r = t.run.recompute;
  const std::string mode = t.keys.text("activation_checkpoint.mode");
  const std::string option = t.keys.text("activation_checkpoint.selective_ac_option");
  const auto layers = static_cast<int64_t>(t.run.model.layers.size());
  const std::optional<int64_t> every = parse_int(option);
  if (mode == "selective" && option != "op" && (!every || *every < 0))
    t.error("activation_checkpoint.selective_ac_option", "'" + option + "' says neither how many layers nor 'op'",
            "a whole number of layers, or op");
  if (mode == "full" || (mode == "selective" && every && *every >= 0)) {
    const int64_t step = mode == "full" ? 1 : std::max<int64_t>(1, *every);
    for (int64_t id = step - 1; id < layers; id += step) r.layer_ids.push_back(id);
    r.kind = r.layer_ids.empty() ? spec::RecomputeKind::None : spec::RecomputeKind::Full;
  }
  const bool by_operation = mode == "memory_budget" || (mode == "selective" && option == "op");
  if (by_operation && t.options.for_training)
    t.out.push_back({Severity::Note,
                     t.keys.place("activation_checkpoint.mode"),
                     "activation_checkpoint.mode",
                     "which single operations are recomputed is a choice of upstream's; here none is: the same "
                     "numbers, more memory",
                     {},
                     {},
                     "activation_checkpoint.mode: full saves more"});
}

}  // namespace primus::dialect
