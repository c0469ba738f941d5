#include "primus/train/loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>

#include "primus/base/process_memory.h"
#include "primus/spec/model_size.h"
#include "primus/train/checkpointing.h"
#include "primus/train/evaluation.h"
#include "primus/train/setup.h"
#include "primus/train/statistics.h"
#include "primus/train/step.h"
#include "primus/train/stop_signal.h"

namespace primus::train {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool is_multiple(int64_t step, std::optional<int64_t> interval) {
  return interval && *interval > 0 && step % *interval == 0;
}

bool contains(const std::vector<int64_t>& steps, int64_t step) {
  return std::find(steps.begin(), steps.end(), step) != steps.end();
}

class Loop {
 public:
  Loop(Trainer& trainer, ckpt::Writer* writer, const std::vector<std::unique_ptr<track::Sink>>& sinks,
       HfExporter* exporter)
      : trainer_(trainer),
        writer_(writer),
        sinks_(sinks),
        exporter_(exporter),
        last_saved_(trainer.state.step),
        last_exported_(exporter && exporter->has(trainer.state.step) ? trainer.state.step : -1),
        start_(Clock::now()) {}

  LoopResult run();

 private:
  void publish(const StepResult& step, double seconds);
  std::optional<double> share_of_peak(double flops_per_s);
  void evaluate_if_due(bool at_end);
  void save_if_due(bool at_end);
  void export_if_due(bool at_end);
  std::optional<StopReason> stop_reason();

