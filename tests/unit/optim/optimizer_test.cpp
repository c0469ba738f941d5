#include "primus/optim/optimizer.h"

#include <cmath>
#include <gtest/gtest.h>

namespace primus::optim {
namespace {

// A matrix, a norm gain, a bias, an embedding; all ones, no gradient.
struct Ones {
  nn::Parameter matrix{"layer.0.mlp.up.weight", {5, 3}, nn::InitKind::Ones};
  nn::Parameter gain{"final_norm.weight", {7}, nn::InitKind::Ones};
  nn::Parameter bias{"layer.0.mlp.up.bias", {5}, nn::InitKind::Ones};
  nn::Parameter embedding{"embed.weight", {11, 3}, nn::InitKind::Ones};

  explicit Ones(spec::Dtype dtype = spec::Dtype::Float32) {
    embedding.is_embedding_or_head = true;
    for (nn::Parameter* parameter : all()) {
      parameter->initialise(1, dtype);
      parameter->main_grad = at::zeros(parameter->shape(), at::kFloat);
    }
  }
  std::vector<nn::Parameter*> all() { return {&matrix, &gain, &bias, &embedding}; }
};

void expect_all(const nn::Parameter& parameter, double value) {
  EXPECT_LT((parameter.master - value).abs().max().item<double>(), 1e-6) << parameter.name();
}

TEST(WeightDecay, ReachesMatricesAndEmbeddingsButNoVectors) {  // B094
  for (const spec::OptimizerKind kind : {spec::OptimizerKind::Adam, spec::OptimizerKind::Sgd}) {
    Ones ones;
    Optimizer optimizer(ones.all(), {.kind = kind});
    optimizer.update({.lr = 1, .embedding_and_head_lr = 1, .weight_decay = 0.1});
    expect_all(ones.matrix, 0.9);
    expect_all(ones.embedding, 0.9);
    expect_all(ones.gain, 1);
    expect_all(ones.bias, 1);
  }
}

TEST(WeightDecay, ReachesVectorsWhenTheRuleSaysSo) {
  Ones ones;
  Optimizer(ones.all(), {.decay_vectors = true}).update({.lr = 1, .embedding_and_head_lr = 1, .weight_decay = 0.1});
  expect_all(ones.gain, 0.9);
  expect_all(ones.bias, 0.9);
}

TEST(WeightDecay, ReachesNormsOfQueriesAndKeysWhenTheRuleSaysSo) {
  Ones ones;
  ones.gain.is_query_key_norm = true;
  Optimizer(ones.all(), {.decay_query_key_norms = true})
      .update({.lr = 1, .embedding_and_head_lr = 1, .weight_decay = 0.1});
  expect_all(ones.gain, 0.9);
  expect_all(ones.bias, 1);
}

TEST(Optimizer, GivesEmbeddingAndHeadTheirOwnRate) {
  Ones ones;
  for (nn::Parameter* parameter : ones.all()) parameter->main_grad.fill_(3.0);
  // A first Adam step moves by lr whatever the gradient's size.
  Optimizer(ones.all(), {}).update({.lr = 0.01, .embedding_and_head_lr = 0.25});
  expect_all(ones.matrix, 0.99);
  expect_all(ones.gain, 0.99);
  expect_all(ones.embedding, 0.75);
}

TEST(Optimizer, MultipliesGradientsByTheGivenScale) {
  Ones ones;
  for (nn::Parameter* parameter : ones.all()) parameter->main_grad.fill_(8.0);
  Optimizer(ones.all(), {.kind = spec::OptimizerKind::Sgd, .momentum = 0})
      .update({.lr = 0.5, .embedding_and_head_lr = 0.5, .gradient_scale = 0.125});
  expect_all(ones.matrix, 0.5);
}

// torch.optim.SGD: the buffer starts as the first gradient, then b = m b + g.
TEST(Optimizer, FollowsTorchsMomentum) {
  Ones ones;
  Optimizer optimizer(ones.all(), {.kind = spec::OptimizerKind::Sgd, .momentum = 0.5});
  double weight = 1, buffer = 0;
  for (const double gradient : {1.0, -2.0, 4.0}) {
    for (nn::Parameter* parameter : ones.all()) parameter->main_grad.fill_(gradient);
    optimizer.update({.lr = 0.1, .embedding_and_head_lr = 0.1});
    buffer = 0.5 * buffer + gradient;
    weight -= 0.1 * buffer;
    expect_all(ones.matrix, weight);
  }
  EXPECT_EQ(optimizer.num_updates(), 3);
}

TEST(Optimizer, RefreshesTheCopyThatProductsRead) {
  for (const spec::Dtype dtype : {spec::Dtype::BFloat16, spec::Dtype::Float16}) {
    for (const spec::OptimizerKind kind : {spec::OptimizerKind::Adam, spec::OptimizerKind::Sgd}) {
      Ones ones(dtype);
      for (nn::Parameter* parameter : ones.all()) parameter->main_grad.fill_(0.37);
      Optimizer(ones.all(), {.kind = kind}).update({.lr = 0.013, .embedding_and_head_lr = 0.013, .weight_decay = 0.1});
      for (const nn::Parameter* parameter : ones.all()) {
        EXPECT_TRUE(at::equal(parameter->compute, parameter->master.to(nn::to_torch(dtype)))) << parameter->name();
        EXPECT_LT(parameter->master.max().item<double>(), 0.999) << parameter->name();
      }
    }
  }
}

// torch.optim.Adam: the decay joins the gradient, so a first step without another gradient moves by lr against the
// sign.
TEST(WeightDecay, JoinsTheGradientInAdamWithL2) {
  Ones ones;
  Optimizer(ones.all(), {.decoupled_weight_decay = false, .decay_vectors = true})
      .update({.lr = 0.01, .embedding_and_head_lr = 0.01, .weight_decay = 0.1});
  for (const nn::Parameter* parameter : ones.all()) expect_all(*parameter, 0.99);
}

TEST(Optimizer, DampsSmallGradientsWithAnEpsilonUnderTheRoot) {
  Ones ones;
  for (nn::Parameter* parameter : ones.all()) parameter->main_grad.fill_(0.3);
  Optimizer(ones.all(), {.eps = 0, .eps_root = 0.16}).update({.lr = 0.5, .embedding_and_head_lr = 0.5});
  expect_all(ones.matrix, 1 - 0.5 * 0.3 / 0.5);  // sqrt(0.3^2 + 0.4^2) = 0.5
}

TEST(Optimizer, RoundsWhatIsStoredInBf16ToNearest) {
  for (const spec::Dtype compute : {spec::Dtype::BFloat16, spec::Dtype::Float32}) {
    nn::Parameter weights("a.weight", {300, 301}, nn::InitKind::Ones);  // more than one piece of a step
    weights.initialise(1, compute, spec::Dtype::BFloat16);
    weights.main_grad = at::ones({300, 301}, at::kFloat);
    Optimizer optimizer({&weights}, {});
    // Neighbours of 1 below it are 1/256 apart: 1 - 0.0019 is nearer to 1, 1 - 0.0021 to 1 - 1/256.
    optimizer.update({.lr = 0.0019});
    EXPECT_TRUE(at::equal(weights.compute, at::ones({300, 301}, nn::to_torch(compute))));
    optimizer.update({.lr = 0.0021});
    EXPECT_TRUE(at::equal(weights.compute, at::full({300, 301}, 1 - 1.0 / 256, nn::to_torch(compute))));
    EXPECT_EQ(optimizer.state(0)[1].tensor.scalar_type(), at::kBFloat16);
  }
}

TEST(Optimizer, UpdatesOwnedRowsOnly) {
  Ones ones;
  ones.matrix.keep_owned_rows(1, 3);
  ones.gain.keep_owned_rows(7, 7);  // nothing
  for (nn::Parameter* parameter : ones.all()) parameter->main_grad.fill_(1.0);
  Optimizer optimizer(ones.all(), {});
  optimizer.update({.lr = 0.5, .embedding_and_head_lr = 0.5});
  const at::Tensor expected = at::ones({5, 3});
  expected.narrow(0, 1, 2).fill_(0.5);
  EXPECT_LT((ones.matrix.master - expected).abs().max().item<double>(), 1e-6);
  EXPECT_EQ(optimizer.state(0)[0].tensor.sizes().vec(), (std::vector<int64_t>{2, 3}));
  expect_all(ones.gain, 1);
}

TEST(Optimizer, NamesItsState) {
  Ones ones;
  const auto names = [&](spec::OptimizerKind kind) {
    std::vector<std::string> all;
    for (const auto& state : Optimizer(ones.all(), {.kind = kind}).state(0)) all.emplace_back(state.name);
    return all;
  };
  EXPECT_EQ(names(spec::OptimizerKind::Adam), (std::vector<std::string>{"exp_avg", "exp_avg_sq"}));
  EXPECT_EQ(names(spec::OptimizerKind::Sgd), (std::vector<std::string>{"momentum"}));
}

TEST(GradientNorm, IsTheLengthOfAllGradientsTogether) {
  Ones ones;
  ones.matrix.main_grad[2][1] = 3.0;
  ones.bias.main_grad[4] = -4.0;
  ones.embedding.main_grad[10][2] = 12.0;
  EXPECT_DOUBLE_EQ(gradient_norm(ones.all(), 1).norm, 13);
  EXPECT_DOUBLE_EQ(gradient_norm(ones.all(), 0.5).norm, 6.5);
  EXPECT_TRUE(gradient_norm(ones.all(), 1).finite);
}

TEST(GradientNorm, NoticesEveryNonFiniteGradient) {
  for (const double bad : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    Ones ones;
    ones.embedding.main_grad[10][2] = bad;
    EXPECT_FALSE(gradient_norm(ones.all(), 1).finite) << bad;
  }
  Ones large;  // squares that leave fp32 are no overflow
  large.matrix.main_grad.fill_(1e30);
  EXPECT_TRUE(gradient_norm(large.all(), 1).finite);
  EXPECT_NEAR(gradient_norm(large.all(), 1).norm, std::sqrt(15.0) * 1e30, 1e24);
}

TEST(ClipCoefficient, DividesByTheNormItselfWhereTheRuleSaysSo) {
  EXPECT_DOUBLE_EQ(clip_coefficient(4, 1, /*exactly=*/true), 0.25);
  EXPECT_DOUBLE_EQ(clip_coefficient(1, 1, /*exactly=*/true), 1);
  EXPECT_DOUBLE_EQ(clip_coefficient(0, 1, /*exactly=*/true), 1);
  EXPECT_DOUBLE_EQ(clip_coefficient(1e9, 0, /*exactly=*/true), 1);
}

TEST(ClipCoefficient, ScalesDownToTheLimitAndNeverUp) {
  EXPECT_DOUBLE_EQ(clip_coefficient(4, 1), 1 / (4 + 1e-6));
  EXPECT_DOUBLE_EQ(clip_coefficient(0.5, 1), 1);
  EXPECT_DOUBLE_EQ(clip_coefficient(1e9, 0), 1);  // 0: never
  EXPECT_DOUBLE_EQ(clip_coefficient(0, 1), 1);
}

}  // namespace
}  // namespace primus::optim
