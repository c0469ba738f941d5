#include "primus/nn/attention.h"

#include <cmath>

#include "primus/base/check.h"
#include "primus/kernels/norm.h"
#include "primus/kernels/rope.h"
#include "primus/nn/attention_stream.h"
#include "primus/nn/autograd.h"
#include "primus/nn/cache.h"

namespace primus::nn {

namespace {

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

// What one norm reads at once: a head, or all heads of the projection.
at::Tensor normed_rows(const at::Tensor& x_bthd, const spec::QkNorm& rule) {
  if (rule.scope == spec::QkNormScope::PerHead) return x_bthd;
  return x_bthd.reshape({x_bthd.size(0), x_bthd.size(1), 1, x_bthd.size(2) * x_bthd.size(3)});
}

// Without weights the kernel still gets what multiplies by 1.
at::Tensor gain_values(const Parameter* gain, const at::Tensor& rows, const spec::Norm& kind) {
  return gain ? gain->compute : at::full({rows.size(-1)}, kind.zero_centered_gain ? 0 : 1, rows.options());
}

// The input is kept, not the output, which the attention behind it may rotate in place.
struct QkNormFunction : Function<QkNormFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& qkv, const spec::Attention* shape,
                            Parameter* q_gain, Parameter* k_gain) {
    const spec::QkNorm& rule = *shape->qk_norm;
    const kernels::NormOptions options = options_of(rule.norm);
    const at::Tensor out = at::empty_like(qkv);
    const Heads from = split_heads(qkv, *shape), to = split_heads(out, *shape);
    const auto run = [&](const at::Tensor& x, const Parameter* gain, const at::Tensor& target) {
      const at::Tensor rows = normed_rows(x, rule);
      const auto [y, rstd] = kernels::rms_norm_forward(rows, gain_values(gain, rows, rule.norm), options);
      target.copy_(y.view(target.sizes()));
      return rstd;
    };
    const at::Tensor q_rstd = run(from.q_bthd, q_gain, to.q_bthd);
    const at::Tensor k_rstd = run(from.k_btgd, k_gain, to.k_btgd);
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
    const spec::QkNorm& rule = *shape->qk_norm;
    const at::Tensor dy = grads[0].contiguous(), dx = at::empty_like(dy);
    const Heads from = split_heads(saved[0], *shape), dy_of = split_heads(dy, *shape), dx_of = split_heads(dx, *shape);
    const auto run = [&](const at::Tensor& d, const at::Tensor& x, const at::Tensor& rstd, const char* key,
                         const at::Tensor& target) {
      auto* gain = from_handle<Parameter>(ctx, key);
      const at::Tensor rows = normed_rows(x, rule);
      const auto [dx_part, d_gain] = kernels::rms_norm_backward(
          normed_rows(d, rule), rows, gain_values(gain, rows, rule.norm), rstd, options_of(rule.norm), {});
      target.copy_(dx_part.view(target.sizes()));
      if (gain) gain->accumulate_grad(d_gain);
    };
    run(dy_of.q_bthd, from.q_bthd, saved[1], "q_gain", dx_of.q_bthd);
    run(dy_of.k_btgd, from.k_btgd, saved[2], "k_gain", dx_of.k_btgd);
    dx_of.v_btgd.copy_(dy_of.v_btgd);
    return {dx, {}, {}, {}};
  }
};

// How much the scores of each position grow: f32 [b or 1, t, 1, 1].
at::Tensor temperatures(const spec::TemperatureTuning& rule, const Context& context, int64_t num_tokens) {
  const at::Tensor places =
      context.positions.defined()
          ? context.positions.to(at::kDouble)
          : at::arange(num_tokens, at::kDouble).add(static_cast<double>(context.start_position)).unsqueeze(0);
  if (rule.log_length > 0) {
    const at::Tensor ratio = places.log() / std::log(static_cast<double>(rule.log_length));
    return at::where(places > rule.log_length, ratio, at::ones_like(ratio)).to(at::kFloat).unsqueeze(-1).unsqueeze(-1);
  }
  const at::Tensor growth = (places.add(1) / rule.floor_scale).floor().log1p();
  return growth.mul(rule.scale).add(1).to(at::kFloat).unsqueeze(-1).unsqueeze(-1);
}

