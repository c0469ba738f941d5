// One decoder layer: a mixer and a feed-forward network around a residual stream, or one of the two alone.
#pragma once

#include <memory>
#include <vector>

#include "primus/nn/mixer.h"
#include "primus/nn/mlp.h"
#include "primus/nn/moe.h"

namespace primus::nn {

// The residual stream between layers, kept as an unsummed pair so that the sum is made inside the next norm.
struct Stream {
  at::Tensor residual_bth;
  at::Tensor branch_bth;  // undefined: nothing to add
};

// y = norm(residual + branch); stream becomes (residual + branch, nothing).
at::Tensor advance(Stream& stream, Parameter& gain, Parameter* bias, const spec::Norm& kind, bool fp32_residual,
                   at::ScalarType compute_dtype);

struct BlockOptions {
  bool fp32_residual = false;
  bool recompute_norms = false;  // those in front of the mixer and of the feed-forward network
  bool recompute_attention_core = false;
  bool recompute_up_projection = false;  // latent attention: from the latents on
  bool recompute_mlp = false;            // dense ones
  bool recompute_moe = false;
  bool recompute_shared_experts = false;
  at::ScalarType compute_dtype = at::kFloat;
};

class Block {
 public:
  // prefix: of every parameter name ("layer.3"); index: 0-based number over all layers, in reports.
  Block(const spec::LayerSpec& layer, const std::string& prefix, int64_t index, const spec::Model& model,
        RopeTable rope, BlockOptions options);

  // x + mixer(norm(x)), then + mlp(norm(.)).  [b, t, h] -> [b, t, h]
  void forward(Stream& stream, const Context& context);

  std::vector<Parameter*> parameters();  // forward order
  MoeLayer* moe() { return moe_.get(); }

 private:
  // One half: its norms, what it computes, the dropout behind it.
  struct Half {
    std::unique_ptr<Parameter> norm, norm_bias;                // null: the residual stream is read as it is
    std::unique_ptr<Parameter> output_norm, output_norm_bias;  // null: none in front of the residual addition
  };
  Half half(const spec::Norm& norm, const std::optional<spec::Norm>& output_norm, const std::string& name,
            const std::string& output_name, int64_t hidden) const;
  at::Tensor enter(Stream& stream, const Half& half, const spec::Norm& kind) const;
  // The norm's output x_bth is not kept for the backward pass of what became of it.
  void release(const at::Tensor& x_bth, const Stream& stream, const Half& half, const spec::Norm& kind) const;
  at::Tensor leave(const at::Tensor& y_bth, const Half& half, const std::optional<spec::Norm>& kind,
                   const std::string& name, const Context& context) const;
  at::Tensor feed_forward(const at::Tensor& x_bth, const Context& context);

  spec::LayerSpec layer_;
  std::string prefix_;
  BlockOptions options_;
  Half attention_half_, mlp_half_;
  std::unique_ptr<Mixer> mixer_;  // null in a layer without one
  std::unique_ptr<Mlp> mlp_;      // one of these two, or none
  std::unique_ptr<MoeLayer> moe_;
};

}  // namespace primus::nn
