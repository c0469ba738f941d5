// Gradients of every parameter of the decoder, for every option of a layer, against libtorch's autograd on a plain
// decoder in double (reference_decoder.h).
#include <functional>
#include <gtest/gtest.h>

#include "gradcheck/models/reference_decoder.h"

#include "primus/models/decoder.h"

namespace primus::models {
namespace {

constexpr int64_t kBatch = 3, kTokens = 19, kVocab = 37, kPositions = 23;

spec::Model llama() {
  spec::LayerSpec layer;
  layer.attention = {
      .num_heads = 6, .num_kv_heads = 2, .head_dim = 10, .softmax_scale = 0.29, .rope = spec::Rope{.base = 500}};
  layer.mlp = {.ffn_size = 44};
  spec::Model model;
  model.hidden_size = 28;
  model.vocab_size = model.padded_vocab_size = kVocab;
  model.max_positions = kPositions;
  model.layers.assign(3, layer);
  model.init = {.std = 0.3, .embedding_std = 0.9, .residual_output_std = 0.2};
  return model;
}

spec::Model gpt2() {
  spec::Model model = llama();
  model.learned_positions = true;
  model.tied_embeddings = true;
  for (spec::LayerSpec& layer : model.layers) {
    layer.input_norm.kind = layer.post_attention_norm.kind = spec::NormKind::LayerNorm;
    layer.attention = {
        .num_heads = 4, .num_kv_heads = 4, .head_dim = 7, .qkv_bias = true, .out_bias = true, .softmax_scale = 0.4};
    layer.mlp = {.ffn_size = 53, .activation = spec::Activation::Gelu, .gated = false, .bias = true};
  }
  model.final_norm.kind = spec::NormKind::LayerNorm;
  return model;
}

struct Case {
  std::string name;
  spec::Model model;
  spec::Recompute recompute = {};
  bool documents = false;  // attention stays inside documents, positions start again
  double loss_scale = 1;

  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

spec::Model changed(spec::Model model, const std::function<void(spec::Model&, spec::LayerSpec&)>& change) {
  for (spec::LayerSpec& layer : model.layers) change(model, layer);
  return model;
}

std::vector<Case> cases() {
  using M = spec::Model;
  using L = spec::LayerSpec;
  const auto dropout = [](M& m, L& l) {
    m.embedding_dropout = 0.3;
    l.hidden_dropout = 0.2;
    l.attention.dropout = 0.25;
  };
  M uneven = llama();  // every layer its own shape, one without rotary positions
  uneven.layers[0].mlp.ffn_size = 31;
  uneven.layers[1].attention.rope.reset();
  uneven.layers[1].mlp.activation = spec::Activation::Gelu;
  uneven.layers[2].attention.num_kv_heads = 3;
  M bases = llama();  // rotary tables differ from layer to layer
  bases.layers[1].attention.rope->base = 7;
  bases.layers[2].attention.rope->fraction = 0.4;
  const spec::Recompute blocks = {.kind = spec::RecomputeKind::Full, .layer_ids = {0, 1, 2}, .layers_per_block = 2};
  const spec::Recompute parts = {.kind = spec::RecomputeKind::Selective, .modules = {"core_attn", "mlp"}};
  return {
      {"Llama", llama()},
      {"LlamaTied", changed(llama(), [](M& m, L&) { m.tied_embeddings = true; })},
      {"Gpt2", gpt2()},
      {"Gpt2Untied", changed(gpt2(), [](M& m, L&) { m.tied_embeddings = false; })},
      {"OneKeyHead", changed(llama(), [](M&, L& l) { l.attention.num_kv_heads = 1; })},
      {"GatedGeluWithBias",
       changed(llama(),
               [](M&, L& l) { l.mlp = {.ffn_size = 41, .activation = spec::Activation::Gelu, .bias = true}; })},
      {"QuickGelu",
       changed(llama(),
               [](M&, L& l) { l.mlp = {.ffn_size = 41, .activation = spec::Activation::QuickGelu, .gated = false}; })},
      {"GeluTanh", changed(gpt2(), [](M&, L& l) { l.mlp.activation = spec::Activation::GeluTanh; })},
      {"SquaredRelu", changed(gpt2(), [](M&, L& l) { l.mlp.activation = spec::Activation::SquaredRelu; })},
      {"GatedSquaredRelu", changed(llama(), [](M&, L& l) { l.mlp.activation = spec::Activation::SquaredRelu; })},
      {"QkvBiasOnly", changed(llama(), [](M&, L& l) { l.attention.qkv_bias = true; })},
      {"OutBiasOnly", changed(llama(), [](M&, L& l) { l.attention.out_bias = true; })},
      {"ZeroCentredRmsNorm", changed(llama(),
                                     [](M& m, L& l) {
                                       m.final_norm.zero_centered_gain = l.input_norm.zero_centered_gain =
                                           l.post_attention_norm.zero_centered_gain = true;
                                     })},
      {"ZeroCentredLayerNorm", changed(gpt2(),
                                       [](M& m, L& l) {
                                         m.final_norm.zero_centered_gain = l.input_norm.zero_centered_gain =
                                             l.post_attention_norm.zero_centered_gain = true;
                                       })},
      {"LargeNormEpsilons", changed(llama(),
                                    [](M& m, L& l) {
                                      m.final_norm.eps = 0.7;
                                      l.input_norm.eps = 0.3;
                                      l.post_attention_norm.eps = 0.5;
                                    })},
      {"InterleavedPartialRope", changed(llama(),
                                         [](M&, L& l) {
                                           l.attention.rope->interleaved = true;
                                           l.attention.rope->fraction = 0.6;
                                         })},
      {"Llama3RopeScaling",
       changed(llama(),
               [](M&, L& l) {
                 l.attention.rope->llama3 = spec::Llama3RopeScaling{
                     .factor = 4, .low_freq_factor = 1, .high_freq_factor = 3, .original_max_positions = 40};
               })},
      {"QkNorm", changed(llama(), [](M&, L& l) { l.attention.qk_norm = spec::QkNorm{.norm = {.eps = 0.2}}; })},
      {"QkNormZeroCentredWithRecomputation",
       changed(llama(),
               [](M&, L& l) {
                 l.attention.qk_norm = spec::QkNorm{.norm = {.eps = 0.1, .zero_centered_gain = true}};
                 l.attention.qkv_bias = true;
               }),
       blocks},
      {"ScaledEmbeddingsAndLogits", changed(gpt2(),
                                            [](M& m, L&) {
                                              m.embedding_multiplier = 2.5;
                                              m.logit_multiplier = 0.3;
                                              m.embedding_dropout = 0.2;
                                            })},
      {"LayersOfManyShapes", uneven},
      {"LayersOfManyRopes", bases},
      {"Documents", llama(), {}, true},
      {"DocumentsWithLearnedPositions", gpt2(), {}, true},
      {"Dropout", changed(llama(), dropout)},
      {"DropoutInDocuments", changed(gpt2(), dropout), {}, true},
      {"Fp32Residual", changed(llama(), [](M& m, L&) { m.fp32_residual = true; })},
      {"LossScale", llama(), {}, false, 1024},
      {"FullRecomputation", changed(llama(), dropout), blocks, true},
      {"FullRecomputationFp32Residual",
       changed(gpt2(),
               [&](M& m, L& l) {
                 dropout(m, l);
                 m.fp32_residual = true;
               }),
       blocks},
      {"SelectiveRecomputation", changed(gpt2(), dropout), parts, true, 64},
  };
}

// Weights that shout (also gains and biases), the same in the decoder and as double leaves.
test::Weights random_weights(Decoder& decoder, spec::Dtype dtype) {
  test::Weights weights;
  uint64_t seed = 100;
  for (nn::Parameter* parameter : decoder.parameters()) {
    at::manual_seed(++seed);
    parameter->allocate(dtype);
    const double size = parameter->is_vector() ? 0.4 : parameter->name() == "embed.weight" ? 0.9 : 0.25;
    parameter->master.normal_(0, size);
    if (parameter->is_vector()) parameter->master.add_(0.6);
    if (dtype != spec::Dtype::Float32) parameter->master.copy_(parameter->master.to(nn::to_torch(dtype)));
    parameter->refresh_compute();
    parameter->main_grad = at::zeros(parameter->shape(), at::kFloat);
    int64_t row = 0;
    for (const nn::Piece& piece : parameter->pieces()) {
      weights[piece.name] = parameter->master.narrow(0, row, piece.num_rows).to(at::kDouble).requires_grad_(true);
      row += piece.num_rows;
    }
  }
  return weights;
}

MicroBatch random_batch() {
  at::manual_seed(7);
  MicroBatch batch;
  batch.tokens = at::randint(kVocab, {kBatch, kTokens}, at::kLong);
  batch.labels = at::randint(kVocab, {kBatch, kTokens}, at::kLong);
  batch.weights = at::rand({kBatch, kTokens}) * 0.2;
  batch.weights[1].slice(0, 3, 9).zero_();
  return batch;
}

nn::Context make_context(const nn::Routes& routes, bool documents) {
  nn::Context context;
  context.routes = &routes;
  context.training = true;
  context.seed = 41;
  context.step = 6;
  context.sample_index = at::tensor({5, 6, 11}, at::kLong);
  if (!documents) return context;
  context.positions = at::empty({kBatch, kTokens}, at::kLong);
  context.document_start = at::empty({kBatch, kTokens}, at::kInt);
  for (int64_t b = 0; b < kBatch; ++b) {
    for (int64_t t = 0; t < kTokens; ++t) {
      const int64_t start = b == 0 ? (t >= 8 ? 8 : t >= 1 ? 1 : 0) : b == 1 ? 0 : t - t % 6;
      context.document_start[b][t] = static_cast<int32_t>(start);
      context.positions[b][t] = t - start;
    }
  }
  return context;
}

double relative_error(const at::Tensor& found, const at::Tensor& wanted) {
  return ((found.to(at::kDouble) - wanted).norm() / (wanted.norm() + 1e-30)).item<double>();
}

// noise_floor: share of the whole gradient's length that is added to the length of each wanted one, so that the
// rounding of a large gradient is not held against a small one behind it (queries and keys of an attention that hardly
// chooses).
void check(const Case& c, spec::Dtype dtype, double tolerance, double noise_floor) {
  const nn::Routes routes;
  Decoder decoder(c.model, dtype, c.recompute);
  test::Weights weights = random_weights(decoder, dtype);
  const nn::Context context = make_context(routes, c.documents);
  const MicroBatch batch = random_batch();
  const at::Tensor token_losses = decoder.forward_backward(batch, context, c.loss_scale);

  const test::ReferenceDecoder reference(c.model, weights, context);
  const at::Tensor wanted = reference.token_losses(batch.tokens, batch.labels);
  (wanted * batch.weights.to(at::kDouble)).sum().backward();
  EXPECT_LT(relative_error(token_losses, wanted.detach()), tolerance);
  double square = 0;
  for (const auto& [name, leaf] : weights) square += leaf.grad().square().sum().item<double>();
  const double floor = noise_floor * std::sqrt(square) + 1e-30;
  for (nn::Parameter* parameter : decoder.parameters()) {
    int64_t row = 0;
    for (const nn::Piece& piece : parameter->pieces()) {
      const at::Tensor gradient = parameter->main_grad.narrow(0, row, piece.num_rows).to(at::kDouble) / c.loss_scale;
      const at::Tensor expected = weights.at(piece.name).grad();
      row += piece.num_rows;
      // The key bias shifts all scores of a query alike: its true gradient is zero, and only noise is left.
      const bool is_zero = expected.norm().item<double>() < 1e-9;
      if (is_zero) {
        EXPECT_LT(gradient.norm().item<double>(), tolerance) << piece.name;
      } else {
        EXPECT_LT((gradient - expected).norm().item<double>() / (expected.norm().item<double>() + floor), tolerance)
            << piece.name;
      }
    }
  }
}

class DecoderGradient : public testing::TestWithParam<Case> {};

TEST_P(DecoderGradient, OfEveryParameterEqualsAutogradInDouble) {
  check(GetParam(), spec::Dtype::Float32, 2e-5, 0);
}

// Loud weights make the rounding of activations loud too; a wrong formula is off by far more.
TEST_P(DecoderGradient, IsCloseInBf16) {
  check(GetParam(), spec::Dtype::BFloat16, 0.2, 0.05);
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Options, DecoderGradient, testing::ValuesIn(cases()), name_of);

TEST(Decoder, GivesTheLogitsOfTheLastPosition) {
  const nn::Routes routes;
  for (const spec::Model& model : {llama(), gpt2()}) {
    Decoder decoder(model, spec::Dtype::Float32, {});
    test::Weights weights = random_weights(decoder, spec::Dtype::Float32);
    nn::Context context;
    context.routes = &routes;
    const at::Tensor tokens = random_batch().tokens.narrow(1, 0, 13).contiguous();
    const at::Tensor wanted = test::ReferenceDecoder(model, weights, context).logits(tokens).select(1, 12).detach();
    EXPECT_LT(relative_error(decoder.last_logits(tokens, context), wanted), 1e-5);
  }
}

TEST(Decoder, AddsTheGradientsOfMicroBatches) {
  const nn::Routes routes;
  Decoder decoder(gpt2(), spec::Dtype::Float32, {});
  random_weights(decoder, spec::Dtype::Float32);
  const nn::Context context = make_context(routes, false);
  const MicroBatch batch = random_batch();
  decoder.forward_backward(batch, context);
  std::vector<at::Tensor> once;
  for (const nn::Parameter* parameter : decoder.parameters()) once.push_back(parameter->main_grad.clone());
  decoder.forward_backward(batch, context);
  for (size_t i = 0; i < once.size(); ++i) {
    EXPECT_LT(relative_error(decoder.parameters()[i]->main_grad, 2 * once[i].to(at::kDouble)), 1e-6)
        << decoder.parameters()[i]->name();
  }
}

}  // namespace
}  // namespace primus::models