void scale_by(const at::Tensor& x, const at::Tensor& factor) {
  if (x.scalar_type() == at::kFloat) {
    x.mul_(factor);
  } else {
    x.copy_(at::mul(x, factor));
  }
}

// Attention of one layer on heads that are split already; the same in forward and backward.
struct AttentionCall : torch::CustomClassHolder {
  AttentionCall(const AttentionSetting& s, const Context& c, int64_t num_rows, int64_t num_tokens)
      : setting(s),
        shape(*s.shape),
        context(c),
        stream(s.name, c),
        first_key(first_visible(shape, c, num_rows, num_tokens)) {
    if (shape.temperature) temperature = temperatures(*shape.temperature, c, num_tokens);
    if (!s.rope.rotates()) return;
    rope = s.rope.rows(c.positions.defined() ? c.positions.max().item<int64_t>() + 1 : c.start_position + num_tokens);
  }
  AttentionSetting setting;
  spec::Attention shape;
  Context context;
  AttentionStream stream;
  at::Tensor first_key, temperature;
  RopeTable::Rows rope;  // undefined: no rotation

  void rotate(const at::Tensor& x, kernels::RopeDirection direction) const {
    if (!rope.cos.defined()) return;
    const auto layout = shape.rope->interleaved ? kernels::RopeLayout::Interleaved : kernels::RopeLayout::HalfRotate;
    kernels::rope_apply(x, x, rope.cos, rope.sin, context.positions, context.start_position, layout, direction);
  }
  // Both are linear, and each is its own transpose but for the direction of the rotation.
  void prepare_queries(const at::Tensor& q, const at::Tensor& rotated, kernels::RopeDirection direction) const {
    rotate(rotated, direction);
    if (temperature.defined()) scale_by(q, temperature);
  }

  kernels::AttentionOptions options() {
    kernels::AttentionOptions options{.causal = true,
                                      .softmax_scale = shape.softmax_scale,
                                      .score_cap = shape.logit_soft_cap,
                                      .document_start = first_key};
    // Queries have grown already; a cap that grows with them is one in front of the growth.
    if (temperature.defined() && shape.temperature->log_length > 0 && shape.logit_soft_cap != 0)
      options.cap_factors = temperature.squeeze(-1).squeeze(-1).contiguous();
    if (context.training && shape.dropout > 0) options.dropout = stream.dropout(shape.dropout);
    return options;
  }

  at::Tensor sink_logits(const at::Tensor& lse) const {
    const at::Tensor sinks =
        setting.sinks ? setting.sinks->compute.to(lse.scalar_type()) : at::zeros({shape.num_heads}, lse.options());
    return sinks.view({1, shape.num_heads, 1});
  }

  // A sink is a key without a value: it only adds to the sum of exponentials. With that sum in lse, the kernels'
  // backward pass is right as it is.
  std::pair<at::Tensor, at::Tensor> forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
    auto [out, lse] = kernels::attention_forward(context.routes->attention, q, k, v, options());
    if (shape.sink == spec::Sink::None) return {out, lse};
    const at::Tensor with_sink = at::logaddexp(lse, sink_logits(lse));
    scale_by(out, (lse - with_sink).exp().transpose(1, 2).unsqueeze(-1));
    return {out, with_sink};
  }

  kernels::AttentionGrads backward(const at::Tensor& d_out, const at::Tensor& q, const at::Tensor& k,
                                   const at::Tensor& v, const at::Tensor& out, const at::Tensor& lse,
                                   kernels::AttentionGrads into) {
    if (setting.sinks) {
      const at::Tensor probability = (sink_logits(lse) - lse).exp();  // [b, a, t]
      const at::Tensor delta = at::mul(d_out.to(lse.scalar_type()), out).sum(-1).transpose(1, 2);
      setting.sinks->accumulate_grad((probability * delta).sum(at::IntArrayRef{0, 2}).neg());
    }
    return kernels::attention_backward(context.routes->attention, d_out, q, k, v, out, lse, options(), std::move(into));
  }
};

