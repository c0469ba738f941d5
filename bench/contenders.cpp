#include "bench/contenders.h"

#include <algorithm>
#include <fmt/format.h>

#include "bench/bench.h"
#include "bench/process.h"

#include "primus/base/env.h"
#include "primus/base/strings.h"

namespace primus::bench {
namespace {

constexpr const char* kPeerPython = "bench/peers/.venv/bin/python";

Result<fs::path> find_metrics(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    if (entry.path().filename() == "metrics.jsonl") return entry.path();
  }
  return error_at({.file = folder.string()}, "the run has left no metrics.jsonl");
}

Status read_metrics(const fs::path& file, TrainingRun& run) {
  const Result<std::string> text = read_text_file(file);
  if (!text.ok()) return text.diagnostics();
  int64_t tokens = 0;
  for (const std::string& line : split(*text, '\n')) {
    if (line.empty()) continue;
    const Result<Json> row = parse_json(line, file.string());
    if (!row.ok()) return row.diagnostics();
    if (row->contains("val_loss") && (*row)["val_loss"].is_number()) run.validation_loss = (*row)["val_loss"];
    if (!row->contains("step_ms")) continue;
    run.step_s.push_back((*row)["step_ms"].get<double>() / 1e3);
    run.model_gflops.push_back((*row)["model_flops"].get<double>() / 1e9);
    run.tokens_per_step = (*row)["tokens"].get<int64_t>() - tokens;
    tokens += run.tokens_per_step;
  }
  if (run.step_s.size() < 3) return error_at({.file = file.string()}, "fewer than three steps were recorded");
  return Done{};
}

Diagnostic failed(const Command& command, const Ended& ended) {
  return error_at({}, fmt::format("{} ended with exit code {}: {}", fs::path(command.words[0]).filename().string(),
                                  ended.exit_code, ended.error_tail));
}

}  // namespace

double TrainingRun::median_step_s() const {
  std::vector<double> counted(step_s.begin() + 2, step_s.end());
  const auto middle = counted.begin() + static_cast<std::ptrdiff_t>(counted.size() / 2);
  std::nth_element(counted.begin(), middle, counted.end());
  return *middle;
}

Result<TrainingRun> train(const std::string& experiment, const std::vector<std::string>& overrides, int threads) {
  const ScratchFolder scratch;
  const std::string folder = scratch.path().string();
  Command command{.words = {beside_this_program("primus").string(), "train", "pretrain", "--config", experiment}};
  command.words.push_back("workspace=" + folder);
  command.words.insert(command.words.end(), overrides.begin(), overrides.end());
  // A cache of its own: routines are chosen on the machine as it is now.
  command.environment = {{"OMP_NUM_THREADS", std::to_string(threads)}, {"XDG_CACHE_HOME", folder + "/cache"}};
  const Ended ended = run_process(command);
  if (ended.exit_code != 0) return failed(command, ended);
  TrainingRun run{.wall_s = ended.wall_s, .peak_bytes = ended.peak_bytes};
  const Result<fs::path> metrics = find_metrics(scratch.path());
  if (!metrics.ok()) return metrics.diagnostics();
  const Status status = read_metrics(*metrics, run);
  if (!status.ok()) return status.diagnostics();
  return run;
}

Result<Json> run_peer(const std::string& script, const std::vector<std::string>& arguments) {
  const std::string python = process_environment()("PRIMUS_PEERS").value_or(kPeerPython);
  Command command{.words = {python, "bench/peers/" + script}};
  command.words.insert(command.words.end(), arguments.begin(), arguments.end());
  const Ended ended = run_process(command);
  if (ended.exit_code == 127) {
    return error_at({}, fmt::format("no Python peer: {} is not there; to install it: bench/peers/README.md", python));
  }
  if (ended.exit_code != 0) return failed(command, ended);
  return parse_json(trim(ended.out), script);
}

double Turns::best() const {
  return *std::min_element(values.begin(), values.end());
}

bool Turns::are_stable() const {
  return !differ(best(), *std::max_element(values.begin(), values.end()));
}

std::string reason(const Diagnostics& diagnostics) {
  return diagnostics.empty() ? "" : diagnostics.front().message;
}

}  // namespace primus::bench
