#include "primus/cli/verify_stages.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>

#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/base/strings.h"
#include "primus/cli/config_request.h"
#include "primus/cli/resolve_run.h"
#include "primus/config/dump.h"
#include "primus/dialect/proxy.h"
#include "primus/dialect/to_spec.h"
#include "primus/spec/model_size.h"
#include "primus/spec/validate.h"

namespace primus::cli {
namespace {

constexpr int64_t kMockSteps = 3, kSteps = 10;
constexpr size_t kErrorLines = 3;

// Why a stage fails, thrown out of it.
struct StageFailed {
  std::string detail, suggestion;
};

// The first error, and how many more there are.
StageFailed failure_of(const Diagnostics& findings, const std::string& otherwise) {
  StageFailed failed;
  int64_t errors = 0;
  for (const Diagnostic& finding : findings) {
    if (finding.severity != Severity::Error || ++errors > 1) continue;
    const std::string place = finding.place.to_string();
    failed.detail = (place.empty() ? "" : place + ": ") + finding.message;
    failed.suggestion = finding.suggestion;
    if (failed.suggestion.empty() && !finding.expected.empty()) failed.suggestion = "expected: " + finding.expected;
  }
  if (errors > 1) failed.detail += fmt::format(" (and {} more)", errors - 1);
  if (failed.suggestion.empty()) failed.suggestion = otherwise;
  return failed;
}

std::string error_lines(const std::string& output) {
  std::vector<std::string> lines;
  for (const std::string& line : split(output, '\n'))
    if (line.find("error") != std::string::npos && lines.size() < kErrorLines) lines.push_back(std::string(trim(line)));
  return join(lines, "; ");
}

// Losses of the steps, in order.
std::vector<double> losses_of(const fs::path& metrics) {
  std::vector<double> losses;
  const auto text = read_text_file(metrics);
  if (!text) return losses;  // the run ended before its first step
  for (const std::string& line : split(*text, '\n')) {
    const auto row = parse_json(line, metrics.string());
    if (row && row->contains("step") && row->contains("loss"))
      losses.push_back((*row)["loss"].is_number() ? (*row)["loss"].get<double>() : std::nan(""));
  }
  return losses;
}

class Verifier {
 public:
  Verifier(const VerifyRequest& request, const Context& context, const StartTraining& start)
      : request_(request), context_(context), start_(start) {}

  StageState resolution(StageResult& result) {
    auto experiment = config::load_experiment(request_.load);
    if (!experiment) throw failure_of(experiment.diagnostics(), {});
    experiment_ = std::move(experiment).value();
    auto run = describe_run(experiment_, {});
    if (!run) throw failure_of(run.diagnostics(), "primus-cli config check tells all that is wrong");
    run_ = std::move(run).value();
    const config::Module& module = experiment_.main_module();
    const auto parameters = static_cast<double>(spec::count_parameters(run_.model, false).total());
    const std::string size =
        parameters < 1e9 ? fmt::format("{:.2f} M", parameters / 1e6) : fmt::format("{:.2f} B", parameters / 1e9);
    result.detail =
        fmt::format("{} {}, {} layers, {} parameters{}", module.framework, module.model, run_.model.layers.size(), size,
                    spec::has_known_size(run_.model) ? "" : " without its other mixers");
    return StageState::Passed;
  }

  StageState tokenizer(StageResult& result) {
    spec::RunSpec run = run_;
    const auto tokenizer = finish_with_tokenizer(run, context_);
    result.detail = "made-up data need none";
    if (tokenizer == nullptr) return StageState::NotNeeded;
    result.detail = fmt::format("{}, {} ids, {} rows", run.tokenizer.type, format_thousands(tokenizer->vocab_size()),
                                format_thousands(run.model.padded_vocab_size));
    return StageState::Passed;
  }

  StageState mock_steps(StageResult& result) {
    return train(result, {.mock_data = true, .one_device = true, .most_steps = kMockSteps});
  }

  StageState one_device(StageResult& result) { return train(result, {.one_device = true, .most_steps = kSteps}); }

  StageState parallel_layout(StageResult& result) {
    if (ranks_of(run_) == 1) {
      result.detail = "the layout is one device";
      return StageState::NotNeeded;
    }
    return train(result, {.most_steps = kSteps});
  }

 private:
  // One copy of the model, and of its experts, in as many parts as the layout names.
  static int64_t ranks_of(const spec::RunSpec& run) {
    const int64_t shards = std::max<int64_t>(1, run.parallel.weight_shards);
    return std::max(spec::smallest_world(run.parallel), spec::model_ranks(run.parallel) * shards);
  }

