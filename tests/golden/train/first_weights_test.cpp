// First weights and optimizer steps of torchtitan's and MaxText's rules (make_first_weights.py says by what means).
#include <gtest/gtest.h>

#include "support/tiny_run.h"

#include "primus/base/json.h"

namespace primus::train {
namespace {

Json golden() {
  return value_or_throw(
      parse_json(value_or_throw(read_text_file("tests/golden/train/first_weights.json")), "first_weights.json"));
}

constexpr int64_t kHidden = 40, kFfn = 56, kHeadDim = 12, kQueries = 48;

spec::RunSpec torchtitan_run() {
  spec::RunSpec run = test::tiny_run({.num_layers = 3});
  run.seed = 1234;
  for (size_t i = 0; i < run.model.layers.size(); ++i) {
    const double outward = 0.02 / std::sqrt(2.0 * static_cast<double>(i + 1));
    run.model.layers[i].init =
        spec::LayerInit{.attention_out_std = outward, .mlp_up_std = outward, .mlp_down_std = outward};
  }
  const double head = 1 / std::sqrt(static_cast<double>(kHidden));
  run.model.init = {.std = 0.02, .embedding_std = 1, .layer_cut = 2, .head_std = head, .head_cut = 3 * head};
  return run;
}

spec::RunSpec maxtext_run() {
  constexpr double kCutSpread = 0.87962566103423978;
  const auto fan_in = [](int64_t width) { return 1 / std::sqrt(static_cast<double>(width)); };
  spec::RunSpec run = test::tiny_run({.num_layers = 3});
  run.seed = 1234;
  for (spec::LayerSpec& layer : run.model.layers) {
    layer.init = spec::LayerInit{.qkv_std = fan_in(kHidden),
                                 .attention_out_std = fan_in(kQueries),
                                 .mlp_gate_std = fan_in(kHidden) / kCutSpread,
                                 .mlp_up_std = fan_in(kHidden) / kCutSpread,
                                 .mlp_down_std = fan_in(kFfn) / kCutSpread,
                                 .query_std = fan_in(kHidden) * fan_in(kHeadDim),
                                 .mlp_cut = 2};
  }
  const double head = fan_in(kHidden) / kCutSpread;
  run.model.init = {.embedding_std = fan_in(kHidden), .head_std = head, .head_cut = 2 * head};
  return run;
}

void expect_weights(const spec::RunSpec& run, const char* law) {
  test::TinyTrainer tiny(run);
  const Json file = golden();
  size_t num_pieces = 0;
  for (const nn::Parameter* parameter : tiny.trainer().model.parameters()) {
    if (parameter->is_vector()) continue;
    int64_t row = 0;
    for (const nn::Piece& piece : parameter->pieces()) {
      const at::Tensor values = parameter->master.narrow(0, row, piece.num_rows).reshape({-1});
      row += piece.num_rows;
      const Json& wanted = file["weights"][law].at(piece.name);
      for (size_t i = 0; i < wanted.size(); ++i) {
        const double value = wanted[i].get<double>();
        const auto place = file["places"][i].get<int64_t>();
        EXPECT_NEAR(values[place].item<double>(), value, 1e-6 * std::abs(value) + 1e-12) << piece.name << " " << place;
      }
      ++num_pieces;
    }
  }
  EXPECT_EQ(num_pieces, file["weights"][law].size());
}

TEST(FirstWeights, FollowTorchTitansLawLayerByLayer) {
  expect_weights(torchtitan_run(), "torchtitan");
}

TEST(FirstWeights, FollowMaxTextsFanInLaw) {
  expect_weights(maxtext_run(), "maxtext");
}

TEST(FirstWeights, OfATiedTableFollowTheHead) {
  spec::RunSpec run = torchtitan_run();
  run.model.tied_embeddings = true;
  run.model.vocab_size = run.model.padded_vocab_size = 900;
  test::TinyTrainer tiny(run);
  const at::Tensor& table = tiny.trainer().model.parameters().front()->master;
  const double std = run.model.init.head_std;
  EXPECT_NEAR(table.std().item<double>(), 0.98658 * std, 0.01 * std);  // of a normal law cut at 3
  EXPECT_LE(table.abs().max().item<double>(), 3 * std * (1 + 1e-6));
}

// A matrix and a vector under the optimizer, as the file has them.
class RecordedSteps {
 public:
  RecordedSteps(const Json& file, spec::Dtype dtype) : file_(file["optimizer"]) {
    for (size_t i = 0; i < 2; ++i) {
      parameters_[i]->initialise(1, dtype, dtype);
      parameters_[i]->main_grad = at::zeros(parameters_[i]->shape(), at::kFloat);
      fill(parameters_[i]->master, file_["start"][i]);
    }
  }
  static void fill(const at::Tensor& target, const Json& values) {
    target.copy_(at::tensor(values.get<std::vector<double>>(), at::kDouble).view_as(target));
  }
  // The weights after every step against `after`.
  void run(const Json& after, double eps_root, double tolerance) {
    const auto number = [&](const char* key) { return file_[key].get<double>(); };
    optim::Optimizer optimizer(parameters_, {.beta1 = number("beta1"),
                                             .beta2 = number("beta2"),
                                             .eps = number("eps"),
                                             .decay_vectors = true,
                                             .eps_root = eps_root,
                                             .clip_exactly = true});
    for (size_t step = 0; step < after.size(); ++step) {
      for (size_t i = 0; i < 2; ++i) fill(parameters_[i]->main_grad, file_["gradients"][step][i]);
      const double norm = optim::gradient_norm(parameters_, 1).norm;
      optimizer.update({.lr = number("lr"),
                        .embedding_and_head_lr = number("lr"),
                        .weight_decay = number("weight_decay"),
                        .gradient_scale = optim::clip_coefficient(norm, number("clip"), /*exactly=*/true)});
      for (size_t i = 0; i < 2; ++i) {
        const auto wanted = after[step][i].get<std::vector<double>>();
        const at::Tensor found = parameters_[i]->compute.to(at::kDouble).reshape({-1});
        for (size_t k = 0; k < wanted.size(); ++k) {
          EXPECT_NEAR(found[static_cast<int64_t>(k)].item<double>(), wanted[k], tolerance * std::abs(wanted[k]) + 1e-7)
              << "step " << step + 1 << ", parameter " << i << ", element " << k;
        }
      }
    }
  }

