// Twelve optimizer steps of torchtitan's own models (make_titan_losses.py says what, versions and command).
#include <gtest/gtest.h>

#include "support/tiny_run.h"

#include "primus/base/json.h"
#include "primus/train/step.h"

namespace primus::train {
namespace {

constexpr int64_t kSequence = 17;

// The maker's rows in their order.
class RecordedTokens : public data::DataSet {
 public:
  explicit RecordedTokens(at::Tensor tokens) : tokens_(std::move(tokens)) {}
  int64_t size() const override { return tokens_.size(0); }
  int64_t sequence_length() const override { return kSequence; }
  std::vector<std::string> files() const override { return {"recorded"}; }
  void get(int64_t index, data::Sample& sample) const override {
    const at::Tensor row = tokens_[index].to(at::kInt).contiguous();
    sample.tokens.assign(row.const_data_ptr<int32_t>(), row.const_data_ptr<int32_t>() + row.numel());
    data::fill_masks({}, kSequence + 1, sample);
    sample.documents.assign(kSequence + 1, 0);
  }

 private:
  at::Tensor tokens_;
};

// What the torchtitan dialect makes of the maker's settings.
spec::RunSpec titan_run(const test::TinyModel& size) {
  spec::RunSpec run = test::tiny_run(size);
  for (spec::LayerSpec& layer : run.model.layers) layer.input_norm.eps = layer.post_attention_norm.eps = 1e-3;
  run.model.final_norm.eps = 1e-3;
  run.batch = {.micro_batch_size = 3, .global_batch_size = 6};
  run.loss = spec::LossNormalisation::GlobalTokenMean;
  run.optimizer = {.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .decay_vectors = true, .clip_grad_norm = 1.0};
  run.weight_decay = {.start = 0.17, .end = 0.17};
  run.lr = {.decay = spec::LrDecay::WarmupStableDecay,
            .max_lr = 4e-3,
            .min_lr = 4e-4,
            .warmup_samples = 4 * 6,
            .decay_samples = 12 * 6,
            .wsd_decay = spec::WsdDecay::Cosine,
            .wsd_samples = 6 * 6,
            .warmup_ends_at_peak = true};
  run.exit.train_steps = 12;
  return run;
}

// 4 x 8/3 x 48 = 128, times 1.3 = 166, up to a multiple of 8.
spec::RunSpec llama3_run() {
  spec::RunSpec run = titan_run({.hidden = 48, .num_layers = 3, .head_dim = 12, .ffn = 168, .sequence = kSequence});
  for (spec::LayerSpec& layer : run.model.layers)
    layer.attention.rope = spec::Rope{.base = 90, .interleaved = true, .llama3 = spec::Llama3RopeScaling{}};
  return run;
}

spec::RunSpec qwen3_run() {
  spec::RunSpec run = titan_run({.hidden = 40, .num_layers = 3, .head_dim = 14, .ffn = 56, .sequence = kSequence});
  for (spec::LayerSpec& layer : run.model.layers) {
    layer.attention.rope = spec::Rope{.base = 777};
    layer.attention.qk_norm = spec::QkNorm{.norm = {.eps = 1e-3}};
  }
  run.model.tied_embeddings = true;
  return run;
}

void expect_same_training(const spec::RunSpec& run, const std::string& name) {
  const std::string folder = "tests/golden/train/";
  std::map<std::string, at::Tensor> own;
  for (const auto& [key, tensor] : test::read_safetensors(folder + "titan_losses.safetensors"))
    if (key.starts_with(name + ".")) own[key.substr(name.size() + 1)] = tensor;
  const Json golden =
      value_or_throw(parse_json(value_or_throw(read_text_file(folder + "titan_losses.json")), "golden"))[name];
  test::TinyTrainer tiny(run);
  test::set_weights(tiny.trainer().model, own);
  data::BatchLoader loader = tiny.loader(std::make_shared<RecordedTokens>(own.at("tokens")));
  ASSERT_EQ(golden["losses"].size(), 12U);
  for (size_t i = 0; i < golden["losses"].size(); ++i) {
    const StepResult step = train_step(tiny.trainer(), loader);
    const double loss = golden["losses"][i].get<double>();
    const double norm = golden["grad_norms"][i].get<double>();
    EXPECT_NEAR(step.loss, loss, 1e-5 * loss) << "step " << i + 1;
    EXPECT_NEAR(step.grad_norm, norm, 1e-4 * norm) << "step " << i + 1;
    EXPECT_NEAR(step.lr, golden["lr"][i].get<double>(), 1e-12) << "step " << i + 1;
  }
}

TEST(TitanLosses, EqualTorchTitansLlama3) {
  expect_same_training(llama3_run(), "llama3");
}

TEST(TitanLosses, EqualTorchTitansQwen3) {
  expect_same_training(qwen3_run(), "qwen3");
}

}  // namespace
}  // namespace primus::train
