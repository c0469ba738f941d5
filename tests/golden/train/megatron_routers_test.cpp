// Routers against megatron-core's (tests/golden/megatron_core/make_routers.py says version and command): probabilities,
// gradients of the logits, auxiliary losses over the micro-batches of a step, drops and the move of the score bias.
#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/tiny_run.h"

#include "primus/base/json.h"
#include "primus/nn/router.h"
#include "primus/train/step.h"

namespace primus::nn {
namespace {

const std::string kRouters = "tests/golden/megatron_core/routers";

Json router_cases() {
  return value_or_throw(parse_json(value_or_throw(read_text_file(kRouters + ".json")), "golden"))["cases"];
}

template <typename T>
T option(const Json& options, const char* name, T otherwise) {
  return options.contains(name) ? options[name].get<T>() : otherwise;
}

void set_balance(const std::string& type, double coefficient, spec::Router& router) {
  using S = spec::BalanceScope;
  if (type == "sinkhorn") router.sinkhorn = true;
  if (type == "aux_loss") router.balance_losses.push_back({S::MicroBatch, coefficient});
  if (type == "seq_aux_loss") router.balance_losses.push_back({S::Sequence, coefficient});
  if (type == "global_aux_loss") router.balance_losses.push_back({S::GlobalBatch, coefficient});
}

// Megatron's names as the megatron dialect reads them.
spec::Moe described(const Json& c) {
  const Json& o = c["options"];
  spec::Moe moe;
  moe.num_experts = c["experts"].get<int64_t>();
  moe.top_k = c["top_k"].get<int64_t>();
  spec::Router& r = moe.router;
  const auto score = option<std::string>(o, "moe_router_score_function", "softmax");
  r.score = score == "sigmoid"        ? spec::RouterScore::Sigmoid
            : score == "sqrtsoftplus" ? spec::RouterScore::SqrtSoftplus
                                      : spec::RouterScore::Softmax;
  r.normalise_over_all = option(o, "moe_router_pre_softmax", false);
  r.renormalise = score != "softmax" && moe.top_k > 1;
  r.scale = option(o, "moe_router_topk_scaling_factor", 1.0);
  r.z_loss = option(o, "moe_z_loss_coeff", 0.0);
  if (o.contains("moe_router_num_groups")) {
    const auto top_groups = o["moe_router_group_topk"].get<int64_t>();
    r.groups = spec::GroupLimit{.num_groups = o["moe_router_num_groups"].get<int64_t>(),
                                .top_groups = top_groups,
                                .sum_of = moe.top_k / top_groups};
  }
  if (option(o, "moe_router_enable_expert_bias", false))
    r.expert_bias = spec::ExpertBias{.update_rate = o["moe_router_bias_update_rate"].get<double>()};
  if (o.contains("moe_router_load_balancing_type")) {
    const Json& types = o["moe_router_load_balancing_type"];
    if (types.is_array()) {
      for (size_t i = 0; i < types.size(); ++i)
        set_balance(types[i].get<std::string>(), o["moe_aux_loss_coeff"][i].get<double>(), r);
    } else {
      set_balance(types.get<std::string>(), option(o, "moe_aux_loss_coeff", 0.0), r);
    }
  }
  if (o.contains("moe_expert_capacity_factor")) {
    const bool last = option<std::string>(o, "moe_token_drop_policy", "probs") == "position";
    moe.capacity = spec::Capacity{o["moe_expert_capacity_factor"].get<double>(),
                                  option(o, "moe_pad_expert_input_to_capacity", false),
                                  last ? spec::DropPolicy::LastPosition : spec::DropPolicy::LowestProbability};
  }
  return moe;
}

std::vector<std::string> router_case_names() {
  std::vector<std::string> names;
  const Json cases = router_cases();
  for (const auto& [name, c] : cases.items()) names.push_back(name);
  return names;
}

double relative_error(const at::Tensor& actual, const at::Tensor& expected) {
  return (actual - expected).abs().max().item<double>() / std::max(1e-6, expected.abs().max().item<double>());
}

class MegatronRouters : public testing::TestWithParam<std::string> {
 protected:
  at::Tensor recorded(const std::string& name) const { return tensors_.at(GetParam() + "." + name); }
  // Megatron's rows are [t, b]; ours [b, t].
  at::Tensor recorded_bte(int64_t batch, const std::string& name) const {
    const at::Tensor x_tbe = recorded(fmt::format("{}.x", batch));
    return recorded(fmt::format("{}.{}", batch, name)).view(x_tbe.sizes()).transpose(0, 1).contiguous();
  }
  void compare_micro_batch(Router& router, const spec::Moe& moe, int64_t batch);

