// The decoder once more, in double and by plain libtorch operations with libtorch's own autograd: what the engine's
// hand written gradients are held against. Written from the papers, not from src/. Legend: b rows, t tokens, h hidden,
// n heads, d head width.
#pragma once

#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numbers>
#include <string>

#include "primus/kernels/dropout.h"
#include "primus/nn/attention_stream.h"
#include "primus/spec/model.h"

namespace primus::test {

using Weights = std::map<std::string, at::Tensor>;  // piece name -> leaf, double

class ReferenceDecoder {
 public:
  ReferenceDecoder(const spec::Model& model, const Weights& weights, const nn::Context& context)
      : model_(model), weights_(weights), context_(context) {}

  // Token losses [b, t].
  at::Tensor token_losses(const at::Tensor& tokens, const at::Tensor& labels) const {
    const at::Tensor log_p = at::log_softmax(logits(tokens), -1);
    return -log_p.gather(-1, labels.unsqueeze(-1)).squeeze(-1);
  }

  at::Tensor logits(const at::Tensor& tokens) const {
    at::Tensor x = rows(weight("embed.weight"), tokens) * model_.embedding_multiplier;
    if (model_.learned_positions) x = x + rows(weight("embed.position.weight"), positions(tokens));
    x = drop(x, model_.embedding_dropout, "embed.dropout");
    for (size_t i = 0; i < model_.layers.size(); ++i)
      x = layer(x, model_.layers[i], fmt::format("layer.{}", i), positions(tokens));
    const at::Tensor y = norm(x, model_.final_norm, "final_norm");
    const at::Tensor& head = weight(model_.tied_embeddings ? "embed.weight" : "head.weight");
    return y.matmul(head.t()) * model_.logit_multiplier;
  }

 private:
  const at::Tensor& weight(const std::string& name) const { return weights_.at(name); }
  at::Tensor rows(const at::Tensor& table, const at::Tensor& ids) const {
    return table.index_select(0, ids.reshape({-1})).view({ids.size(0), ids.size(1), table.size(1)});
  }
  at::Tensor positions(const at::Tensor& tokens) const {
    return context_.positions.defined() ? context_.positions : at::arange(tokens.size(1), at::kLong).expand_as(tokens);
  }
  at::Tensor linear(const at::Tensor& x, const std::string& name, bool bias) const {
    const at::Tensor y = x.matmul(weight(name + ".weight").t());
    return bias ? y + weight(name + ".bias") : y;
  }

  at::Tensor norm(const at::Tensor& x, const spec::Norm& kind, const std::string& name) const {
    const at::Tensor gain = kind.zero_centered_gain ? weight(name + ".weight") + 1 : weight(name + ".weight");
    if (kind.kind == spec::NormKind::RmsNorm) return x / (x.square().mean(-1, true) + kind.eps).sqrt() * gain;
    const at::Tensor centred = x - x.mean(-1, true);
    return centred / (centred.square().mean(-1, true) + kind.eps).sqrt() * gain + weight(name + ".bias");
  }

  at::Tensor drop(const at::Tensor& x, double p, const std::string& name) const {
    if (p == 0 || !context_.training) return x;
    const int64_t b = x.size(0), t = x.size(1);
    const at::Tensor samples = context_.sample_index.unsqueeze(1).expand({b, t}).reshape({-1});
    const at::Tensor places = at::arange(t, at::kLong).repeat({b});
    const auto key = kernels::philox_key(context_.seed, name, static_cast<uint64_t>(context_.step));
    return x * kernels::dropout_mask(x.size(2), p, key, samples, places, 0).view_as(x).to(at::kDouble) / (1 - p);
  }

  // Angle of every pair at every position: [b, t, rotary / 2].
  static at::Tensor angles(const spec::Rope& rope, int64_t rotary, const at::Tensor& positions) {
    std::vector<double> frequencies;
    for (int64_t i = 0; i < rotary / 2; ++i) {
      double w = std::pow(rope.base, -2.0 * static_cast<double>(i) / static_cast<double>(rotary));
      if (rope.llama3) {
        const double wavelength = 2 * std::numbers::pi / w;
        const auto original = static_cast<double>(rope.llama3->original_max_positions);
        const double smooth = (original / wavelength - rope.llama3->low_freq_factor) /
                              (rope.llama3->high_freq_factor - rope.llama3->low_freq_factor);
        if (wavelength > original / rope.llama3->low_freq_factor) {
          w /= rope.llama3->factor;
        } else if (wavelength >= original / rope.llama3->high_freq_factor) {
          w = (1 - smooth) * w / rope.llama3->factor + smooth * w;
        }
      }
      frequencies.push_back(w);
    }
    return positions.to(at::kDouble).unsqueeze(-1) * at::tensor(frequencies, at::kDouble);
  }

