// The dense feed-forward network: two projections around an activation.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "primus/nn/context.h"
#include "primus/nn/first_weights.h"

namespace primus::nn {

class Mlp {
 public:
  // prefix: "layer.3.mlp"; names are <prefix>.{gate,up,down}.{weight,bias}. hidden: width of the residual stream.
  Mlp(const spec::Mlp& shape, const std::string& prefix, int64_t hidden, const FirstWeights& first);

  // down(act(gate x) * up x), or down(act(up x)).  [b, t, h] -> [b, t, h]
  at::Tensor forward(const at::Tensor& x_bth, const Context& context);

  std::vector<Parameter*> parameters();  // forward order

 private:
  spec::Mlp shape_;
  std::unique_ptr<Parameter> fc1_, fc1_bias_, fc2_, fc2_bias_;
};

}  // namespace primus::nn
