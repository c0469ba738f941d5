// verify: the staged test of a new model. Runs are started as `train` starts them, in a folder that is removed.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>
#include <ostream>
#include <unistd.h>

#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/base/strings.h"
#include "primus/cli/options.h"
#include "primus/cli/presets_root.h"
#include "primus/cli/verify_stages.h"
#include "primus/launch/supervisor.h"

namespace primus::cli {
namespace {

constexpr const char* kVerifySummary =
    "verify: the staged test of a new model: resolution, tokenizer, a few steps on made-up data, one device, the "
    "experiment's\n"
    "parallel layout; runs are shrunk as --proxy does. Ends at the first stage that fails, with exit code 4.\n"
    "Words behind the options change keys of the experiment.";

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "primus-verify-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw MissingPartError("no temporary folder can be made in " + fs::temp_directory_path().string() +
                             "; set TMPDIR to a folder that can be written");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// `train` as a child of its own: what it prints goes into a file, and it ends with us.
TrainOutcome start_training(const Context& context, const fs::path& folder, const std::string& kind,
                            const fs::path& experiment, int64_t ranks, const std::string& stage, bool fallback) {
  launch::JobOptions job;
  launch::RankCommand command;
  command.arguments = {(context.program_folder / "primus").string(),
                       "train",
                       kind,
                       "--config",
                       experiment.string(),
                       "--nproc",
                       std::to_string(ranks)};
  if (fallback) command.arguments.emplace_back("--allow-precision-fallback");
  command.environment = {{"NNODES", "1"}, {"NODE_RANK", "0"}};
  command.log_file = folder / (stage + ".log");
  job.ranks = {command};
  job.console_rank = -1;
  const int silent = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (silent >= 0) job.out_fd = job.err_fd = silent;
  TrainOutcome outcome;
  outcome.exit_code = launch::run_job(job);
  if (silent >= 0) ::close(silent);
  if (auto text = read_text_file(command.log_file)) outcome.output = std::move(text).value();
  return outcome;
}

void print(const StageResult& stage, const Context& context) {
  std::ostream& out = *context.out;
  const char* colour = stage.state == StageState::Passed ? "32" : stage.state == StageState::Failed ? "31" : "2";
  const std::string state = fmt::format("{:<11}", to_string(stage.state));
  const std::string shown = context.colour ? fmt::format("\033[{}m{}\033[0m", colour, state) : state;
  const std::string time = stage.state == StageState::NotReached ? "" : fmt::format("{:.1f} s", stage.seconds);
  out << trim(fmt::format("{:<15}  {}  {:>7}  {}", stage.name, shown, time, stage.detail)) << '\n';
  if (!stage.suggestion.empty()) out << "                 try: " << stage.suggestion << '\n';
  out.flush();
}

Json to_json(const std::vector<StageResult>& stages, bool passed) {
  Json list = Json::array();
  for (const StageResult& stage : stages)
    list.push_back({{"stage", stage.name},
                    {"state", to_lower(to_string(stage.state))},
                    {"seconds", stage.seconds},
                    {"detail", stage.detail},
                    {"suggestion", stage.suggestion}});
  return {{"passed", passed}, {"stages", std::move(list)}};
}

}  // namespace

ExitCode run_verify(Context& context) {
  std::string config, presets, format = "text";
  bool fallback = false;
  CLI::App app(kVerifySummary, "primus-cli verify");
  app.allow_extras();
  app.add_option("--config", config, "the experiment file")->required();
  app.add_option("--presets", presets, "use DIR's primus/configs and examples");
  app.add_flag("--allow-precision-fallback", fallback, "train fp8 and fp4 experiments in bf16");
  app.add_option("--format", format, "text or json")->check(CLI::IsMember({"text", "json"}));
  if (!parse_options(app, context)) return ExitCode::Ok;

  const TemporaryFolder folder;
  VerifyRequest request;
  request.load.path = config;
  request.load.command_line_overrides = app.remaining();
  request.load.environment = context.environment;
  request.load.presets_root = presets_root_for(presets, config, context.install_root);
  request.load.prefer_presets_tree = !presets.empty();
  request.folder = folder.path();
  request.allow_precision_fallback = fallback;
  int signal_code = 0;
  const StartTraining start = [&](const fs::path& experiment, int64_t ranks, const std::string& stage) {
    TrainOutcome outcome = start_training(context, folder.path(), "pretrain", experiment, ranks, stage, fallback);
    if (outcome.exit_code > kSignalExitBase) signal_code = outcome.exit_code;
    return outcome;
  };
  const bool is_text = format == "text";
  const auto stages = run_stages(request, context, start, [&](const StageResult& stage) {
    if (is_text) print(stage, context);
  });
  const bool passed = std::all_of(stages.begin(), stages.end(), [](const StageResult& stage) {
    return stage.state == StageState::Passed || stage.state == StageState::NotNeeded;
  });
  if (!is_text) *context.out << dump_json(to_json(stages, passed), 1) << '\n';
  if (signal_code != 0) return static_cast<ExitCode>(signal_code);
  return passed ? ExitCode::Ok : ExitCode::CheckFailed;
}

}  // namespace primus::cli