  static at::Tensor rotate(const at::Tensor& x_btnd, const spec::Rope& rope, const at::Tensor& positions) {
    const int64_t d = x_btnd.size(3);
    const auto rotary = static_cast<int64_t>(static_cast<double>(d) * rope.fraction);
    const at::Tensor angle = angles(rope, rotary, positions).unsqueeze(2);
    const at::Tensor turned = x_btnd.narrow(3, 0, rotary);
    const at::Tensor rest = x_btnd.narrow(3, rotary, d - rotary);
    const int64_t half = rotary / 2;
    const at::Tensor a = rope.interleaved ? turned.slice(3, 0, rotary, 2) : turned.narrow(3, 0, half);
    const at::Tensor b = rope.interleaved ? turned.slice(3, 1, rotary, 2) : turned.narrow(3, half, half);
    const at::Tensor first = a * angle.cos() - b * angle.sin();
    const at::Tensor second = b * angle.cos() + a * angle.sin();
    const at::Tensor pairs = rope.interleaved ? at::stack({first, second}, -1).flatten(3) : at::cat({first, second}, 3);
    return at::cat({pairs, rest}, 3);
  }

  // 1 where the query (dim 1) sees the key (dim 2): [b, t, t].
  at::Tensor visible(int64_t b, int64_t t) const {
    const at::Tensor query = at::arange(t, at::kLong).view({1, t, 1});
    const at::Tensor key = at::arange(t, at::kLong).view({1, 1, t});
    at::Tensor seen = key.le(query).expand({b, t, t});
    if (context_.document_start.defined())
      seen = seen.logical_and(key.ge(context_.document_start.to(at::kLong).unsqueeze(2)));
    return seen;
  }

  // Probabilities that survive, scaled: [b, n, t, t].
  at::Tensor kept(const spec::Attention& a, const std::string& name, int64_t b, int64_t t) const {
    const at::Tensor keep = at::zeros({b, a.num_heads, t, t}, at::kByte);
    nn::AttentionStream stream(name, context_);
    const kernels::AttentionDropout rule = stream.dropout(a.dropout);
    for (int64_t row = 0; row < b; ++row) {
      for (int64_t n = 0; n < a.num_heads; ++n) {
        for (int64_t q = 0; q < t; ++q) rule.keep(rule.context, row, n, q, 0, t, keep[row][n][q].data_ptr<uint8_t>());
      }
    }
    return keep.to(at::kDouble) / (1 - a.dropout);
  }

  at::Tensor attention(const at::Tensor& y, const spec::Attention& a, const std::string& name,
                       const at::Tensor& positions) const {
    const int64_t b = y.size(0), t = y.size(1);
    at::Tensor q = linear(y, name + ".q", a.qkv_bias).view({b, t, a.num_heads, a.head_dim});
    at::Tensor k = linear(y, name + ".k", a.qkv_bias).view({b, t, a.num_kv_heads, a.head_dim});
    at::Tensor v = linear(y, name + ".v", a.qkv_bias).view({b, t, a.num_kv_heads, a.head_dim});
    if (a.qk_norm) {
      q = norm(q, a.qk_norm->norm, name + ".q_norm");
      k = norm(k, a.qk_norm->norm, name + ".k_norm");
    }
    if (a.rope) {
      q = rotate(q, *a.rope, positions);
      k = rotate(k, *a.rope, positions);
    }
    const int64_t group = a.num_heads / a.num_kv_heads;  // query head n reads key head n / group
    k = k.repeat_interleave(group, 2);
    v = v.repeat_interleave(group, 2);
    const at::Tensor scores = at::einsum("bqnd,bknd->bnqk", {q, k}) * a.softmax_scale;
    const at::Tensor hidden = visible(b, t).logical_not().unsqueeze(1);
    at::Tensor p = at::softmax(scores.masked_fill(hidden, -1e300), -1);
    if (a.dropout > 0 && context_.training) p = p * kept(a, name, b, t);
    const at::Tensor out = at::einsum("bnqk,bknd->bqnd", {p, v}).reshape({b, t, a.num_heads * a.head_dim});
    return linear(out, name + ".o", a.out_bias);
  }

  static at::Tensor act(const at::Tensor& x, spec::Activation kind) {
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

  at::Tensor layer(const at::Tensor& x, const spec::LayerSpec& spec, const std::string& name,
                   const at::Tensor& positions) const {
    const at::Tensor mixed =
        attention(norm(x, spec.input_norm, name + ".attn_norm"), spec.attention, name + ".attn", positions);
    const at::Tensor middle = x + drop(mixed, spec.hidden_dropout, name + ".attn.dropout");
    const at::Tensor y = norm(middle, spec.post_attention_norm, name + ".mlp_norm");
    const std::string mlp = name + ".mlp";
    at::Tensor inner = linear(y, mlp + ".up", spec.mlp.bias);
    inner = spec.mlp.gated ? act(linear(y, mlp + ".gate", spec.mlp.bias), spec.mlp.activation) * inner
                           : act(inner, spec.mlp.activation);
    return middle + drop(linear(inner, mlp + ".down", spec.mlp.bias), spec.hidden_dropout, mlp + ".dropout");
  }

  const spec::Model& model_;
  const Weights& weights_;
  const nn::Context& context_;
};

}  // namespace primus::test
