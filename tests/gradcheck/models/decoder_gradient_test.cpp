// Gradients of every parameter of the decoder, for every option of a layer, against libtorch's autograd on a plain
// decoder in double (reference_decoder.h).
#include <gtest/gtest.h>

#include "gradcheck/models/decoder_fixture.h"
#include "gradcheck/models/reference_decoder.h"

namespace primus::models {
namespace {

using test::Case;

// noise_floor: share of the whole gradient's length that is added to the length of each wanted one, so that the
// rounding of a large gradient is not held against a small one behind it (queries and keys of an attention that hardly
// chooses).
void check(const Case& c, spec::Dtype dtype, double tolerance, double noise_floor) {
  const nn::Routes routes;
  Decoder decoder(c.model, dtype, c.recompute);
  test::Weights weights = test::random_weights(decoder, dtype);
  const nn::Context context = test::make_context(routes, c.documents);
  const MicroBatch batch = test::random_batch(c);
  nn::Context scaled = context;
  scaled.auxiliary_loss_scale = c.loss_scale;
  const at::Tensor token_losses = decoder.forward_backward(batch, scaled, c.loss_scale);

  test::ReferenceDecoder reference(c.model, weights, context);
  reference.total_loss(batch).backward();
  EXPECT_LT(test::relative_error(token_losses, reference.token_losses().detach()), tolerance);
  double square = 0;
  for (const auto& [name, leaf] : weights) {
    if (leaf.grad().defined()) square += leaf.grad().square().sum().item<double>();
  }
  const double floor = noise_floor * std::sqrt(square) + 1e-30;
  for (nn::Parameter* parameter : decoder.parameters()) {
    int64_t row = 0;
    for (const nn::Piece& piece : parameter->pieces()) {
      const at::Tensor gradient = parameter->main_grad.narrow(0, row, piece.num_rows).to(at::kDouble) / c.loss_scale;
      const at::Tensor expected = weights.at(piece.name).grad();
      row += piece.num_rows;
      ASSERT_TRUE(expected.defined()) << piece.name << " is not in the reference's graph";
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

class DecoderGradient : public test::DecoderCases {};

TEST_P(DecoderGradient, OfEveryParameterEqualsAutogradInDouble) {
  check(GetParam(), spec::Dtype::Float32, 2e-5, 0);
}

// Loud weights make the rounding of activations loud too; a wrong formula is off by far more.
TEST_P(DecoderGradient, IsCloseInBf16) {
  check(GetParam(), spec::Dtype::BFloat16, GetParam().bf16_tolerance, 0.05);
}

INSTANTIATE_TEST_SUITE_P(Options, DecoderGradient, testing::ValuesIn(test::all_cases()), test::name_of);

class DecoderLogits : public test::DecoderCases {};

TEST_P(DecoderLogits, EqualThoseOfThePlainDecoder) {
  const Case& c = GetParam();
  const nn::Routes routes;
  Decoder decoder(c.model, spec::Dtype::Float32, {});
  test::Weights weights = test::random_weights(decoder, spec::Dtype::Float32);
  nn::Context context;
  context.routes = &routes;
  const at::Tensor tokens = test::random_batch(c).tokens.narrow(1, 0, 13).contiguous();
  const at::Tensor wanted = test::ReferenceDecoder(c.model, weights, context).logits(tokens).detach();
  EXPECT_LT(test::relative_error(decoder.logits(tokens, context), wanted), 1e-5);
  EXPECT_LT(test::relative_error(decoder.last_logits(tokens, context), wanted.select(1, 12)), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Options, DecoderLogits, testing::ValuesIn(test::all_cases()), test::name_of);

TEST(Decoder, AddsTheGradientsOfMicroBatches) {
  const nn::Routes routes;
  const Case c = {"Gpt2", test::gpt2()};
  Decoder decoder(c.model, spec::Dtype::Float32, {});
  test::random_weights(decoder, spec::Dtype::Float32);
  const nn::Context context = test::make_context(routes, false);
  const MicroBatch batch = test::random_batch(c);
  decoder.forward_backward(batch, context);
  std::vector<at::Tensor> once;
  for (const nn::Parameter* parameter : decoder.parameters()) once.push_back(parameter->main_grad.clone());
  decoder.forward_backward(batch, context);
  for (size_t i = 0; i < once.size(); ++i) {
    EXPECT_LT(test::relative_error(decoder.parameters()[i]->main_grad, 2 * once[i].to(at::kDouble)), 1e-6)
        << decoder.parameters()[i]->name();
  }
}

}  // namespace
}  // namespace primus::models