 private:
  Json file_;
  nn::Parameter matrix_{"layer.0.mlp.up.weight", {3, 5}, nn::InitKind::Zeros};
  nn::Parameter vector_{"final_norm.weight", {7}, nn::InitKind::Zeros};
  std::vector<nn::Parameter*> parameters_ = {&matrix_, &vector_};
};

TEST(OptaxAdamW, IsWhatTheOptimizerDoesWithAnEpsilonUnderTheRootAndExactClipping) {
  const Json file = golden();
  RecordedSteps(file, spec::Dtype::Float32)
      .run(file["optimizer"]["after"], file["optimizer"]["eps_root"].get<double>(), 2e-5);
}

// Equal but for values that lie on the border of two bf16 numbers: at most one of 256 parts.
TEST(WeightsStoredInBf16, AreRoundedToNearestAfterStepsInFp32) {
  const Json file = golden();
  RecordedSteps(file, spec::Dtype::BFloat16).run(file["stored_in_bf16"]["after"], 0, 1.0 / 255);
}

TEST(WeightsStoredInBf16, HaveNothingWiderBesideThem) {
  spec::RunSpec run = torchtitan_run();
  run.precision.compute = run.precision.stored = spec::Dtype::BFloat16;
  test::TinyTrainer tiny(run);
  Trainer& trainer = tiny.trainer();
  const std::vector<nn::Parameter*> parameters = trainer.model.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_EQ(parameters[i]->master.scalar_type(), at::kBFloat16);
    EXPECT_TRUE(parameters[i]->compute.is_same(parameters[i]->master));
    for (const auto& state : trainer.optimizer->state(i)) EXPECT_EQ(state.tensor.scalar_type(), at::kBFloat16);
  }
}

}  // namespace
}  // namespace primus::train
