#include "primus/nn/router.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "primus/base/check.h"
#include "primus/kernels/gemm.h"
#include "primus/kernels/permute.h"
#include "primus/kernels/token_random.h"
#include "primus/nn/autograd.h"
#include "primus/nn/functions.h"

namespace primus::nn {

namespace {

// logits = x W^T + b in a type of its own. x [N, h] in the model's type -> [N, E]
struct WideLinearFunction : Function<WideLinearFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, Parameter* weight, Parameter* bias,
                            const kernels::GemmRoute* route, at::ScalarType type) {
    ctx->save_for_backward({x});
    ctx->saved_data["weight"] = to_handle(weight);
    ctx->saved_data["bias"] = to_handle(bias);
    ctx->saved_data["route"] = to_handle(route);
    const at::Tensor wide_bias = bias ? bias->compute.to(type) : at::Tensor();
    return kernels::linear_forward(*route, x.to(type), weight->compute.to(type), wide_bias);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor x = ctx->get_saved_variables()[0], dy = grads[0].contiguous();
    auto* weight = from_handle<Parameter>(ctx, "weight");
    auto* bias = from_handle<Parameter>(ctx, "bias");
    const auto& route = *from_handle<const kernels::GemmRoute>(ctx, "route");
    const at::Tensor dx = kernels::linear_dgrad(route, dy, weight->compute.to(dy.scalar_type()));
    weight->accumulate_grad(kernels::matmul(route, dy.t(), x.to(dy.scalar_type())));
    if (bias) bias->accumulate_grad(dy.sum(0));
    return {dx.to(x.scalar_type()), {}, {}, {}, {}};
  }
};

struct WeightsFunction : Function<WeightsFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& logits, const at::Tensor& experts,
                            const kernels::RouterOptions* options) {
    ctx->save_for_backward({logits, experts});
    ctx->saved_data["options"] = to_handle(options);
    return kernels::router_weights_forward(logits, experts, *options);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const auto& options = *from_handle<const kernels::RouterOptions>(ctx, "options");
    return {kernels::router_weights_backward(grads[0], saved[0], saved[1], options), {}, {}};
  }
};

// The weights, unchanged; a loss that no output shows gets `scale` as its gradient.
struct AttachLossFunction : Function<AttachLossFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& weights, const at::Tensor& loss, double scale) {
    ctx->saved_data["scale"] = scale;
    ctx->saved_data["type"] = static_cast<int64_t>(loss.scalar_type());
    return weights.clone();
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto type = static_cast<at::ScalarType>(ctx->saved_data["type"].toInt());
    return {grads[0], at::scalar_tensor(ctx->saved_data["scale"].toDouble(), type), {}};
  }
};

// Megatron's sinkhorn routing weighs by the sigmoid or the softmax over all, and by nothing else.
kernels::RouterOptions options_for(const spec::Moe& moe) {
  const spec::Router& r = moe.router;
  kernels::RouterOptions o;
  o.top.top_k = moe.top_k;
  if (r.sinkhorn) {
    o.score = moe.top_k == 1 ? kernels::RouterScore::Sigmoid : kernels::RouterScore::SoftmaxOverAll;
    return o;
  }
  o.score = r.score == spec::RouterScore::Sigmoid        ? kernels::RouterScore::Sigmoid
            : r.score == spec::RouterScore::SqrtSoftplus ? kernels::RouterScore::SqrtSoftplus
            : r.normalise_over_all                       ? kernels::RouterScore::SoftmaxOverAll
                                                         : kernels::RouterScore::SoftmaxOverChosen;
  o.renormalise = r.renormalise;
  o.sum_floor = r.sum_floor;
  o.scale = r.scale;
  if (r.groups) {
    o.top.num_groups = r.groups->num_groups;
    o.top.top_groups = r.groups->top_groups;
    o.top.sum_of = r.groups->score == spec::GroupScore::Max ? 1 : r.groups->sum_of;
  }
  return o;
}

// Whose token each row is, in the order of x [b, t, h].
struct Rows {
  Rows(const at::Tensor& x_bth, const Context& context) {
    const int64_t b = x_bth.size(0), t = x_bth.size(1);
    const at::Tensor of_row = context.sample_index.defined() ? context.sample_index : at::arange(b, at::kLong);
    samples = of_row.unsqueeze(1).expand({b, t}).reshape({-1});
    positions = at::arange(t, at::kLong).unsqueeze(0).expand({b, t}).reshape({-1});
  }
  at::Tensor samples, positions;
};

kernels::PhiloxKey stream(const std::string& name, const Context& context) {
  return kernels::philox_key(context.seed, name, static_cast<uint64_t>(context.step));
}

// Scores whose sum over experts is 1, as balance losses see them.
at::Tensor shares(const at::Tensor& logits, spec::RouterScore score) {
  if (score == spec::RouterScore::Softmax) return at::softmax(logits, -1);
  const at::Tensor scores =
      score == spec::RouterScore::Sigmoid ? at::sigmoid(logits) : at::softplus(logits).clamp_min(1e-30).sqrt();
  return scores / (scores.sum(-1, true) + 1e-20);
}

}  // namespace

