#include "primus/nn/sequence.h"

#include "primus/kernels/gated_delta.h"
#include "primus/kernels/gated_norm.h"
#include "primus/kernels/short_conv.h"
#include "primus/kernels/ssd.h"
#include "primus/nn/autograd.h"
#include "primus/nn/cache.h"

namespace primus::nn {

namespace {

// Autograd functions take no undefined tensors.
std::optional<at::Tensor> documents(const Context& context) {
  return context.document_start.defined() ? std::optional(context.document_start) : std::nullopt;
}
at::Tensor starts_of(const std::optional<at::Tensor>& documents) {
  return documents.value_or(at::Tensor());
}

struct ValueFunction : Function<ValueFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor&, Parameter* parameter) {
    ctx->saved_data["parameter"] = to_handle(parameter);
    return parameter->compute.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    from_handle<Parameter>(ctx, "parameter")->accumulate_grad(grads[0]);
    return {{}, {}};
  }
};

struct ShortConvFunction : Function<ShortConvFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, Parameter* weight, Parameter* bias, bool silu,
                            const std::optional<at::Tensor>& document_start) {
    ctx->save_for_backward({x});
    ctx->saved_data["weight"] = to_handle(weight);
    ctx->saved_data["bias"] = to_handle(bias);
    ctx->saved_data["silu"] = silu;
    ctx->saved_data["document_start"] = starts_of(document_start);
    return kernels::short_conv_forward(x, weight->compute, compute_of(bias), {}, {silu, starts_of(document_start)}).y;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor x = ctx->get_saved_variables()[0];
    auto* weight = from_handle<Parameter>(ctx, "weight");
    auto* bias = from_handle<Parameter>(ctx, "bias");
    const kernels::ShortConvOptions options{ctx->saved_data["silu"].toBool(),
                                            ctx->saved_data["document_start"].toTensor()};
    const kernels::ShortConvGrads d =
        kernels::short_conv_backward(grads[0].contiguous(), x, weight->compute, compute_of(bias), {}, options);
    weight->accumulate_grad(d.dw);
    if (bias) bias->accumulate_grad(d.d_bias);
    return {d.dx, {}, {}, {}, {}};
  }
};

kernels::GatedDeltaOptions delta_options(const at::Tensor& document_start, bool keep_states) {
  kernels::GatedDeltaOptions options;
  options.normalize_qk = true;
  options.document_start = document_start;
  options.keep_states = keep_states;
  return options;
}

struct GatedDeltaFunction : Function<GatedDeltaFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& decay, const at::Tensor& beta,
                            const std::optional<at::Tensor>& document_start, bool keep_states) {
    const kernels::GatedDeltaInputs in{.q = q, .k = k, .v = v, .g = decay, .beta = beta, .initial_state = {}};
    kernels::GatedDeltaResult result =
        kernels::gated_delta_forward(in, delta_options(starts_of(document_start), keep_states));
    if (!keep_states) return result.out;
    ctx->save_for_backward({q, k, v, decay, beta});
    ctx->saved_data["states"] = result.chunk_states;
    ctx->saved_data["document_start"] = starts_of(document_start);
    return result.out;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const kernels::GatedDeltaInputs in{
        .q = saved[0], .k = saved[1], .v = saved[2], .g = saved[3], .beta = saved[4], .initial_state = {}};
    const kernels::GatedDeltaGrads d =
        kernels::gated_delta_backward(grads[0].contiguous(), {}, in, ctx->saved_data["states"].toTensor(),
                                      delta_options(ctx->saved_data["document_start"].toTensor(), true));
    return {d.dq, d.dk, d.dv, d.dg, d.d_beta, {}, {}};
  }
};

kernels::SsdInputs scan_inputs(const at::Tensor& x, const at::Tensor& dt, const at::Tensor& b, const at::Tensor& c,
                               const Parameter& a_log, const Parameter& skip) {
  return {.x = x,
          .dt = dt,
          .a = -a_log.compute.to(at::kFloat).exp(),
          .b = b,
          .c = c,
          .d = skip.compute,
          .initial_state = {}};
}

