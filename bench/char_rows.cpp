// The character models against a plain PyTorch loop (bench/peers/char_step.py): seconds and validation loss of whole
// trainings.
#include <fmt/format.h>

#include "bench/bench.h"
#include "bench/contenders.h"

namespace primus::bench {
namespace {

struct Training {
  std::string id;  // of the rows: "g.small.fp32"
  std::string what;
  std::string experiment;
  std::vector<std::string> overrides;
  std::string recipe;  // of char_step.py
  std::string mode;
  double time_target;
  std::optional<double> loss_limit;  // nats a character; nothing: the peer's own loss is the limit
};

// Ours: the whole command (start, data, training, evaluations, checkpoints, report, sample). Theirs: the training loop
// alone.
struct Measured {
  Turns ours_s, theirs_s;
  double ours_loop_s = 0;
  double ours_loss = 0, theirs_loss = 0;
  std::string versions;
};

void run_turn(const Training& training, const Setup& setup, Measured& measured) {
  std::vector<std::string> overrides = training.overrides;
  std::vector<std::string> arguments{
      "--recipe", training.recipe, "--mode", training.mode, "--train", "--threads", std::to_string(setup.threads)};
  if (setup.is_smoke) {
    overrides.insert(overrides.end(), {"train_iters=3", "lr_warmup_iters=1", "eval_iters=2"});
    arguments.insert(arguments.end(), {"--iterations", "3"});
  }
  const Result<TrainingRun> run = train(training.experiment, overrides, setup.threads);
  if (run.ok() && run->validation_loss) {
    measured.ours_s.values.push_back(run->wall_s);
    measured.ours_loss = *run->validation_loss;
    measured.ours_loop_s = 0;
    for (const double seconds : run->step_s) measured.ours_loop_s += seconds;
  } else {
    measured.ours_s.why_not = run.ok() ? "the run has left no validation loss" : reason(run.diagnostics());
  }
  if (!measured.theirs_s.why_not.empty()) return;  // failed in an earlier turn
  const Result<Json> line = run_peer("char_step.py", arguments);
  if (!line.ok()) {
    measured.theirs_s.why_not = reason(line.diagnostics());
    return;
  }
  measured.theirs_s.values.push_back((*line)["train_s"]);
  measured.theirs_loss = (*line)["val_loss"];
  measured.versions = "torch " + (*line)["torch"].get<std::string>();
}

Row time_row(const Training& training, const Measured& measured) {
  Row row{.id = training.id + ".time",
          .what = training.what + ", seconds of the whole command",
          .against = "training loop of PyTorch eager, " + training.mode,
          .target = training.time_target,
          .at_least = false};
  if (!measured.ours_s.ok() || !measured.theirs_s.ok()) {
    row.detail = measured.ours_s.ok() ? fmt::format("{:.1f} s; {}", measured.ours_s.best(), measured.theirs_s.why_not)
                                      : measured.ours_s.why_not;
    return row;
  }
  row.ratio = measured.ours_s.best() / measured.theirs_s.best();
  row.is_stable = measured.ours_s.are_stable() && measured.theirs_s.are_stable();
  row.detail = fmt::format("{:.1f} s (steps alone {:.1f} s) against {:.1f} s, {}", measured.ours_s.best(),
                           measured.ours_loop_s, measured.theirs_s.best(), measured.versions);
  return row;
}

Row loss_row(const Training& training, const Measured& measured) {
  const bool has_limit = training.loss_limit.has_value();
  Row row{.id = training.id + ".loss",
          .what = training.what + ", validation loss",
          .against = has_limit ? fmt::format("{} nats a character", *training.loss_limit) : "the PyTorch loop's",
          .target = 1.0,
          .at_least = false};
  if (!measured.ours_s.ok() || !(has_limit || measured.theirs_s.ok())) {
    row.detail = measured.ours_s.ok() ? fmt::format("{:.4f}; {}", measured.ours_loss, measured.theirs_s.why_not)
                                      : measured.ours_s.why_not;
    return row;
  }
  row.ratio = measured.ours_loss / training.loss_limit.value_or(measured.theirs_loss);
  row.detail = fmt::format("{:.4f}", measured.ours_loss);
  if (measured.theirs_s.ok()) row.detail += fmt::format(", PyTorch {:.4f}", measured.theirs_loss);
  return row;
}

std::vector<Row> rows_of(const Training& training, const Setup& setup, int turns) {
  Measured measured;
  for (int turn = 0; turn < turns; ++turn) run_turn(training, setup, measured);
  return {time_row(training, measured), loss_row(training, measured)};
}

}  // namespace

std::vector<Row> small_recipe_rows(const Setup& setup) {
  std::vector<Row> rows;
  for (const std::string mode : {"fp32", "bf16"}) {
    const Training training{.id = "g.small." + mode,
                            .what = "small recipe, " + mode + ", 2,000 steps",
                            .experiment = "examples/megatron/configs/CPU/shakespeare_small-pretrain.yaml",
                            .overrides = {mode == "bf16" ? "bf16=true" : "bf16=false"},
                            .recipe = "small",
                            .mode = mode,
                            .time_target = 0.5,
                            .loss_limit = {}};
    for (Row& row : rows_of(training, setup, setup.turns())) rows.push_back(std::move(row));
  }
  return rows;
}

// Minutes for each side, so one turn.
std::vector<Row> quickstart_rows(const Setup& setup) {
  return rows_of({.id = "quickstart",
                  .what = "quickstart as shipped, bf16, 2,000 steps",
                  .experiment = "examples/megatron/configs/CPU/shakespeare_char-pretrain.yaml",
                  .overrides = {},
                  .recipe = "quickstart",
                  .mode = "bf16",
                  .time_target = 0.7,
                  .loss_limit = 1.65},
                 setup, 1);
}

}  // namespace primus::bench