Router::Router(const spec::Moe& moe, const std::string& prefix, int64_t hidden, const FirstWeights& first,
               int64_t layer_index, bool plain)
    : moe_(moe), name_(prefix + ".router"), layer_index_(layer_index), plain_(plain), options_(options_for(moe)) {
  const std::vector<Piece> pieces = {{name_, moe.num_experts, first.router}};
  weight_ = projection(pieces, hidden, first.law);
  bias_ = projection_bias(moe.router.bias, pieces, first.bias);
  if (moe.router.expert_bias) score_bias = at::zeros({moe.num_experts}, at::kFloat);
}

std::vector<Parameter*> Router::parameters() {
  std::vector<Parameter*> all;
  append_parameters(all, weight_, bias_);
  return all;
}

void Router::update_score_bias(const at::Tensor& counts) {
  PRIMUS_CHECK(score_bias.defined() && counts.numel() == moe_.num_experts, "a router without a bias for its experts");
  const at::Tensor n = counts.to(at::kDouble);
  at::Tensor move = moe_.router.expert_bias->update_rate * (n.mean() - n).sign();
  if (moe_.router.expert_bias->centred) move = move - move.mean();
  score_bias.add_(move.to(at::kFloat));
}

at::Tensor Router::logits(const at::Tensor& x_bth, const Context& context) const {
  const spec::Router& r = moe_.router;
  at::Tensor x = x_bth;
  if (r.input_jitter > 0 && context.training) {
    const Rows rows(x_bth, context);
    const at::Tensor factors = kernels::token_uniform(x.size(-1), stream(name_ + ".jitter", context), rows.samples,
                                                      rows.positions, 1 - r.input_jitter, 1 + r.input_jitter);
    x = x * factors.view_as(x).to(x.scalar_type());
  }
  const bool in_double = r.dtype == spec::RouterDtype::Float64 || x.scalar_type() == at::kDouble;
  const at::ScalarType wide = in_double ? at::kDouble : at::kFloat;
  at::Tensor y = r.dtype == spec::RouterDtype::Model || x.scalar_type() == wide
                     ? linear(x, *weight_, bias_.get(), context).to(wide)
                     : WideLinearFunction::apply(x.reshape({-1, x.size(-1)}), weight_.get(), bias_.get(),
                                                 &context.routes->gemm, wide);
  y = y.reshape({-1, moe_.num_experts});
  if (r.logit_soft_cap > 0) y = r.logit_soft_cap * (y / r.logit_soft_cap).tanh();
  return y;
}

// Random logits stand in for the router's, and the gradient passes straight through.
at::Tensor Router::forced(const at::Tensor& logits, const at::Tensor& x_bth, const Context& context) const {
  if (moe_.router.forced_balance != spec::ForcedBalance::Random) return logits;
  const Rows rows(x_bth, context);
  const at::Tensor random =
      kernels::token_normal(moe_.num_experts, stream(name_ + ".random", context), rows.samples, rows.positions);
  return random.to(logits.scalar_type()) + (logits - logits.detach());
}

at::Tensor Router::choose(const at::Tensor& logits, const Context& context) const {
  const int64_t num_tokens = logits.size(0);
  if (moe_.router.forced_balance == spec::ForcedBalance::RoundRobin) {
    return at::arange(num_tokens * moe_.top_k, at::kLong).remainder(moe_.num_experts).view({num_tokens, moe_.top_k});
  }
  const bool even = moe_.router.sinkhorn && context.training;
  const at::Tensor values =
      even ? kernels::sinkhorn(logits) : kernels::choice_values(logits, score_bias, options_).contiguous();
  return plain_ ? kernels::reference::choose_experts(values, options_.top)
                : kernels::choose_experts(values, options_.top);
}

at::Tensor Router::weigh(const at::Tensor& logits, const at::Tensor& experts) const {
  return plain_ ? kernels::reference::router_weights(logits, experts, options_)
                : WeightsFunction::apply(logits, experts, &options_);
}

// Of every expert, for `num_tokens` that compete.
int64_t Router::places(int64_t num_tokens) const {
  const spec::Capacity& c = *moe_.capacity;
  const double share = static_cast<double>(num_tokens * moe_.top_k) / static_cast<double>(moe_.num_experts);
  return static_cast<int64_t>(c.per_sequence ? std::floor(std::ceil(share) * c.factor) : std::ceil(share * c.factor));
}

at::Tensor Router::within_capacity(const Routing& routing, int64_t num_sequences) const {
  if (!moe_.capacity) return {};
  const spec::Capacity& c = *moe_.capacity;
  const int64_t num_tokens = routing.experts.size(0), t = num_tokens / num_sequences;
  const auto order =
      c.policy == spec::DropPolicy::LastPosition ? kernels::DropOrder::LastPosition : kernels::DropOrder::LowestWeight;
  const std::array<int64_t, 3> shape = {num_sequences, t, moe_.top_k};
  return kernels::keep_within_capacity(routing.experts.view(shape), routing.weights.detach().reshape(shape),
                                       moe_.num_experts, places(c.per_sequence ? t : num_tokens), order,
                                       c.per_sequence);
}

