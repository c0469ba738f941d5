// Both halves in torchtitan's keys.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "primus/base/strings.h"
#include "primus/dialect/to_spec.h"
#include "primus/dialect/torchtitan_flavors.h"
#include "primus/dialect/translate_writers.h"
#include "primus/spec/architecture.h"

namespace primus::dialect {

namespace {

// ---------------------------------------------------------------- model

const char* family_of(const spec::Model& model) {
  const spec::LayerSpec& layer = model.layers.front();
  const spec::Attention& a = layer.attention;
  const auto any = [&model](auto test) { return std::any_of(model.layers.begin(), model.layers.end(), test); };
  if (a.latent) return "deepseek_v3";
  if (a.sink == spec::Sink::Learned) return "gpt_oss";
  if (any([](const spec::LayerSpec& l) { return !l.attention.rope || l.attention.chunk_size; })) return "llama4";
  const bool odd_heads = a.num_heads * a.head_dim != model.hidden_size;
  return a.qk_norm || odd_heads || model.tied_embeddings || layer.moe ? "qwen3" : "llama3";
}

// The model that a flavor is, with the run's sequence length.
std::optional<spec::Model> flavor_model(const std::string& family, const std::string& flavor, int64_t length) {
  config::Map model, training, params;
  model.set("name", config::Value(family));
  model.set("flavor", config::Value(flavor));
  training.set("seq_len", config::Value(length));
  params.set("model", config::Value(std::move(model)));
  params.set("training", config::Value(std::move(training)));
  config::Module module;
  module.name = "pre_trainer";
  module.framework = "torchtitan";
  module.params = config::Value(std::move(params));
  config::Experiment experiment;
  experiment.modules.push_back(std::move(module));
  const auto run = to_spec(experiment, {}, {.world_size = 0, .for_training = false});
  return run.ok() ? std::optional(run->model) : std::nullopt;
}

std::string nearest_flavor(const std::string& family, const spec::RunSpec& run) {
  const std::vector<std::string> flavors = titan_flavors(*titan_family(family));
  std::string best;
  size_t fewest = 0;
  for (const std::string& flavor : flavors) {
    const auto model = flavor_model(family, flavor, run.data.sequence_length);
    if (!model) continue;
    const size_t differences = spec::architecture_differences(run.model, *model).size();
    if (best.empty() || differences < fewest) {
      best = flavor;
      fewest = differences;
    }
  }
  return best.empty() ? flavors.front() : best;  // none fits this sequence length: told when it is translated back
}

class TitanModelWriter {
 public:
  TitanModelWriter(const spec::RunSpec& run, std::string family, KeyWriter& keys)
      : model_(run.model), layer_(run.model.layers.front()), family_(std::move(family)), keys_(keys) {
    flavor_ = nearest_flavor(family_, run);
    own_ = *titan_model(*titan_family(family_), flavor_);
  }

  void write() {
    keys_.set("model.name", family_);
    keys_.set("model.flavor", flavor_);
    const spec::Attention& a = layer_.attention;
    put("dim", own_.dim, model_.hidden_size);
    put("n_layers", own_.n_layers, static_cast<int64_t>(model_.layers.size()));
    put("n_heads", own_.n_heads, a.num_heads);
    if (!a.latent) put("n_kv_heads", own_.n_kv_heads.value_or(own_.n_heads), a.num_kv_heads);
    if (model_.vocab_size > 0) put("vocab_size", own_.vocab_size, model_.vocab_size);
    put("norm_eps", own_.norm_eps, layer_.input_norm.eps);
    if (a.rope) put("rope_theta", own_.rope_theta, a.rope->base);
    if (family_ == "llama3") llama(a);
    if (family_ == "qwen3") qwen(a);
    if (a.latent) latent(*a.latent);
    for (const spec::LayerSpec& layer : model_.layers)
      if (layer.moe && family_ != "llama4") return experts(*layer.moe);
  }

 private:
  template <class T>
  void put(const char* name, const T& of_flavor, const T& wanted) {
    if (of_flavor != wanted) keys_.set(std::string("model.") + name, wanted);
  }

