#include "primus/nn/functions.h"

#include "primus/base/check.h"
#include "primus/kernels/activation.h"
#include "primus/kernels/dropout.h"
#include "primus/kernels/linear_cross_entropy.h"
#include "primus/kernels/norm.h"
#include "primus/kernels/rope.h"
#include "primus/nn/attention_stream.h"

namespace primus::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Handles travel through the graph as integers: a Parameter and a Context outlive the backward pass of their
// micro-batch.
template <class T>
int64_t to_handle(const T* object) {
  return reinterpret_cast<int64_t>(object);
}
template <class T>
T* from_handle(AutogradContext* ctx, const char* key) {
  return reinterpret_cast<T*>(ctx->saved_data[key].toInt());
}

at::Tensor compute_of(const Parameter* parameter) {
  return parameter ? parameter->compute : at::Tensor();
}

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

kernels::NormOptions options_of(const spec::Norm& kind) {
  return {.eps = kind.eps, .zero_centered = kind.zero_centered_gain};
}

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

struct ActivationFunction : Function<ActivationFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, int64_t kind, bool gated) {
    ctx->save_for_backward({x});
    ctx->saved_data["kind"] = kind;
    ctx->saved_data["gated"] = gated;
    const auto activation = static_cast<kernels::Activation>(kind);
    return gated ? kernels::gated_forward(activation, x, {}) : kernels::activation_forward(activation, x, {});
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor x = ctx->get_saved_variables()[0];
    const auto activation = static_cast<kernels::Activation>(ctx->saved_data["kind"].toInt());
    const at::Tensor dy = grads[0].contiguous();
    const bool gated = ctx->saved_data["gated"].toBool();
    return {
        gated ? kernels::gated_backward(activation, dy, x, {}) : kernels::activation_backward(activation, dy, x, {}),
        {},
        {}};
  }
};

// Views of the heads inside the fused projection.
struct Heads {
  at::Tensor q_bthd, k_btgd, v_btgd;
};
Heads split_heads(const at::Tensor& qkv_btx, const spec::Attention& shape) {
  const int64_t b = qkv_btx.size(0);
  const int64_t t = qkv_btx.size(1);
  const int64_t num_all = shape.num_heads + 2 * shape.num_kv_heads;
  const at::Tensor all = qkv_btx.view({b, t, num_all, shape.head_dim});
  return {all.narrow(2, 0, shape.num_heads), all.narrow(2, shape.num_heads, shape.num_kv_heads),
          all.narrow(2, shape.num_heads + shape.num_kv_heads, shape.num_kv_heads)};
}

// Heads of q and k pass through RMS norms, one gain each; v is copied. The input is kept, not the output, which the
// attention behind it may rotate in place.
struct QkNormFunction : Function<QkNormFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& qkv, const spec::Attention* shape,
                            Parameter* q_gain, Parameter* k_gain) {
    const kernels::NormOptions options = options_of(shape->qk_norm->norm);
    const at::Tensor out = at::empty_like(qkv);
    const Heads from = split_heads(qkv, *shape), to = split_heads(out, *shape);
    const auto [q, q_rstd] = kernels::rms_norm_forward(from.q_bthd, q_gain->compute, options);
    const auto [k, k_rstd] = kernels::rms_norm_forward(from.k_btgd, k_gain->compute, options);
    to.q_bthd.copy_(q);
    to.k_btgd.copy_(k);
    to.v_btgd.copy_(from.v_btgd);
    ctx->save_for_backward({qkv, q_rstd, k_rstd});
    ctx->saved_data["shape"] = to_handle(shape);
    ctx->saved_data["q_gain"] = to_handle(q_gain);
    ctx->saved_data["k_gain"] = to_handle(k_gain);
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto* shape = from_handle<const spec::Attention>(ctx, "shape");
    const kernels::NormOptions options = options_of(shape->qk_norm->norm);
    const at::Tensor dy = grads[0].contiguous(), dx = at::empty_like(dy);
    const Heads from = split_heads(saved[0], *shape), dy_of = split_heads(dy, *shape), dx_of = split_heads(dx, *shape);
    const auto run = [&](const at::Tensor& d, const at::Tensor& x, const at::Tensor& rstd, const char* key,
                         const at::Tensor& target) {
      auto* gain = from_handle<Parameter>(ctx, key);
      const auto [dx_part, d_gain] = kernels::rms_norm_backward(d, x, gain->compute, rstd, options, {});
      target.copy_(dx_part);
      gain->accumulate_grad(d_gain);
    };
    run(dy_of.q_bthd, from.q_bthd, saved[1], "q_gain", dx_of.q_bthd);
    run(dy_of.k_btgd, from.k_btgd, saved[2], "k_gain", dx_of.k_btgd);
    dx_of.v_btgd.copy_(dy_of.v_btgd);
    return {dx, {}, {}, {}};
  }
};

// What the attention of one layer needs from outside the graph; the same in forward and backward.
struct AttentionCall : torch::CustomClassHolder {
  AttentionCall(const spec::Attention& s, RopeTable r, const std::string& n, bool again, const Context& c)
      : shape(s), rope(std::move(r)), stream(n, c), recompute(again), context(c) {}
  spec::Attention shape;
  RopeTable rope;
  AttentionStream stream;
  bool recompute;
  Context context;

