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

bool is_built(const QkNorm& n) {
  return n.norm.kind == NormKind::RmsNorm && n.has_gain && n.scope == QkNormScope::PerHead && !n.after_rope;
}

void model_limits(const Model& model, Limits& limits) {
  const auto any = [&model](const std::function<bool(const LayerSpec&)>& test) {
    return std::any_of(model.layers.begin(), model.layers.end(), test);
  };
  const auto mixer = std::find_if(model.layers.begin(), model.layers.end(),
                                  [](const LayerSpec& layer) { return !layer.other_mixer.empty(); });
  if (mixer != model.layers.end()) limits.add(true, "model.layers.other_mixer", mixer->other_mixer + " layers");
  limits.add(any([](const LayerSpec& l) { return l.moe.has_value(); }), "model.layers.moe", "a mixture of experts");
  limits.add(any([](const LayerSpec& l) { return l.attention.latent.has_value(); }), "model.layers.attention.latent",
             "multi-head latent attention");
  limits.add(any([](const LayerSpec& l) { return l.attention.qk_norm && !is_built(*l.attention.qk_norm); }),
             "model.layers.attention.qk_norm",
             "with norms on queries and keys other than RMS norms of every head, with gains, before the rotation");
  limits.add(any([](const LayerSpec& l) { return l.attention.window_keys.has_value(); }),
             "model.layers.attention.window_keys", "with sliding-window attention");
  limits.add(any([](const LayerSpec& l) { return l.attention.chunk_size.has_value(); }),
             "model.layers.attention.chunk_size", "with chunked attention");
  limits.add(any([](const LayerSpec& l) { return l.attention.sink != Sink::None; }), "model.layers.attention.sink",
             "with attention sinks");
  limits.add(any([](const LayerSpec& l) { return l.attention.logit_soft_cap != 0; }),
             "model.layers.attention.logit_soft_cap", "with a soft cap on attention");
  limits.add(any([](const LayerSpec& l) { return l.attention.temperature.has_value(); }),
             "model.layers.attention.temperature", "with attention temperature tuning");
  limits.add(any([](const LayerSpec& l) { return l.attention.output_gate; }), "model.layers.attention.output_gate",
             "with gated attention output");
  limits.add(any([](const LayerSpec& l) {
               return l.attention.rope && (l.attention.rope->yarn || l.attention.rope->position_divisor != 1);
             }),
             "model.layers.attention.rope.yarn", "with this rope scaling");
  limits.add(any([](const LayerSpec& l) { return l.mlp.clamp != 0 || l.mlp.up_offset != 0; }), "model.layers.mlp.clamp",
             "with a clamped activation");
  limits.add(any([](const LayerSpec& l) { return l.attention_output_norm || l.mlp_output_norm || !l.norms_in_front; }),
             "model.layers.mlp_output_norm", "with norms behind attention and MLP");
  limits.add(model.padding_id.has_value(), "model.padding_id", "with an embedding row that is never trained");
  limits.add(model.mtp.has_value(), "model.mtp", "with multi-token prediction");
  limits.add(model.logit_soft_cap != 0, "model.logit_soft_cap", "with a soft cap on logits");
  limits.add(any([](const LayerSpec& l) { return l.moe && l.moe->capacity && l.moe->capacity->per_sequence; }),
             "model.layers.moe.capacity", "with experts that take so many tokens of each sequence");
  limits.add(any([](const LayerSpec& l) { return l.other_parameters != 0; }), "model.layers.other_parameters",
             "with weights that this description does not hold");
  limits.add(any([](const LayerSpec& l) { return l.attention.values_are_keys || l.attention.value_norm; }),
             "model.layers.attention.values_are_keys", "with keys for values, or norms on values");
  const auto differs = [&model](const LayerSpec& layer) {
    return layer.attention.rope.has_value() != model.layers.front().attention.rope.has_value();
  };
  limits.add(any(differs), "model.layers.attention.rope", "with positions in some layers only");
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
  limits.add(stores_half || scales_loss, "precision.stored", "in fp16 without fp32 weights");
  limits.add(run.logit_z_loss != 0, "logit_z_loss", "with z-loss on logits");
  const Evaluation& e = run.evaluation;
  limits.add(e.num_batches > 0 && (e.after_first_step || e.micro_batch_size > 0 || e.sequence_length > 0), "evaluation",
             "with evaluations of their own length or batch, or after the first step");
  limits.add(run.finetune.has_value(), "finetune", "after pre-training (supervised fine-tuning, adapters)");
  return limits.take();
}

}  // namespace primus::spec
