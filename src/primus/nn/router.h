// The router of a mixture of experts: which experts a token goes to, with which weight, and the losses that keep the
// load even. Legend: N = b * t tokens, E experts, k experts a token.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "primus/kernels/topk_router.h"
#include "primus/nn/context.h"
#include "primus/nn/first_weights.h"
#include "primus/nn/router_report.h"

namespace primus::nn {

struct Routing {
  at::Tensor experts;  // [N, k] i64
  at::Tensor weights;  // [N, k] f32 (f64 in an f64 model), differentiable
  at::Tensor keep;     // [N, k] bool; undefined: nothing is dropped
};

class Router {
 public:
  // prefix: "layer.3.moe"; weights are <prefix>.router.{weight,bias}. hidden: width of the residual stream. plain: the
  // reference routines choose and weigh.
  Router(const spec::Moe& moe, const std::string& prefix, int64_t hidden, const FirstWeights& first,
         int64_t layer_index, bool plain);
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  // Auxiliary losses act, and the report hears of them, in training with gradients enabled.  x [b, t, h]
  Routing route(const at::Tensor& x_bth, const Context& context);

  std::vector<Parameter*> parameters();
  // f32 [E]: added to the scores in the choice only; undefined where the router has none. Saved, not trained.
  at::Tensor score_bias;
  // One step of the loss-free balance (arXiv 2408.15664, algorithm 1): bias += rate * sign(mean - n).
  //   counts [E]: tokens of the whole step that each expert took, on all ranks.
  void update_score_bias(const at::Tensor& counts);

 private:
  at::Tensor logits(const at::Tensor& x_bth, const Context& context) const;  // [N, E] f32 or f64
  at::Tensor forced(const at::Tensor& logits, const at::Tensor& x_bth, const Context& context) const;
  at::Tensor choose(const at::Tensor& logits, const Context& context) const;
  at::Tensor weigh(const at::Tensor& logits, const at::Tensor& experts) const;
  int64_t places(int64_t num_tokens) const;
  at::Tensor within_capacity(const Routing& routing, int64_t num_sequences) const;
  void report_counts(const Routing& routing, RouterReport& report) const;
  // The weights with the auxiliary losses hung on.
  at::Tensor with_losses(const at::Tensor& weights, const at::Tensor& logits, const at::Tensor& experts,
                         int64_t num_sequences, const Context& context) const;
  at::Tensor balance_loss(const spec::BalanceLoss& loss, const at::Tensor& scores, const at::Tensor& counts_be,
                          const Context& context) const;

  spec::Moe moe_;
  std::string name_;
  int64_t layer_index_;
  bool plain_;
  kernels::RouterOptions options_;
  std::unique_ptr<Parameter> weight_, bias_;
};

}  // namespace primus::nn
