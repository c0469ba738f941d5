// Output and every gradient of a mixture of experts, fast and plain, against libtorch's autograd on the equations
// written out in double, for every option.
#include <functional>
#include <gtest/gtest.h>
#include <map>

#include "primus/nn/functions.h"
#include "primus/nn/moe.h"

namespace primus::nn {
namespace {

constexpr int64_t kBatch = 2, kTokens = 9, kHidden = 10, kStarved = 4;
constexpr double kAuxiliaryScale = 0.5;

spec::Moe moe() {
  spec::Moe moe;
  moe.num_experts = 7;
  moe.top_k = 3;
  moe.expert = {.ffn_size = 6};
  return moe;
}

struct Case {
  std::string name;
  spec::Moe moe;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

spec::Moe changed(const std::function<void(spec::Moe&)>& change) {
  spec::Moe m = moe();
  change(m);
  return m;
}

std::vector<Case> cases() {
  using M = spec::Moe;
  using Score = spec::RouterScore;
  const auto deepseek = [](M& m) {
    m.num_experts = 6;
    m.router.score = Score::Sigmoid;
    m.router.renormalise = true;
    m.router.scale = 2.5;
    m.router.expert_bias = spec::ExpertBias{};
    m.router.groups = spec::GroupLimit{3, 2, spec::GroupScore::SumOfTop, 2};
    m.shared_ffn_size = 5;
    m.router.balance_losses = {{spec::BalanceScope::Sequence, 0.7}};
  };
  return {
      {"SoftmaxOverChosen", moe()},
      {"SoftmaxOverAll", changed([](M& m) { m.router.normalise_over_all = true; })},
      {"Renormalised", changed([](M& m) { m.router.normalise_over_all = m.router.renormalise = true; })},
      {"Sigmoid", changed([](M& m) { m.router.score = Score::Sigmoid; })},
      {"SqrtSoftplus", changed([](M& m) { m.router.score = Score::SqrtSoftplus, m.router.renormalise = true; })},
      {"DeepSeekV3", changed(deepseek)},
      {"DeepSeekV2", changed([](M& m) {
         m.num_experts = 6;
         m.router.normalise_over_all = true;
         m.router.scale = 16;
         m.router.groups = spec::GroupLimit{3, 2, spec::GroupScore::Max, 1};
         m.router.balance_losses = {{spec::BalanceScope::MicroBatch, 0.9}};
       })},
      {"GptOss", changed([](M& m) {
         m.router.bias = m.expert.bias = true;
         m.expert.activation = spec::Activation::QuickGelu;
         m.expert.clamp = 0.4;
         m.expert.up_offset = 1;
       })},
      {"Llama4", changed([](M& m) {
         m.router.score = Score::Sigmoid;
         m.router.weight_on_input = true;
         m.shared_ffn_size = 6;
       })},
      {"WeightedInputWithBiases",
       changed([](M& m) { m.router.weight_on_input = m.expert.bias = m.router.bias = true; })},
      {"Ungated", changed([](M& m) {
         m.expert.gated = false;
         m.expert.activation = spec::Activation::SquaredRelu;
       })},
      {"Latent", changed([](M& m) { m.latent_size = 5; })},
      {"SharedGate", changed([](M& m) {
         m.shared_ffn_size = 8;
         m.shared_gate = true;
       })},
      {"SoftCapAndZLoss", changed([](M& m) {
         m.router.logit_soft_cap = 1.5;
         m.router.z_loss = 0.3;
       })},
      {"SigmoidBalance", changed([](M& m) {
         m.router.score = Score::Sigmoid;
         m.router.balance_losses = {{spec::BalanceScope::MicroBatch, 0.4}, {spec::BalanceScope::GlobalBatch, 0.8}};
       })},
      {"Float64Router", changed([](M& m) { m.router.dtype = spec::RouterDtype::Float64, m.router.bias = true; })},
      {"DropsLowest", changed([](M& m) { m.capacity = spec::Capacity{.factor = 0.75}; })},
      {"DropsLast", changed([](M& m) {
         m.capacity = spec::Capacity{.factor = 0.5, .policy = spec::DropPolicy::LastPosition, .per_sequence = true};
       })},
      {"DropsAll", changed([](M& m) { m.capacity = spec::Capacity{.factor = 0.01, .per_sequence = true}; })},
      {"RoundRobin", changed([](M& m) { m.router.forced_balance = spec::ForcedBalance::RoundRobin; })},
  };
}

// The layer with its parameters allocated, and how often each heard of its gradient.
struct Subject {
  Subject(const spec::Moe& moe, MoeOptions options) : layer(moe, "layer.3.moe", kHidden, first(), 3, options) {
    for (Parameter* parameter : layer.parameters()) {
      parameter->initialise(7, spec::Dtype::Float32);
      parameter->main_grad = at::zeros(parameter->shape());
      parameter->on_gradient = [this](Parameter& p) { ++heard[p.name()]; };
      if (parameter->name() == "layer.3.moe.router.weight") parameter->compute[kStarved][0] = -100;
    }
    if (layer.score_bias().defined()) layer.score_bias().copy_(at::linspace(-0.2, 0.3, moe.num_experts));
  }
  static FirstWeights first() {
    FirstWeights first;
    first.up = first.gate = first.down = 0.6;
    first.router = 0.4;
    first.bias = 0.3;
    return first;
  }
  std::map<std::string, int> heard;
  MoeLayer layer;
};

// The equations in double. Weights are leaves by name of their Parameter.
class Equations {
 public:
  Equations(const spec::Moe& moe, Subject& subject) : moe_(moe), bias_(subject.layer.score_bias()) {
    for (Parameter* p : subject.layer.parameters()) leaves[p->name()] = p->compute.to(at::kDouble).requires_grad_(true);
  }

