// The layers of a decoder once more, in double and by plain libtorch operations with libtorch's own autograd. Written
// from the papers and the comments of spec/, not from src/. Legend: b rows, t tokens, h hidden, n heads, d head width,
// e experts.
#pragma once

#include <cmath>
#include <map>
#include <string>

#include "primus/nn/context.h"
#include "primus/spec/model.h"

namespace primus::test {

using Weights = std::map<std::string, at::Tensor>;  // piece or buffer name -> leaf, double

class ReferenceLayers {
 public:
  ReferenceLayers(const Weights& weights, const nn::Context& context) : weights_(weights), context_(context) {}

  const at::Tensor& weight(const std::string& name) const { return weights_.at(name); }
  at::Tensor linear(const at::Tensor& x, const std::string& name, bool bias) const;
  at::Tensor norm(const at::Tensor& x, const spec::Norm& kind, const std::string& name) const;
  at::Tensor drop(const at::Tensor& x, double p, const std::string& name) const;
  at::Tensor positions(int64_t b, int64_t t) const;  // [b, t]

  // x [b, t, h] -> [b, t, h]. auxiliary_loss() grows by the losses of a router.
  at::Tensor layer(const at::Tensor& x, const spec::LayerSpec& spec, const std::string& name);
  const at::Tensor& auxiliary_loss() const { return auxiliary_loss_; }

 private:
  struct Heads {
    at::Tensor q, k, v;  // [b, t, n, d], as many heads each as the projections have
  };
  Heads grouped_heads(const at::Tensor& y, const spec::Attention& a, const std::string& name) const;
  Heads latent_heads(const at::Tensor& y, const spec::Attention& a, const std::string& name) const;
  at::Tensor qk_normed(const at::Tensor& x_btnd, const spec::QkNorm& rule, const std::string& name) const;
  at::Tensor visible(const spec::Attention& a, int64_t b, int64_t t) const;  // [b, t, t]
  at::Tensor kept(const spec::Attention& a, const std::string& name, int64_t b, int64_t t) const;
  at::Tensor probabilities(const Heads& heads, const spec::Attention& a, const std::string& name) const;
  at::Tensor attention(const at::Tensor& y, const spec::Attention& a, const std::string& name) const;
  at::Tensor convolved(const at::Tensor& x_btc, const std::string& name, bool bias) const;
  at::Tensor short_conv(const at::Tensor& y, const spec::ShortConv& c, const std::string& name) const;
  at::Tensor gated_delta(const at::Tensor& y, const spec::GatedDelta& g, const std::string& name) const;
  at::Tensor mamba2(const at::Tensor& y, const spec::Mamba2& m, const std::string& name) const;
  at::Tensor mixer(const at::Tensor& y, const spec::LayerSpec& spec, const std::string& name) const;
  at::Tensor mlp(const at::Tensor& y, const spec::Mlp& shape, const std::string& name) const;
  at::Tensor moe(const at::Tensor& y_bth, const spec::Moe& moe, const std::string& name);
  void add_router_losses(const at::Tensor& logits_ne, const spec::Moe& moe, int64_t b);

  const Weights& weights_;
  const nn::Context& context_;
  at::Tensor auxiliary_loss_ = at::zeros({}, at::kDouble);
};

// Rotary positions (Su et al. 2021) with the stretchings of spec::Rope.  x [b, t, n, d], positions [b, t]
at::Tensor rotate(const at::Tensor& x_btnd, const spec::Rope& rope, const at::Tensor& positions);

}  // namespace primus::test
