#include "primus/train/header.h"

#include <fmt/format.h>

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

std::string model_line(const spec::Model& model) {
  const spec::ModelSize size = spec::count_parameters(model, /*padded=*/false);
  const spec::LayerSpec& layer = model.layers.front();
  return fmt::format("{} parameters ({} layers x {}, {} heads, {} kv heads, ffn {}, vocabulary {}{})",
                     format_count(static_cast<double>(size.total())), model.layers.size(), model.hidden_size,
                     layer.attention.num_heads, layer.attention.num_kv_heads, layer.mlp.ffn_size,
                     format_thousands(model.vocab_size), model.tied_embeddings ? ", tied" : "");
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

}  // namespace

void log_header(const Trainer& trainer) {
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
  line("flops",
       fmt::format(
           "{} model FLOPs a token: 6 x (layers' weights + head) + causal half of attention, backward = 2 x forward",
           format_count(spec::flops_per_token(spec.model, spec.data.sequence_length))));
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
