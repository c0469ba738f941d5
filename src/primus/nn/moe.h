// A mixture of experts: every token passes the k experts that its router chooses, and the shared MLP where there is
// one. Arithmetic of the router: router.h; of the experts: experts.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "primus/nn/experts.h"
#include "primus/nn/mlp.h"
#include "primus/nn/router.h"
#include "primus/nn/router_report.h"

namespace primus::nn {

// The plain forms, one equation after another: slower, same numbers.
struct MoeOptions {
  bool plain_router = false;
  bool plain_experts = false;
  bool recompute_shared = false;  // the shared MLP's activations are not kept
};

class MoeLayer {
 public:
  // prefix: "layer.3.moe". hidden: width of the residual stream, h. layer_index: under which the report hears of it.
  MoeLayer(const spec::Moe& moe, const std::string& prefix, int64_t hidden, const FirstWeights& first,
           int64_t layer_index, MoeOptions options = {});

  // sum of weighted experts, behind and before the latent projections where there are, + shared MLP, times the output
  // multiplier.
  //   [b, t, h] -> [b, t, h]
  at::Tensor forward(const at::Tensor& x_bth, const Context& context);

  std::vector<Parameter*> parameters();  // forward order

  // The state that is saved but not trained: <prefix>.router.score_bias, f32 [E]; undefined without
  // spec::Router::expert_bias.
  at::Tensor& score_bias() { return router_.score_bias; }
  const std::string& score_bias_name() const { return score_bias_name_; }
  // Once per optimizer step; counts [E] over all micro-batches and ranks. Nothing happens without a score bias.
  void update_expert_bias(const at::Tensor& counts);

  int64_t layer_index() const { return layer_index_; }

 private:
  std::string score_bias_name_;
  int64_t layer_index_;
  Router router_;
  Experts experts_;
  std::unique_ptr<Parameter> latent_down_, latent_up_, shared_gate_;
  std::unique_ptr<Mlp> shared_;
  bool recompute_shared_;
  double output_multiplier_;
};

}  // namespace primus::nn