  void llama(const spec::Attention& a) {
    const auto width = static_cast<int64_t>(static_cast<double>(2 * 4 * model_.hidden_size) / 3);
    const double factor = own_.ffn_dim_multiplier.value_or(1);
    const int64_t unit = std::max<int64_t>(1, own_.multiple_of);
    const auto given = static_cast<int64_t>(factor * static_cast<double>(width));
    const int64_t wanted = layer_.mlp.ffn_size;
    if ((given + unit - 1) / unit * unit != wanted) {
      // The largest power of two that divides the width, and a factor that lands in the unit below it.
      const int64_t step = std::gcd(wanted, int64_t{1024});
      keys_.set("model.multiple_of", step);
      keys_.set("model.ffn_dim_multiplier",
                (static_cast<double>(wanted) - static_cast<double>(step) / 2) / static_cast<double>(width));
    }
    const spec::Llama3RopeScaling none{.factor = 1};
    const spec::Llama3RopeScaling scaling = a.rope && a.rope->llama3 ? *a.rope->llama3 : none;
    if (scaling.factor == 1 && !own_.has_rope_scaling) return;
    put("rope_scaling_args.scaling_factor", own_.scaling_factor, scaling.factor);
    if (scaling.factor == 1) return;
    put("rope_scaling_args.low_freq_factor", own_.low_freq_factor, scaling.low_freq_factor);
    put("rope_scaling_args.high_freq_factor", own_.high_freq_factor, scaling.high_freq_factor);
    put("rope_scaling_args.original_max_position_embeddings", own_.original_max_position_embeddings,
        scaling.original_max_positions);
  }

  void qwen(const spec::Attention& a) {
    put("head_dim", own_.head_dim, a.head_dim);
    put("qk_norm", own_.qk_norm, a.qk_norm.has_value());
    put("enable_weight_tying", own_.enable_weight_tying, model_.tied_embeddings);
    if (!layer_.moe) put("hidden_dim", own_.hidden_dim, layer_.mlp.ffn_size);
  }

  void latent(const spec::LatentAttention& latent) {
    put("q_lora_rank", own_.q_lora_rank, latent.q_lora_rank);
    put("kv_lora_rank", own_.kv_lora_rank, latent.kv_lora_rank);
    put("qk_nope_head_dim", own_.qk_nope_head_dim, latent.nope_head_dim);
    put("qk_rope_head_dim", own_.qk_rope_head_dim, latent.rope_head_dim);
    put("v_head_dim", own_.v_head_dim, latent.v_head_dim);
    int64_t dense = 0;
    for (const spec::LayerSpec& layer : model_.layers) dense += layer.moe ? 0 : 1;
    put("n_dense_layers", own_.n_dense_layers, dense);
    if (dense > 0) put("inter_dim", own_.inter_dim, layer_.mlp.ffn_size);
  }

  // Upstream builds moe_args anew from the keys that are given: all of them, or none.
  void experts(const spec::Moe& moe) {
    put("moe_inter_dim", own_.moe_inter_dim, moe.expert.ffn_size);
    TitanModel wanted = own_;
    wanted.num_experts = moe.num_experts;
    wanted.top_k = moe.top_k;
    if (!moe.router.expert_bias && family_ != "qwen3") wanted.load_balance_coeff.reset();  // qwen3 never moves it
    if (wanted.num_experts == own_.num_experts && wanted.top_k == own_.top_k &&
        wanted.load_balance_coeff == own_.load_balance_coeff)
      return;
    for (const TitanArgument& argument : titan_arguments())
      if (argument.key.starts_with("model.moe_args."))
        std::visit([&](auto member) { keys_.set(argument.key, as_value(wanted.*member)); }, argument.member);
  }

  template <class T>
  static config::Value as_value(const T& value) {
    return config::Value(value);
  }
  template <class T>
  static config::Value as_value(const std::optional<T>& value) {
    return value ? config::Value(*value) : config::Value();
  }