using CallHandle = c10::intrusive_ptr<AttentionCall>;

CallHandle call_of(AutogradContext* ctx) {
  return c10::static_intrusive_pointer_cast<AttentionCall>(ctx->saved_data["call"].toCapsule());
}

void save_results(AutogradContext* ctx, const CallHandle& call, const at::Tensor& out, const at::Tensor& lse) {
  ctx->saved_data["call"] = c10::IValue::make_capsule(call);
  if (call->setting.recompute) return;
  ctx->saved_data["out"] = out;
  ctx->saved_data["lse"] = lse;
}

std::pair<at::Tensor, at::Tensor> saved_results(AutogradContext* ctx, const CallHandle& call, const at::Tensor& q,
                                                const at::Tensor& k, const at::Tensor& v) {
  if (call->setting.recompute) return call->forward(q, k, v);
  return {ctx->saved_data["out"].toTensor(), ctx->saved_data["lse"].toTensor()};
}

struct AttentionFunction : Function<AttentionFunction> {
  // qkv is rotated in place: it belongs to this op alone, since the projection's backward does not read its output.
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& qkv, const CallHandle& call) {
    const Heads heads = split_heads(qkv, call->shape);
    call->prepare_queries(heads.q_bthd, heads.q_bthd, kernels::RopeDirection::Forward);
    call->rotate(heads.k_btgd, kernels::RopeDirection::Forward);
    const auto [out, lse] = call->forward(heads.q_bthd, heads.k_btgd, heads.v_btgd);
    save_results(ctx, call, out, lse);
    ctx->saved_data["qkv"] = qkv.detach();
    return out.view({qkv.size(0), qkv.size(1), call->shape.num_heads * call->shape.head_dim});
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const CallHandle call = call_of(ctx);
    const at::Tensor qkv = ctx->saved_data["qkv"].toTensor();
    const Heads heads = split_heads(qkv, call->shape);
    const auto [out, lse] = saved_results(ctx, call, heads.q_bthd, heads.k_btgd, heads.v_btgd);
    const at::Tensor d_qkv = at::empty_like(qkv);
    const Heads d = split_heads(d_qkv, call->shape);
    call->backward(grads[0].contiguous().view_as(out), heads.q_bthd, heads.k_btgd, heads.v_btgd, out, lse,
                   {d.q_bthd, d.k_btgd, d.v_btgd});
    call->prepare_queries(d.q_bthd, d.q_bthd, kernels::RopeDirection::Backward);
    call->rotate(d.k_btgd, kernels::RopeDirection::Backward);
    return {d_qkv, {}};
  }
};

// Heads of latent attention. Queries and keys are [nope, rope] wide; the kernels want values of that width too, so the
// narrower side carries zeros.
struct LatentHeads {
  at::Tensor q_bthd, k_bthd, v_bthd;
  int64_t nope, rope, value, width;

  at::Tensor rotated(const at::Tensor& x_bthd) const { return x_bthd.narrow(3, nope, rope); }
};

at::Tensor widened(const at::Tensor& x, int64_t width) {
  return x.size(-1) == width ? x : at::constant_pad_nd(x, {0, width - x.size(-1)});
}

// k_rope: [b, s, 1, rope], rotated, as q is.
LatentHeads latent_heads(const at::Tensor& q_btx, const at::Tensor& kv_bsx, const at::Tensor& k_rope,
                         const spec::Attention& shape) {
  const spec::LatentAttention& l = *shape.latent;
  const int64_t b = kv_bsx.size(0), s = kv_bsx.size(1), a = shape.num_heads;
  LatentHeads heads{.nope = l.nope_head_dim,
                    .rope = l.rope_head_dim,
                    .value = l.v_head_dim,
                    .width = std::max(l.nope_head_dim + l.rope_head_dim, l.v_head_dim)};
  const at::Tensor kv = kv_bsx.view({b, s, a, heads.nope + heads.value});
  const at::Tensor k = at::cat({kv.narrow(3, 0, heads.nope), k_rope.expand({b, s, a, heads.rope})}, 3);
  heads.q_bthd = widened(q_btx.view({b, q_btx.size(1), a, heads.nope + heads.rope}), heads.width);
  heads.k_bthd = widened(k, heads.width);
  heads.v_bthd = widened(kv.narrow(3, heads.nope, heads.value), heads.width);
  return heads;
}

