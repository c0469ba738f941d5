#include "primus/nn/mlp.h"

#include "primus/nn/functions.h"

namespace primus::nn {

Mlp::Mlp(const spec::Mlp& shape, const std::string& prefix, int64_t hidden, const FirstWeights& first) : shape_(shape) {
  std::vector<Piece> fc1 = {{prefix + ".up", shape.ffn_size, first.up}};
  if (shape.gated) fc1.insert(fc1.begin(), Piece{prefix + ".gate", shape.ffn_size, first.gate});
  const std::vector<Piece> fc2 = {{prefix + ".down", hidden, first.down}};
  fc1_ = projection(fc1, hidden, first.law);
  fc1_bias_ = projection_bias(shape.bias, fc1, first.bias);
  fc2_ = projection(fc2, shape.ffn_size, first.law);
  fc2_bias_ = projection_bias(shape.bias, fc2, first.bias);
}

at::Tensor Mlp::forward(const at::Tensor& x_bth, const Context& context) {
  const at::Tensor fc1_btf = linear(x_bth, *fc1_, fc1_bias_.get(), context);
  return linear(activation(fc1_btf, shape_), *fc2_, fc2_bias_.get(), context);
}

std::vector<Parameter*> Mlp::parameters() {
  std::vector<Parameter*> all;
  append_parameters(all, fc1_, fc1_bias_, fc2_, fc2_bias_);
  return all;
}

}  // namespace primus::nn