struct SsdFunction : Function<SsdFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& dt, const at::Tensor& b,
                            const at::Tensor& c, Parameter* a_log, Parameter* skip,
                            const std::optional<at::Tensor>& document_start, bool keep_states) {
    kernels::SsdOptions options;
    options.document_start = starts_of(document_start);
    options.keep_states = keep_states;
    kernels::SsdResult result = kernels::ssd_forward(scan_inputs(x, dt, b, c, *a_log, *skip), options);
    if (!keep_states) return result.out;
    ctx->save_for_backward({x, dt, b, c});
    ctx->saved_data["a_log"] = to_handle(a_log);
    ctx->saved_data["skip"] = to_handle(skip);
    ctx->saved_data["states"] = result.chunk_states;
    ctx->saved_data["document_start"] = starts_of(document_start);
    return result.out;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    auto* a_log = from_handle<Parameter>(ctx, "a_log");
    auto* skip = from_handle<Parameter>(ctx, "skip");
    kernels::SsdOptions options;
    options.document_start = ctx->saved_data["document_start"].toTensor();
    const kernels::SsdInputs in = scan_inputs(saved[0], saved[1], saved[2], saved[3], *a_log, *skip);
    const kernels::SsdGrads d =
        kernels::ssd_backward(grads[0].contiguous(), {}, in, ctx->saved_data["states"].toTensor(), options);
    a_log->accumulate_grad(d.da * in.a);  // the derivative of -exp(u) is itself
    skip->accumulate_grad(d.dd);
    return {d.dx, d.d_dt, d.db, d.dc, {}, {}, {}, {}};
  }
};

struct GatedNormCall : torch::CustomClassHolder {
  GatedNormCall(Parameter& of, const spec::Norm& norm, bool gate_first, int64_t group)
      : gain(of), zero_centred(norm.zero_centered_gain) {
    options.eps = norm.eps;
    options.order = gate_first ? kernels::GateOrder::GateFirst : kernels::GateOrder::NormFirst;
    options.group = group;
  }
  at::Tensor values() const { return zero_centred ? gain.compute.to(at::kFloat) + 1 : gain.compute; }

  Parameter& gain;
  bool zero_centred;
  kernels::GatedNormOptions options;
};
using GatedNormHandle = c10::intrusive_ptr<GatedNormCall>;

struct GatedNormFunction : Function<GatedNormFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& z,
                            const GatedNormHandle& call) {
    auto [y, rstd] = kernels::gated_rms_norm_forward(x, z, call->values(), call->options);
    ctx->save_for_backward({x, z, rstd});
    ctx->saved_data["call"] = c10::IValue::make_capsule(call);
    return y;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const auto call = c10::static_intrusive_pointer_cast<GatedNormCall>(ctx->saved_data["call"].toCapsule());
    auto [dx, dz, d_gain] = kernels::gated_rms_norm_backward(grads[0].contiguous(), saved[0], saved[1], call->values(),
                                                             saved[2], call->options);
    call->gain.accumulate_grad(d_gain);
    return {dx, dz, {}};
  }
};

// Whether a backward pass can follow, so that an op must keep what it needs.
bool is_differentiated(const at::Tensor& x) {
  return at::GradMode::is_enabled() && x.requires_grad();
}

}  // namespace

at::Tensor value_of(Parameter& parameter, const at::Tensor& anchor) {
  return ValueFunction::apply(anchor, &parameter);
}

at::Tensor short_conv(const at::Tensor& x_btc, Parameter& weight, Parameter* bias, bool silu, const std::string& name,
                      const Context& context) {
  if (!context.cache) return ShortConvFunction::apply(x_btc, &weight, bias, silu, documents(context));
  at::Tensor& state = context.cache->state(name);
  kernels::ShortConvResult result =
      kernels::short_conv_forward(x_btc, weight.compute, compute_of(bias), state, {.silu = silu, .document_start = {}});
  state = result.final_state;
  return result.y;
}

at::Tensor gated_delta(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& decay,
                       const at::Tensor& beta, const std::string& name, const Context& context) {
  if (!context.cache) return GatedDeltaFunction::apply(q, k, v, decay, beta, documents(context), is_differentiated(v));
  at::Tensor& state = context.cache->state(name);
  const kernels::GatedDeltaInputs in{.q = q, .k = k, .v = v, .g = decay, .beta = beta, .initial_state = state};
  kernels::GatedDeltaResult result = kernels::gated_delta_forward(in, delta_options({}, false));
  state = result.final_state;
  return result.out;
}

at::Tensor ssd(const ScanInputs& in, Parameter& a_log, Parameter& skip, const std::string& name,
               const Context& context) {
  if (!context.cache)
    return SsdFunction::apply(in.x, in.dt, in.b, in.c, &a_log, &skip, documents(context), is_differentiated(in.x));
  at::Tensor& state = context.cache->state(name);
  kernels::SsdInputs inputs = scan_inputs(in.x, in.dt, in.b, in.c, a_log, skip);
  inputs.initial_state = state;
  kernels::SsdOptions options;
  options.keep_states = false;
  kernels::SsdResult result = kernels::ssd_forward(inputs, options);
  state = result.final_state;
  return result.out;
}

at::Tensor gated_norm(const at::Tensor& x, const at::Tensor& z, Parameter& gain, const spec::Norm& kind,
                      bool gate_first, int64_t group) {
  return GatedNormFunction::apply(x, z, c10::make_intrusive<GatedNormCall>(gain, kind, gate_first, group));
}

}  // namespace primus::nn
