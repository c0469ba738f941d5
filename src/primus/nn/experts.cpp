#include "primus/nn/experts.h"

#include <fmt/format.h>

#include "primus/base/check.h"
#include "primus/kernels/grouped_gemm.h"
#include "primus/kernels/permute.h"
#include "primus/nn/autograd.h"
#include "primus/nn/functions.h"

namespace primus::nn {

namespace {

struct ExpertsCall : torch::CustomClassHolder {
  ExpertsCall(const Experts* o, kernels::Dispatch d, const kernels::GemmRoute* r)
      : owner(o), dispatch(std::move(d)), route(r) {}
  const Experts* owner;
  kernels::Dispatch dispatch;
  const kernels::GemmRoute* route;
};

// [P, width]: row e of stacked [E, width] for every row of expert e.
at::Tensor per_row(const at::Tensor& stacked, const kernels::Dispatch& d) {
  const at::Tensor starts = at::tensor(d.starts, at::kLong);
  return at::repeat_interleave(stacked.view({d.num_experts(), -1}), starts.diff(), 0);
}

}  // namespace

// Of the activations only fc1's output is kept; the sorted input and what lies behind it are made again.
struct ExpertsFunction : Function<ExpertsFunction> {
  using Call = c10::intrusive_ptr<ExpertsCall>;

  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weights, const Call& call) {
    const Experts& o = *call->owner;
    const kernels::Dispatch& d = call->dispatch;
    const at::Tensor x_pd = kernels::permute(x, d, o.weight_on_input_ ? weights : at::Tensor());
    const at::Tensor fc1_pf =
        kernels::grouped_forward(*call->route, x_pd, d.starts, o.fc1_->compute, compute_of(o.fc1_bias_.get()));
    ctx->save_for_backward({x, weights, fc1_pf});
    ctx->saved_data["call"] = c10::IValue::make_capsule(call);
    const at::Tensor y_pd = kernels::grouped_forward(*call->route, activation(fc1_pf, o.shape_), d.starts,
                                                     o.fc2_->compute, compute_of(o.fc2_bias_.get()));
    return kernels::unpermute(y_pd, d, o.weight_on_input_ ? at::Tensor() : weights);
  }

  // With y = W2 a, out = w y:  d(w a) = W2^T d_out, so dw = a . d(w a) needs neither y nor a product of width d.
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weights = saved[1];
    const auto call = c10::static_intrusive_pointer_cast<ExpertsCall>(ctx->saved_data["call"].toCapsule());
    const Experts& o = *call->owner;
    const kernels::Dispatch& d = call->dispatch;
    const auto& route = *call->route;

    const at::AutoGradMode with_gradients(true);
    const at::Tensor fc1_pf = saved[2].detach().requires_grad_(true);
    const at::Tensor active = activation(fc1_pf, o.shape_), a_pf = active.detach();
    at::Tensor d_weights, d_a;
    {
      const at::NoGradGuard no_gradients;
      const at::Tensor dy_pd = kernels::permute(grads[0], d, {});
      d_a = kernels::grouped_dgrad(route, dy_pd, d.starts, o.fc2_->compute);
      if (!o.weight_on_input_) {
        d_weights = kernels::pair_dots(d_a, a_pf, false, d);
        kernels::scale_rows(a_pf, d, weights);
        kernels::scale_rows(d_a, d, weights);
      }
      kernels::grouped_wgrad(route, dy_pd, a_pf, d.starts, o.fc2_->main_grad);
      o.fc2_->gradient_written();
      if (o.fc2_bias_) out_bias_backward(o, d, dy_pd, weights, d_weights);
    }
    active.backward(d_a);
    const at::NoGradGuard no_gradients;
    const at::Tensor d_fc1 = fc1_pf.grad();
    if (o.fc1_bias_) {
      kernels::grouped_bias_grad(d_fc1, d.starts, o.fc1_bias_->main_grad);
      o.fc1_bias_->gradient_written();
    }
    const at::Tensor on_input = o.weight_on_input_ ? weights : at::Tensor();
    kernels::grouped_wgrad(route, d_fc1, kernels::permute(x, d, on_input), d.starts, o.fc1_->main_grad);
    o.fc1_->gradient_written();
    const at::Tensor dx_pd = kernels::grouped_dgrad(route, d_fc1, d.starts, o.fc1_->compute);
    if (o.weight_on_input_) d_weights = kernels::pair_dots(dx_pd, x, true, d);
    return {kernels::unpermute(dx_pd, d, on_input), d_weights.to(weights.scalar_type()), {}};
  }

 private:
  // out += w b: the bias gets the weighted rows, the weights their product with it. dy is spent.
  static void out_bias_backward(const Experts& o, const kernels::Dispatch& d, const at::Tensor& dy_pd,
                                const at::Tensor& weights, at::Tensor& d_weights) {
    if (!o.weight_on_input_) {
      d_weights.add_(kernels::pair_dots(dy_pd, per_row(o.fc2_bias_->compute, d), false, d));
      kernels::scale_rows(dy_pd, d, weights);
    }
    kernels::grouped_bias_grad(dy_pd, d.starts, o.fc2_bias_->main_grad);
    o.fc2_bias_->gradient_written();
  }
};