  // The proxy as a file of its own, whose run lies in our folder.
  fs::path write(config::Experiment experiment, const std::string& name) const {
    config::Value workspace(request_.folder.string());
    experiment.meta.values.as_map().set("workspace", workspace);
    config::Value exp_name{std::string(name)};
    experiment.meta.values.as_map().set("exp_name", exp_name);
    const fs::path file = request_.folder / (name + ".yaml");
    write_file_atomic(file, config::dump_yaml(experiment));
    return file;
  }

  StageState train(StageResult& result, const dialect::ProxyOptions& options) {
    config::Experiment experiment = experiment_;
    const auto changes = dialect::apply_proxy(experiment, {}, options);
    if (!changes) throw failure_of(changes.diagnostics(), {});
    const auto described = describe_run(experiment, {});
    if (!described) throw failure_of(described.diagnostics(), {});
    const int64_t ranks = ranks_of(*described);
    const auto run = dialect::to_spec(
        experiment, {}, {.world_size = ranks, .allow_precision_fallback = request_.allow_precision_fallback});
    if (!run) throw failure_of(run.diagnostics(), {});

    std::string name = result.name;
    std::replace(name.begin(), name.end(), ' ', '-');
    const fs::path file = write(experiment, name);
    const TrainOutcome outcome = start_(file, ranks, name);
    const fs::path folder = request_.folder / run->identity.work_group / run->identity.user_name / name;
    std::string seen = fmt::format("{} of {} steps", 0, run->exit.train_steps);
    const std::vector<double> losses = losses_of(find_metrics(folder));
    if (!losses.empty())
      seen = fmt::format("{} of {} steps, loss {:.4g} -> {:.4g}", losses.size(), run->exit.train_steps, losses.front(),
                         losses.back());
    if (ranks > 1) seen = fmt::format("{} ranks, {}", ranks, seen);
    result.detail = seen;
    if (outcome.exit_code != 0) {
      const std::string why = error_lines(outcome.output);
      throw StageFailed{
          fmt::format("exit code {}, {}{}", outcome.exit_code, seen, why.empty() ? "" : ": " + why),
          outcome.exit_code > kSignalExitBase ? "a signal ended it" : "train --proxy shows the whole log"};
    }
    if (static_cast<int64_t>(losses.size()) != run->exit.train_steps)
      throw StageFailed{seen, "train --proxy shows the whole log"};
    if (!std::all_of(losses.begin(), losses.end(), [](double loss) { return std::isfinite(loss); }))
      throw StageFailed{seen + ": a loss is no number", "a lower learning rate, or another precision"};
    return StageState::Passed;
  }

  // Some dialects write into a folder below the run's.
  static fs::path find_metrics(const fs::path& folder) {
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
      if (at->path().filename() == "metrics.jsonl") return at->path();
    return folder / "metrics.jsonl";
  }

  const VerifyRequest& request_;
  const Context& context_;
  const StartTraining& start_;
  config::Experiment experiment_;
  spec::RunSpec run_;
};

using Stage = StageState (Verifier::*)(StageResult&);

void run_stage(Verifier& verifier, Stage stage, StageResult& result) {
  const auto begin = std::chrono::steady_clock::now();
  const auto fail = [&result](std::string detail, std::string suggestion) {
    result.state = StageState::Failed;
    result.detail = std::move(detail);
    result.suggestion = std::move(suggestion);
  };
  try {
    result.state = (verifier.*stage)(result);
  } catch (const StageFailed& failed) {
    fail(failed.detail, failed.suggestion);
  } catch (const InputError& error) {
    const StageFailed failed = failure_of(error.diagnostics(), {});
    fail(failed.detail, failed.suggestion);
  } catch (const Error& error) {
    fail(error.what(), {});
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

const char* to_string(StageState state) {
  constexpr const char* kWords[] = {"passed", "not needed", "FAILED", "not reached"};
  return kWords[static_cast<size_t>(state)];
}

std::vector<StageResult> run_stages(const VerifyRequest& request, const Context& context, const StartTraining& start,
                                    const std::function<void(const StageResult&)>& told) {
  const std::pair<const char*, Stage> stages[] = {{"resolution", &Verifier::resolution},
                                                  {"tokenizer", &Verifier::tokenizer},
                                                  {"mock steps", &Verifier::mock_steps},
                                                  {"one device", &Verifier::one_device},
                                                  {"parallel layout", &Verifier::parallel_layout}};
  Verifier verifier(request, context, start);
  std::vector<StageResult> results;
  bool failed = false;
  for (const auto& [name, stage] : stages) {
    results.push_back({.name = name});
    if (!failed) run_stage(verifier, stage, results.back());
    failed = failed || results.back().state == StageState::Failed;
    told(results.back());
  }
  return results;
}

}  // namespace primus::cli
