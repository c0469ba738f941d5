#include "primus/nn/block.h"

#include <fmt/format.h>

namespace primus::nn {

namespace {

std::unique_ptr<Parameter> gain_of(const spec::Norm& norm, const std::string& name, int64_t width) {
  return std::make_unique<Parameter>(name + ".weight", std::vector<int64_t>{width},
                                     norm.zero_centered_gain ? InitKind::Zeros : InitKind::Ones);
}

// std 0: biases start at zero.
std::unique_ptr<Parameter> bias_of(bool wanted, std::vector<Piece> pieces, Spread spread = {}) {
  if (!wanted) return nullptr;
  int64_t width = 0;
  for (Piece& piece : pieces) {
    piece.name += ".bias";
    width += piece.num_rows;
  }
  const InitKind kind = spread.std > 0 ? InitKind::Normal : InitKind::Zeros;
  return std::make_unique<Parameter>(std::move(pieces), std::vector<int64_t>{width}, kind, spread);
}

// Pieces carry their spread.
std::unique_ptr<Parameter> weight_of(std::vector<Piece> pieces, int64_t input_width, const spec::Init& init) {
  int64_t width = 0;
  for (Piece& piece : pieces) {
    piece.name += ".weight";
    width += piece.num_rows;
  }
  const InitKind kind = init.law == spec::InitLaw::Normal ? InitKind::Normal : InitKind::XavierUniform;
  return std::make_unique<Parameter>(std::move(pieces), std::vector<int64_t>{width, input_width}, kind);
}

// Spreads of a layer's first weights, from the layer's own law or the model's.
struct FirstWeights {
  Spread q, kv, out, gate, up, down, bias;
};

FirstWeights first_weights(const spec::LayerSpec& layer, const spec::Init& init) {
  const double cut = init.layer_cut;
  if (!layer.init) {
    const Spread inward(init.std, cut), outward(init.residual_output_std, cut);
    return {.q = inward, .kv = inward, .out = outward, .gate = inward, .up = inward, .down = outward, .bias = {}};
  }
  const spec::LayerInit& own = *layer.init;
  const auto mlp = [&](double std) { return Spread(std, own.mlp_cut > 0 ? own.mlp_cut * std : cut); };
  return {.q = Spread(own.query_std > 0 ? own.query_std : own.qkv_std, cut),
          .kv = Spread(own.qkv_std, cut),
          .out = Spread(own.attention_out_std, cut),
          .gate = mlp(own.mlp_gate_std),
          .up = mlp(own.mlp_up_std),
          .down = mlp(own.mlp_down_std),
          .bias = Spread(own.bias_std, cut)};
}

bool has_bias(const spec::Norm& norm) {
  return norm.kind == spec::NormKind::LayerNorm;
}

}  // namespace

at::Tensor advance(Stream& stream, Parameter& gain, Parameter* bias, const spec::Norm& kind, bool fp32_residual,
                   at::ScalarType compute_dtype) {
  if (stream.branch_bth.defined() && fp32_residual) {
    stream = {stream.residual_bth + stream.branch_bth.to(at::kFloat), {}};
  }
  auto [sum, y] = stream.branch_bth.defined() ? add_norm(stream.residual_bth, stream.branch_bth, gain, bias, kind)
                                              : norm(stream.residual_bth, gain, bias, kind);
  stream = {sum, {}};
  return y.scalar_type() == compute_dtype ? y : y.to(compute_dtype);
}

Block::Block(const spec::LayerSpec& layer, int64_t index, const spec::Model& model, RopeTable rope,
             BlockOptions options)
    : layer_(layer), prefix_(fmt::format("layer.{}", index)), rope_(std::move(rope)), options_(options) {
  const int64_t h = model.hidden_size;
  const spec::Attention& a = layer_.attention;
  const int64_t q = a.num_heads * a.head_dim;
  const int64_t g = a.num_kv_heads * a.head_dim;
  const std::string attn = prefix_ + ".attn";
  const FirstWeights first = first_weights(layer_, model.init);
  const std::vector<Piece> qkv = {{attn + ".q", q, first.q}, {attn + ".k", g, first.kv}, {attn + ".v", g, first.kv}};
  const auto bias = [&](std::vector<Piece> pieces) {
    for (Piece& piece : pieces) piece.spread.reset();
    return pieces;
  };
  attn_norm_ = gain_of(layer_.input_norm, prefix_ + ".attn_norm", h);
  attn_norm_bias_ = bias_of(has_bias(layer_.input_norm), {{prefix_ + ".attn_norm", h}});
  qkv_ = weight_of(qkv, h, model.init);
  qkv_bias_ = bias_of(a.qkv_bias, bias(qkv), first.bias);
  if (a.qk_norm) {
    q_norm_ = gain_of(a.qk_norm->norm, attn + ".q_norm", a.head_dim);
    k_norm_ = gain_of(a.qk_norm->norm, attn + ".k_norm", a.head_dim);
  }
  out_ = weight_of({{attn + ".o", h, first.out}}, q, model.init);
  out_bias_ = bias_of(a.out_bias, {{attn + ".o", h}}, first.bias);

  const spec::Mlp& mlp = layer_.mlp;
  const std::string name = prefix_ + ".mlp";
  std::vector<Piece> fc1 = {{name + ".up", mlp.ffn_size, first.up}};
  if (mlp.gated) fc1.insert(fc1.begin(), Piece{name + ".gate", mlp.ffn_size, first.gate});
  mlp_norm_ = gain_of(layer_.post_attention_norm, prefix_ + ".mlp_norm", h);
  mlp_norm_bias_ = bias_of(has_bias(layer_.post_attention_norm), {{prefix_ + ".mlp_norm", h}});
  fc1_ = weight_of(fc1, h, model.init);
  fc1_bias_ = bias_of(mlp.bias, bias(fc1), first.bias);
  fc2_ = weight_of({{name + ".down", h, first.down}}, mlp.ffn_size, model.init);
  fc2_bias_ = bias_of(mlp.bias, {{name + ".down", h}}, first.bias);
}

at::Tensor Block::attend(const at::Tensor& x_bth, const Context& context) {
  at::Tensor qkv_btx = linear(x_bth, *qkv_, qkv_bias_.get(), context);
  if (q_norm_) qkv_btx = qk_norm(qkv_btx, layer_.attention, *q_norm_, *k_norm_);
  const at::Tensor core_btq =
      attention(qkv_btx, layer_.attention, rope_, prefix_ + ".attn", options_.recompute_attention_core, context);
  const at::Tensor out_bth = linear(core_btq, *out_, out_bias_.get(), context);
  return dropout(out_bth, layer_.hidden_dropout, prefix_ + ".attn.dropout", context);
}

at::Tensor Block::feed_forward(const at::Tensor& x_bth, const Context& context) {
  const auto run = [this, context](const at::Tensor& x) {
    const at::Tensor fc1_btf = linear(x, *fc1_, fc1_bias_.get(), context);
    return linear(activation(fc1_btf, layer_.mlp), *fc2_, fc2_bias_.get(), context);
  };
  const at::Tensor y_bth = options_.recompute_mlp ? recompute(run, x_bth) : run(x_bth);
  return dropout(y_bth, layer_.hidden_dropout, prefix_ + ".mlp.dropout", context);
}

void Block::forward(Stream& stream, const Context& context) {
  const auto step = [&](Parameter& gain, Parameter* bias, const spec::Norm& kind) {
    return advance(stream, gain, bias, kind, options_.fp32_residual, options_.compute_dtype);
  };
  stream.branch_bth = attend(step(*attn_norm_, attn_norm_bias_.get(), layer_.input_norm), context);
  stream.branch_bth = feed_forward(step(*mlp_norm_, mlp_norm_bias_.get(), layer_.post_attention_norm), context);
}

std::vector<Parameter*> Block::parameters() {
  std::vector<Parameter*> all;
  for (auto* owner : {&attn_norm_, &attn_norm_bias_, &qkv_, &qkv_bias_, &q_norm_, &k_norm_, &out_, &out_bias_,
                      &mlp_norm_, &mlp_norm_bias_, &fc1_, &fc1_bias_, &fc2_, &fc2_bias_}) {
    if (*owner) all.push_back(owner->get());
  }
  return all;
}

}  // namespace primus::nn
