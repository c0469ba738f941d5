// Twenty optimizer steps against an independent PyTorch loop (make_llama_losses.py says who, versions and command).
#include <gtest/gtest.h>

#include "support/tiny_run.h"

#include "primus/base/json.h"
#include "primus/hub/safetensors.h"
#include "primus/train/step.h"

namespace primus::train {
namespace {

constexpr int64_t kSequence = 17;

// The maker's rows in their order, with their masks.
class RecordedData : public data::DataSet {
 public:
  RecordedData(at::Tensor tokens, at::Tensor mask) : tokens_(std::move(tokens)), mask_(std::move(mask)) {}
  int64_t size() const override { return tokens_.size(0); }
  int64_t sequence_length() const override { return kSequence; }
  std::vector<std::string> files() const override { return {"recorded"}; }
  void get(int64_t index, data::Sample& sample) const override {
    sample.tokens.resize(kSequence + 1);
    for (int64_t i = 0; i <= kSequence; ++i) sample.tokens[i] = static_cast<int32_t>(tokens_[index][i].item<int64_t>());
    data::fill_masks({}, kSequence + 1, sample);
    for (int64_t i = 0; i < kSequence; ++i) sample.loss_mask[i] = mask_[index][i].item<float>() > 0.5F;
    sample.documents.assign(kSequence + 1, 0);
  }

 private:
  at::Tensor tokens_, mask_;
};

spec::RunSpec recorded_run() {
  spec::RunSpec run = test::tiny_run({.hidden = 40,
                                      .num_layers = 3,
                                      .num_heads = 4,
                                      .num_kv_heads = 2,
                                      .head_dim = 12,
                                      .ffn = 88,
                                      .vocab = 99,
                                      .sequence = kSequence});
  for (spec::LayerSpec& layer : run.model.layers) {
    layer.input_norm.eps = layer.post_attention_norm.eps = 1e-3;
    layer.attention.rope->base = 777.0;
  }
  run.model.final_norm.eps = 1e-3;
  run.model.max_positions = 64;
  run.batch = {.micro_batch_size = 2, .global_batch_size = 6};
  run.lr = {.decay = spec::LrDecay::Cosine, .max_lr = 5e-3, .min_lr = 5e-4, .warmup_samples = 18, .decay_samples = 108};
  run.weight_decay = {.start = 0.13, .end = 0.13};
  run.optimizer = {.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .clip_grad_norm = 1.0};
  return run;
}

TEST(LlamaLosses, EqualAnIndependentPyTorchLoopForTwentySteps) {
  const std::string folder = "tests/golden/train/";
  const auto tensors = test::read_safetensors(folder + "llama_losses.safetensors");
  const Json golden =
      value_or_throw(parse_json(value_or_throw(read_text_file(folder + "llama_losses.json")), "golden"));
  test::TinyTrainer tiny(recorded_run());
  Trainer& trainer = tiny.trainer();
  test::set_weights(trainer.model, tensors);
  auto dataset = std::make_shared<RecordedData>(tensors.at("tokens"), tensors.at("loss_mask"));
  data::BatchLoader loader = tiny.loader(dataset);
  for (size_t i = 0; i < golden["losses"].size(); ++i) {
    const StepResult step = train_step(trainer, loader);
    const double loss = golden["losses"][i].get<double>();
    const double norm = golden["grad_norms"][i].get<double>();
    EXPECT_NEAR(step.loss, loss, 1e-5 * loss) << "step " << i + 1;
    EXPECT_NEAR(step.grad_norm, norm, 1e-4 * norm) << "step " << i + 1;
    EXPECT_NEAR(step.lr, golden["lr"][i].get<double>(), 1e-12) << "step " << i + 1;
  }
}

}  // namespace
}  // namespace primus::train
