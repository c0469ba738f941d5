// Names, counts and initial values of the parameters; what a forward pass without gradients returns.
#include "primus/models/decoder.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/models/small_models.h"

#include "primus/spec/model_size.h"

namespace primus::models {
namespace {

spec::Model small_model() {
  spec::Model model = small::plain();
  model.init = {.std = 0.2, .embedding_std = 0.7, .residual_output_std = 0.01};
  return model;
}

std::vector<std::string> names_of(Decoder& decoder, const std::string& prefix) {
  std::vector<std::string> names;
  for (const nn::Parameter* parameter : decoder.parameters()) {
    for (const nn::Piece& piece : parameter->pieces()) {
      if (piece.name.starts_with(prefix)) names.push_back(piece.name.substr(prefix.size()));
    }
  }
  return names;
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

TEST(Decoder, NamesWhatOtherKindsOfLayersHave) {
  spec::Model model = small_model();
  spec::LayerSpec& latent = model.layers[0];
  small::make_latent(latent, 5, 10);
  latent.attention.sink = spec::Sink::Learned;
  latent.attention.qkv_bias = latent.attention.out_bias = true;
  latent.attention_output_norm = latent.mlp_output_norm = spec::Norm{};
  spec::LayerSpec& gated = model.layers[1];
  gated.norms_in_front = false;
  gated.attention.output_gate = gated.attention.qkv_bias = true;
  small::make_mixture(gated);
  gated.moe->num_experts = 2;
  model.mtp = spec::MultiTokenPrediction{.depth = 2};
  Decoder decoder(model, spec::Dtype::Float32, {});
  EXPECT_THAT(names_of(decoder, "layer.0."),
              testing::ElementsAre("attn_norm.weight", "attn.q_a.weight", "attn.q_a.bias", "attn.q_a_norm.weight",
                                   "attn.q_b.weight", "attn.kv_a.weight", "attn.kv_a.bias", "attn.kv_a_norm.weight",
                                   "attn.kv_b.weight", "attn.sinks", "attn.o.weight", "attn.o.bias",
                                   "attn_post_norm.weight", "mlp_norm.weight", "mlp.gate.weight", "mlp.up.weight",
                                   "mlp.down.weight", "mlp_post_norm.weight"));
  const std::vector<std::string> last = names_of(decoder, "layer.1.");
  EXPECT_THAT(last, testing::ElementsAre("attn.q.weight", "attn.k.weight", "attn.v.weight", "attn.q.bias",
                                         "attn.k.bias", "attn.v.bias", "attn.gate.weight", "attn.gate.bias",
                                         "attn.o.weight", "moe.router.weight", "moe.expert.0.gate.weight",
                                         "moe.expert.0.up.weight", "moe.expert.1.gate.weight", "moe.expert.1.up.weight",
                                         "moe.expert.0.down.weight", "moe.expert.1.down.weight",
                                         "moe.shared.gate.weight", "moe.shared.up.weight", "moe.shared.down.weight"));
  EXPECT_EQ(names_of(decoder, "mtp.1.layer."), last);
  std::vector<std::string> depth = {"enorm.weight", "hnorm.weight", "proj.weight"};
  for (const std::string& name : last) depth.push_back("layer." + name);
  depth.push_back("final_norm.weight");
  EXPECT_EQ(names_of(decoder, "mtp.0."), depth);
  std::vector<std::string> buffers;
  for (const Buffer& buffer : decoder.buffers()) buffers.push_back(buffer.name);
  EXPECT_THAT(buffers, testing::ElementsAre("layer.1.moe.router.score_bias", "mtp.0.layer.moe.router.score_bias",
                                            "mtp.1.layer.moe.router.score_bias"));
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
  model.mtp = spec::MultiTokenPrediction{.depth = 2};  // in front the layers' norms, behind the final one
  expect_counted(model);
  model.mtp.reset();
  model.final_norm.kind = spec::NormKind::LayerNorm;
  expect_counted(model);
  for (const auto& [kind, other] : small::all_kinds()) {
    SCOPED_TRACE(kind);
    expect_counted(other);
    spec::Model more = other;
    more.mtp = spec::MultiTokenPrediction{.depth = 2};
    for (spec::LayerSpec& layer : more.layers) {
      layer.attention.qkv_bias = layer.attention.out_bias = true;
      layer.mlp_output_norm = spec::Norm{};
    }
    expect_counted(more);
    more.layers.back().norms_in_front = false;
    expect_counted(more);
  }
}

// Case B123: key heads, head width, gated products and active experts are those of the layers, never four times hidden.
TEST(Decoder, HasTheProductsThatTheFlopsFormulaCounts) {
  constexpr int64_t kLength = 128;
  spec::Model model;
  model.hidden_size = 64;
  model.vocab_size = model.padded_vocab_size = 1000;
  spec::LayerSpec dense;
  dense.attention = {.num_heads = 4, .num_kv_heads = 2, .head_dim = 32, .softmax_scale = 0.2, .rope = spec::Rope{}};
  dense.mlp = {.ffn_size = 96};
  spec::LayerSpec mixture = dense;
  mixture.moe = spec::Moe{.num_experts = 8, .top_k = 2, .shared_ffn_size = 40};
  mixture.moe->expert.ffn_size = 48;
  model.layers = {dense, mixture};
  Decoder decoder(model, spec::Dtype::Float32, {});
  double multiply_adds = 0;  // of one token, forward
  for (const nn::Parameter* parameter : decoder.parameters()) {
    const std::string& name = parameter->name();
    if (parameter->is_vector() || name == "embed.weight" || name.ends_with("router.weight")) continue;  // not counted
    const double share = name.find(".expert.") != std::string::npos ? 2.0 / 8 : 1;
    multiply_adds += share * static_cast<double>(parameter->num_elements());
  }
  multiply_adds += 2 * (4 * 32) * 2 * (kLength / 2);  // two layers, queries by keys and weights by values, causal half
  EXPECT_DOUBLE_EQ(spec::flops_per_token(model, kLength), 6 * multiply_adds);
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

// What data-parallel ranks wait for: a parameter that is used twice speaks twice.
TEST(Decoder, ExpectsAsManyGradientsOfAParameterAsItHasUses) {
  const small::OneThread one_thread;
  EXPECT_THAT(Decoder(small_model(), spec::Dtype::Float32, {}).gradient_contributions(), testing::Each(1));
  std::vector<spec::Model> models;
  for (const auto& [kind, model] : small::all_kinds()) models.push_back(model);
  for (const bool tied : {true, false}) {
    for (const int64_t depth : {0, 1, 2}) {
      spec::Model model = small_model();
      model.tied_embeddings = tied;
      if (depth > 0) model.mtp = spec::MultiTokenPrediction{.depth = depth};
      models.push_back(model);
    }
  }
  const nn::Routes routes;
  nn::Context context;
  context.routes = &routes;
  at::manual_seed(3);
  const at::Tensor tokens = at::randint(31, {2, 9}, at::kLong);
  for (const spec::Model& model : models) {
    for (const spec::RecomputeKind kind : {spec::RecomputeKind::None, spec::RecomputeKind::Full}) {
      Decoder decoder(model, spec::Dtype::Float32, {.kind = kind, .layer_ids = {0, 1, 2, 3}});
      decoder.initialise(1);
      const std::vector<nn::Parameter*> parameters = decoder.parameters();
      std::vector<int> counted(parameters.size(), 0);
      for (size_t i = 0; i < parameters.size(); ++i) {
        parameters[i]->main_grad = at::zeros(parameters[i]->shape());
        parameters[i]->on_gradient = [&counted, i](nn::Parameter&) { ++counted[i]; };
      }
      decoder.forward_backward({tokens, tokens, at::ones({2, 9})}, context);
      EXPECT_EQ(counted, decoder.gradient_contributions());
    }
  }
}

TEST(Decoder, TellsTheLossOfEveryPredictionDepth) {
  spec::Model model = small_model();
  model.init.std = 0;  // every token is as likely as any other
  model.mtp = spec::MultiTokenPrediction{.depth = 2};
  Decoder decoder(model, spec::Dtype::Float32, {});
  decoder.initialise(1);
  for (nn::Parameter* parameter : decoder.parameters()) parameter->main_grad = at::zeros(parameter->shape());
  const nn::Routes routes;
  nn::Context context;
  context.routes = &routes;
  const at::Tensor tokens = at::randint(31, {2, 9}, at::kLong);
  at::Tensor weights = at::ones({2, 9});
  weights[1].slice(0, 2, 6).zero_();
  std::vector<DepthLoss> depths;
  decoder.forward_backward({tokens, tokens, weights}, context, 1, &depths);
  ASSERT_EQ(depths.size(), 2U);
  EXPECT_EQ(depths[0].num_tokens, 8 + 4);
  EXPECT_EQ(depths[1].num_tokens, 7 + 3);
  for (const DepthLoss& depth : depths) EXPECT_NEAR(depth.loss / depth.num_tokens, std::log(31.0), 1e-5);
}

TEST(Decoder, NeverTrainsThePaddingRow) {
  spec::Model model = small_model();
  model.padding_id = 6;
  Decoder decoder(model, spec::Dtype::Float32, {});
  decoder.initialise(1);
  for (nn::Parameter* parameter : decoder.parameters()) parameter->main_grad = at::zeros(parameter->shape());
  const nn::Routes routes;
  nn::Context context;
  context.routes = &routes;
  const at::Tensor tokens = at::arange(5, 9, at::kLong).view({1, 4});
  decoder.forward_backward({tokens, tokens, at::ones({1, 4})}, context);
  const at::Tensor gradient = decoder.parameters().front()->main_grad.abs().sum(1);
  EXPECT_EQ(gradient[6].item<float>(), 0);
  EXPECT_GT(gradient[5].item<float>(), 0);
  EXPECT_GT(gradient[7].item<float>(), 0);
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
