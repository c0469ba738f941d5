#include "gradcheck/models/reference_layers.h"

#include <fmt/format.h>
#include <numbers>

#include "primus/kernels/dropout.h"

namespace primus::test {

namespace {

at::Tensor act(const at::Tensor& x, spec::Activation kind) {
  switch (kind) {
    case spec::Activation::Silu:
      return x * at::sigmoid(x);
    case spec::Activation::Gelu:
      return x * 0.5 * (1 + at::erf(x / std::numbers::sqrt2));
    case spec::Activation::QuickGelu:
      return x * at::sigmoid(1.702 * x);
    case spec::Activation::SquaredRelu:
      return at::relu(x).square();
    case spec::Activation::GeluTanh:
      return x * 0.5 * (1 + at::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  }
  return x;
}

// 1 for the `count` largest of every row, else 0.
at::Tensor marks_of_largest(const at::Tensor& values, int64_t count) {
  return at::zeros_like(values).scatter(-1, std::get<1>(values.topk(count)), 1.0);
}

// Scores of the experts that may be chosen; those outside of the best groups are out of reach (arXiv 2412.19437,
// section 2.1.2; arXiv 2405.04434, section 2.2.2).
at::Tensor within_best_groups(const at::Tensor& values_ne, const spec::GroupLimit& rule) {
  const at::Tensor groups = values_ne.view({values_ne.size(0), rule.num_groups, -1});
  const at::Tensor group_score = rule.score == spec::GroupScore::Max
                                     ? std::get<0>(groups.max(-1))
                                     : std::get<0>(groups.topk(rule.sum_of, -1)).sum(-1);
  const at::Tensor open = marks_of_largest(group_score, rule.top_groups).unsqueeze(-1).expand_as(groups);
  return groups.masked_fill(open == 0, -1e300).reshape(values_ne.sizes());
}

// What every token takes of every expert, [N, e]: 0 where it was not chosen.
at::Tensor expert_weights(const at::Tensor& logits_ne, const spec::Moe& moe, const at::Tensor& score_bias) {
  const spec::Router& r = moe.router;
  const bool over_chosen = r.score == spec::RouterScore::Softmax && !r.normalise_over_all;
  const at::Tensor scores = over_chosen                             ? logits_ne
                            : r.score == spec::RouterScore::Softmax ? at::softmax(logits_ne, -1)
                            : r.score == spec::RouterScore::Sigmoid ? at::sigmoid(logits_ne)
                                                                    : at::log(1 + at::exp(logits_ne)).sqrt();
  at::Tensor choice = scores.detach();
  if (score_bias.defined()) choice = choice + score_bias;
  if (r.groups) choice = within_best_groups(choice, *r.groups);
  const at::Tensor chosen = marks_of_largest(choice, moe.top_k);
  at::Tensor taken = over_chosen ? at::softmax(logits_ne.masked_fill(chosen == 0, -1e300), -1) : scores * chosen;
  if (r.renormalise) taken = taken / (taken.sum(-1, true) + r.sum_floor);
  return taken * r.scale * chosen;
}

}  // namespace

at::Tensor ReferenceLayers::linear(const at::Tensor& x, const std::string& name, bool bias) const {
  const at::Tensor y = x.matmul(weight(name + ".weight").t());
  return bias ? y + weight(name + ".bias") : y;
}

at::Tensor ReferenceLayers::norm(const at::Tensor& x, const spec::Norm& kind, const std::string& name) const {
  const at::Tensor gain = kind.zero_centered_gain ? weight(name + ".weight") + 1 : weight(name + ".weight");
  if (kind.kind == spec::NormKind::RmsNorm) return x / (x.square().mean(-1, true) + kind.eps).sqrt() * gain;
  const at::Tensor centred = x - x.mean(-1, true);
  return centred / (centred.square().mean(-1, true) + kind.eps).sqrt() * gain + weight(name + ".bias");
}

at::Tensor ReferenceLayers::drop(const at::Tensor& x, double p, const std::string& name) const {
  if (p == 0 || !context_.training) return x;
  const int64_t b = x.size(0), t = x.size(1);
  const at::Tensor samples = context_.sample_index.unsqueeze(1).expand({b, t}).reshape({-1});
  const at::Tensor places = at::arange(t, at::kLong).repeat({b});
  const auto key = kernels::philox_key(context_.seed, name, static_cast<uint64_t>(context_.step));
  return x * kernels::dropout_mask(x.size(2), p, key, samples, places, 0).view_as(x).to(at::kDouble) / (1 - p);
}

at::Tensor ReferenceLayers::positions(int64_t b, int64_t t) const {
  return context_.positions.defined() ? context_.positions : at::arange(t, at::kLong).expand({b, t});
}

at::Tensor ReferenceLayers::mlp(const at::Tensor& y, const spec::Mlp& shape, const std::string& name) const {
  at::Tensor up = linear(y, name + ".up", shape.bias);
  if (shape.clamp > 0) up = up.clamp(-shape.clamp, shape.clamp);
  if (!shape.gated) return linear(act(up, shape.activation), name + ".down", shape.bias);
  at::Tensor gate = linear(y, name + ".gate", shape.bias);
  if (shape.clamp > 0) gate = gate.clamp_max(shape.clamp);
  return linear(act(gate, shape.activation) * (up + shape.up_offset), name + ".down", shape.bias);
}

// Every expert reads every token; what was not chosen is multiplied by zero.
at::Tensor ReferenceLayers::moe(const at::Tensor& y_bth, const spec::Moe& moe, const std::string& name) {
  const at::Tensor y = y_bth.flatten(0, 1);
  at::Tensor logits = linear(y, name + ".router", moe.router.bias);
  if (moe.router.logit_soft_cap > 0) {
    logits = moe.router.logit_soft_cap * at::tanh(logits / moe.router.logit_soft_cap);
  }
  const at::Tensor bias = moe.router.expert_bias ? weight(name + ".router.score_bias") : at::Tensor();
  const at::Tensor taken = expert_weights(logits, moe, bias);
  if (context_.training) add_router_losses(logits, moe, y_bth.size(0));
  const at::Tensor in = moe.latent_size > 0 ? linear(y, name + ".latent_down", false) : y;
  at::Tensor out = at::zeros_like(in);
  for (int64_t e = 0; e < moe.num_experts; ++e) {
    const at::Tensor share = taken.select(1, e).unsqueeze(1);
    const std::string expert = fmt::format("{}.expert.{}", name, e);
    out = out + (moe.router.weight_on_input ? mlp(in * share, moe.expert, expert) * (share != 0)
                                            : mlp(in, moe.expert, expert) * share);
  }
  if (moe.latent_size > 0) out = linear(out, name + ".latent_up", false);
  if (moe.shared_ffn_size > 0) {
    const at::Tensor shared = mlp(y, moe.expert, name + ".shared");
    out = out + (moe.shared_gate ? shared * at::sigmoid(linear(y, name + ".shared_gate", false)) : shared);
  }
  return (out * moe.output_multiplier).view(y_bth.sizes());
}

// spec::BalanceLoss over one micro-batch or each of its rows, and the z-loss of arXiv 2202.08906, equation 5. Loads are
// counted by the plain choice, without bias and groups.
void ReferenceLayers::add_router_losses(const at::Tensor& logits_ne, const spec::Moe& moe, int64_t b) {
  const spec::Router& r = moe.router;
  at::Tensor scores = at::softmax(logits_ne, -1);
  if (r.score == spec::RouterScore::Sigmoid) {
    const at::Tensor raw = at::sigmoid(logits_ne);
    scores = raw / raw.sum(-1, true);
  }
  const at::Tensor marks = marks_of_largest(logits_ne.detach(), moe.top_k);
  for (const spec::BalanceLoss& loss : r.balance_losses) {
    const int64_t num_parts = loss.scope == spec::BalanceScope::Sequence ? b : 1;
    const at::Tensor p = scores.view({num_parts, -1, moe.num_experts}), n = marks.view(p.sizes());
    const auto t = static_cast<double>(p.size(1));
    const double factor = static_cast<double>(moe.num_experts) / (static_cast<double>(moe.top_k) * t * t);
    const at::Tensor of_part = (p.sum(1) * n.sum(1)).sum(-1) * factor;
    auxiliary_loss_ = auxiliary_loss_ + loss.coefficient * of_part.mean();
  }
  auxiliary_loss_ = auxiliary_loss_ + r.z_loss * at::log(at::exp(logits_ne).sum(-1)).square().mean();
}

at::Tensor ReferenceLayers::mixer(const at::Tensor& y, const spec::LayerSpec& spec, const std::string& name) const {
  if (spec.short_conv) return short_conv(y, *spec.short_conv, name + ".conv");
  if (spec.gated_delta) return gated_delta(y, *spec.gated_delta, name + ".delta");
  if (spec.mamba2) return mamba2(y, *spec.mamba2, name + ".mamba");
  return attention(y, spec.attention, name + ".attn");
}

at::Tensor ReferenceLayers::layer(const at::Tensor& x, const spec::LayerSpec& spec, const std::string& name) {
  const auto enter = [&](const at::Tensor& stream, const spec::Norm& kind, const char* half) {
    return spec.norms_in_front ? norm(stream, kind, name + half) : stream;
  };
  const auto leave = [&](const at::Tensor& y, const std::optional<spec::Norm>& kind, const std::string& half) {
    const at::Tensor dropped = drop(y, spec.hidden_dropout, name + half + ".dropout");
    return kind ? norm(dropped, *kind, name + half + "_post_norm") : dropped;
  };
  at::Tensor middle = x;
  if (spec.has_mixer) {
    const at::Tensor mixed = mixer(enter(x, spec.input_norm, ".attn_norm"), spec, name);
    middle = x + leave(mixed, spec.attention_output_norm, ".attn");
  }
  if (!spec.has_mlp) return middle;
  const at::Tensor y = enter(middle, spec.post_attention_norm, ".mlp_norm");
  const at::Tensor fed = spec.moe ? moe(y, *spec.moe, name + ".moe") : mlp(y, spec.mlp, name + ".mlp");
  return middle + leave(fed, spec.mlp_output_norm, ".mlp");
}

}  // namespace primus::test
