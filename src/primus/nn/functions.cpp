#include "primus/nn/functions.h"

#include "primus/base/check.h"
#include "primus/kernels/activation.h"
#include "primus/kernels/dropout.h"
#include "primus/kernels/linear_cross_entropy.h"
#include "primus/nn/autograd.h"

namespace primus::nn {

namespace {

struct LinearFunction : Function<LinearFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, Parameter* weight, Parameter* bias,
                            const kernels::GemmRoute* route) {
    ctx->save_for_backward({x});
    ctx->saved_data["weight"] = to_handle(weight);
    ctx->saved_data["bias"] = to_handle(bias);
    ctx->saved_data["route"] = to_handle(route);
    return kernels::linear_forward(*route, x, weight->compute, compute_of(bias));
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor x = ctx->get_saved_variables()[0];
    auto* weight = from_handle<Parameter>(ctx, "weight");
    auto* bias = from_handle<Parameter>(ctx, "bias");
    const auto* route = from_handle<const kernels::GemmRoute>(ctx, "route");
    const at::Tensor dy = grads[0].contiguous();
    const at::Tensor dx = ctx->needs_input_grad(0) ? kernels::linear_dgrad(*route, dy, weight->compute) : at::Tensor();
    kernels::linear_wgrad(*route, dy, x, weight->main_grad, /*accumulate=*/true);
    weight->gradient_written();
    if (bias) {
      kernels::linear_bias_grad(dy, bias->main_grad, /*accumulate=*/true);
      bias->gradient_written();
    }
    return {dx, {}, {}, {}};
  }
};

// The norm of `sum`, where sum = x (branch undefined) or residual + branch. Outputs: y and sum. The sum is handed on in
// both cases, so that the gradient of the residual stream is added inside the norm's backward pass, with one rounding:
// a layer gets the same bits whether its input comes summed (after a recomputed segment) or not.
struct NormFunction : Function<NormFunction> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& residual,
                               const std::optional<at::Tensor>& branch, Parameter* gain, Parameter* bias,
                               const spec::Norm* kind) {
    const kernels::NormOptions options = options_of(*kind);
    const bool layer_norm = kind->kind == spec::NormKind::LayerNorm;
    at::Tensor sum = residual, y, mean, rstd;
    if (branch && layer_norm) {
      std::tie(sum, y, mean, rstd) =
          kernels::add_layer_norm_forward(*branch, residual, gain->compute, compute_of(bias), options);
    } else if (branch) {
      std::tie(sum, y, rstd) = kernels::add_rms_norm_forward(*branch, residual, gain->compute, options);
    } else if (layer_norm) {
      std::tie(y, mean, rstd) = kernels::layer_norm_forward(residual, gain->compute, compute_of(bias), options);
    } else {
      std::tie(y, rstd) = kernels::rms_norm_forward(residual, gain->compute, options);
    }
    ctx->set_materialize_grads(false);  // nobody reads the sum behind the last norm
    ctx->save_for_backward({sum, mean, rstd});
    ctx->saved_data["gain"] = to_handle(gain);
    ctx->saved_data["bias"] = to_handle(bias);
    ctx->saved_data["kind"] = to_handle(kind);
    ctx->saved_data["adds"] = branch.has_value();
    return {y, sum};
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    auto* gain = from_handle<Parameter>(ctx, "gain");
    auto* bias = from_handle<Parameter>(ctx, "bias");
    const auto* kind = from_handle<const spec::Norm>(ctx, "kind");
    const bool adds = ctx->saved_data["adds"].toBool();
    const at::Tensor d_sum = grads[1].defined() ? grads[1].contiguous() : at::Tensor();
    const at::Tensor dy = grads[0].contiguous();
    at::Tensor dx, d_gain, d_bias;
    if (kind->kind == spec::NormKind::LayerNorm) {
      std::tie(dx, d_gain, d_bias) =
          kernels::layer_norm_backward(dy, saved[0], gain->compute, saved[1], saved[2], options_of(*kind), d_sum);
    } else {
      std::tie(dx, d_gain) =
          kernels::rms_norm_backward(dy, saved[0], gain->compute, saved[2], options_of(*kind), d_sum);
    }
    gain->accumulate_grad(d_gain);
    if (bias) bias->accumulate_grad(d_bias);
    return {dx, adds ? dx : at::Tensor(), {}, {}, {}};
  }
};

kernels::Activation kernel_of(spec::Activation activation) {
  switch (activation) {
    case spec::Activation::Silu:
      return kernels::Activation::Silu;
    case spec::Activation::Gelu:
      return kernels::Activation::Gelu;
    case spec::Activation::QuickGelu:
      return kernels::Activation::QuickGelu;
    case spec::Activation::SquaredRelu:
      return kernels::Activation::SquaredRelu;
    case spec::Activation::GeluTanh:
      return kernels::Activation::GeluTanh;
  }
  return kernels::Activation::Silu;
}

