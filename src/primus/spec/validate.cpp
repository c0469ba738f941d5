#include "primus/spec/validate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "primus/base/strings.h"
#include "primus/spec/schedule_values.h"
#include "primus/spec/validate_model.h"

namespace primus::spec {

namespace {

std::string number(int64_t value) {
  return format_thousands(value);
}
std::string number(double value) {
  return value == std::floor(value) && std::abs(value) < 1e15 ? format_thousands(static_cast<int64_t>(value))
                                                              : format_double(value);
}

class Findings {
 public:
  explicit Findings(Diagnostics& out) : out_(out) {}
  void add(Severity severity, std::string field, std::string message, std::string expected, std::string suggestion) {
    out_.push_back(
        {severity, {}, std::move(field), std::move(message), {}, std::move(expected), std::move(suggestion)});
  }
  void error(std::string field, std::string message, std::string expected = {}, std::string suggestion = {}) {
    add(Severity::Error, std::move(field), std::move(message), std::move(expected), std::move(suggestion));
  }
  void warning(std::string field, std::string message, std::string suggestion = {}) {
    add(Severity::Warning, std::move(field), std::move(message), {}, std::move(suggestion));
  }

 private:
  Diagnostics& out_;
};

void check_batch(const RunSpec& run, Findings& find) {
  const Batch& batch = run.batch;
  if (!batch.rampup) return;
  const BatchRampup& ramp = *batch.rampup;
  if (ramp.start_samples < 1 || ramp.increment_samples < 1 || ramp.ramp_samples < 0)
    return find.error("batch.rampup", "a ramp-up needs a start and an increment of at least 1",
                      "[start, increment, samples]");
  if (ramp.start_samples > batch.global_batch_size)
    return find.error("batch.rampup",
                      "the ramp-up starts at " + number(ramp.start_samples) + ", above the global batch of " +
                          number(batch.global_batch_size),
                      "at most " + number(batch.global_batch_size));
  const int64_t rise = batch.global_batch_size - ramp.start_samples;
  if (rise % ramp.increment_samples != 0)
    find.error("batch.rampup",
               "from " + number(ramp.start_samples) + " to " + number(batch.global_batch_size) + " in steps of " +
                   number(ramp.increment_samples) + " does not come out",
               "an increment that divides " + number(rise), "use " + nearest_divisors(rise, ramp.increment_samples));
}

std::string in_steps(double samples, const RunSpec& run) {
  const auto batch = static_cast<double>(std::max<int64_t>(1, run.batch.global_batch_size));
  return number(samples / batch) + " steps (" + number(samples) + " sequences)";
}

void check_schedules(const RunSpec& run, Findings& find) {
  const LrSchedule& lr = run.lr;
  if (lr.min_lr > lr.max_lr)
    find.error(
        "lr.min_lr",
        "the lowest learning rate " + format_double(lr.min_lr) + " is above the highest " + format_double(lr.max_lr),
        "at most " + format_double(lr.max_lr));
  if (lr.warmup_init_lr > lr.max_lr)
    find.error("lr.warmup_init_lr",
               "the warm-up starts at " + format_double(lr.warmup_init_lr) + ", above the highest learning rate " +
                   format_double(lr.max_lr),
               "at most " + format_double(lr.max_lr));
  if (lr.decay_samples <= 0)
    find.error("lr.decay_samples", "the learning rate's schedule has no length", "at least one step");
  else if (lr.warmup_samples >= lr.decay_samples) {
    const auto batch = static_cast<double>(std::max<int64_t>(1, run.batch.global_batch_size));
    const double most = std::max(0.0, std::ceil(lr.decay_samples / batch) - 1);
    find.error("lr.warmup_samples",
               "the warm-up of " + in_steps(lr.warmup_samples, run) + " is not shorter than the schedule of " +
                   in_steps(lr.decay_samples, run),
               "less than " + in_steps(lr.decay_samples, run),
               "warm up for at most " + number(most) + " steps, or train longer");
  }
  if (lr.decay == LrDecay::WarmupStableDecay) {
    if (lr.wsd_samples <= 0)
      find.error("lr.wsd_samples", "the WSD schedule does not say how long its last phase is",
                 "a length of at least one step");
    else if (lr.decay_samples - lr.wsd_samples < lr.warmup_samples)
      find.warning("lr.wsd_samples", "the last phase of WSD begins inside the warm-up, so the rate jumps behind it",
                   "make it at most " + in_steps(lr.decay_samples - lr.warmup_samples, run));
  }
  if (run.weight_decay.end < run.weight_decay.start)
    find.error("weight_decay.end",
               "the weight decay falls from " + format_double(run.weight_decay.start) + " to " +
                   format_double(run.weight_decay.end),
               "at least its start");
}

void check_recompute(const RunSpec& run, Findings& find) {
  // Layers of multi-token prediction count on behind the others.
  const auto layers = static_cast<int64_t>(run.model.layers.size()) + (run.model.mtp ? run.model.mtp->depth : 0);
  for (const int64_t id : run.recompute.layer_ids)
    if (layers > 0 && (id < 0 || id >= layers))
      find.error("recompute.layer_ids", "there is no layer " + std::to_string(id) + " to recompute",
                 "0 to " + std::to_string(layers - 1));
}

void check_data(const RunSpec& run, Findings& find) {
  const Data& data = run.data;
  const bool per_split = !data.train.empty() || !data.valid.empty() || !data.test.empty();
  if (data.mock || data.texts || run.finetune) return;
  if (data.blend.empty() && data.train.empty())
    find.error("data.train", "there are no data to train on", "paths of training data, or mock data");
  if (!data.blend.empty() && per_split)
    find.error("data.blend", "data are given both as one blend to cut and per split", "one of the two");
  if (per_split && !data.split.empty())
    find.error("data.split", "files per split are taken whole, so there is nothing to cut", "no split");
  if (run.evaluation.num_batches > 0 && data.blend.empty() && !data.train.empty() && data.valid.empty())
    find.error("data.valid", "evaluation is on, but there are no validation data", "paths of validation data",
               "add them, or turn evaluation off");
  if (run.tokenizer.type.empty())
    find.error("tokenizer.type", "the data need a tokenizer, for its end-of-document token and its size",
               "a kind of tokenizer");
}

void check_rest(const RunSpec& run, Findings& find) {
  const Checkpoint& c = run.checkpoint;
  if (run.evaluation.num_batches > 0 && run.evaluation.interval_steps <= 0)
    find.error("evaluation.interval_steps", "evaluation is on, but not how often", "a number of steps");
  if (c.save && c.interval_steps <= 0)
    find.error("checkpoint.interval_steps", "saving is on, but not how often", "a number of steps");
  if (!c.init_from.empty() && !c.load_folder.empty())
    find.error("checkpoint.init_from", "the run is to start both from a Hugging Face folder and from a checkpoint",
               "one of the two");
  if (c.override_schedule && c.use_checkpoint_schedule)
    find.error("checkpoint.use_checkpoint_schedule",
               "the schedule cannot both come from the checkpoint and replace the checkpoint's", "one of the two");
  if (c.resume_by_default && !c.save)
    find.warning("checkpoint.resume_by_default", "the run continues from its checkpoints, but saves none",
                 "turn saving on");
}

}  // namespace

Diagnostics validate(const RunSpec& run) {
  Diagnostics out;
  Findings find(out);
  check_architecture(run, out);
  check_batch(run, find);
  check_schedules(run, find);
  check_recompute(run, find);
  check_data(run, find);
  check_rest(run, find);
  return out;
}

int64_t model_ranks(const Parallel& parallel) {
  return parallel.tensor * parallel.pipeline * parallel.context;
}

int64_t smallest_world(const Parallel& parallel) {
  return std::lcm(std::max<int64_t>(1, model_ranks(parallel)),
                  std::max<int64_t>(1, parallel.expert_tensor * parallel.expert * parallel.pipeline));
}

int64_t data_parallel_size(const Parallel& parallel, int64_t world_size) {
  const int64_t ranks = model_ranks(parallel);
  return ranks > 0 && world_size % ranks == 0 ? world_size / ranks : 0;
}

Diagnostics validate_world(const RunSpec& run, int64_t world_size) {
  Diagnostics out;
  Findings find(out);
  const int64_t replicas = data_parallel_size(run.parallel, world_size);
  if (replicas < 1) {
    find.error("parallel",
               "one copy of the model takes " + number(model_ranks(run.parallel)) + " ranks, and " +
                   number(world_size) + " is no multiple of that",
               "a multiple of " + number(model_ranks(run.parallel)));
    return out;
  }
  const int64_t expert_ranks = run.parallel.expert_tensor * run.parallel.expert * run.parallel.pipeline;
  if (expert_ranks > 1 && world_size % expert_ranks != 0)
    find.error("parallel.expert",
               "one copy of the experts takes " + number(expert_ranks) + " ranks, and " + number(world_size) +
                   " is no multiple of that",
               "a multiple of " + number(expert_ranks) + " ranks");
  const int64_t micro = run.batch.micro_batch_size;
  const int64_t unit = micro * replicas;
  const std::string parts = "micro-batch " + number(micro) + " x " + number(replicas) + " data-parallel ranks";
  if (unit < 1 || (run.batch.decrease_if_needed && run.batch.global_batch_size >= unit)) return out;
  const auto check = [&](int64_t global, const char* field, const std::string& what) {
    if (global % unit == 0) return true;
    const int64_t below = global / unit * unit, above = below + unit;
    std::string values = "a global batch of ";
    if (below > 0) values += std::to_string(below) + " or ";
    values += std::to_string(above);
    if (global % replicas == 0)
      values += ", or a micro-batch of " + nearest_divisors(global / replicas, std::min(micro, global / replicas));
    find.error(field, what + " of " + number(global) + " is not a whole number of " + parts,
               "a multiple of " + number(unit), "use " + values);
    return false;
  };
  if (!check(run.batch.global_batch_size, "batch.global_batch_size", "the global batch")) return out;
  if (run.batch.rampup && !has_errors(validate(run))) {
    const BatchRampup& ramp = *run.batch.rampup;
    for (int64_t size = ramp.start_samples; size < run.batch.global_batch_size; size += ramp.increment_samples)
      if (!check(size, "batch.rampup", "the ramp-up's stage")) break;
  }
  return out;
}

}  // namespace primus::spec
