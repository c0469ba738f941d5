#include "primus/spec/schedule_values.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace primus::spec {

namespace {

// 1 at the start of a phase, 0 at its end; r runs from 0 to 1.
double half_cosine(double r) {
  return 0.5 * (std::cos(std::numbers::pi * r) + 1);
}

double wsd_coefficient(const LrSchedule& s, double n) {
  const double anneal_start = s.decay_samples - s.wsd_samples;
  if (n <= anneal_start) return 1;
  const double r = (n - anneal_start) / s.wsd_samples;
  switch (s.wsd_decay) {
    case WsdDecay::Exponential:
      return 2 * std::pow(0.5, r) - 1;
    case WsdDecay::Linear:
      return 1 - r;
    case WsdDecay::Cosine:
      return half_cosine(r);
    case WsdDecay::MinusSqrt:
      return 1 - std::sqrt(r);
  }
  return 0;
}

// The last step of the decay has min_lr, so that a phase of N steps takes N - 1 to fall; behind it the rate is 0.
double rate_to_last_step(const LrSchedule& s, double n, double step) {
  if (n < s.warmup_samples) return s.warmup_init_lr + (s.max_lr - s.warmup_init_lr) * n / s.warmup_samples;
  if (n >= s.decay_samples) return 0;
  const bool wsd = s.decay == LrDecay::WarmupStableDecay;
  const double start = wsd ? s.decay_samples - s.wsd_samples : s.warmup_samples;
  const bool linear = wsd && s.wsd_decay == WsdDecay::Linear;
  if (s.decay == LrDecay::Constant || n < start) return s.max_lr;
  const double length = s.decay_samples - start - step;
  if (length <= 0) return linear ? s.max_lr : s.min_lr;  // a phase of one step
  const double r = (n - start) / length;
  return s.min_lr + (linear ? 1 - r : half_cosine(r)) * (s.max_lr - s.min_lr);
}

}  // namespace

double learning_rate(const LrSchedule& s, double n, double global_batch_samples) {
  if (s.ends_at_last_step) return rate_to_last_step(s, n, global_batch_samples);
  const double warmup = s.warmup_samples;
  if (s.warmup_ends_at_peak && n + global_batch_samples <= warmup)
    return s.warmup_init_lr + (s.max_lr - s.warmup_init_lr) * ((n + global_batch_samples) / warmup);
  if (!s.warmup_ends_at_peak && warmup > 0 && n <= warmup) {
    const double batch = s.warmup_counts_this_step ? global_batch_samples : 0;
    return s.warmup_init_lr + (s.max_lr - s.warmup_init_lr) * (n + batch) / (warmup + batch);
  }
  if (s.decay == LrDecay::Constant) return s.max_lr;
  if (n > s.decay_samples) return s.min_lr;
  if (s.decay == LrDecay::InverseSquareRoot) {
    const double lr = s.max_lr * std::sqrt(std::max(warmup, 1.0)) / std::sqrt(std::max(n, 1.0));
    return std::max(s.min_lr, lr);
  }
  const double r = (n - warmup) / (s.decay_samples - warmup);
  double c = 1 - r;
  if (s.decay == LrDecay::Cosine) c = half_cosine(r);
  if (s.decay == LrDecay::WarmupStableDecay) c = wsd_coefficient(s, n);
  return s.min_lr + c * (s.max_lr - s.min_lr);
}

double weight_decay(const WeightDecaySchedule& s, double n) {
  if (s.ramp == WeightDecayRamp::Constant || n > s.ramp_samples || s.ramp_samples <= 0) return s.end;
  const double r = n / s.ramp_samples;
  const double c = s.ramp == WeightDecayRamp::Linear ? r : half_cosine(1 - r);
  return s.start + c * (s.end - s.start);
}

int64_t global_batch_size(const Batch& batch, int64_t consumed_samples) {
  if (!batch.rampup || consumed_samples > batch.rampup->ramp_samples) return batch.global_batch_size;
  const BatchRampup& ramp = *batch.rampup;
  const int64_t num_stages = (batch.global_batch_size - ramp.start_samples) / ramp.increment_samples;
  if (num_stages <= 0 || ramp.ramp_samples <= 0) return batch.global_batch_size;
  const double per_stage = static_cast<double>(ramp.ramp_samples) / static_cast<double>(num_stages);
  const auto stage = static_cast<int64_t>(static_cast<double>(consumed_samples) / per_stage);
  return std::min(batch.global_batch_size, ramp.start_samples + ramp.increment_samples * stage);
}

int64_t steps_for_samples(const Batch& batch, int64_t train_samples) {
  if (!batch.rampup) return train_samples / batch.global_batch_size;
  int64_t steps = 0, consumed = 0;
  while (consumed <= batch.rampup->ramp_samples && consumed <= train_samples) {
    consumed += global_batch_size(batch, consumed);
    ++steps;
  }
  if (train_samples > consumed) steps += (train_samples - consumed) / batch.global_batch_size;
  return steps;
}

std::vector<StepValues> step_values(const RunSpec& run) {
  std::vector<StepValues> values;
  values.reserve(static_cast<size_t>(std::max<int64_t>(0, run.exit.train_steps)));
  int64_t consumed = 0;
  for (int64_t step = 1; step <= run.exit.train_steps; ++step) {
    StepValues v;
    v.step = step;
    v.global_batch_size = global_batch_size(run.batch, consumed);
    v.lr = learning_rate(run.lr, static_cast<double>(consumed), static_cast<double>(v.global_batch_size));
    v.weight_decay = weight_decay(run.weight_decay, static_cast<double>(consumed));
    consumed += v.global_batch_size;
    v.samples = consumed;
    values.push_back(v);
  }
  return values;
}

}  // namespace primus::spec