  const spec::Model& model_;
  const spec::LayerSpec& layer_;
  std::string family_, flavor_;
  TitanModel own_;
  KeyWriter& keys_;
};

// ---------------------------------------------------------------- training

void write_schedule(const spec::RunSpec& run, KeyWriter& keys) {
  const spec::LrSchedule& lr = run.lr;
  keys.set("optimizer.lr", lr.max_lr);
  keys.set("lr_scheduler.min_lr_factor", lr.max_lr > 0 ? lr.min_lr / lr.max_lr : 0.0);
  keys.set("lr_scheduler.warmup_steps", steps_of(run, lr.warmup_samples));
  const int64_t total = steps_of(run, lr.decay_samples);
  if (total > run.exit.train_steps && lr.decay != spec::LrDecay::Constant) keys.set("lr_scheduler.total_steps", total);
  if (lr.decay == spec::LrDecay::Constant) keys.set("lr_scheduler.decay_ratio", 0.0);
  if (lr.decay == spec::LrDecay::WarmupStableDecay && lr.decay_samples > 0)
    keys.set("lr_scheduler.decay_ratio", lr.wsd_samples / lr.decay_samples);
  const bool wsd = lr.decay == spec::LrDecay::WarmupStableDecay;
  const bool cosine = lr.decay == spec::LrDecay::Cosine || (wsd && lr.wsd_decay == spec::WsdDecay::Cosine);
  keys.set("lr_scheduler.decay_type", cosine                                             ? "cosine"
                                      : wsd && lr.wsd_decay == spec::WsdDecay::MinusSqrt ? "sqrt"
                                                                                         : "linear");
}

void write_torchtitan_layout(const spec::RunSpec& run, KeyWriter& keys) {
  const spec::Parallel& p = run.parallel;
  keys.set("parallelism.tensor_parallel_degree", p.tensor);
  keys.set("parallelism.pipeline_parallel_degree", p.pipeline);
  keys.set("parallelism.context_parallel_degree", p.context);
  keys.set("parallelism.expert_parallel_degree", p.expert);
  keys.set("parallelism.expert_tensor_parallel_degree", p.expert_tensor);
  if (p.stages_per_rank > 1) keys.set("parallelism.pipeline_parallel_schedule", "Interleaved1F1B");
  keys.set("debug.deterministic", p.deterministic);
  const spec::Recompute& r = run.recompute;
  if (r.kind == spec::RecomputeKind::Selective)
    keys.note("recompute: TorchTitan chooses single operations by itself; what is recomputed does not change numbers");
  keys.set("activation_checkpoint.mode", r.kind == spec::RecomputeKind::Full        ? "full"
                                         : r.kind == spec::RecomputeKind::Selective ? "selective"
                                                                                    : "none");
  if (r.kind == spec::RecomputeKind::Selective) keys.set("activation_checkpoint.selective_ac_option", "op");
}

void write_torchtitan_data(const spec::RunSpec& run, KeyWriter& keys) {
  const bool made_up = run.data.mock || (run.data.texts && run.data.texts->random_integers);
  keys.set("training.mock_data", made_up);
  if (run.data.texts && !run.data.texts->dataset.empty()) keys.set("training.dataset", run.data.texts->dataset);
  if (!made_up && !run.data.texts)
    keys.note("data: TorchTitan streams texts; prepared .bin files have no form there, c4_test stands in their place");
  if (!run.tokenizer.model.empty()) keys.set("model.hf_assets_path", run.tokenizer.model);
}

}  // namespace

void write_titan_model(const spec::RunSpec& run, KeyWriter& keys) {
  TitanModelWriter(run, family_of(run.model), keys).write();
}

void write_titan_training(const spec::RunSpec& run, KeyWriter& keys) {
  const bool pipelined = run.parallel.pipeline > 1;
  keys.set("training.local_batch_size", run.batch.micro_batch_size);
  if (pipelined) keys.set("parallelism.pipeline_parallel_microbatch_size", run.batch.micro_batch_size);
  keys.set("training.global_batch_size", run.batch.global_batch_size);
  keys.set("training.seq_len", run.data.sequence_length);
  keys.set("training.steps", run.exit.train_steps);
  const spec::Optimizer& o = run.optimizer;
  if (o.clip_grad_norm == 0) keys.note("training.max_norm: 1e9, since a norm of 0 would make all gradients zero there");
  keys.set("training.max_norm", o.clip_grad_norm == 0 ? 1e9 : o.clip_grad_norm);
  keys.set("training.mixed_precision_param", run.precision.compute == spec::Dtype::Float32 ? "float32" : "bfloat16");
  keys.set("training.dtype", run.precision.stored == spec::Dtype::BFloat16 ? "bfloat16" : "float32");
  keys.set("optimizer.name", o.decoupled_weight_decay ? "AdamW" : "Adam");
  keys.set("optimizer.beta1", o.beta1);
  keys.set("optimizer.beta2", o.beta2);
  keys.set("optimizer.eps", o.eps);
  keys.set("optimizer.weight_decay", run.weight_decay.start);
  write_schedule(run, keys);
  write_torchtitan_layout(run, keys);
  write_torchtitan_data(run, keys);
  keys.set("debug.seed", run.seed);
  if (run.evaluation.interval_steps > 0 && run.evaluation.num_batches > 0) {
    keys.set("validation.enable", true);
    keys.set("validation.freq", run.evaluation.interval_steps);
    keys.set("validation.steps", run.evaluation.num_batches);
    keys.set("validation.local_batch_size", run.batch.micro_batch_size);
    keys.set("validation.seq_len", run.data.sequence_length);
  }
  const spec::Checkpoint& c = run.checkpoint;
  keys.set("checkpoint.enable", c.save);
  if (c.interval_steps > 0) keys.set("checkpoint.interval", c.interval_steps);
  keys.set("checkpoint.keep_latest_k", c.keep_last);
  keys.set("checkpoint.async_mode", c.asynchronous ? "async" : "disabled");
  keys.set("metrics.log_freq", run.logging.interval_steps);
  keys.set("metrics.enable_tensorboard", run.logging.tensorboard);
  keys.set("stderr_sink_level", run.logging.console_level);
  keys.set("file_sink_level", run.logging.file_level);
  write_module(run, keys);
}

}  // namespace primus::dialect
