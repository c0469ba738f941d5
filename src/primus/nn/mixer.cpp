#include "primus/nn/mixer.h"

#include <cmath>

#include "primus/nn/gated_delta.h"
#include "primus/nn/mamba2.h"
#include "primus/nn/short_conv.h"

namespace primus::nn {

namespace {

std::unique_ptr<Parameter> sinks_of(const spec::Attention& shape, const std::string& name, Spread spread) {
  if (shape.sink != spec::Sink::Learned) return nullptr;
  return std::make_unique<Parameter>(name + ".sinks", std::vector<int64_t>{shape.num_heads},
                                     spread.std > 0 ? InitKind::Normal : InitKind::Zeros, spread);
}

AttentionSetting setting_of(const spec::Attention& shape, const MixerOptions& options, Parameter* sinks) {
  return {
      .shape = &shape, .rope = options.rope, .sinks = sinks, .name = options.name, .recompute = options.recompute_core};
}

}  // namespace

SelfAttention::SelfAttention(const spec::Attention& shape, int64_t hidden, const FirstWeights& first,
                             const MixerOptions& options)
    : shape_(shape) {
  // rms(s R x) = |s| rms(x): a norm behind a rotation scaled by s is one in front of it with epsilon / s^2.
  if (shape_.qk_norm && shape_.qk_norm->after_rope && shape_.rope && shape_.rope->yarn)
    shape_.qk_norm->norm.eps /= std::pow(shape_.rope->yarn->cos_sin_factor, 2);
  const std::string& name = options.name;
  const int64_t q = shape.num_heads * shape.head_dim;
  const int64_t g = shape.num_kv_heads * shape.head_dim;
  const std::vector<Piece> qkv = {{name + ".q", q, first.q}, {name + ".k", g, first.kv}, {name + ".v", g, first.kv}};
  const std::vector<Piece> out = {{name + ".o", hidden, first.out}};
  qkv_ = projection(qkv, hidden, first.law);
  qkv_bias_ = projection_bias(shape.qkv_bias, qkv, first.bias);
  if (shape.output_gate) {
    const std::vector<Piece> gate = {{name + ".gate", q, first.q}};
    gate_ = projection(gate, hidden, first.law);
    gate_bias_ = projection_bias(shape.qkv_bias, gate, first.bias);
  }
  if (shape.qk_norm && shape.qk_norm->has_gain) {
    const bool per_head = shape.qk_norm->scope == spec::QkNormScope::PerHead;
    q_norm_ = norm_gain(shape.qk_norm->norm, name + ".q_norm", per_head ? shape.head_dim : q);
    k_norm_ = norm_gain(shape.qk_norm->norm, name + ".k_norm", per_head ? shape.head_dim : g);
    q_norm_->is_query_key_norm = k_norm_->is_query_key_norm = true;
  }
  sinks_ = sinks_of(shape, name, first.sink);
  out_ = projection(out, q, first.law);
  out_bias_ = projection_bias(shape.out_bias, out, first.bias);
  setting_ = setting_of(shape_, options, sinks_.get());
}

at::Tensor SelfAttention::forward(const at::Tensor& x_bth, const Context& context) {
  at::Tensor qkv_btx = linear(x_bth, *qkv_, qkv_bias_.get(), context);
  if (shape_.qk_norm) qkv_btx = qk_norm(qkv_btx, shape_, q_norm_.get(), k_norm_.get());
  at::Tensor core_btq =
      context.cache ? cached_attention(qkv_btx, setting_, context) : attention(qkv_btx, setting_, context);
  if (gate_) core_btq = core_btq * at::sigmoid(linear(x_bth, *gate_, gate_bias_.get(), context));
  return linear(core_btq, *out_, out_bias_.get(), context);
}

std::vector<Parameter*> SelfAttention::parameters() {
  std::vector<Parameter*> all;
  append_parameters(all, qkv_, qkv_bias_, gate_, gate_bias_, q_norm_, k_norm_, sinks_, out_, out_bias_);
  return all;
}

LatentAttention::LatentAttention(const spec::Attention& shape, int64_t hidden, const FirstWeights& first,
                                 const MixerOptions& options)
    : shape_(shape),
      latent_(*shape.latent),
      latent_norm_{.eps = shape.latent->latent_norm_eps},
      recompute_up_(options.recompute_up_projection) {
  const std::string& name = options.name;
  const int64_t a = shape.num_heads, rank = latent_.q_lora_rank;
  const int64_t q_rows = a * (latent_.nope_head_dim + latent_.rope_head_dim);
  if (rank > 0) {
    const std::vector<Piece> down = {{name + ".q_a", rank, first.q}};
    q_down_ = projection(down, hidden, first.law);
    q_down_bias_ = projection_bias(shape.qkv_bias, down, first.bias);
    if (latent_.norm_latents) q_norm_ = norm_gain(latent_norm_, name + ".q_a_norm", rank);
    q_up_ = projection({{name + ".q_b", q_rows, first.q}}, rank, first.law);
  } else {
    q_up_ = projection({{name + ".q", q_rows, first.q}}, hidden, first.law);
  }
  const std::vector<Piece> down = {{name + ".kv_a", latent_.kv_lora_rank + latent_.rope_head_dim, first.kv}};
  kv_down_ = projection(down, hidden, first.law);
  kv_down_bias_ = projection_bias(shape.qkv_bias, down, first.bias);
  if (latent_.norm_latents) kv_norm_ = norm_gain(latent_norm_, name + ".kv_a_norm", latent_.kv_lora_rank);
  kv_up_ = projection({{name + ".kv_b", a * (latent_.nope_head_dim + latent_.v_head_dim), first.kv}},
                      latent_.kv_lora_rank, first.law);
  sinks_ = sinks_of(shape, name, first.sink);
  const std::vector<Piece> out = {{name + ".o", hidden, first.out}};
  out_ = projection(out, a * latent_.v_head_dim, first.law);
  out_bias_ = projection_bias(shape.out_bias, out, first.bias);
  setting_ = setting_of(shape_, options, sinks_.get());
}

at::Tensor LatentAttention::query_latent(const at::Tensor& x_bth, const Context& context) {
  if (!q_down_) return x_bth;
  const at::Tensor latent = linear(x_bth, *q_down_, q_down_bias_.get(), context);
  return q_norm_ ? norm(latent, *q_norm_, nullptr, latent_norm_).second : latent;
}

at::Tensor LatentAttention::attend(const at::Tensor& query_latent, const at::Tensor& latent, const at::Tensor& k_rope,
                                   const Context& context) {
  const at::Tensor q_btx = linear(query_latent, *q_up_, nullptr, context);
  const auto up = [&](const at::Tensor& columns) { return linear(columns, *kv_up_, nullptr, context); };
  return context.cache ? cached_latent_attention(q_btx, latent, k_rope, up, setting_, context)
                       : latent_attention(q_btx, up(latent), k_rope, setting_, context);
}

at::Tensor LatentAttention::forward(const at::Tensor& x_bth, const Context& context) {
  const int64_t rank = latent_.kv_lora_rank, rope = latent_.rope_head_dim;
  const at::Tensor queries = query_latent(x_bth, context);
  const at::Tensor down = linear(x_bth, *kv_down_, kv_down_bias_.get(), context);
  at::Tensor latent = down.narrow(2, 0, rank).contiguous();  // c^KV, equation 9
  const at::Tensor k_rope = down.narrow(2, rank, rope);
  if (kv_norm_) latent = norm(latent, *kv_norm_, nullptr, latent_norm_).second;
  at::Tensor core;
  if (recompute_up_ && !context.cache) {
    const int64_t width = queries.size(2);
    const auto run = [this, context, width, rank, rope](const at::Tensor& all) {
      return attend(all.narrow(2, 0, width).contiguous(), all.narrow(2, width, rank).contiguous(),
                    all.narrow(2, width + rank, rope), context);
    };
    core = recompute(run, at::cat({queries, latent, k_rope}, 2));
  } else {
    core = attend(queries, latent, k_rope, context);
  }
  return linear(core, *out_, out_bias_.get(), context);
}

std::vector<Parameter*> LatentAttention::parameters() {
  std::vector<Parameter*> all;
  append_parameters(all, q_down_, q_down_bias_, q_norm_, q_up_, kv_down_, kv_down_bias_, kv_norm_, kv_up_, sinks_, out_,
                    out_bias_);
  return all;
}

const char* mixer_name(const spec::LayerSpec& layer) {
  return layer.short_conv ? "conv" : layer.gated_delta ? "delta" : layer.mamba2 ? "mamba" : "attn";
}

std::unique_ptr<Mixer> make_mixer(const spec::LayerSpec& layer, int64_t hidden, const FirstWeights& first,
                                  const MixerOptions& options) {
  if (!layer.has_mixer) return nullptr;
  if (layer.short_conv) return std::make_unique<ShortConv>(*layer.short_conv, hidden, first, options);
  if (layer.gated_delta) return std::make_unique<GatedDeltaNet>(*layer.gated_delta, hidden, first, options);
  if (layer.mamba2) return std::make_unique<Mamba2>(*layer.mamba2, hidden, first, options);
  if (layer.attention.latent) return std::make_unique<LatentAttention>(layer.attention, hidden, first, options);
  return std::make_unique<SelfAttention>(layer.attention, hidden, first, options);
}

}  // namespace primus::nn
