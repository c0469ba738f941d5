#include "primus/nn/router_report.h"

namespace primus::nn {

std::string_view to_string(RouterLoss loss) {
  switch (loss) {
    case RouterLoss::MicroBatchBalance:
      return "load_balancing_loss";
    case RouterLoss::SequenceBalance:
      return "seq_load_balancing_loss";
    case RouterLoss::GlobalBatchBalance:
      return "global_load_balancing_loss";
    case RouterLoss::Z:
      return "z_loss";
  }
  return "?";
}

namespace {
void add_to(at::Tensor& sum, const at::Tensor& counts) {
  const at::Tensor wide = counts.to(at::kDouble);
  sum = sum.defined() ? sum + wide : wide.clone();
}
}  // namespace

void RouterReport::add_counts(int64_t layer, const at::Tensor& counts, int64_t num_dropped, const at::Tensor& taken) {
  Layer& l = layers_[layer];
  add_to(l.counts, counts);
  add_to(l.taken, taken.defined() ? taken : counts);
  l.num_dropped += static_cast<double>(num_dropped);
  l.num_micro_batches += 1;
}

void RouterReport::add_loss(int64_t layer, RouterLoss loss, double value) {
  layers_[layer].losses[loss] += value;
}

at::Tensor RouterReport::mean_balance_counts(int64_t layer, const at::Tensor& counts) {
  at::Tensor everywhere = counts.to(at::kDouble).clone();
  if (sum_) sum_(everywhere);
  Layer& l = layers_[layer];
  add_to(l.balance_counts, everywhere);
  l.num_balanced += 1;
  return l.balance_counts / (l.num_balanced * static_cast<double>(num_ranks_));
}

void RouterReport::sum_over_ranks() {
  if (!sum_) return;
  std::vector<at::Tensor> parts;
  for (auto& [layer, l] : layers_) {
    std::vector<double> numbers = {l.num_dropped, l.num_micro_batches};
    for (const auto& [loss, value] : l.losses) numbers.push_back(value);
    if (l.counts.defined()) parts.insert(parts.end(), {l.counts, l.taken});
    parts.push_back(at::tensor(numbers, at::kDouble));
  }
  if (parts.empty()) return;
  at::Tensor all = at::cat(parts);
  sum_(all);
  int64_t place = 0;
  const auto take = [&] { return all[place++].item<double>(); };
  for (auto& [layer, l] : layers_) {
    if (l.counts.defined()) {
      const int64_t size = l.counts.numel();
      l.counts = all.narrow(0, place, size).clone();
      l.taken = all.narrow(0, place + size, size).clone();
      place += 2 * size;
    }
    l.num_dropped = take();
    l.num_micro_batches = take();
    for (auto& [loss, value] : l.losses) value = take();
  }
}

double RouterReport::Layer::max_violation() const {
  if (!counts.defined()) return 0;
  const double mean = counts.mean().item<double>();
  return mean > 0 ? (counts.max().item<double>() - mean) / mean : 0;
}

at::Tensor RouterReport::counts(int64_t layer) const {
  const auto found = layers_.find(layer);
  return found == layers_.end() ? at::Tensor() : found->second.counts;
}

at::Tensor RouterReport::taken(int64_t layer) const {
  const auto found = layers_.find(layer);
  return found == layers_.end() ? at::Tensor() : found->second.taken;
}

std::map<RouterLoss, double> RouterReport::mean_losses() const {
  std::map<RouterLoss, double> sums;
  std::map<RouterLoss, int64_t> num_layers;
  for (const auto& [layer, l] : layers_) {
    for (const auto& [loss, value] : l.losses) {
      sums[loss] += l.num_micro_batches > 0 ? value / l.num_micro_batches : value;
      ++num_layers[loss];
    }
  }
  for (auto& [loss, value] : sums) value /= static_cast<double>(num_layers[loss]);
  return sums;
}

}  // namespace primus::nn
