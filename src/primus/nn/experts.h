// The routed experts of a mixture: many small MLPs with stacked weights, each on the tokens that chose it.
// Legend: N tokens, E experts, k experts a token, P = (token, slot) pairs that were not dropped, d input width, f inner
// width.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "primus/nn/context.h"
#include "primus/nn/first_weights.h"
#include "primus/nn/router.h"

namespace primus::nn {

class Experts {
 public:
  // prefix: "layer.3.moe"; names are <prefix>.expert.<e>.{gate,up,down}.{weight,bias}. width: d. plain: one expert
  // after another in libtorch operations.
  Experts(const spec::Moe& moe, const std::string& prefix, int64_t width, const FirstWeights& first, bool plain);
  Experts(const Experts&) = delete;
  Experts& operator=(const Experts&) = delete;

  // sum over a token's slots of weight * expert(x), or of expert(weight * x).  x [N, d] -> [N, d]
  at::Tensor forward(const at::Tensor& x_nd, const Routing& routing, const Context& context);

  std::vector<Parameter*> parameters();

 private:
  friend struct ExpertsFunction;

  spec::Mlp shape_;
  int64_t num_experts_;
  bool weight_on_input_, plain_;
  std::unique_ptr<Parameter> fc1_, fc1_bias_, fc2_, fc2_bias_;  // [E (2) f, d], [E (2) f], [E d, f], [E d]
};

namespace reference {

struct ExpertWeights {
  at::Tensor fc1, fc1_bias, fc2, fc2_bias;  // as above; biases undefined where there are none
};

// act(gate) * up and its ungated, clamped and shifted forms in libtorch operations.
at::Tensor activation(const at::Tensor& x, const spec::Mlp& mlp);
// The whole of Experts::forward, differentiable by autograd in any type.
at::Tensor experts(const at::Tensor& x_nd, const Routing& routing, const ExpertWeights& weights, const spec::Mlp& mlp,
                   bool weight_on_input);

}  // namespace reference

}  // namespace primus::nn