  at::Tensor operator()(const at::Tensor& x_bth, at::Tensor& auxiliary) const {
    const at::Tensor x = x_bth.reshape({-1, kHidden});
    const at::Tensor logits = capped(project(x, "router"));
    const Routing routing = route(logits, auxiliary);
    const std::string up = moe_.expert.gated ? "expert.0.gate" : "expert.0.up";
    const reference::ExpertWeights weights{leaf(up + ".weight"), leaf(up + ".bias"), leaf("expert.0.down.weight"),
                                           leaf("expert.0.down.bias")};
    const at::Tensor in = moe_.latent_size > 0 ? project(x, "latent_down") : x;
    at::Tensor y = reference::experts(in, routing, weights, moe_.expert, moe_.router.weight_on_input);
    if (moe_.latent_size > 0) y = project(y, "latent_up");
    if (moe_.shared_ffn_size > 0) {
      at::Tensor shared = project(reference::activation(project(x, "shared.gate"), moe_.expert), "shared.down");
      if (moe_.shared_gate) shared = shared * project(x, "shared_gate").sigmoid();
      y = y + shared;
    }
    return y.view(x_bth.sizes());
  }

  std::map<std::string, at::Tensor> leaves;

 private:
  at::Tensor leaf(const std::string& name) const {
    const auto found = leaves.find("layer.3.moe." + name);
    return found == leaves.end() ? at::Tensor() : found->second;
  }
  at::Tensor project(const at::Tensor& x, const std::string& name) const {
    const at::Tensor y = x.matmul(leaf(name + ".weight").t()), bias = leaf(name + ".bias");
    return bias.defined() ? y + bias : y;
  }
  at::Tensor capped(const at::Tensor& logits) const {
    const double cap = moe_.router.logit_soft_cap;
    return cap > 0 ? cap * (logits / cap).tanh() : logits;
  }

  at::Tensor scores(const at::Tensor& logits) const {
    if (moe_.router.score == spec::RouterScore::Sigmoid) return logits.sigmoid();
    if (moe_.router.score == spec::RouterScore::SqrtSoftplus) return at::softplus(logits).sqrt();
    return at::softmax(logits, -1);
  }

  Routing route(const at::Tensor& logits, at::Tensor& auxiliary) const {
    const spec::Router& r = moe_.router;
    const bool over_chosen = r.score == spec::RouterScore::Softmax && !r.normalise_over_all;
    const at::Tensor s = scores(logits);
    at::Tensor choice = (over_chosen ? logits : s).detach();
    if (r.expert_bias) choice = choice + bias_.to(at::kDouble);
    Routing routing;
    if (r.groups) choice = limited(choice, *r.groups);
    routing.experts = r.forced_balance == spec::ForcedBalance::RoundRobin
                          ? at::arange(kBatch * kTokens * moe_.top_k).remainder(moe_.num_experts).view({-1, moe_.top_k})
                          : std::get<1>(choice.topk(moe_.top_k));
    routing.weights = over_chosen ? at::softmax(logits.gather(1, routing.experts), -1) : s.gather(1, routing.experts);
    if (r.renormalise) routing.weights = routing.weights / routing.weights.sum(-1, true);
    routing.weights = routing.weights * r.scale;
    if (moe_.capacity) routing.keep = keep(routing);
    auxiliary = r.z_loss * logits.logsumexp(-1).square().mean();
    for (const spec::BalanceLoss& loss : r.balance_losses) auxiliary = auxiliary + balance(loss, s);
    return routing;
  }

