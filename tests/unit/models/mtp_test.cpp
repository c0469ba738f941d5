// Case B097: predictions of further tokens are masked as the loss itself is.
#include <gtest/gtest.h>

#include "small_models.h"

namespace primus::models {
namespace {

struct Trained {
  std::vector<DepthLoss> depths;
  std::vector<at::Tensor> gradients;
};

// Two rows of eleven tokens; only an answer in the middle counts, what follows is padding of the given id.
Trained train(int64_t padding_id) {
  spec::Model model = small::plain();
  model.mtp = spec::MultiTokenPrediction{.depth = 1, .loss_scale = 0.3};
  const small::OneThread one_thread;
  Decoder decoder(model, spec::Dtype::Float32, {});
  decoder.initialise(7);
  for (nn::Parameter* parameter : decoder.parameters()) parameter->main_grad = at::zeros(parameter->shape());
  at::Tensor tokens = at::arange(24, at::kLong).view({2, 12}) % 29 + 1;
  tokens.narrow(1, 7, 5).fill_(padding_id);
  MicroBatch batch{.tokens = tokens.narrow(1, 0, 11).contiguous(),
                   .labels = tokens.narrow(1, 1, 11).contiguous(),
                   .weights = at::zeros({2, 11}),
                   .mean_of_its_own = true};
  batch.weights.narrow(1, 3, 3).fill_(1.0 / 6);  // labels at 4, 5 and 6: the last tokens that are no padding
  const nn::Routes routes;
  Trained trained;
  decoder.forward_backward(batch, {.routes = &routes, .training = true}, 1, &trained.depths);
  for (nn::Parameter* parameter : decoder.parameters()) trained.gradients.push_back(parameter->main_grad);
  return trained;
}

TEST(Mtp, PaddingHasNoPartInTheLossOrItsGradient) {
  const Trained one = train(0), other = train(23);
  ASSERT_EQ(one.depths.size(), 1U);
  EXPECT_EQ(one.depths[0].num_tokens, 6);  // the same labels, seen from one place further away
  EXPECT_EQ(one.depths[0].loss, other.depths[0].loss);
  for (size_t i = 0; i < one.gradients.size(); ++i) EXPECT_TRUE(at::equal(one.gradients[i], other.gradients[i])) << i;
}

}  // namespace
}  // namespace primus::models