// coefficient * E / (k T^2) * sum_e(P_e n_e), with P and n over the scope.
at::Tensor Router::balance_loss(const spec::BalanceLoss& loss, const at::Tensor& scores, const at::Tensor& counts_be,
                                const Context& context) const {
  const int64_t b = counts_be.size(0), num_tokens = scores.size(0);
  const auto weight = [&](int64_t tokens) {
    const auto n = static_cast<double>(tokens);
    return loss.coefficient * static_cast<double>(moe_.num_experts) / (static_cast<double>(moe_.top_k) * n * n);
  };
  if (loss.scope == spec::BalanceScope::Sequence) {
    const at::Tensor p_be = scores.view({b, num_tokens / b, -1}).sum(1);
    return (p_be * counts_be).sum() * (weight(num_tokens / b) / static_cast<double>(b));
  }
  at::Tensor n_e = counts_be.sum(0);
  if (loss.scope == spec::BalanceScope::GlobalBatch) {
    PRIMUS_CHECK(context.router_report, "balance over the global batch needs a report of the step");
    n_e = context.router_report->mean_balance_counts(layer_index_, n_e).to(scores.scalar_type());
  }
  return (scores.sum(0) * n_e).sum() * weight(num_tokens);
}

at::Tensor Router::with_losses(const at::Tensor& weights, const at::Tensor& logits, const at::Tensor& experts,
                               int64_t num_sequences, const Context& context) const {
  const spec::Router& r = moe_.router;
  at::Tensor total;
  const auto add = [&](RouterLoss kind, const at::Tensor& loss) {
    total = total.defined() ? total + loss : loss;
    if (context.router_report) context.router_report->add_loss(layer_index_, kind, loss.detach().item<double>());
  };
  if (!r.balance_losses.empty()) {
    const bool best_logits =
        !r.groups && !r.expert_bias && !r.sinkhorn && r.forced_balance != spec::ForcedBalance::RoundRobin;
    const at::Tensor best = best_logits ? experts : kernels::choose_experts(logits.detach(), {.top_k = moe_.top_k});
    const at::Tensor pairs_bn = best.reshape({num_sequences, -1});
    const at::Tensor counts_be = at::zeros({num_sequences, moe_.num_experts}, logits.options())
                                     .scatter_add_(1, pairs_bn, at::ones(pairs_bn.sizes(), logits.options()));
    const at::Tensor scores = shares(logits, r.score);
    for (const spec::BalanceLoss& loss : r.balance_losses) {
      const RouterLoss kind = loss.scope == spec::BalanceScope::Sequence     ? RouterLoss::SequenceBalance
                              : loss.scope == spec::BalanceScope::MicroBatch ? RouterLoss::MicroBatchBalance
                                                                             : RouterLoss::GlobalBatchBalance;
      add(kind, balance_loss(loss, scores, counts_be, context));
    }
  }
  if (r.z_loss != 0) add(RouterLoss::Z, at::logsumexp(logits, -1).square().mean() * r.z_loss);
  return total.defined() ? AttachLossFunction::apply(weights, total, context.auxiliary_loss_scale) : weights;
}

// Megatron moves the score bias by what the experts take, places filled up included; the per-sequence rule (maxtext's)
// by what was chosen.
void Router::report_counts(const Routing& routing, RouterReport& report) const {
  const auto count = [this](const at::Tensor& experts) {
    return at::bincount(experts.reshape({-1}), {}, moe_.num_experts);
  };
  const at::Tensor counts = count(routing.experts);
  if (!routing.keep.defined()) return report.add_counts(layer_index_, counts, 0);
  const int64_t num_dropped = routing.keep.logical_not().sum().item<int64_t>(), num_tokens = routing.experts.size(0);
  const spec::Capacity& c = *moe_.capacity;
  at::Tensor taken;
  if (!c.per_sequence) {
    const int64_t filled = places(num_tokens);
    taken = c.pad ? at::full_like(counts, std::min(filled, num_tokens))
                  : count(routing.experts.masked_select(routing.keep));
  }
  report.add_counts(layer_index_, counts, num_dropped, taken);
}

Routing Router::route(const at::Tensor& x_bth, const Context& context) {
  PRIMUS_CHECK(x_bth.dim() == 3, "router: x [b, t, h] expected");
  const int64_t b = x_bth.size(0);
  const bool counting = at::GradMode::is_enabled() && context.router_report != nullptr;
  const at::Tensor scored = forced(logits(x_bth, context), x_bth, context);
  Routing routing;
  routing.experts = choose(scored, context);
  routing.weights = weigh(scored, routing.experts);
  routing.keep = within_capacity(routing, b);
  if (counting) report_counts(routing, *context.router_report);
  if (at::GradMode::is_enabled() && context.training && context.auxiliary_loss_scale != 0) {
    routing.weights = with_losses(routing.weights, scored, routing.experts, b, context);
  }
  if (x_bth.scalar_type() != at::kDouble) routing.weights = routing.weights.to(at::kFloat);
  return routing;
}

}  // namespace primus::nn