// The gate is clamped from above, the other half on both sides and shifted (GPT-OSS).
at::Tensor clamped(const at::Tensor& x, const spec::Mlp& mlp) {
  if (mlp.clamp == 0 && mlp.up_offset == 0) return x;
  const int64_t f = mlp.ffn_size;
  const at::Tensor y = x.clone();
  at::Tensor up = y.narrow(-1, mlp.gated ? f : 0, f);
  if (mlp.clamp != 0) {
    if (mlp.gated) y.narrow(-1, 0, f).clamp_max_(mlp.clamp);
    up.clamp_(-mlp.clamp, mlp.clamp);
  }
  return up.add_(mlp.up_offset), y;
}

// Nothing reaches a value that was clamped.
void mask_clamped(const at::Tensor& dx, const at::Tensor& x, const spec::Mlp& mlp) {
  if (mlp.clamp == 0) return;
  const int64_t f = mlp.ffn_size;
  if (mlp.gated) dx.narrow(-1, 0, f).masked_fill_(x.narrow(-1, 0, f) > mlp.clamp, 0);
  const int64_t up = mlp.gated ? f : 0;
  dx.narrow(-1, up, f).masked_fill_(x.narrow(-1, up, f).abs() > mlp.clamp, 0);
}

struct ActivationFunction : Function<ActivationFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const spec::Mlp* mlp) {
    ctx->save_for_backward({x});
    ctx->saved_data["mlp"] = to_handle(mlp);
    const kernels::Activation activation = kernel_of(mlp->activation);
    const at::Tensor inside = clamped(x, *mlp);
    return mlp->gated ? kernels::gated_forward(activation, inside, {})
                      : kernels::activation_forward(activation, inside, {});
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor x = ctx->get_saved_variables()[0];
    const auto* mlp = from_handle<const spec::Mlp>(ctx, "mlp");
    const kernels::Activation activation = kernel_of(mlp->activation);
    const at::Tensor dy = grads[0].contiguous(), inside = clamped(x, *mlp);
    const at::Tensor dx = mlp->gated ? kernels::gated_backward(activation, dy, inside, {})
                                     : kernels::activation_backward(activation, dy, inside, {});
    mask_clamped(dx, x, *mlp);
    return {dx, {}};
  }
};

// Random numbers of dropout are functions of (stream, sample, position, feature); the gradient is the same call on dy.
struct DropoutCall : torch::CustomClassHolder {
  DropoutCall(double probability, kernels::PhiloxKey stream, at::Tensor row_samples, at::Tensor row_positions)
      : p(probability), key(stream), samples(std::move(row_samples)), positions(std::move(row_positions)) {}
  double p;
  kernels::PhiloxKey key;
  at::Tensor samples, positions;

  at::Tensor operator()(const at::Tensor& x) const {
    return kernels::dropout(x, p, key, samples, positions, /*first_feature=*/0);
  }
};

struct DropoutFunction : Function<DropoutFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const c10::intrusive_ptr<DropoutCall>& call) {
    ctx->saved_data["call"] = c10::IValue::make_capsule(call);
    return (*call)(x);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto call = c10::static_intrusive_pointer_cast<DropoutCall>(ctx->saved_data["call"].toCapsule());
    return {(*call)(grads[0].contiguous()), {}};
  }
};

// The root of every backward pass: its own incoming gradient is 1, because what each token counts is in `weights`
// already. So dx and the head's weight gradient are taken in the forward pass, while a chunk's logits are in the cache.
struct HeadLossFunction : Function<HeadLossFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, Parameter* head, const at::Tensor& labels,
                            const at::Tensor& weights, at::Tensor* token_loss, double soft_cap,
                            const kernels::GemmRoute* route) {
    const at::Tensor x_nh = x.reshape({-1, x.size(-1)});
    const kernels::CrossEntropyGrads grads =
        kernels::linear_cross_entropy(*route, x_nh, head->compute, labels.reshape({-1}), weights.reshape({-1}),
                                      {.soft_cap = soft_cap}, head->main_grad, /*accumulate=*/true);
    ctx->save_for_backward({grads.dx.view_as(x)});
    ctx->saved_data["head"] = to_handle(head);
    *token_loss = grads.loss.view_as(labels);
    return (grads.loss * weights.reshape({-1})).sum();
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    PRIMUS_CHECK(grads[0].item<double>() == 1.0, "head_loss must be the root of the backward pass");
    from_handle<Parameter>(ctx, "head")->gradient_written();
    return {ctx->get_saved_variables()[0], {}, {}, {}, {}, {}, {}};
  }
};

// Holds a segment between the forward and the backward pass.
struct SegmentHolder : torch::CustomClassHolder {
  explicit SegmentHolder(Segment s) : segment(std::move(s)) {}
  Segment segment;
};