  void rotate(const Heads& heads, kernels::RopeDirection direction) const {
    if (!shape.rope) return;
    const auto layout = shape.rope->interleaved ? kernels::RopeLayout::Interleaved : kernels::RopeLayout::HalfRotate;
    for (const at::Tensor& x : {heads.q_bthd, heads.k_btgd}) {
      kernels::rope_apply(x, x, rope.cos, rope.sin, context.positions, 0, layout, direction);
    }
  }
  kernels::AttentionOptions options() {
    kernels::AttentionOptions options{
        .causal = true, .softmax_scale = shape.softmax_scale, .document_start = context.document_start};
    if (context.training && shape.dropout > 0) options.dropout = stream.dropout(shape.dropout);
    return options;
  }
};

struct AttentionFunction : Function<AttentionFunction> {
  // qkv is rotated in place: it belongs to this op alone, since the projection's backward does not read its output.
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& qkv,
                            const c10::intrusive_ptr<AttentionCall>& call) {
    const Heads heads = split_heads(qkv, call->shape);
    call->rotate(heads, kernels::RopeDirection::Forward);
    auto [out, lse] = kernels::attention_forward(call->context.routes->attention, heads.q_bthd, heads.k_btgd,
                                                 heads.v_btgd, call->options());
    ctx->saved_data["call"] = c10::IValue::make_capsule(call);
    ctx->saved_data["qkv"] = qkv.detach();
    if (!call->recompute) {
      ctx->saved_data["out"] = out;
      ctx->saved_data["lse"] = lse;
    }
    return out.view({qkv.size(0), qkv.size(1), call->shape.num_heads * call->shape.head_dim});
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto call = c10::static_intrusive_pointer_cast<AttentionCall>(ctx->saved_data["call"].toCapsule());
    const at::Tensor qkv = ctx->saved_data["qkv"].toTensor();
    const Heads heads = split_heads(qkv, call->shape);
    const auto& route = call->context.routes->attention;
    at::Tensor out, lse;
    if (call->recompute) {
      std::tie(out, lse) = kernels::attention_forward(route, heads.q_bthd, heads.k_btgd, heads.v_btgd, call->options());
    } else {
      out = ctx->saved_data["out"].toTensor();
      lse = ctx->saved_data["lse"].toTensor();
    }
    const at::Tensor d_qkv = at::empty_like(qkv);
    const Heads d_heads = split_heads(d_qkv, call->shape);
    kernels::attention_backward(route, grads[0].contiguous().view_as(out), heads.q_bthd, heads.k_btgd, heads.v_btgd,
                                out, lse, call->options(), {d_heads.q_bthd, d_heads.k_btgd, d_heads.v_btgd});
    call->rotate(d_heads, kernels::RopeDirection::Backward);
    return {d_qkv, {}};
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
                            const at::Tensor& weights, at::Tensor* token_loss, const kernels::GemmRoute* route) {
    const at::Tensor x_nh = x.reshape({-1, x.size(-1)});
    const kernels::CrossEntropyGrads grads =
        kernels::linear_cross_entropy(*route, x_nh, head->compute, labels.reshape({-1}), weights.reshape({-1}), {},
                                      head->main_grad, /*accumulate=*/true);
    ctx->save_for_backward({grads.dx.view_as(x)});
    ctx->saved_data["head"] = to_handle(head);
    *token_loss = grads.loss.view_as(labels);
    return (grads.loss * weights.reshape({-1})).sum();
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    PRIMUS_CHECK(grads[0].item<double>() == 1.0, "head_loss must be the root of the backward pass");
    from_handle<Parameter>(ctx, "head")->gradient_written();
    return {ctx->get_saved_variables()[0], {}, {}, {}, {}, {}};
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

at::Tensor qk_norm(const at::Tensor& qkv_btx, const spec::Attention& shape, Parameter& q_gain, Parameter& k_gain) {
  return QkNormFunction::apply(qkv_btx, &shape, &q_gain, &k_gain);
}

at::Tensor attention(const at::Tensor& qkv_btx, const spec::Attention& shape, const RopeTable& rope,
                     const std::string& name, bool recompute, const Context& context) {
  return AttentionFunction::apply(qkv_btx, c10::make_intrusive<AttentionCall>(shape, rope, name, recompute, context));
}

at::Tensor activation(const at::Tensor& x_btf, const spec::Mlp& mlp) {
  return ActivationFunction::apply(x_btf, static_cast<int64_t>(kernel_of(mlp.activation)), mlp.gated);
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
                     at::Tensor& token_loss, const Context& context) {
  return HeadLossFunction::apply(x_bth, &head, labels, weights, &token_loss, &context.routes->gemm);
}

at::Tensor head_token_losses(const at::Tensor& x_bth, const Parameter& head, const at::Tensor& labels,
                             const Context& context) {
  const at::Tensor x_nh = x_bth.reshape({-1, x_bth.size(-1)});
  return kernels::linear_cross_entropy_loss(context.routes->gemm, x_nh, head.compute, labels.reshape({-1}), {})
      .view_as(labels);
}

at::Tensor recompute(const Segment& segment, const at::Tensor& x) {
  return RecomputeFunction::apply(x, segment);
}

}  // namespace primus::nn
