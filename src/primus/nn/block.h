// One decoder layer: attention and MLP around a residual stream.
#pragma once

#include <memory>
#include <vector>

#include "primus/nn/functions.h"

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
  bool recompute_attention_core = false;
  bool recompute_mlp = false;
  at::ScalarType compute_dtype = at::kFloat;
};

class Block {
 public:
  // index: 0-based layer number, part of every parameter name ("layer.3.attn.q.weight").
  Block(const spec::LayerSpec& layer, int64_t index, const spec::Model& model, RopeTable rope, BlockOptions options);

  // x + attention(norm(x)), then + mlp(norm(.)).  [b, t, h] -> [b, t, h]
  void forward(Stream& stream, const Context& context);

  std::vector<Parameter*> parameters();  // forward order

 private:
  at::Tensor attend(const at::Tensor& x_bth, const Context& context);
  at::Tensor feed_forward(const at::Tensor& x_bth, const Context& context);

  spec::LayerSpec layer_;
  std::string prefix_;
  RopeTable rope_;
  BlockOptions options_;
  std::unique_ptr<Parameter> attn_norm_, attn_norm_bias_, qkv_, qkv_bias_, q_norm_, k_norm_, out_, out_bias_;
  std::unique_ptr<Parameter> mlp_norm_, mlp_norm_bias_, fc1_, fc1_bias_, fc2_, fc2_bias_;
};

}  // namespace primus::nn
