// Names, counts and initial values of the parameters; what a forward pass without gradients returns.
#include "primus/models/decoder.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "primus/spec/model_size.h"

namespace primus::models {
namespace {

spec::Model small_model() {
  spec::LayerSpec layer;
  layer.attention = {.num_heads = 4, .num_kv_heads = 2, .head_dim = 6, .softmax_scale = 0.4, .rope = spec::Rope{}};
  layer.mlp = {.ffn_size = 20};
  spec::Model model;
  model.hidden_size = 16;
  model.vocab_size = 31;
  model.padded_vocab_size = 64;  // rows that no data reaches are never allocated
  model.max_positions = 12;
  model.layers.assign(2, layer);
  model.init = {.std = 0.2, .embedding_std = 0.7, .residual_output_std = 0.01};
  return model;
}

int64_t num_elements(Decoder& decoder) {
  int64_t count = 0;
  for (const nn::Parameter* parameter : decoder.parameters()) count += parameter->num_elements();
  return count;
}

TEST(Decoder, NamesItsParametersInForwardOrder) {
  Decoder decoder(small_model(), spec::Dtype::Float32, {});
  std::vector<std::string> names;
  for (const nn::Parameter* parameter : decoder.parameters()) {
    for (const nn::Piece& piece : parameter->pieces()) names.push_back(piece.name);
  }
  EXPECT_EQ(names.front(), "embed.weight");
  EXPECT_EQ(names.back(), "head.weight");
  const std::vector<std::string> layer(names.begin() + 10, names.begin() + 19);
  EXPECT_THAT(layer,
              testing::ElementsAre("layer.1.attn_norm.weight", "layer.1.attn.q.weight", "layer.1.attn.k.weight",
                                   "layer.1.attn.v.weight", "layer.1.attn.o.weight", "layer.1.mlp_norm.weight",
                                   "layer.1.mlp.gate.weight", "layer.1.mlp.up.weight", "layer.1.mlp.down.weight"));
}

TEST(Decoder, HasAsManyParametersAsTheFormulaCounts) {
  spec::Model model = small_model();
  const auto expect_counted = [](const spec::Model& m) {
    Decoder decoder(m, spec::Dtype::Float32, {});
    EXPECT_EQ(num_elements(decoder), spec::count_parameters(m, /*padded=*/false).total());
  };
  expect_counted(model);
  for (spec::LayerSpec& layer : model.layers) layer.attention.qk_norm = spec::QkNorm{};
  expect_counted(model);
  model.tied_embeddings = model.learned_positions = true;
  expect_counted(model);
  for (spec::LayerSpec& layer : model.layers) {
    layer.attention.qkv_bias = layer.attention.out_bias = layer.mlp.bias = true;
    layer.mlp.gated = false;
    layer.input_norm.kind = layer.post_attention_norm.kind = spec::NormKind::LayerNorm;
  }
  model.final_norm.kind = spec::NormKind::LayerNorm;
  expect_counted(model);
}

TEST(Decoder, InitialisesEveryKindOfWeightByItsOwnDeviation) {
  spec::Model model = small_model();
  model.hidden_size = 96;  // enough elements for a deviation
  Decoder decoder(model, spec::Dtype::BFloat16, {});
  decoder.initialise(3);
  for (const nn::Parameter* parameter : decoder.parameters()) {
    const std::string& name = parameter->name();
    if (parameter->is_vector()) {
      EXPECT_TRUE(at::equal(parameter->master, at::ones_like(parameter->master))) << name;
      continue;
    }
    const bool residual = name.ends_with("attn.o.weight") || name.ends_with("mlp.down.weight");
    const double wanted = name == "embed.weight" ? 0.7 : residual ? 0.01 : 0.2;
    EXPECT_NEAR(parameter->master.std().item<double>(), wanted, 0.06 * wanted) << name;
  }
}

TEST(Decoder, InitialisesZeroCentredGainsWithZeros) {
  spec::Model model = small_model();
  model.final_norm.zero_centered_gain = true;
  Decoder decoder(model, spec::Dtype::Float32, {});
  decoder.initialise(3);
  for (const nn::Parameter* parameter : decoder.parameters()) {
    if (parameter->name() == "final_norm.weight") {
      EXPECT_EQ(parameter->master.abs().sum().item<double>(), 0);
    }
  }
}

TEST(Decoder, ExpectsTwoGradientsOfATiedEmbedding) {
  spec::Model model = small_model();
  EXPECT_THAT(Decoder(model, spec::Dtype::Float32, {}).gradient_contributions(), testing::Each(1));
  model.tied_embeddings = true;
  Decoder tied(model, spec::Dtype::Float32, {});
  tied.initialise(1);
  const std::vector<nn::Parameter*> parameters = tied.parameters();
  std::vector<int> counted(parameters.size(), 0);
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameters[i]->main_grad = at::zeros(parameters[i]->shape());
    parameters[i]->on_gradient = [&counted, i](nn::Parameter&) { ++counted[i]; };
  }
  const nn::Routes routes;
  nn::Context context;
  context.routes = &routes;
  const at::Tensor tokens = at::randint(31, {2, 9}, at::kLong);
  tied.forward_backward({tokens, tokens, at::ones({2, 9})}, context);
  EXPECT_EQ(counted, tied.gradient_contributions());
}

TEST(Decoder, LosesLnOfTheVocabularyWhenItKnowsNothing) {
  spec::Model model = small_model();
  model.init.std = 0;
  Decoder decoder(model, spec::Dtype::BFloat16, {});
  decoder.initialise(1);
  const nn::Routes routes;
  nn::Context context;
  context.routes = &routes;
  const at::Tensor tokens = at::randint(31, {2, 9}, at::kLong);
  const at::Tensor losses = decoder.token_losses({tokens, tokens, {}}, context);
  EXPECT_LT((losses - std::log(31.0)).abs().max().item<double>(), 1e-5);
}

}  // namespace
}  // namespace primus::models
