#include "primus/nn/block.h"

namespace primus::nn {

namespace {

// residual + branch, without a norm. The branch is added in the type of the stream.
at::Tensor merge(Stream& stream, at::ScalarType compute_dtype) {
  if (stream.branch_bth.defined()) {
    const at::Tensor branch = stream.branch_bth.to(stream.residual_bth.scalar_type());
    stream = {stream.residual_bth + branch, {}};
  }
  return stream.residual_bth.to(compute_dtype);
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

Block::Half Block::half(const spec::Norm& norm, const std::optional<spec::Norm>& output_norm, const std::string& name,
                        const std::string& output_name, int64_t hidden) const {
  Half half;
  if (layer_.norms_in_front) {
    half.norm = norm_gain(norm, name, hidden);
    half.norm_bias = norm_bias(norm, name, hidden);
  }
  if (output_norm) {
    half.output_norm = norm_gain(*output_norm, output_name, hidden);
    half.output_norm_bias = norm_bias(*output_norm, output_name, hidden);
  }
  return half;
}

Block::Block(const spec::LayerSpec& layer, const std::string& prefix, int64_t index, const spec::Model& model,
             RopeTable rope, BlockOptions options)
    : layer_(layer), prefix_(prefix), options_(options) {
  const int64_t h = model.hidden_size;
  const FirstWeights first = first_weights(layer_, model.init);
  if (layer_.has_mixer)
    attention_half_ =
        half(layer_.input_norm, layer_.attention_output_norm, prefix + ".attn_norm", prefix + ".attn_post_norm", h);
  mixer_ = make_mixer(layer_, h, first,
                      {.name = prefix + "." + mixer_name(layer_),
                       .rope = std::move(rope),
                       .recompute_core = options.recompute_attention_core,
                       .recompute_up_projection = options.recompute_up_projection});
  if (!layer_.has_mlp) return;
  mlp_half_ =
      half(layer_.post_attention_norm, layer_.mlp_output_norm, prefix + ".mlp_norm", prefix + ".mlp_post_norm", h);
  if (layer_.moe) {
    moe_ = std::make_unique<MoeLayer>(*layer_.moe, prefix + ".moe", h, first, index,
                                      MoeOptions{.plain_router = layer_.moe->plain_router,
                                                 .plain_experts = layer_.moe->plain_experts,
                                                 .recompute_shared = options.recompute_shared_experts});
  } else {
    mlp_ = std::make_unique<Mlp>(layer_.mlp, prefix + ".mlp", h, first);
  }
}

at::Tensor Block::enter(Stream& stream, const Half& half, const spec::Norm& kind) const {
  if (!half.norm) return merge(stream, options_.compute_dtype);
  return advance(stream, *half.norm, half.norm_bias.get(), kind, options_.fp32_residual, options_.compute_dtype);
}

at::Tensor Block::leave(const at::Tensor& y_bth, const Half& half, const std::optional<spec::Norm>& kind,
                        const std::string& name, const Context& context) const {
  const at::Tensor dropped = dropout(y_bth, layer_.hidden_dropout, prefix_ + name, context);
  if (!half.output_norm) return dropped;
  return norm(dropped, *half.output_norm, half.output_norm_bias.get(), *kind).second;
}

at::Tensor Block::feed_forward(const at::Tensor& x_bth, const Context& context) {
  const auto run = [this, context](const at::Tensor& x) {
    return moe_ ? moe_->forward(x, context) : mlp_->forward(x, context);
  };
  return (moe_ ? options_.recompute_moe : options_.recompute_mlp) ? recompute(run, x_bth) : run(x_bth);
}

void Block::release(const at::Tensor& x_bth, const Stream& stream, const Half& half, const spec::Norm& kind) const {
  if (!options_.recompute_norms || !half.norm) return;
  // The block outlives the backward pass of its micro-batch.
  release_until_backward(x_bth, stream.branch_bth,
                         [&half, &kind, sum = stream.residual_bth, type = x_bth.scalar_type()] {
                           return norm(sum, *half.norm, half.norm_bias.get(), kind).second.to(type);
                         });
}

void Block::forward(Stream& stream, const Context& context) {
  if (mixer_) {
    const at::Tensor x_bth = enter(stream, attention_half_, layer_.input_norm);
    const at::Tensor mixed = mixer_->forward(x_bth, context);
    stream.branch_bth = leave(mixed, attention_half_, layer_.attention_output_norm, ".attn.dropout", context);
    release(x_bth, stream, attention_half_, layer_.input_norm);
  }
  if (!layer_.has_mlp) return;
  const at::Tensor x_bth = enter(stream, mlp_half_, layer_.post_attention_norm);
  stream.branch_bth = leave(feed_forward(x_bth, context), mlp_half_, layer_.mlp_output_norm, ".mlp.dropout", context);
  release(x_bth, stream, mlp_half_, layer_.post_attention_norm);
}

std::vector<Parameter*> Block::parameters() {
  std::vector<Parameter*> all;
  const auto append = [&all](const std::vector<Parameter*>& more) { all.insert(all.end(), more.begin(), more.end()); };
  append_parameters(all, attention_half_.norm, attention_half_.norm_bias);
  if (mixer_) append(mixer_->parameters());
  append_parameters(all, attention_half_.output_norm, attention_half_.output_norm_bias, mlp_half_.norm,
                    mlp_half_.norm_bias);
  if (layer_.has_mlp) append(moe_ ? moe_->parameters() : mlp_->parameters());
  append_parameters(all, mlp_half_.output_norm, mlp_half_.output_norm_bias);
  return all;
}

}  // namespace primus::nn