struct RecomputeFunction : Function<RecomputeFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const Segment& segment) {
    ctx->save_for_backward({x});
    ctx->saved_data["segment"] = c10::IValue::make_capsule(c10::make_intrusive<SegmentHolder>(segment));
    return segment(x);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::AutoGradMode with_gradients(true);
    at::Tensor x = ctx->get_saved_variables()[0].detach().requires_grad_(true);
    const auto holder = c10::static_intrusive_pointer_cast<SegmentHolder>(ctx->saved_data["segment"].toCapsule());
    holder->segment(x).backward(grads[0]);
    return {x.grad(), {}};
  }
};

}  // namespace

at::Tensor linear(const at::Tensor& x_btk, Parameter& weight, Parameter* bias, const Context& context) {
  return LinearFunction::apply(x_btk, &weight, bias, &context.routes->gemm);
}

std::pair<at::Tensor, at::Tensor> norm(const at::Tensor& x_bth, Parameter& gain, Parameter* bias,
                                       const spec::Norm& kind) {
  const variable_list outputs = NormFunction::apply(x_bth, std::optional<at::Tensor>(), &gain, bias, &kind);
  return {outputs[1], outputs[0]};
}

std::pair<at::Tensor, at::Tensor> add_norm(const at::Tensor& residual_bth, const at::Tensor& branch_bth,
                                           Parameter& gain, Parameter* bias, const spec::Norm& kind) {
  const variable_list outputs =
      NormFunction::apply(residual_bth, std::optional<at::Tensor>(branch_bth), &gain, bias, &kind);
  return {outputs[1], outputs[0]};
}

at::Tensor activation(const at::Tensor& x_btf, const spec::Mlp& mlp) {
  return ActivationFunction::apply(x_btf, &mlp);
}

at::Tensor dropout(const at::Tensor& x_bth, double probability, const std::string& name, const Context& context) {
  if (!context.training || probability == 0) return x_bth;
  PRIMUS_CHECK(context.sample_index.defined(), "dropout needs the samples of its rows");
  const int64_t b = x_bth.size(0);
  const int64_t t = x_bth.size(1);
  const at::Tensor samples = context.sample_index.unsqueeze(1).expand({b, t}).reshape({-1});
  const at::Tensor places = at::arange(t, at::kLong).unsqueeze(0).expand({b, t}).reshape({-1});
  const kernels::PhiloxKey key = kernels::philox_key(context.seed, name, static_cast<uint64_t>(context.step));
  return DropoutFunction::apply(x_bth, c10::make_intrusive<DropoutCall>(probability, key, samples, places));
}

at::Tensor head_loss(const at::Tensor& x_bth, Parameter& head, const at::Tensor& labels, const at::Tensor& weights,
                     at::Tensor& token_loss, double soft_cap, const Context& context) {
  return HeadLossFunction::apply(x_bth, &head, labels, weights, &token_loss, soft_cap, &context.routes->gemm);
}

at::Tensor head_token_losses(const at::Tensor& x_bth, const Parameter& head, const at::Tensor& labels, double soft_cap,
                             const Context& context) {
  const at::Tensor x_nh = x_bth.reshape({-1, x_bth.size(-1)});
  return kernels::linear_cross_entropy_loss(context.routes->gemm, x_nh, head.compute, labels.reshape({-1}),
                                            {.soft_cap = soft_cap})
      .view_as(labels);
}

at::Tensor recompute(const Segment& segment, const at::Tensor& x) {
  return RecomputeFunction::apply(x, segment);
}

void release_until_backward(const at::Tensor& tensor, const at::Tensor& result, std::function<at::Tensor()> make) {
  if (!at::GradMode::is_enabled() || !result.requires_grad()) return;
  const auto owns_its_storage = [](const at::Tensor& x) {
    return x.is_contiguous() && x.storage_offset() == 0 && x.storage().nbytes() == x.nbytes();
  };
  PRIMUS_CHECK(owns_its_storage(tensor), "only a tensor with a storage of its own can be released");
  // Saved tensors share the storage; exchanging its memory shows them the new values and counts as no change in place.
  const c10::Storage storage = tensor.storage();
  storage.set_data_ptr(at::DataPtr(nullptr, tensor.device()));
  result.register_hook([storage, make = std::move(make), owns_its_storage](const at::Tensor&) {
    at::Tensor again;
    {
      const at::NoGradGuard no_gradients;
      again = make();
    }
    PRIMUS_CHECK(owns_its_storage(again) && again.nbytes() == storage.nbytes(), "the second pass made another shape");
    storage.set_data_ptr(again.storage().set_data_ptr(at::DataPtr(nullptr, again.device())));
  });
}

}  // namespace primus::nn
