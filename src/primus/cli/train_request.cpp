#include "primus/cli/train_request.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/fs.h"
#include "primus/base/strings.h"
#include "primus/cli/options.h"

namespace primus::cli {
namespace {

constexpr const char* kTrainSummary =
    "train pretrain: trains the model of an experiment on this machine, or on the nodes that NNODES, NODE_RANK, "
    "MASTER_ADDR\n"
    "and MASTER_PORT describe. Words behind the options change keys of the experiment: --lr 3e-5, --lr=3e-5, lr=3e-5, "
    "--flag.\n"
    "Ctrl-C saves and stops; the same command with --resume auto goes on from there.";

// Without the options that only the launcher reads; each may be written as one word or as two.
std::vector<std::string> without_launcher_options(const std::vector<std::string>& arguments) {
  std::vector<std::string> kept;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--dry-run") continue;
    if (word == "--nproc" || word == "--format") {
      ++i;
    } else if (!word.starts_with("--nproc=") && !word.starts_with("--format=")) {
      kept.push_back(word);
    }
  }
  return kept;
}

// The word behind `train`, which says what kind of training.
void check_stage_word(const std::vector<std::string>& arguments) {
  const std::string stage = arguments.empty() ? "" : arguments.front();
  if (stage == "pretrain" || stage == "posttrain") return;
  Diagnostic error = error_at({.file = "command line"}, "unknown kind of training '" + stage + "'");
  if (stage.empty() || stage.starts_with("-")) error.message = "the kind of training is missing";
  error.expected = "train pretrain --config F ...";
  error.suggestion = did_you_mean(stage, {"pretrain", "posttrain"});
  throw InputError(error);
}

// What the engine can do, and which options are only another engine's.
void check_engine(const TrainRequest& request) {
  const bool upstream = request.engine == "upstream";
  if (!upstream && request.stage == "posttrain") {
    Diagnostic error = error_at({.file = "command line"}, "train posttrain is not built yet");
    error.expected = "train pretrain --config F ...";
    error.suggestion = "--engine upstream starts the experiment's own trainer";
    throw InputError(error);
  }
  if (upstream && !request.init_from.empty()) {
    Diagnostic error = error_at({.file = "command line"}, "--init-from is read by the native engine only");
    error.suggestion = "leave it out, or give the key with which the experiment's own trainer loads weights";
    throw InputError(error);
  }
  if (!upstream && !request.backend_path.empty()) {
    Diagnostic error = error_at({.file = "command line"}, "--backend_path is read with --engine upstream only");
    error.suggestion = "add --engine upstream, or leave it out";
    throw InputError(error);
  }
}

}  // namespace

std::optional<TrainRequest> read_train_request(Context& context) {
  std::vector<std::string> arguments = context.arguments;
  const bool help = !arguments.empty() && (arguments.front() == "--help" || arguments.front() == "-h");
  TrainRequest request;
  if (!help) check_stage_word(arguments);
  CLI::App app(kTrainSummary, "primus-cli train pretrain");
  app.allow_extras();
  app.add_option("--config", request.config, "the experiment file")->required();
  app.add_option("--nproc", request.nproc, "ranks on this node; default: the smallest number that fits the layout")
      ->check(CLI::Range(1, 4096));
  app.add_option("--resume", request.resume, "auto, never or must; default: what the experiment says")
      ->check(CLI::IsMember({"auto", "never", "must"}));
  app.add_option("--init-from", request.init_from,
                 "start from the weights of this Hugging Face folder (the key init_from)");
  app.add_flag("--overwrite", request.overwrite, "move what another experiment left in the run folder aside");
  app.add_flag("--proxy", request.proxy, "shrink the experiment so that it runs here in about a minute");
  app.add_flag("--allow-precision-fallback", request.allow_precision_fallback,
               "train fp8 and fp4 experiments in bf16, with a warning");
  app.add_option("--engine", request.engine, "native (default), or upstream: the experiment's own trainer")
      ->check(CLI::IsMember({"native", "upstream"}));
  app.add_option("--backend_path,--backend-path", request.backend_path, "the tree of that trainer");
  app.add_option("--presets", request.presets, "use DIR's primus/configs and examples");
  app.add_flag("--dry-run", request.dry_run, "print what would be started; create nothing");
  app.add_option("--format", request.format, "text or json, for --dry-run")->check(CLI::IsMember({"text", "json"}));
  if (!help) {
    request.stage = arguments.front();
    arguments.erase(arguments.begin());
  }
  if (!parse_options(app, arguments, context)) return std::nullopt;
  check_engine(request);
  request.overrides = app.remaining();
  // Absolute, so that what the run folder records is the same folder from everywhere.
  if (!request.init_from.empty())
    request.overrides.push_back("--init_from=" + fs::absolute(request.init_from).lexically_normal().string());
  request.for_ranks = without_launcher_options(arguments);
  return request;
}

}  // namespace primus::cli
