#include "primus/spec/engine_limits.h"

#include <algorithm>
#include <functional>

namespace primus::spec {

namespace {

class Limits {
 public:
  void add(bool asked, const char* field, const std::string& feature) {
    if (!asked) return;
    Diagnostic finding{Severity::Error, {}, field, "training " + feature + " is not built yet", {}, {}, {}};
    out_.push_back(std::move(finding));
  }
  Diagnostics take() { return std::move(out_); }

 private:
  Diagnostics out_;
};

bool is_built(const Attention& a) {
  if (!a.qk_norm) return true;
  const QkNorm& n = *a.qk_norm;
  if (n.norm.kind != NormKind::RmsNorm || a.latent) return false;
  // Lengths are kept by a rotation, so a norm without weights may stand in front of it. One that is scaled in a part of
  // the head only changes them.
  const bool scaled = a.rope && a.rope->yarn && a.rope->yarn->cos_sin_factor != 1 && a.rope->fraction != 1;
  return !n.after_rope || (!n.has_gain && !scaled);
}

void model_limits(const Model& model, Limits& limits) {
  const auto any = [&model](const std::function<bool(const LayerSpec&)>& test) {
    return std::any_of(model.layers.begin(), model.layers.end(), test);
  };
  const auto mixer = std::find_if(model.layers.begin(), model.layers.end(),
                                  [](const LayerSpec& layer) { return !layer.other_mixer.empty(); });
  if (mixer != model.layers.end()) limits.add(true, "model.layers.other_mixer", mixer->other_mixer + " layers");
  const auto norms_otherwise = [](const LayerSpec& l) {
    return l.gated_delta && l.gated_delta->output_norm.kind != NormKind::RmsNorm;
  };
  limits.add(any(norms_otherwise), "model.layers.gated_delta", "gated delta nets with norms other than RMS norms");
  const auto is_odd_convolution = [](const LayerSpec& l) {
    const int64_t taps = l.short_conv    ? l.short_conv->kernel_size
                         : l.gated_delta ? l.gated_delta->kernel_size
                         : l.mamba2      ? l.mamba2->kernel_size
                                         : 2;
    return taps < 2 || taps > 8;
  };
  const char* taps = "with convolutions of other than 2 to 8 tokens";
  limits.add(any([&](const LayerSpec& l) { return l.short_conv && is_odd_convolution(l); }),
             "model.layers.short_conv.kernel_size", taps);
  limits.add(any([&](const LayerSpec& l) { return !l.short_conv && is_odd_convolution(l); }),
             "model.layers.gated_delta.kernel_size", taps);
  limits.add(any([](const LayerSpec& l) { return attends(l) && !is_built(l.attention); }),
             "model.layers.attention.qk_norm",
             "with norms on queries and keys other than RMS norms, in front of the rotation where they have weights");
  limits.add(any([](const LayerSpec& l) { return l.attention.logit_soft_cap != 0 && l.attention.dropout > 0; }),
             "model.layers.attention.logit_soft_cap", "with a soft cap on attention and dropout in it");
  limits.add(any([](const LayerSpec& l) { return l.attention.latent && l.attention.output_gate; }),
             "model.layers.attention.output_gate", "with gated latent attention");
  limits.add(any([](const LayerSpec& l) { return l.other_parameters != 0; }), "model.layers.other_parameters",
             "with weights that this description does not hold");
  limits.add(any([](const LayerSpec& l) { return l.attention.values_are_keys || l.attention.value_norm; }),
             "model.layers.attention.values_are_keys", "with keys for values, or norms on values");
}

}  // namespace

Diagnostics engine_limits(const RunSpec& run) {
  Limits limits;
  model_limits(run.model, limits);
  const Parallel& p = run.parallel;
  limits.add(p.tensor > 1, "parallel.tensor", "with tensor parallelism");
  limits.add(p.pipeline > 1, "parallel.pipeline", "with pipeline parallelism");
  limits.add(p.stages_per_rank > 1, "parallel.stages_per_rank", "with virtual pipeline stages");
  limits.add(p.context > 1, "parallel.context", "with context parallelism");
  limits.add(p.expert > 1, "parallel.expert", "with expert parallelism");
  limits.add(p.expert_tensor > 1, "parallel.expert_tensor", "with tensor-parallel experts");
  limits.add(p.weight_shards != 1, "parallel.weight_shards", "with fully sharded weights");
  limits.add(!run.precision.low_precision.empty(), "precision.low_precision",
             "with " + run.precision.low_precision + " products");
  const bool stores_half = run.precision.stored == Dtype::Float16;
  const bool scales_loss = run.precision.stored != Dtype::Float32 && run.precision.compute == Dtype::Float16;
  const bool has_states = std::any_of(run.model.layers.begin(), run.model.layers.end(),
                                      [](const LayerSpec& l) { return l.gated_delta || l.mamba2; });
  limits.add(has_states && run.precision.compute == Dtype::Float16, "precision.compute",
             "gated delta nets and Mamba 2 layers in fp16");
  limits.add(stores_half || scales_loss, "precision.stored", "in fp16 without fp32 weights");
  limits.add(run.logit_z_loss != 0, "logit_z_loss", "with z-loss on logits");
  const Evaluation& e = run.evaluation;
  limits.add(e.num_batches > 0 && (e.after_first_step || e.micro_batch_size > 0 || e.sequence_length > 0), "evaluation",
             "with evaluations of their own length or batch, or after the first step");
  limits.add(run.finetune.has_value(), "finetune", "after pre-training (supervised fine-tuning, adapters)");
  return limits.take();
}

}  // namespace primus::spec