void rotate_latent_queries(const at::Tensor& q_btx, const AttentionCall& call) {
  const spec::LatentAttention& l = *call.shape.latent;
  const int64_t width = l.nope_head_dim + l.rope_head_dim;
  const at::Tensor q = q_btx.view({q_btx.size(0), q_btx.size(1), call.shape.num_heads, width});
  call.prepare_queries(q, q.narrow(3, l.nope_head_dim, l.rope_head_dim), kernels::RopeDirection::Forward);
}

// [b, t, rope] -> [b, t, 1, rope], a tensor of its own.
at::Tensor rotated_key(const at::Tensor& k_rope_btr, const AttentionCall& call) {
  const at::Tensor key = k_rope_btr.unsqueeze(2).clone(at::MemoryFormat::Contiguous);
  call.rotate(key, kernels::RopeDirection::Forward);
  return key;
}

at::Tensor joined_values(const at::Tensor& out, const LatentHeads& heads) {
  return out.narrow(3, 0, heads.value).reshape({out.size(0), out.size(1), out.size(2) * heads.value});
}

struct LatentAttentionFunction : Function<LatentAttentionFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& kv, const at::Tensor& k_rope,
                            const CallHandle& call) {
    rotate_latent_queries(q, *call);
    const LatentHeads heads = latent_heads(q, kv, rotated_key(k_rope, *call), call->shape);
    const auto [out, lse] = call->forward(heads.q_bthd, heads.k_bthd, heads.v_bthd);
    save_results(ctx, call, out, lse);
    ctx->saved_data["q"] = q.detach();
    ctx->saved_data["kv"] = kv.detach();
    ctx->saved_data["k_rope"] = k_rope.detach();
    return joined_values(out, heads);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const CallHandle call = call_of(ctx);
    const at::Tensor q = ctx->saved_data["q"].toTensor(), kv = ctx->saved_data["kv"].toTensor(),
                     k_rope = ctx->saved_data["k_rope"].toTensor();
    const LatentHeads heads = latent_heads(q, kv, rotated_key(k_rope, *call), call->shape);
    const auto [out, lse] = saved_results(ctx, call, heads.q_bthd, heads.k_bthd, heads.v_bthd);
    const int64_t b = q.size(0), t = q.size(1), a = call->shape.num_heads;
    const at::Tensor d_out = widened(grads[0].reshape({b, t, a, heads.value}), heads.width).contiguous();
    const kernels::AttentionGrads d = call->backward(d_out, heads.q_bthd, heads.k_bthd, heads.v_bthd, out, lse, {});
    const at::Tensor d_q = d.dq.narrow(3, 0, heads.nope + heads.rope).contiguous();
    call->prepare_queries(d_q, heads.rotated(d_q), kernels::RopeDirection::Backward);
    const at::Tensor d_kv = at::cat({d.dk.narrow(3, 0, heads.nope), d.dv.narrow(3, 0, heads.value)}, 3).view_as(kv);
    // One rotated key serves all heads: its gradient is their sum.
    const at::Tensor d_k_rope =
        heads.rotated(d.dk).sum(2, /*keepdim=*/true, at::kFloat).to(k_rope.scalar_type()).contiguous();
    call->rotate(d_k_rope, kernels::RopeDirection::Backward);
    return {d_q.view_as(q), d_kv, d_k_rope.view_as(k_rope), {}};
  }
};

}  // namespace