  at::Tensor limited(const at::Tensor& choice, const spec::GroupLimit& g) const {
    const at::Tensor grouped = choice.view({choice.size(0), g.num_groups, -1});
    const int64_t of = g.score == spec::GroupScore::Max ? 1 : g.sum_of;
    const at::Tensor best = std::get<0>(grouped.topk(of)).sum(-1);
    const at::Tensor floor = std::get<0>(best.topk(g.top_groups)).select(1, g.top_groups - 1).unsqueeze(1);
    return grouped.masked_fill((best < floor).unsqueeze(-1), -1e9).reshape(choice.sizes());
  }

  at::Tensor balance(const spec::BalanceLoss& loss, const at::Tensor& s) const {
    const at::Tensor share = s / s.sum(-1, true);
    const at::Tensor best = std::get<1>(share.detach().topk(moe_.top_k));
    const at::Tensor chosen = at::zeros_like(share).scatter(1, best, 1.0);
    const int64_t parts = loss.scope == spec::BalanceScope::Sequence ? kBatch : 1;
    const auto t = static_cast<double>(s.size(0) / parts);
    const at::Tensor p = share.view({parts, -1, moe_.num_experts}).sum(1);
    const at::Tensor n = chosen.view({parts, -1, moe_.num_experts}).sum(1);
    return loss.coefficient * static_cast<double>(moe_.num_experts) / (static_cast<double>(moe_.top_k) * t * t) *
           (p * n).sum() / static_cast<double>(parts);
  }

  at::Tensor keep(const Routing& routing) const {
    const spec::Capacity& c = *moe_.capacity;
    const int64_t parts = c.per_sequence ? kBatch : 1, t = kBatch * kTokens / parts;
    const double share = static_cast<double>(t * moe_.top_k) / static_cast<double>(moe_.num_experts);
    const auto places =
        static_cast<int64_t>(c.per_sequence ? std::floor(std::ceil(share) * c.factor) : std::ceil(share * c.factor));
    const at::Tensor keep = at::ones(routing.experts.sizes(), at::kBool);
    for (int64_t pair = 0; pair < routing.experts.numel(); ++pair) {
      const int64_t n = pair / moe_.top_k, j = pair % moe_.top_k, e = routing.experts[n][j].item<int64_t>();
      const double mine = routing.weights[n][j].item<double>();
      int64_t before = 0;  // that are served first
      for (int64_t other = n / t * t; other < (n / t + 1) * t; ++other) {
        for (int64_t i = 0; i < moe_.top_k; ++i) {
          if (other == n || routing.experts[other][i].item<int64_t>() != e) continue;
          const bool first =
              c.policy == spec::DropPolicy::LastPosition ? other < n : routing.weights[other][i].item<double>() > mine;
          before += first ? 1 : 0;
        }
      }
      keep[n][j] = before < places;
    }
    return keep;
  }

  spec::Moe moe_;
  at::Tensor bias_;
};

double distance(const at::Tensor& a, const at::Tensor& b) {
  const double scale = b.abs().max().item<double>();
  return (a.to(at::kDouble) - b).abs().max().item<double>() / (scale > 0 ? scale : 1.0);
}

class MoeGradient : public testing::TestWithParam<Case> {
 protected:
  MoeGradient() {
    context_.routes = &routes_;
    context_.training = true;
    context_.auxiliary_loss_scale = kAuxiliaryScale;
    context_.router_report = &report_;
    at::manual_seed(3);
    x_ = at::randn({kBatch, kTokens, kHidden});
    x_.select(2, 0).fill_(1);
    dy_ = at::randn({kBatch, kTokens, kHidden});
  }