  const std::map<std::string, at::Tensor> tensors_ = test::read_safetensors(kRouters + ".safetensors");
  Routes routes_;
  Context context_;
};

void MegatronRouters::compare_micro_batch(Router& router, const spec::Moe& moe, int64_t batch) {
  const at::Tensor x = recorded_bte(batch, "x").requires_grad_(true), cotangent = recorded_bte(batch, "cotangent");
  const Routing routing = router.route(x, context_);
  at::Tensor weights = routing.weights;
  at::Tensor kept = at::ones_like(weights);
  if (routing.keep.defined()) kept = routing.keep.to(at::kFloat);
  const at::Tensor zeros = at::zeros({routing.experts.size(0), moe.num_experts});
  const at::Tensor probs = zeros.scatter(1, routing.experts, weights * kept).view(x.sizes());
  EXPECT_LT(relative_error(probs.detach(), recorded_bte(batch, "probs")), 1e-5) << "micro-batch " << batch;
  if (!moe.capacity || !moe.capacity->pad) {
    const at::Tensor chosen = zeros.scatter(1, routing.experts, kept).view(x.sizes());
    EXPECT_TRUE(at::equal(chosen, recorded_bte(batch, "chosen"))) << "micro-batch " << batch;
  }
  probs.backward(cotangent);
  EXPECT_LT(relative_error(x.grad(), recorded_bte(batch, "dx")), 1e-5) << "micro-batch " << batch;
}

TEST_P(MegatronRouters, EqualMegatronCore) {
  const Json c = router_cases()[GetParam()];
  const spec::Moe moe = described(c);
  const auto num_batches = c["micro_batches"].get<int64_t>();
  for (const bool plain : {false, true}) {
    SCOPED_TRACE(plain ? "plain" : "fast");
    Router router(moe, "layer.0.moe", moe.num_experts, FirstWeights{}, /*layer_index=*/0, plain);
    Parameter& weight = *router.parameters().front();
    weight.initialise(1, spec::Dtype::Float32);
    weight.compute.copy_(at::eye(moe.num_experts));
    weight.main_grad = at::zeros(weight.shape());
    if (moe.router.expert_bias) router.score_bias.copy_(recorded("bias"));
    RouterReport report;
    context_.routes = &routes_;
    context_.training = true;
    context_.router_report = &report;
    context_.auxiliary_loss_scale = 1.0 / static_cast<double>(num_batches);
    for (int64_t batch = 0; batch < num_batches; ++batch) compare_micro_batch(router, moe, batch);
    std::map<std::string, double> losses;
    for (const auto& [loss, value] : report.mean_losses()) losses[std::string(to_string(loss))] = value;
    EXPECT_EQ(losses.size(), c["losses"].size());
    for (const auto& [name, value] : c["losses"].items())
      EXPECT_NEAR(losses[name], value.get<double>(), 1e-5 * value.get<double>()) << name;
    if (moe.router.expert_bias) {
      router.update_score_bias(report.taken(0));
      EXPECT_LT(relative_error(router.score_bias, recorded("new_bias")), 1e-6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, MegatronRouters, testing::ValuesIn(router_case_names()),
                         [](const auto& info) { return info.param; });

// What the router's test sees above, in a training step: padded experts all take the same, so no bias moves.
TEST(MegatronRouterSteps, MoveTheScoreBiasByWhatExpertsTake) {
  for (const bool pad : {false, true}) {
    spec::RunSpec run = test::tiny_run();
    spec::Moe moe{.num_experts = 5, .top_k = 2};
    moe.expert.ffn_size = 7;
    moe.router.score = spec::RouterScore::Sigmoid;
    moe.router.expert_bias = spec::ExpertBias{.update_rate = 0.25};
    moe.capacity = spec::Capacity{.factor = 0.8, .pad = pad};
    run.model.layers[1].moe = moe;
    test::TinyTrainer tiny(run);
    const at::Tensor bias = tiny.trainer().model.moe_layers().front()->score_bias();
    data::BatchLoader loader = tiny.loader(std::make_shared<test::CountingData>(64, 17, 99));
    train::train_step(tiny.trainer(), loader);
    EXPECT_EQ(bias.abs().sum().item<double>() == 0, pad) << bias;
  }
}

}  // namespace
}  // namespace primus::nn