at::Tensor first_visible(const spec::Attention& shape, const Context& context, int64_t num_rows, int64_t num_tokens) {
  const bool windowed = shape.window_keys && *shape.window_keys < num_tokens;
  const bool chunked = shape.chunk_size && *shape.chunk_size < num_tokens;
  if (!windowed && !chunked) return context.document_start;
  const at::Tensor rows = at::arange(num_tokens, at::kInt).unsqueeze(0);
  at::Tensor first = at::zeros({num_rows, num_tokens}, at::kInt);
  if (windowed) first = at::maximum(first, rows - (*shape.window_keys - 1));
  if (chunked) {
    const at::Tensor places = context.positions.defined() ? context.positions.to(at::kInt) : rows;
    first = at::maximum(first, rows - places.remainder(*shape.chunk_size));
  }
  if (context.document_start.defined()) first = at::maximum(first, context.document_start);
  return first.contiguous();
}

at::Tensor qk_norm(const at::Tensor& qkv_btx, const spec::Attention& shape, Parameter* q_gain, Parameter* k_gain) {
  return QkNormFunction::apply(qkv_btx, &shape, q_gain, k_gain);
}

at::Tensor attention(const at::Tensor& qkv_btx, const AttentionSetting& setting, const Context& context) {
  return AttentionFunction::apply(
      qkv_btx, c10::make_intrusive<AttentionCall>(setting, context, qkv_btx.size(0), qkv_btx.size(1)));
}

at::Tensor latent_attention(const at::Tensor& q_btx, const at::Tensor& kv_btx, const at::Tensor& k_rope_btr,
                            const AttentionSetting& setting, const Context& context) {
  return LatentAttentionFunction::apply(
      q_btx, kv_btx, k_rope_btr, c10::make_intrusive<AttentionCall>(setting, context, q_btx.size(0), q_btx.size(1)));
}

namespace {

// A single query sees keys from here on: the position itself is the last key.
int64_t first_key_of(const spec::Attention& shape, int64_t position) {
  int64_t first = 0;
  if (shape.window_keys) first = std::max(first, position - *shape.window_keys + 1);
  if (shape.chunk_size) first = std::max(first, position - position % *shape.chunk_size);
  return first;
}

at::Tensor attend_to_cache(AttentionCall& call, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const int64_t position = call.context.start_position;
  if (position == 0) return call.forward(q, k, v).first;
  PRIMUS_CHECK(q.size(1) == 1 && k.size(1) == position + 1, "generation goes on one token at a time");
  const int64_t first = first_key_of(call.shape, position), count = position + 1 - first;
  return call.forward(q, k.narrow(1, first, count), v.narrow(1, first, count)).first;
}

}  // namespace

at::Tensor cached_attention(const at::Tensor& qkv_btx, const AttentionSetting& setting, const Context& context) {
  AttentionCall call(setting, context, qkv_btx.size(0), qkv_btx.size(1));
  const Heads heads = split_heads(qkv_btx, call.shape);
  call.prepare_queries(heads.q_bthd, heads.q_bthd, kernels::RopeDirection::Forward);
  call.rotate(heads.k_btgd, kernels::RopeDirection::Forward);
  const auto [k, v] = context.cache->append(setting.name, heads.k_btgd, heads.v_btgd);
  return attend_to_cache(call, heads.q_bthd, k, v).flatten(2);
}

at::Tensor cached_latent_attention(const at::Tensor& q_btx, const at::Tensor& latent_btl, const at::Tensor& k_rope_btr,
                                   const UpProjection& up, const AttentionSetting& setting, const Context& context) {
  AttentionCall call(setting, context, q_btx.size(0), q_btx.size(1));
  rotate_latent_queries(q_btx, call);
  const auto [latents, k_rope] = context.cache->append(setting.name, latent_btl, rotated_key(k_rope_btr, call));
  const LatentHeads heads = latent_heads(q_btx, up(latents), k_rope, call.shape);
  return joined_values(attend_to_cache(call, heads.q_bthd, heads.k_bthd, heads.v_bthd), heads);
}

}  // namespace primus::nn