namespace {

// A parameter as a leaf of ordinary autograd; its whole gradient arrives here at once. x makes the graph reach it.
struct LeafFunction : Function<LeafFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& /*x*/, Parameter* parameter) {
    ctx->saved_data["parameter"] = to_handle(parameter);
    return parameter->compute.detach();
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    from_handle<Parameter>(ctx, "parameter")->accumulate_grad(grads[0]);
    return {{}, {}};
  }
};

at::Tensor leaf(const at::Tensor& x, Parameter* parameter) {
  return parameter ? LeafFunction::apply(x, parameter) : at::Tensor();
}

}  // namespace

Experts::Experts(const spec::Moe& moe, const std::string& prefix, int64_t width, const FirstWeights& first, bool plain)
    : shape_(moe.expert), num_experts_(moe.num_experts), weight_on_input_(moe.router.weight_on_input), plain_(plain) {
  std::vector<Piece> fc1, fc2;
  for (int64_t e = 0; e < moe.num_experts; ++e) {
    const std::string name = fmt::format("{}.expert.{}", prefix, e);
    if (shape_.gated) fc1.push_back({name + ".gate", shape_.ffn_size, first.gate});
    fc1.push_back({name + ".up", shape_.ffn_size, first.up});
    fc2.push_back({name + ".down", width, first.down});
  }
  fc1_ = projection(fc1, width, first.law);
  fc1_bias_ = projection_bias(shape_.bias, fc1, first.bias);
  fc2_ = projection(fc2, shape_.ffn_size, first.law);
  fc2_bias_ = projection_bias(shape_.bias, fc2, first.bias);
}

at::Tensor Experts::forward(const at::Tensor& x_nd, const Routing& routing, const Context& context) {
  PRIMUS_CHECK(x_nd.dim() == 2 && x_nd.size(0) == routing.experts.size(0), "experts: x [N, d] expected");
  if (plain_) {
    const reference::ExpertWeights weights{leaf(x_nd, fc1_.get()), leaf(x_nd, fc1_bias_.get()), leaf(x_nd, fc2_.get()),
                                           leaf(x_nd, fc2_bias_.get())};
    return reference::experts(x_nd, routing, weights, shape_, weight_on_input_);
  }
  const auto call = c10::make_intrusive<ExpertsCall>(
      this, kernels::plan_dispatch(routing.experts, routing.keep, num_experts_), &context.routes->gemm);
  return ExpertsFunction::apply(x_nd, routing.weights, call);
}

std::vector<Parameter*> Experts::parameters() {
  std::vector<Parameter*> all;
  append_parameters(all, fc1_, fc1_bias_, fc2_, fc2_bias_);
  return all;
}

}  // namespace primus::nn