  Trainer& trainer_;
  ckpt::Writer* writer_;
  const std::vector<std::unique_ptr<track::Sink>>& sinks_;
  HfExporter* exporter_;
  int64_t last_saved_, last_exported_;
  int64_t last_evaluated_ = -1;
  Clock::time_point start_;
  LoopResult result_;
};

LoopResult Loop::run() {
  const spec::RunSpec& spec = trainer_.spec;
  auto order = std::make_shared<const data::SampleOrder>(
      value_or_throw(data::SampleOrder::make(trainer_.train_data->size(), trainer_.order_rule)));
  data::BatchLoader loader(trainer_.train_data, order,
                           {.micro_batch_size = spec.batch.micro_batch_size,
                            .rank = trainer_.group.rank(),
                            .num_ranks = trainer_.group.size(),
                            .queue_depth = 4},
                           trainer_.state.consumed_samples);
  if (writer_) writer_->reserve(shards_of(trainer_));
  if (spec.evaluation.at_start && trainer_.state.step == 0) evaluate_if_due(/*at_end=*/true);
  while (trainer_.state.step < spec.exit.train_steps) {
    const Clock::time_point begin = Clock::now();
    const StepResult step = train_step(trainer_, loader);
    publish(step, seconds_since(begin));
    evaluate_if_due(/*at_end=*/false);
    const std::optional<StopReason> stop = stop_reason();
    if (stop) {
      result_.reason = *stop;
      save_if_due(/*at_end=*/true);
      break;
    }
    save_if_due(/*at_end=*/false);
    export_if_due(/*at_end=*/false);
  }
  if (result_.reason == StopReason::Finished) {
    if (spec.checkpoint.save_at_end) save_if_due(/*at_end=*/true);
    export_if_due(/*at_end=*/true);
    evaluate_if_due(/*at_end=*/true);
    if (trainer_.test_data && spec.evaluation.num_batches > 0) {
      result_.test_loss = evaluate(trainer_, trainer_.test_data, spec.evaluation.num_batches);
    }
  }
  if (writer_) writer_->wait();
  return result_;
}

void Loop::publish(const StepResult& step, double seconds) {
  const spec::Logging& rule = trainer_.spec.logging;
  const TrainState& state = trainer_.state;
  // Collectives first: every rank takes part, only rank 0 has sinks.
  std::vector<std::pair<std::string, double>> extra;
  if (rule.log_params_norm) extra.emplace_back("params_norm", parameters_norm(trainer_));
  if (rule.log_num_zeros) extra.emplace_back("num_zeros", static_cast<double>(num_zero_gradients(trainer_)));
  if (sinks_.empty()) return;
  track::StepRow row{.step = state.step,
                     .loss = step.loss,
                     .grad_norm = step.grad_norm,
                     .lr = step.lr,
                     .tokens = state.consumed_tokens,
                     .step_ms = seconds * 1e3};
  row.tokens_per_s = static_cast<double>(step.num_tokens) / seconds;
  row.model_flops = row.tokens_per_s * spec::flops_per_token(trainer_.spec.model, trainer_.spec.data.sequence_length);
  row.mfu = share_of_peak(row.model_flops);
  row.skipped = state.num_skipped;
  row.nan = state.num_nan;
  row.global_batch_size = step.global_batch_size;
  row.samples = state.consumed_samples;
  const ProcessMemory memory = process_memory();
  extra.insert(extra.end(), step.extra.begin(), step.extra.end());
  extra.emplace_back("weight_decay", step.weight_decay);
  extra.emplace_back("memory_bytes", static_cast<double>(memory.resident_bytes));
  if (trainer_.spec.precision.compute == spec::Dtype::Float16) extra.emplace_back("loss_scale", step.loss_scale);
  if (rule.device_memory_every_step || contains(rule.device_memory_steps, state.step)) {
    extra.emplace_back("memory_peak_bytes", static_cast<double>(memory.peak_resident_bytes));
    extra.emplace_back("memory_limit_bytes", static_cast<double>(memory.limit_bytes));
  }
  row.extra = std::move(extra);
  for (const auto& sink : sinks_) sink->on_step(row);
}

// A share above one says that the machine was busy while its peak was measured: measure again, and say nothing if that
// does not help.
std::optional<double> Loop::share_of_peak(double flops_per_s) {
  std::optional<double>& peak = trainer_.machine.peak_flops;
  if (!peak) return std::nullopt;
  const auto share = [&] { return flops_per_s / (*peak * trainer_.group.size()); };
  if (share() > 1) peak = std::max(*peak, measured_peak(trainer_.spec.precision.compute).value_or(0));
  return share() <= 1 ? std::optional(share()) : std::nullopt;
}

void Loop::evaluate_if_due(bool at_end) {
  const spec::Evaluation& rule = trainer_.spec.evaluation;
  if (!trainer_.valid_data || rule.num_batches <= 0 || last_evaluated_ == trainer_.state.step) return;
  if (!at_end && !is_multiple(trainer_.state.step, rule.interval_steps)) return;
  last_evaluated_ = trainer_.state.step;
  const double loss = evaluate(trainer_, trainer_.valid_data, rule.num_batches);
  result_.last_validation_loss = loss;
  for (const auto& sink : sinks_) sink->on_eval({.step = trainer_.state.step, .loss = loss});
}

void Loop::save_if_due(bool at_end) {
  const spec::Checkpoint& rule = trainer_.spec.checkpoint;
  if (!writer_ || last_saved_ == trainer_.state.step) return;
  if (!at_end && !is_multiple(trainer_.state.step, rule.interval_steps)) return;
  // Megatron's interval includes the last step; without a save at the end, that one is left out too.
  if (!at_end && !rule.save_at_end && trainer_.state.step == trainer_.spec.exit.train_steps) return;
  last_saved_ = trainer_.state.step;
  writer_->save(save_request(trainer_));
}

void Loop::export_if_due(bool at_end) {
  if (!exporter_ || last_exported_ == trainer_.state.step) return;
  if (!at_end && !is_multiple(trainer_.state.step, trainer_.spec.checkpoint.export_every_steps)) return;
  last_exported_ = trainer_.state.step;
  exporter_->write();
}

// Every rank must leave at the same step: the largest request of any rank counts.
std::optional<StopReason> Loop::stop_reason() {
  const spec::Exit& rule = trainer_.spec.exit;
  const at::Tensor wish = at::zeros({2}, at::kDouble);
  wish[0] = static_cast<double>(requested_stop());
  wish[1] = rule.duration_minutes && seconds_since(start_) > *rule.duration_minutes * 60 ? 1.0 : 0.0;
  trainer_.group.all_reduce_max(wish)->wait();
  result_.signal = static_cast<int>(wish[0].item<double>());
  if (result_.signal != 0) return StopReason::Signal;
  if (wish[1].item<double>() > 0) return StopReason::Duration;
  if (is_multiple(trainer_.state.step, rule.interval_steps)) return StopReason::Interval;
  return std::nullopt;
}

}  // namespace

LoopResult run_loop(Trainer& trainer, ckpt::Writer* writer, const std::vector<std::unique_ptr<track::Sink>>& sinks,
                    HfExporter* exporter) {
  return Loop(trainer, writer, sinks, exporter).run();
}

}  // namespace primus::train
