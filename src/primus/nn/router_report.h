// What the routers of a step say: load of every expert and auxiliary losses, over its micro-batches.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "primus/tensor/prelude.h"

namespace primus::nn {

enum class RouterLoss { MicroBatchBalance, SequenceBalance, GlobalBatchBalance, Z };
inline constexpr size_t kNumRouterLosses = 4;
// Megatron's names: "load_balancing_loss", "seq_load_balancing_loss", "global_load_balancing_loss", "z_loss".
std::string_view to_string(RouterLoss loss);

// Routers speak here only where gradients are enabled: a recomputed segment is heard once, an evaluation never.
class RouterReport {
 public:
  // In place over the ranks whose tokens make up the global batch; f64. Empty: one rank.
  using Sum = std::function<void(at::Tensor&)>;
  explicit RouterReport(Sum sum = {}, int64_t num_ranks = 1) : sum_(std::move(sum)), num_ranks_(num_ranks) {}

  // Forgets the step before.
  void begin_step() { layers_.clear(); }

  // From routers, once per layer and micro-batch. counts [E]: tokens that chose each expert (before any is dropped);
  // taken [E]: what is left of them where places are few (undefined: all of them).
  void add_counts(int64_t layer, const at::Tensor& counts, int64_t num_dropped, const at::Tensor& taken = {});
  // Not multiplied by Context::auxiliary_loss_scale; the coefficient is in.
  void add_loss(int64_t layer, RouterLoss loss, double value);
  // For balance over the global batch: the mean of the counts over the micro-batches of the step so far (these
  // included) and all ranks, [E] f64. Every rank must call it, in the same order.
  at::Tensor mean_balance_counts(int64_t layer, const at::Tensor& counts);

  // From the trainer, once at the end of a step: everything below then speaks of all ranks.
  void sum_over_ranks();

  struct Layer {
    at::Tensor counts;       // [E] f64
    at::Tensor taken;        // [E] f64
    double num_dropped = 0;  // (token, slot) pairs that found no place
    double num_micro_batches = 0;
    std::map<RouterLoss, double> losses;  // sums over micro-batches

    // (most - mean) / mean of the counts: 0 is perfect balance.
    double max_violation() const;

   private:
    friend class RouterReport;
    at::Tensor balance_counts;
    double num_balanced = 0;
  };
  const std::map<int64_t, Layer>& layers() const { return layers_; }
  // [E] f64 of one layer; undefined where it has not been heard.
  at::Tensor counts(int64_t layer) const;
  at::Tensor taken(int64_t layer) const;
  // The mean over layers and micro-batches of every loss that occurred.
  std::map<RouterLoss, double> mean_losses() const;

 private:
  Sum sum_;
  int64_t num_ranks_;
  std::map<int64_t, Layer> layers_;
};

}  // namespace primus::nn
