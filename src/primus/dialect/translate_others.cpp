// The training half in the keys of maxtext.
#include <algorithm>

#include "primus/dialect/translate_writers.h"
#include "primus/spec/validate.h"

namespace primus::dialect {

namespace {

const char* dtype_of(spec::Dtype dtype) {
  return dtype == spec::Dtype::Float32 ? "float32" : dtype == spec::Dtype::Float16 ? "float16" : "bfloat16";
}

double fraction(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

void write_maxtext_layout(const spec::RunSpec& run, KeyWriter& keys) {
  const spec::Parallel& p = run.parallel;
  keys.set("ici_tensor_parallelism", p.tensor);
  keys.set("ici_pipeline_parallelism", p.pipeline);
  keys.set("ici_context_parallelism", p.context);
  keys.set("ici_expert_parallelism", p.expert);
  keys.set("ici_fsdp_parallelism", int64_t{-1});
  keys.set("dcn_data_parallelism", int64_t{-1});
  const auto whole_copy = static_cast<double>(std::max<int64_t>(1, spec::model_ranks(p)));
  keys.set("per_device_batch_size", static_cast<double>(run.batch.micro_batch_size) / whole_copy);
  const int64_t world = spec::smallest_world(p);
  const int64_t a_pass = run.batch.micro_batch_size * std::max<int64_t>(1, spec::data_parallel_size(p, world));
  keys.set("gradient_accumulation_steps", std::max<int64_t>(1, run.batch.global_batch_size / a_pass));
  const spec::RecomputeKind kind = run.recompute.kind;
  keys.set("remat_policy", kind == spec::RecomputeKind::Full        ? "full"
                           : kind == spec::RecomputeKind::Selective ? "minimal"
                                                                    : "none");
}

void write_maxtext_schedule(const spec::RunSpec& run, KeyWriter& keys) {
  const spec::LrSchedule& lr = run.lr;
  keys.set("steps", run.exit.train_steps);
  keys.set("learning_rate", lr.max_lr);
  keys.set("learning_rate_final_fraction", fraction(lr.min_lr, lr.max_lr));
  keys.set("learning_rate_schedule_steps", steps_of(run, lr.decay_samples));
  keys.set("warmup_steps_fraction", fraction(lr.warmup_samples, lr.decay_samples));
  const bool wsd = lr.decay == spec::LrDecay::WarmupStableDecay || lr.decay == spec::LrDecay::Constant;
  keys.set("lr_schedule_type", wsd ? "wsd" : "cosine");
  if (!wsd) return;
  keys.set("wsd_decay_steps_fraction",
           lr.decay == spec::LrDecay::Constant ? 0.0 : fraction(lr.wsd_samples, lr.decay_samples));
  keys.set("wsd_decay_style", lr.wsd_decay == spec::WsdDecay::Cosine ? "cosine" : "linear");
}

}  // namespace

void write_maxtext_training(const spec::RunSpec& run, KeyWriter& keys) {
  write_maxtext_schedule(run, keys);
  write_maxtext_layout(run, keys);
  const spec::Optimizer& o = run.optimizer;
  keys.set("opt_type", o.kind == spec::OptimizerKind::Sgd ? "sgd" : "adamw");
  keys.set("adam_b1", o.beta1);
  keys.set("adam_b2", o.beta2);
  keys.set("adam_eps", o.eps);
  keys.set("adam_eps_root", o.eps_root);
  keys.set("adam_weight_decay", run.weight_decay.start);
  keys.set("gradient_clipping_threshold", o.clip_grad_norm);
  keys.set("dtype", dtype_of(run.precision.compute));
  keys.set("weight_dtype", dtype_of(run.precision.stored));
  keys.set("grad_dtype", dtype_of(run.precision.grad_reduce));
  keys.set("max_target_length", run.data.sequence_length);
  keys.set("init_weights_seed", run.seed);
  keys.set("data_shuffle_seed", run.data.seed);
  const bool made_up = run.data.mock || (run.data.texts && run.data.texts->random_integers);
  keys.set("dataset_type", made_up ? "synthetic" : "hf");
  if (!run.tokenizer.model.empty()) {
    keys.set("tokenizer_type", "huggingface");
    keys.set("tokenizer_path", run.tokenizer.model);
  }
  if (run.evaluation.interval_steps > 0 && run.evaluation.num_batches > 0) {
    keys.set("eval_interval", run.evaluation.interval_steps);
    keys.set("eval_steps", run.evaluation.num_batches);
  }
  keys.set("enable_checkpointing", run.checkpoint.save);
  if (run.checkpoint.interval_steps > 0) keys.set("checkpoint_period", run.checkpoint.interval_steps);
  keys.set("async_checkpointing", run.checkpoint.asynchronous);
  keys.set("enable_tensorboard", run.logging.tensorboard);
  keys.set("stderr_sink_level", run.logging.console_level);
  keys.set("file_sink_level", run.logging.file_level);
  write_module(run, keys);
}

}  // namespace primus::dialect
