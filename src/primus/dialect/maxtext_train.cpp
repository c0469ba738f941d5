// Schedule, optimizer, precision, recomputation. Source: MaxText's maxtext_utils, optimizers and decoders, 0.2.5.
#include <algorithm>

#include "primus/base/strings.h"
#include "primus/dialect/maxtext.h"

namespace primus::dialect {

void maxtext_schedule(Translation& t) {
  int64_t steps = t.keys.integer("steps"), length = t.keys.integer("learning_rate_schedule_steps");
  if (steps == -1 && length == -1)
    t.error("steps", "the length of training is not given: steps and learning_rate_schedule_steps are both -1",
            "one of them", "set steps: 1000");
  if (length == -1) length = steps;
  if (steps == -1) steps = length;
  t.run.exit.train_steps = std::max<int64_t>(0, steps);
  const double warmup = t.keys.number("warmup_steps_fraction"), fall = t.keys.number("wsd_decay_steps_fraction");
  const bool wsd = t.keys.text("lr_schedule_type") == "wsd";
  if (wsd && warmup + fall > 1)
    t.error("wsd_decay_steps_fraction",
            "warm-up and decay take " + format_double(warmup + fall) + " of the schedule together", "at most 1");

  spec::LrSchedule& lr = t.run.lr;
  const auto global = static_cast<double>(t.run.batch.global_batch_size);
  const auto whole_steps = [&](double fraction) {  // cut as upstream does
    return static_cast<double>(static_cast<int64_t>(static_cast<double>(length) * fraction));
  };
  lr.max_lr = t.keys.number("learning_rate");
  lr.min_lr = lr.max_lr * t.keys.number("learning_rate_final_fraction");
  lr.warmup_samples = whole_steps(warmup) * global;
  lr.decay_samples = static_cast<double>(std::max<int64_t>(length, 1)) * global;
  lr.decay = spec::LrDecay::Cosine;
  lr.ends_at_last_step = true;
  lr.wsd_decay = t.keys.text("wsd_decay_style") == "cosine" ? spec::WsdDecay::Cosine : spec::WsdDecay::Linear;
  if (!wsd) return;
  lr.wsd_samples = whole_steps(fall) * global;
  lr.decay = lr.wsd_samples > 0 ? spec::LrDecay::WarmupStableDecay : spec::LrDecay::Constant;
}

// optax: every weight decays; plain sgd has neither momentum nor decay.
void maxtext_optimizer(Translation& t) {
  spec::Optimizer& o = t.run.optimizer;
  const bool sgd = t.keys.text("opt_type") == "sgd";
  o.kind = sgd ? spec::OptimizerKind::Sgd : spec::OptimizerKind::Adam;
  o.momentum = 0;
  o.beta1 = t.keys.number("adam_b1");
  o.beta2 = t.keys.number("adam_b2");
  o.eps = t.keys.number("adam_eps");
  o.eps_root = t.keys.number("adam_eps_root");
  o.decoupled_weight_decay = true;
  o.decay_vectors = true;
  o.clip_grad_norm = t.keys.number("gradient_clipping_threshold");
  o.clip_exactly = true;
  const double decay = t.keys.number("adam_weight_decay");
  t.run.weight_decay.start = t.run.weight_decay.end = sgd ? 0 : decay;
  for (const char* beta : {"adam_b1", "adam_b2"})
    if (t.keys.number(beta) >= 1) t.error(beta, std::string(beta) + " of 1 never forgets", "less than 1");
}

namespace {

spec::Dtype dtype(Translation& t, const char* key) {
  const std::string name = t.keys.text(key);
  if (name == "float32") return spec::Dtype::Float32;
  return name == "float16" ? spec::Dtype::Float16 : spec::Dtype::BFloat16;
}

std::string bits_of(const std::string& quantization) {
  for (const char* bits : {"fp8", "fp4", "int8", "int4"})
    if (quantization.find(bits) != std::string::npos) return bits;
  return quantization;
}

}  // namespace

void maxtext_precision(Translation& t) {
  spec::Precision& p = t.run.precision;
  p.compute = dtype(t, "dtype");
  p.stored = dtype(t, "weight_dtype");
  p.grad_reduce = dtype(t, "grad_dtype");
  p.loss_scale.constant = 1;  // fp16 is not scaled
  t.run.loss = spec::LossNormalisation::GlobalTokenMean;
  const std::string quantization = t.keys.text("quantization");
  const bool on = !quantization.empty() && quantization != "te_no_quant";
  const int64_t passes = t.keys.integer("gradient_accumulation_steps");
  const bool delayed = quantization == "fp8" || quantization == "nanoo_fp8" || quantization == "fp8_gpu" ||
                       quantization == "te_fp8_delayedscaling";
  if (delayed && passes > 1)
    t.error("quantization", "fp8 does not go with gradient accumulation", "gradient_accumulation_steps: 1");
  if (!on) return;
  if (!t.options.allow_precision_fallback) {
    p.low_precision = bits_of(quantization);
    return;
  }
  t.warning("quantization", "'quantization: " + quantization + "' is not built yet: the run computes in " +
                                t.keys.text("dtype") + " instead, as --allow-precision-fallback allows");
}

namespace {

// What backward computes again. A policy keeps products: attention's core and the MLP's are what is worth telling
// apart here, the small element-wise parts are never kept or always cheap.
struct Policy {
  std::string_view name;
  bool core, mlp, everything;
};

constexpr Policy kPolicies[] = {
    {"full", true, true, true},
    {"none", false, false, false},
    {"minimal", true, false, false},
    {"minimal_with_context", false, false, false},
    {"minimal_flash", false, false, false},
    {"minimal_with_quantization", true, false, false},
    {"minimal_with_context_and_quantization", false, false, false},
    {"minimal_offloaded", true, false, false},
    {"save_dot_with_context_except_mlp", false, true, false},
    {"save_dot_except_mlpwi", true, true, false},
    {"save_dot_except_mlp", true, true, false},
    {"save_qkv_proj", true, true, false},
    {"qkv_proj_offloaded", true, true, false},
    {"save_out_proj", true, true, false},
};

constexpr std::string_view kCore[] = {"context", "attention_out"};
constexpr std::string_view kMlpParts[] = {"mlpwi",       "mlpwi_0",     "mlpwi_1",  "mlpwo",
                                          "moe_mlpwi_0", "moe_mlpwi_1", "moe_mlpwo"};
constexpr std::string_view kProjections[] = {"query_proj", "key_proj",      "value_proj", "kv_proj", "qkv_proj",
                                             "out_proj",   "query_wa_proj", "kv_wa_proj", "mla_q",   "mla_kv"};

Policy custom_policy(Translation& t) {
  const auto any_kept = [&](auto& tensors) {
    bool any = false;  // every key is read
    for (const std::string_view tensor : tensors) any = (t.keys.text(tensor) != "remat") || any;
    return any;
  };
  const bool core = any_kept(kCore), mlp = any_kept(kMlpParts), projections = any_kept(kProjections);
  if (t.keys.text("decoder_layer_input") == "remat")
    t.error("decoder_layer_input", "a layer's input is where recomputation starts, so it cannot be recomputed",
            "device or offload");
  return {"custom", !core, !mlp, !core && !mlp && !projections};
}

}  // namespace

void maxtext_recompute(Translation& t) {
  const std::string name = t.keys.text("remat_policy");
  Policy policy = custom_policy(t);
  for (const Policy& known : kPolicies)
    if (known.name == name) policy = known;
  spec::Recompute& r = t.run.recompute;
  const auto layers = static_cast<int64_t>(t.run.model.layers.size());
  if (policy.everything) {
    r.kind = spec::RecomputeKind::Full;
    for (int64_t i = 0; i < layers; ++i) r.layer_ids.push_back(i);
    return;
  }
  if (policy.core) r.modules.emplace_back("core_attn");
  if (policy.mlp) r.modules.emplace_back("mlp");
  r.kind = r.modules.empty() ? spec::RecomputeKind::None : spec::RecomputeKind::Selective;
}

}  // namespace primus::dialect
