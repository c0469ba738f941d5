// The half of a layer in which tokens look at each other: one interface for attention and what stands in its place.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "primus/nn/attention.h"
#include "primus/nn/first_weights.h"
#include "primus/nn/functions.h"

namespace primus::nn {

// Of its parameters' names: "attn", "conv", "delta", "mamba".
const char* mixer_name(const spec::LayerSpec& layer);

class Mixer {
 public:
  virtual ~Mixer() = default;
  // [b, t, h] -> [b, t, h]
  virtual at::Tensor forward(const at::Tensor& x_bth, const Context& context) = 0;
  virtual std::vector<Parameter*> parameters() = 0;  // forward order
};

struct MixerOptions {
  std::string name;  // "layer.3.attn": prefix of parameters, random streams and states
  RopeTable rope;
  bool recompute_core = false;           // keep the heads, compute the attention again in backward
  bool recompute_up_projection = false;  // latent attention: keep the latents only
};

// Queries, keys and values from one projection: multi-head, grouped-query and multi-query attention.
class SelfAttention : public Mixer {
 public:
  SelfAttention(const spec::Attention& shape, int64_t hidden, const FirstWeights& first, const MixerOptions& options);
  at::Tensor forward(const at::Tensor& x_bth, const Context& context) override;
  std::vector<Parameter*> parameters() override;

 private:
  spec::Attention shape_;
  AttentionSetting setting_;
  std::unique_ptr<Parameter> qkv_, qkv_bias_, gate_, gate_bias_, q_norm_, k_norm_, sinks_, out_, out_bias_;
};

// Multi-head latent attention (arXiv 2405.04434, section 2.1).
class LatentAttention : public Mixer {
 public:
  LatentAttention(const spec::Attention& shape, int64_t hidden, const FirstWeights& first, const MixerOptions& options);
  at::Tensor forward(const at::Tensor& x_bth, const Context& context) override;
  std::vector<Parameter*> parameters() override;

 private:
  // c^Q (equation 12), or x itself without a query rank.
  at::Tensor query_latent(const at::Tensor& x_bth, const Context& context);
  at::Tensor attend(const at::Tensor& query_latent, const at::Tensor& latent, const at::Tensor& k_rope,
                    const Context& context);

  spec::Attention shape_;
  spec::LatentAttention latent_;
  spec::Norm latent_norm_;
  bool recompute_up_;
  AttentionSetting setting_;
  std::unique_ptr<Parameter> q_down_, q_down_bias_, q_norm_, q_up_;  // without a query rank only q_up_
  std::unique_ptr<Parameter> kv_down_, kv_down_bias_, kv_norm_, kv_up_, sinks_, out_, out_bias_;
};

// The first half of a layer. Null where the layer has none.
std::unique_ptr<Mixer> make_mixer(const spec::LayerSpec& layer, int64_t hidden, const FirstWeights& first,
                                  const MixerOptions& options);

}  // namespace primus::nn
