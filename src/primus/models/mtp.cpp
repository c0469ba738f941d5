#include "primus/models/mtp.h"

namespace primus::models {

namespace {

constexpr const char* kLayer = ".layer";

}  // namespace

MtpDepth::MtpDepth(const spec::Model& model, const std::string& prefix, int64_t index, const nn::RopeTable& rope,
                   const nn::BlockOptions& options, bool recompute)
    : norm_(model.layers.back().input_norm),
      final_norm_kind_(model.final_norm),
      options_(options),
      recompute_(recompute) {
  const int64_t h = model.hidden_size;
  const nn::FirstWeights first = nn::first_weights(model.layers.back(), model.init);
  embedding_norm_ = nn::norm_gain(norm_, prefix + ".enorm", h);
  embedding_norm_bias_ = nn::norm_bias(norm_, prefix + ".enorm", h);
  hidden_norm_ = nn::norm_gain(norm_, prefix + ".hnorm", h);
  hidden_norm_bias_ = nn::norm_bias(norm_, prefix + ".hnorm", h);
  projection_ = nn::projection({{prefix + ".proj", h, first.q}}, 2 * h, first.law);
  block_ = std::make_unique<nn::Block>(model.layers.back(), prefix + kLayer, index, model, rope, options);
  final_norm_ = nn::norm_gain(final_norm_kind_, prefix + ".final_norm", h);
  final_norm_bias_ = nn::norm_bias(final_norm_kind_, prefix + ".final_norm", h);
}

at::Tensor MtpDepth::forward(const at::Tensor& previous_bth, const at::Tensor& embedded_bth,
                             const nn::Context& context) {
  const auto normed = [&](const at::Tensor& x, nn::Parameter& gain, nn::Parameter* bias) {
    return nn::norm(x, gain, bias, norm_).second.to(options_.compute_dtype);
  };
  const at::Tensor both = at::cat({normed(embedded_bth, *embedding_norm_, embedding_norm_bias_.get()),
                                   normed(previous_bth, *hidden_norm_, hidden_norm_bias_.get())},
                                  2);
  const at::Tensor joined = nn::linear(both, *projection_, nullptr, context);
  const at::Tensor x_bth = options_.fp32_residual ? joined.to(at::kFloat) : joined;
  nn::Stream stream{x_bth, {}};
  if (recompute_) {
    stream.residual_bth = nn::recompute([this, context](const at::Tensor& x) { return run_layer(x, context); }, x_bth);
  } else {
    block_->forward(stream, context);
  }
  return nn::advance(stream, *final_norm_, final_norm_bias_.get(), final_norm_kind_, options_.fp32_residual,
                     options_.compute_dtype);
}

at::Tensor MtpDepth::run_layer(const at::Tensor& x_bth, const nn::Context& context) {
  nn::Stream stream{x_bth, {}};
  block_->forward(stream, context);
  return stream.residual_bth + stream.branch_bth;
}

std::vector<nn::Parameter*> MtpDepth::parameters() {
  std::vector<nn::Parameter*> all;
  nn::append_parameters(all, embedding_norm_, embedding_norm_bias_, hidden_norm_, hidden_norm_bias_, projection_);
  for (nn::Parameter* parameter : block_->parameters()) all.push_back(parameter);
  nn::append_parameters(all, final_norm_, final_norm_bias_);
  return all;
}

at::Tensor rolled_left(const at::Tensor& x_bt, double fill) {
  const at::Tensor rolled = at::roll(x_bt, -1, 1);
  rolled.select(1, x_bt.size(1) - 1).fill_(fill);
  return rolled;
}

}  // namespace primus::models
