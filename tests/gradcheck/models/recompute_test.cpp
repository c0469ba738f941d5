// A forward pass that is run again in backward gives the bits of one whose activations were kept.
#include <gtest/gtest.h>

#include "gradcheck/models/decoder_fixture.h"

namespace primus::models {
namespace {

using test::Case;

struct Step {
  at::Tensor token_losses;
  std::vector<at::Tensor> gradients;
  std::vector<std::string> names;
};

Step step_of(const Case& c, spec::Dtype dtype, const spec::Recompute& recompute) {
  const nn::Routes routes;
  Decoder decoder(c.model, dtype, recompute);
  test::random_weights(decoder, dtype);
  Step step;
  step.token_losses =
      decoder.forward_backward(test::random_batch(c), test::make_context(routes, c.documents), c.loss_scale);
  for (const nn::Parameter* parameter : decoder.parameters()) {
    step.gradients.push_back(parameter->main_grad);
    step.names.push_back(parameter->name());
  }
  return step;
}

class Recomputation : public test::DecoderCases {};

TEST_P(Recomputation, ChangesNoBitOfLossesAndGradients) {
  for (const spec::Dtype dtype : {spec::Dtype::Float32, spec::Dtype::BFloat16}) {
    const Step kept = step_of(GetParam(), dtype, {});
    for (const spec::Recompute& recompute :
         {test::recomputed_blocks(), test::recomputed_parts(), test::recomputed_inner_parts()}) {
      const Step again = step_of(GetParam(), dtype, recompute);
      EXPECT_TRUE(at::equal(again.token_losses, kept.token_losses));
      for (size_t i = 0; i < kept.gradients.size(); ++i) {
        EXPECT_TRUE(at::equal(again.gradients[i], kept.gradients[i])) << kept.names[i];
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Options, Recomputation, testing::ValuesIn(test::all_cases()), test::name_of);

}  // namespace
}  // namespace primus::models
