#include "primus/train/header.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

#include "primus/base/strings.h"
#include "primus/spec/model_size.h"
#include "primus/tensor/runtime.h"

namespace primus::train {

namespace {

std::string tokenizer_line(const Trainer& trainer) {
  const spec::Tokenizer& tokenizer = trainer.spec.tokenizer;
  const std::string name = tokenizer.preset_name.empty() ? tokenizer.type : tokenizer.preset_name;
  if (trainer.spec.data.one_batch) return name + " (not loaded: one synthetic batch)";
  if (trainer.spec.data.mock) return name + " (not loaded: mock_data)";
  return fmt::format("{} ({}, {} ids)", name, trainer.tokenizer->kind(),
                     format_thousands(trainer.tokenizer->vocab_size()));
}

// "16 heads, 4 kv heads", of how many layers where not all attend; "4 mamba layers".
std::string mixers_text(const spec::Model& model) {
  const auto count = [&model](const std::function<bool(const spec::LayerSpec&)>& test) {
    return std::count_if(model.layers.begin(), model.layers.end(), test);
  };
  std::vector<std::string> texts;
  const auto first = std::find_if(model.layers.begin(), model.layers.end(), spec::attends);
  const auto attending = count(spec::attends);
  if (first != model.layers.end())
    texts.push_back(fmt::format("{} heads, {} kv heads", first->attention.num_heads, first->attention.num_kv_heads));
  if (attending > 0 && attending < static_cast<int64_t>(model.layers.size()))
    texts.back() += fmt::format(" in {} of them", attending);
  const auto add = [&texts](int64_t layers, const char* what) {
    if (layers > 0) texts.push_back(fmt::format("{} {}", layers, what));
  };
  add(count([](const spec::LayerSpec& l) { return l.short_conv.has_value(); }), "short convolutions");
  add(count([](const spec::LayerSpec& l) { return l.gated_delta.has_value(); }), "gated delta nets");
  add(count([](const spec::LayerSpec& l) { return l.mamba2.has_value(); }), "Mamba 2 layers");
  return join(texts, ", ");
}

std::string model_line(const spec::Model& model) {
  const spec::ModelSize size = spec::count_parameters(model, /*padded=*/false);
  const auto with_mlp = std::find_if(model.layers.begin(), model.layers.end(),
                                     [](const spec::LayerSpec& layer) { return layer.has_mlp; });
  const std::string ffn = with_mlp == model.layers.end() ? "" : fmt::format(", ffn {}", with_mlp->mlp.ffn_size);
  return fmt::format("{} parameters ({} layers x {}, {}{}, vocabulary {}{})",
                     format_count(static_cast<double>(size.total())), model.layers.size(), model.hidden_size,
                     mixers_text(model), ffn, format_thousands(model.vocab_size),
                     model.tied_embeddings ? ", tied" : "");
}

// What stands beside the products of weights in the count of FLOPs.
std::string flops_terms(const spec::Model& model) {
  const auto any = [&model](const std::function<bool(const spec::LayerSpec&)>& test) {
    return std::any_of(model.layers.begin(), model.layers.end(), test);
  };
  std::string text = "6 x (layers' weights + head)";
  if (any(spec::attends)) text += " + causal half of attention";
  if (any([](const spec::LayerSpec& l) { return l.gated_delta.has_value(); })) text += " + 24 x state of delta nets";
  if (any([](const spec::LayerSpec& l) { return l.mamba2.has_value(); })) text += " + 21 x state of Mamba layers";
  return text + ", backward = 2 x forward";
}

const char* precision_name(const spec::Precision& precision) {
  if (precision.stored == spec::Dtype::BFloat16)
    return precision.compute == spec::Dtype::BFloat16
               ? "bf16 products, weights and optimizer state; fp32 gradients, no master weights"
               : "fp32 products and gradients, bf16 weights and optimizer state";
  switch (precision.compute) {
    case spec::Dtype::Float32:
      return "fp32";
    case spec::Dtype::BFloat16:
      return "bf16 products, fp32 master weights and gradients";
    case spec::Dtype::Float16:
      return "fp16 products with loss scaling, fp32 master weights and gradients";
  }
  return "fp32";
}

// Which tensors weight decay reaches: one that is forgotten, or a gain that shrinks, shows nowhere else.
std::string decay_line(Trainer& trainer) {
  int64_t tensors[2] = {}, numbers[2] = {};
  for (const nn::Parameter* parameter : trainer.model.parameters()) {
    const size_t group = trainer.optimizer->decays(*parameter) ? 0 : 1;
    tensors[group] += static_cast<int64_t>(parameter->pieces().size());
    numbers[group] += parameter->num_elements();
  }
  const spec::WeightDecaySchedule& rule = trainer.spec.weight_decay;
  const std::string rate =
      rule.start == rule.end ? format_double(rule.end) : format_double(rule.start) + " to " + format_double(rule.end);
  const std::string rest = tensors[1] == 0 ? ""
                                           : fmt::format(", none on {} vectors ({} weights)", tensors[1],
                                                         format_count(static_cast<double>(numbers[1])));
  return fmt::format("{} on {} tensors ({} weights){}", rate, tensors[0], format_count(static_cast<double>(numbers[0])),
                     rest);
}

}  // namespace

void log_header(Trainer& trainer) {
  const spec::RunSpec& spec = trainer.spec;
  const auto line = [&trainer](const char* name, const std::string& text) {
    trainer.log.info(fmt::format("{:<11} {}", name, text));
  };
  line("framework", spec.identity.framework);
  line("model", spec.identity.model_file);
  line("tokenizer", tokenizer_line(trainer));
  line("parameters", model_line(spec.model));
  line("batch", fmt::format("{} sequences x {} tokens a step (micro-batch {}, {} data-parallel rank{})",
                            spec.batch.global_batch_size, spec.data.sequence_length, spec.batch.micro_batch_size,
                            trainer.group.size(), trainer.group.size() == 1 ? "" : "s"));
  line("precision", precision_name(spec.precision));
  line("decay", decay_line(trainer));
  line("flops", fmt::format("{} model FLOPs a token: {}",
                            format_count(spec::flops_per_token(spec.model, spec.data.sequence_length)),
                            flops_terms(spec.model)));
  const std::string peak = trainer.machine.peak_flops
                               ? fmt::format("measured peak {:.0f} GFLOP/s a rank", *trainer.machine.peak_flops / 1e9)
                               : "peak not known for this type";
  line("machine", fmt::format("{} thread{} a rank, products {}, attention {}, {}", trainer.machine.num_threads,
                              trainer.machine.num_threads == 1 ? "" : "s", trainer.machine.routes.gemm.to_string(),
                              trainer.machine.routes.attention.to_string(), peak));
  line("library", tensor::versions());
  line("steps", fmt::format("{} ({} tokens)", format_thousands(spec.exit.train_steps),
                            format_count(static_cast<double>(spec.exit.train_steps * spec.batch.global_batch_size *
                                                             spec.data.sequence_length))));
  line("run folder", spec.identity.run_folder);
}

}  // namespace primus::train