  Routes routes_;
  RouterReport report_;
  Context context_;
  at::Tensor x_, dy_;
};

TEST_P(MoeGradient, EqualsAutogradOnTheEquationsInDouble) {
  for (const MoeOptions options : {MoeOptions{}, MoeOptions{true, true}, MoeOptions{.plain_router = true}}) {
    SCOPED_TRACE(options.plain_experts ? "plain" : options.plain_router ? "plain router" : "fast");
    report_.begin_step();
    Subject subject(GetParam().moe, options);
    const at::Tensor x = x_.clone().requires_grad_(true);
    const at::Tensor y = subject.layer.forward(x, context_);
    y.backward(dy_);

    const Equations equations(GetParam().moe, subject);
    const at::Tensor x64 = x_.to(at::kDouble).requires_grad_(true);
    at::Tensor auxiliary;
    const at::Tensor y64 = equations(x64, auxiliary);
    ((y64 * dy_).sum() + kAuxiliaryScale * auxiliary).backward();

    EXPECT_LT(distance(y, y64.detach()), 5e-6);
    EXPECT_LT(distance(x.grad(), x64.grad()), 1e-5);
    for (Parameter* p : subject.layer.parameters()) {
      const at::Tensor expected = equations.leaves.at(p->name()).grad();
      ASSERT_TRUE(expected.defined()) << p->name();
      EXPECT_LT(distance(p->main_grad, expected), 1e-5) << p->name();
      EXPECT_EQ(subject.heard[p->name()], 1) << p->name();
    }
  }
}

TEST_P(MoeGradient, IsBitEqualWhenRecomputedAndHeardOnce) {
  Subject once(GetParam().moe, {}), again(GetParam().moe, {});
  const auto run = [&](Subject& subject, bool recomputed) {
    report_.begin_step();
    const at::Tensor x = x_.clone().requires_grad_(true);
    const auto segment = [&](const at::Tensor& in) { return subject.layer.forward(in, context_); };
    const at::Tensor y = recomputed ? recompute(segment, x) : segment(x);
    y.backward(dy_);
    EXPECT_EQ(report_.counts(3).sum().item<double>(), static_cast<double>(kBatch * kTokens * GetParam().moe.top_k));
    return std::pair(y.detach(), x.grad());
  };
  const auto [y, dx] = run(once, false);
  const auto [y_again, dx_again] = run(again, true);
  EXPECT_TRUE(at::equal(y, y_again));
  EXPECT_TRUE(at::equal(dx, dx_again));
  const std::vector<Parameter*> a = once.layer.parameters(), b = again.layer.parameters();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i]->main_grad, b[i]->main_grad)) << a[i]->name();
}

TEST_P(MoeGradient, StaysNearThePlainFormIn16Bits) {
  for (const auto type : {at::kBFloat16, at::kHalf}) {
    Subject fast(GetParam().moe, {}), plain(GetParam().moe, {true, true});
    for (Subject* subject : {&fast, &plain}) {
      for (Parameter* p : subject->layer.parameters()) p->compute = p->compute.to(type);
    }
    const auto run = [&](Subject& subject) {
      report_.begin_step();
      const at::Tensor x = x_.to(type).requires_grad_(true);
      const at::Tensor y = subject.layer.forward(x, context_);
      y.backward(dy_.to(type));
      EXPECT_EQ(y.scalar_type(), type);
      EXPECT_EQ(x.grad().scalar_type(), type);
      return std::pair(y.detach().to(at::kDouble), x.grad().to(at::kDouble));
    };
    const auto [y, dx] = run(fast);
    const auto [y_plain, dx_plain] = run(plain);
    const double bound = type == at::kHalf ? 0.004 : 0.03;
    EXPECT_LT(distance(y, y_plain), bound);
    EXPECT_LT(distance(dx, dx_plain), bound);
    const std::vector<Parameter*> a = fast.layer.parameters(), b = plain.layer.parameters();
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_LT(distance(a[i]->main_grad, b[i]->main_grad.to(at::kDouble)), bound) << a[i]->name();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Options, MoeGradient, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

TEST(MoeGradient, AnExpertWithoutTokensKeepsAZeroGradient) {
  Routes routes;
  Context context;
  context.routes = &routes;
  Subject subject(moe(), {});
  at::manual_seed(5);
  at::Tensor x = at::randn({1, 11, kHidden});
  x.select(2, 0).fill_(1);
  x.requires_grad_(true);
  subject.layer.forward(x, context).sum().backward();
  for (Parameter* p : subject.layer.parameters()) {
    if (p->name() == "layer.3.moe.router.weight") continue;
    const at::Tensor of_expert = p->main_grad.view({7, -1});
    EXPECT_EQ(of_expert[kStarved].abs().max().item<double>(), 0);
    EXPECT_GT(of_expert[1].abs().max().item<double>(), 0);
  }
}

}  // namespace
}  // namespace primus::nn
