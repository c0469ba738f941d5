#include "primus/nn/moe.h"

#include "primus/nn/functions.h"

namespace primus::nn {

namespace {

spec::Mlp shared_shape(const spec::Moe& moe) {
  spec::Mlp shape = moe.expert;
  shape.ffn_size = moe.shared_ffn_size;
  return shape;
}

}  // namespace

MoeLayer::MoeLayer(const spec::Moe& moe, const std::string& prefix, int64_t hidden, const FirstWeights& first,
                   int64_t layer_index, MoeOptions options)
    : score_bias_name_(prefix + ".router.score_bias"),
      layer_index_(layer_index),
      router_(moe, prefix, hidden, first, layer_index, options.plain_router),
      experts_(moe, prefix, moe.latent_size > 0 ? moe.latent_size : hidden, first, options.plain_experts),
      recompute_shared_(options.recompute_shared),
      output_multiplier_(moe.output_multiplier) {
  if (moe.latent_size > 0) {
    latent_down_ = projection({{prefix + ".latent_down", moe.latent_size, first.up}}, hidden, first.law);
    latent_up_ = projection({{prefix + ".latent_up", hidden, first.down}}, moe.latent_size, first.law);
  }
  if (moe.shared_ffn_size > 0) {
    shared_ = std::make_unique<Mlp>(shared_shape(moe), prefix + ".shared", hidden, first);
    if (moe.shared_gate) shared_gate_ = projection({{prefix + ".shared_gate", 1, first.router}}, hidden, first.law);
  }
}

at::Tensor MoeLayer::forward(const at::Tensor& x_bth, const Context& context) {
  const Routing routing = router_.route(x_bth, context);
  const at::Tensor in_btd = latent_down_ ? linear(x_bth, *latent_down_, nullptr, context) : x_bth;
  const at::Tensor out_nd = experts_.forward(in_btd.reshape({-1, in_btd.size(-1)}), routing, context);
  at::Tensor y_bth = out_nd.view(in_btd.sizes());
  if (latent_up_) y_bth = linear(y_bth, *latent_up_, nullptr, context);
  const auto scaled = [this](const at::Tensor& y) { return output_multiplier_ == 1 ? y : y * output_multiplier_; };
  if (!shared_) return scaled(y_bth);
  const auto share = [this, context](const at::Tensor& x) { return shared_->forward(x, context); };
  at::Tensor shared_bth = recompute_shared_ ? recompute(share, x_bth) : share(x_bth);
  if (shared_gate_) shared_bth = shared_bth * linear(x_bth, *shared_gate_, nullptr, context).sigmoid();
  return scaled(y_bth + shared_bth);
}

std::vector<Parameter*> MoeLayer::parameters() {
  std::vector<Parameter*> all = router_.parameters();
  const auto append = [&](const std::vector<Parameter*>& more) { all.insert(all.end(), more.begin(), more.end()); };
  append_parameters(all, latent_down_);
  append(experts_.parameters());
  append_parameters(all, latent_up_);
  if (shared_) append(shared_->parameters());
  append_parameters(all, shared_gate_);
  return all;
}

void MoeLayer::update_expert_bias(const at::Tensor& counts) {
  if (score_bias().defined()) router_.update_score_bias(counts);
}

}  // namespace primus::nn
