// `model logits` and `model grads` on the tiny checkpoints of every family, and three optimizer steps from there,
// against transformers (tests/golden/hf_models says which, how and with which noise).
#include <gmock/gmock.h>
#include <sstream>

#include "support/tiny_run.h"

#include "primus/optim/optimizer.h"
#include "primus/run/commands.h"
#include "primus/run/model_session.h"

namespace primus::run {
namespace {

using Tensors = std::map<std::string, at::Tensor>;

// Right fp32 arithmetic lies within 3e-6 of the reference; a wrong formula is off by thousands of that.
constexpr double kLogits = 1e-5, kGradients = 2e-5, kLosses = 1e-5;

const fs::path kCases = "tests/golden/hf_models";

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kCases))
    if (fs::exists(entry.path() / "expected.safetensors")) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// Those with gradients: the reference has none of numbers in blocks.
bool is_trained(const std::string& name) {
  return !name.ends_with("_fp8") && !name.ends_with("_mxfp4");
}

std::vector<std::string> trained_case_names() {
  std::vector<std::string> names = case_names();
  std::erase_if(names, [](const std::string& name) { return !is_trained(name); });
  return names;
}

double largest(const at::Tensor& values) {
  return values.abs().max().item<double>();
}

double distance(const at::Tensor& found, const at::Tensor& wanted) {
  return largest(found.to(at::kDouble) - wanted.to(at::kDouble));
}

class HfModel : public testing::TestWithParam<std::string> {
 protected:
  fs::path folder() const { return kCases / GetParam(); }
  std::string tokens() const { return (folder() / "tokens.json").string(); }

  Tensors computed(const std::string& action) const {
    const std::string output = testing::TempDir() + "/hf_model_" + action + ".safetensors";
    std::ostringstream out, err;
    cli::Context context{.out = &out, .err = &err};
    context.arguments = {action, "--hf", folder().string(), "--tokens", tokens(), "--output", output};
    EXPECT_EQ(run_model_computation(context), ExitCode::Ok) << err.str();
    EXPECT_THAT(err.str(), testing::HasSubstr("missing 0"));
    return test::read_safetensors(output);
  }
};

class TrainedHfModel : public HfModel {};

TEST_P(HfModel, HasTheLogitsOfTheReference) {
  const Tensors wanted = test::read_safetensors((folder() / "expected.safetensors").string());
  const Tensors found = computed("logits");
  ASSERT_EQ(found.at("logits").sizes(), wanted.at("logits").sizes());
  EXPECT_LT(distance(found.at("logits"), wanted.at("logits")), kLogits * largest(wanted.at("logits")));
  EXPECT_NEAR(found.at("loss").item<double>(), wanted.at("loss").item<double>(), kLosses);
}

// A gradient that is zero in truth (a key bias shifts all scores of a query alike, where nothing turns the keys) is
// noise on both sides: it is held against the largest gradient of the model instead.
TEST_P(TrainedHfModel, HasEveryGradientOfTheReference) {
  const Tensors wanted = test::read_safetensors((folder() / "expected.safetensors").string());
  std::vector<std::string> names;
  double top = 0;
  for (const auto& [name, tensor] : wanted) {
    if (!name.starts_with("grad.")) continue;
    names.push_back(name);
    top = std::max(top, largest(tensor));
  }
  ASSERT_FALSE(names.empty());
  Tensors found = computed("grads");
  EXPECT_NEAR(found.at("loss").item<double>(), wanted.at("loss").item<double>(), kLosses);
  found.erase("loss");
  std::vector<std::string> mine;
  for (const auto& [name, tensor] : found) mine.push_back(name);
  ASSERT_THAT(mine, testing::UnorderedElementsAreArray(names));
  for (const std::string& name : names) {
    ASSERT_EQ(found.at(name).sizes(), wanted.at(name).sizes()) << name;
    const double size = std::max(largest(wanted.at(name)), 1e-3 * top);
    EXPECT_LT(distance(found.at(name), wanted.at(name)), kGradients * size) << name;
  }
}

// What reference.py does: lr 1e-2, betas 0.9 and 0.95, decay 0.1 of every stored tensor with two dims or more. Biases
// of experts are stored stacked, so they decay.
TEST_P(TrainedHfModel, HasTheLossesOfThreeOptimizerSteps) {
  const Tensors wanted = test::read_safetensors((folder() / "expected.safetensors").string());
  std::ostringstream err;
  cli::Context context{.out = &err, .err = &err};
  ModelSession session = open_model({.source = {.hf = folder().string()}}, context, /*with_tokenizer=*/false);
  models::Decoder& decoder = *session.decoder;
  std::vector<nn::Parameter*> plain, expert_biases;
  for (nn::Parameter* parameter : decoder.parameters()) {
    parameter->main_grad = at::zeros(parameter->shape(), at::kFloat);
    const bool stacked = parameter->is_vector() && parameter->name().find(".expert.") != std::string::npos;
    (stacked ? expert_biases : plain).push_back(parameter);
  }
  spec::Optimizer rules{.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8};
  optim::Optimizer optimizer(plain, rules);
  rules.decay_vectors = true;
  optim::Optimizer of_biases(expert_biases, rules);
  const models::MicroBatch batch = next_token_batch(read_token_rows(tokens(), decoder.spec()));
  for (int64_t step = 0; step < 4; ++step) {
    for (nn::Parameter* parameter : decoder.parameters()) parameter->main_grad.zero_();
    const at::Tensor token_loss = decoder.forward_backward(batch, session.context());
    const double loss = (token_loss.to(at::kDouble) * batch.weights).sum().item<double>();
    EXPECT_NEAR(loss, wanted.at("losses")[step].item<double>(), 1e-4) << "step " << step;
    const optim::UpdateInputs inputs{.lr = 1e-2, .embedding_and_head_lr = 1e-2, .weight_decay = 0.1};
    optimizer.update(inputs);
    of_biases.update(inputs);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, HfModel, testing::ValuesIn(case_names()), [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Cases, TrainedHfModel, testing::ValuesIn(trained_case_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace primus::run
