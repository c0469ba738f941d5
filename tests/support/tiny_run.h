// Small runs for tests of the engine: a RunSpec of odd sizes, a trainer over one rank, weights from a file.
#pragma once

#include <map>
#include <string>

#include "primus/base/strings.h"
#include "primus/hub/safetensors.h"
#include "primus/train/trainer.h"

namespace primus::test {

struct TinyModel {
  int64_t hidden = 40, num_layers = 2, num_heads = 4, num_kv_heads = 2, head_dim = 12, ffn = 56, vocab = 99,
          sequence = 17;
};

inline spec::RunSpec tiny_run(const TinyModel& size = {}) {
  spec::RunSpec run;
  spec::LayerSpec layer;
  layer.attention = {.num_heads = size.num_heads,
                     .num_kv_heads = size.num_kv_heads,
                     .head_dim = size.head_dim,
                     .softmax_scale = 1 / std::sqrt(static_cast<double>(size.head_dim)),
                     .rope = spec::Rope{}};
  layer.mlp = {.ffn_size = size.ffn};
  run.model.hidden_size = size.hidden;
  run.model.vocab_size = run.model.padded_vocab_size = size.vocab;
  run.model.max_positions = size.sequence;
  run.model.layers.assign(static_cast<size_t>(size.num_layers), layer);
  run.model.init = {.std = 0.08, .embedding_std = 0.08, .residual_output_std = 0.04};
  run.batch = {.micro_batch_size = 2, .global_batch_size = 4};
  run.data.sequence_length = size.sequence;
  run.lr = {.decay = spec::LrDecay::Constant, .max_lr = 3e-3};
  run.weight_decay = {.start = 0.1, .end = 0.1};
  run.optimizer.clip_grad_norm = 1.0;
  run.exit.train_steps = 8;
  return run;
}

// What megatron's rules leave out: first weights by layer and cut, norms on queries and keys, interleaved pairs, decay
// of every weight, an epsilon under the root, exact clipping, one mean over all tokens, a warm-up that begins above 0.
inline void like_other_dialects(spec::RunSpec& run) {
  for (size_t i = 0; i < run.model.layers.size(); ++i) {
    spec::LayerSpec& layer = run.model.layers[i];
    const double outward = 0.08 / std::sqrt(2.0 * static_cast<double>(i + 1));
    layer.init = spec::LayerInit{.qkv_std = 0.08,
                                 .attention_out_std = outward,
                                 .mlp_gate_std = 0.08,
                                 .mlp_up_std = outward,
                                 .mlp_down_std = outward,
                                 .query_std = 0.11,
                                 .mlp_cut = 2};
    layer.attention.qk_norm = spec::QkNorm{};
    layer.attention.rope->interleaved = true;
  }
  run.model.init.head_std = 0.15;
  run.model.init.head_cut = 0.3;
  run.loss = spec::LossNormalisation::GlobalTokenMean;
  run.lr = {.decay = spec::LrDecay::WarmupStableDecay,
            .max_lr = 3e-3,
            .warmup_samples = 12,
            .decay_samples = 80,
            .wsd_decay = spec::WsdDecay::Linear,
            .wsd_samples = 40,
            .warmup_ends_at_peak = true};
  run.optimizer.decay_vectors = true;
  run.optimizer.eps_root = 1e-9;
  run.optimizer.clip_exactly = true;
}

// Samples of tokens that are a fixed function of (sample, position); some positions do not count for the loss.
class CountingData : public data::DataSet {
 public:
  CountingData(int64_t num_samples, int64_t sequence, int64_t vocab)
      : num_samples_(num_samples), sequence_(sequence), vocab_(vocab) {}
  int64_t size() const override { return num_samples_; }
  int64_t sequence_length() const override { return sequence_; }
  std::vector<std::string> files() const override { return {"counting"}; }
  void get(int64_t index, data::Sample& sample) const override {
    sample.tokens.resize(static_cast<size_t>(sequence_) + 1);
    for (int64_t i = 0; i <= sequence_; ++i) {
      sample.tokens[static_cast<size_t>(i)] = static_cast<int32_t>((index * 7 + i * i * 3 + i * index % 5) % vocab_);
    }
    data::fill_masks({}, sequence_ + 1, sample);
    for (int64_t i = 0; i < index % 5; ++i) sample.loss_mask[static_cast<size_t>(i)] = 0;
    sample.documents.assign(static_cast<size_t>(sequence_) + 1, 0);
  }

 private:
  int64_t num_samples_, sequence_, vocab_;
};

class TinyTrainer {
 public:
  explicit TinyTrainer(spec::RunSpec run)
      : group_(dist::single_rank_group("dp")),
        log_({.console_level = LogLevel::Off}),
        trainer_(std::move(run), *group_, log_, {}) {}

  train::Trainer& trainer() { return trainer_; }
  data::BatchLoader loader(std::shared_ptr<const data::DataSet> dataset) {
    auto order = std::make_shared<const data::SampleOrder>(
        value_or_throw(data::SampleOrder::make(dataset->size(), {.order = spec::LoaderOrder::Single})));
    return data::BatchLoader(std::move(dataset), order,
                             {.micro_batch_size = trainer_.spec.batch.micro_batch_size, .queue_depth = 0},
                             trainer_.state.consumed_samples);
  }

 private:
  std::unique_ptr<dist::Group> group_;
  Logger log_;
  train::Trainer trainer_;
};

inline std::map<std::string, at::Tensor> read_safetensors(const std::string& path) {
  const hub::SafetensorsFile file = value_or_throw(hub::SafetensorsFile::open(path));
  std::map<std::string, at::Tensor> tensors;
  for (const hub::TensorEntry& entry : file.entries()) {
    const auto dtype = entry.dtype == hub::Dtype::I64 ? at::kLong : at::kFloat;
    tensors[entry.name] = at::from_blob(const_cast<std::byte*>(file.data(entry).data()), entry.shape, dtype).clone();
  }
  return tensors;
}

// Every piece of every parameter from a tensor of its name.
inline void set_weights(models::Decoder& model, const std::map<std::string, at::Tensor>& tensors) {
  for (nn::Parameter* parameter : model.parameters()) {
    int64_t row = 0;
    for (const nn::Piece& piece : parameter->pieces()) {
      parameter->master.narrow(0, row, piece.num_rows).copy_(tensors.at(piece.name));
      row += piece.num_rows;
    }
    parameter->refresh_compute();
  }
}

}  // namespace primus::test
