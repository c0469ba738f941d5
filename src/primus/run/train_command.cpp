// primus-train train: from arguments and environment to a trained model.
#include <chrono>
#include <fmt/format.h>
#include <unistd.h>

#include "primus/base/hash.h"
#include "primus/base/strings.h"
#include "primus/cli/checkpoint_model.h"
#include "primus/cli/claim_run.h"
#include "primus/cli/train_hf.h"
#include "primus/dialect/to_spec.h"
#include "primus/dist/connect.h"
#include "primus/hub/hf_config.h"
#include "primus/hub/hf_import.h"
#include "primus/launch/rank_environment.h"
#include "primus/run/commands.h"
#include "primus/tensor/runtime.h"
#include "primus/track/console.h"
#include "primus/track/report.h"
#include "primus/train/checkpointing.h"
#include "primus/train/generate.h"
#include "primus/train/header.h"
#include "primus/train/loop.h"
#include "primus/train/setup.h"
#include "primus/train/stop_signal.h"

namespace primus::run {

namespace {

using Sinks = std::vector<std::unique_ptr<track::Sink>>;

LogOptions log_options(const spec::RunSpec& spec, const launch::RankEnvironment& rank, const Environment& environment) {
  LogOptions options;
  options.console_level = parse_log_level(spec.logging.console_level).value_or(LogLevel::Info);
  options.file_level = parse_log_level(spec.logging.file_level).value_or(LogLevel::Debug);
  options.console = rank.rank == 0;
  options.prefix = rank.rank == 0 ? "" : fmt::format("rank {}", rank.rank);
  // The launcher already keeps everything that a rank prints in logs/rank-<r>.log; elsewhere the rank does it itself.
  if (!environment("PRIMUS_RANK_LOG")) {
    options.file = fs::path(spec.identity.run_folder) / "logs" / fmt::format("rank-{}.log", rank.rank);
  }
  return options;
}

Sinks open_sinks(const train::Trainer& trainer, Logger& log) {
  Sinks sinks;
  if (trainer.group.rank() != 0) return sinks;
  const fs::path folder = trainer.spec.identity.run_folder;
  sinks.push_back(track::open_console(log, {.first_step = trainer.state.step,
                                            .num_steps = trainer.spec.exit.train_steps,
                                            .interval_steps = trainer.spec.logging.interval_steps}));
  sinks.push_back(track::open_metrics_file(folder / "metrics.jsonl", trainer.state.step));
  if (trainer.spec.logging.tensorboard) sinks.push_back(track::open_tensorboard(folder / "tensorboard"));
  return sinks;
}

std::unique_ptr<ckpt::Writer> open_writer(const train::Trainer& trainer, const std::string& session) {
  const spec::Checkpoint& rule = trainer.spec.checkpoint;
  if (!rule.save) return nullptr;
  return std::make_unique<ckpt::Writer>(
      ckpt::WriterOptions{.checkpoints = hub::checkpoints_folder(trainer.spec.identity.run_folder),
                          .rank = trainer.group.rank(),
                          .world_size = trainer.group.size(),
                          .session = session,
                          .in_background = rule.asynchronous,
                          .retention = {.keep_last = rule.keep_last}});
}

// What exports take from outside of the model: the run's tokenizer, without one that of init_from's folder.
train::HfExportOptions export_options(const train::Trainer& trainer) {
  train::HfExportOptions options;
  const fs::path initial = trainer.spec.checkpoint.init_from;
  std::error_code code;
  if (!initial.empty() && fs::exists(initial / "config.json", code)) {
    const Result<hub::HfModel> published = hub::read_hf_config(initial);
    if (published.ok()) options.family = published->family;
    const Result<std::string> text = read_text_file(initial / "config.json");
    if (published.ok() && text.ok() && !trainer.tokenizer) {
      options.ids = hub::token_ids_of(value_or_throw(parse_json(*text, "config.json")));
      options.tokenizer = initial;
    }
  }
  if (trainer.tokenizer) {
    const cli::TokenizerFiles files = cli::files_of(*trainer.tokenizer);
    options.ids = files.ids;
    options.tokenizer = files.source;
  }
  return options;
}

std::unique_ptr<train::HfExporter> open_exporter(train::Trainer& trainer) {
  if (trainer.spec.checkpoint.export_every_steps <= 0 || trainer.group.rank() != 0) return nullptr;
  return std::make_unique<train::HfExporter>(trainer, export_options(trainer));
}

// Where the run starts. May give it the vocabulary of what it starts from.
train::Start find_start(spec::RunSpec& spec, bool resume, Logger& log) {
  train::Start start = train::find_start(spec, resume, log);
  if (start.resume) cli::take_vocabulary(spec, start.resume->manifest.state.model);
  if (start.resume || spec.checkpoint.init_from.empty()) return start;
  Diagnostics notes;
  start.init = cli::open_initial_weights(spec, notes).weights;
  for (const Diagnostic& note : notes) log.warning(render(note));
  return start;
}

void log_exports(const train::Trainer& trainer, const train::HfExporter& exporter) {
  const fs::path folder = trainer.spec.identity.run_folder;
  trainer.log.info(fmt::format("exports     {}", train::exports_folder(folder).string()));
  if (exporter.num_failed() == 0) return;
  trainer.log.error(
      fmt::format("{} of {} exports failed; from a checkpoint they can be made again: checkpoint "
                  "export-hf {} --output DIR",
                  exporter.num_failed(), exporter.num_failed() + exporter.num_written(), folder.string()));
}

void log_end(train::Trainer& trainer, const train::LoopResult& result, const train::HfExporter* exporter) {
  Logger& log = trainer.log;
  const fs::path folder = trainer.spec.identity.run_folder;
  if (result.last_validation_loss) log.info(fmt::format("validation loss {:.4f}", *result.last_validation_loss));
  if (result.test_loss) log.info(fmt::format("test loss {:.4f}", *result.test_loss));
  if (result.reason == train::StopReason::Finished && trainer.tokenizer) {
    log.info("a sample of what the model writes now:\n" + train::sample_text(trainer));
  }
  log.info(fmt::format("metrics     {}", (folder / "metrics.jsonl").string()));
  log.info(fmt::format("report      {}", (folder / "report.html").string()));
  if (trainer.spec.checkpoint.save) log.info(fmt::format("checkpoints {}", hub::checkpoints_folder(folder).string()));
  if (exporter) log_exports(trainer, *exporter);
  switch (result.reason) {
    case train::StopReason::Finished:
      log.success(fmt::format("done: {} steps", trainer.state.step));
      break;
    case train::StopReason::Signal:
      log.warning(fmt::format("stopped by signal {} after step {}; {}", result.signal, trainer.state.step,
                              trainer.spec.checkpoint.save
                                  ? "the same command with --resume auto goes on from there"
                                  : "nothing was saved, as the experiment does not (save: null)"));
      break;
    case train::StopReason::Duration:
      log.info(fmt::format("time limit reached after step {}", trainer.state.step));
      break;
    case train::StopReason::Interval:
      log.info(fmt::format("exit_interval reached after step {}", trainer.state.step));
      break;
  }
}

// What all ranks must agree on before anything is read or written.
struct RunStart {
  bool resume = false;
  std::string session;                               // different at every start of the job
  std::vector<std::string> notes;                    // for rank 0's log
  std::shared_ptr<const track::RunFolderLock> lock;  // of the run folder, where this process has claimed it
};

// The launcher has claimed the run folder and says so in PRIMUS_RUN_CLAIM; under another launcher rank 0 claims it.
RunStart start_run(const cli::TrainRequest& request, const cli::ResolvedRun& run, dist::Group& world,
                   const cli::Context& context) {
  RunStart start;
  if (world.rank() == 0) {
    const auto claimed = context.environment("PRIMUS_RUN_CLAIM");
    if (claimed) {
      start.resume = *claimed == "resume";
    } else {
      track::RunFolderClaim claim = cli::claim_run(request, run);
      start.resume = claim.resume;
      start.notes = std::move(claim.notes);
      start.lock = std::move(claim.lock);
    }
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    start.session = sha256_hex(fmt::format("{} {}", now, ::getpid())).substr(0, 12);
  }
  const std::string agreed =
      world.all_gather_text(fmt::format("{} {}", start.resume ? "resume" : "fresh", start.session)).front();
  start.resume = agreed.starts_with("resume");
  start.session = agreed.substr(agreed.find(' ') + 1);
  return start;
}

fs::path cache_folder(const Environment& environment) {
  if (const auto folder = environment("XDG_CACHE_HOME"); folder && !folder->empty())
    return fs::path(*folder) / "primus";
  if (const auto home = environment("HOME"); home && !home->empty()) return fs::path(*home) / ".cache/primus";
  return {};
}

// A run whose exports failed has trained to its end, but not done all that it was asked to do.
ExitCode exit_code(const train::LoopResult& result, const train::HfExporter* exporter) {
  const bool failed = exporter && exporter->num_failed() > 0;
  if (result.reason != train::StopReason::Signal) return failed ? ExitCode::RunFailed : ExitCode::Ok;
  return static_cast<ExitCode>(kSignalExitBase + result.signal);
}

}  // namespace

ExitCode run_train_rank(cli::Context& context) {
  const std::optional<cli::TrainRequest> request = cli::read_train_request(context);
  if (!request) return ExitCode::Ok;
  const launch::RankEnvironment rank = value_or_throw(launch::read_rank_environment(context.environment));
  cli::ResolvedRun resolved = cli::resolve_run(*request, context, rank.world_size);
  spec::RunSpec& spec = resolved.spec;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer = cli::finish_with_tokenizer(spec, context);
  if (const Diagnostics findings = dialect::check_world(spec, rank.world_size); has_errors(findings))
    throw InputError(findings);
  const auto num_threads = context.environment("OMP_NUM_THREADS");
  if (num_threads) tensor::set_num_threads(static_cast<int>(parse_int(*num_threads).value_or(1)));

  train::watch_stop_signals();
  const std::unique_ptr<dist::Group> world = dist::connect({.rank = rank.rank,
                                                            .world_size = rank.world_size,
                                                            .local_world_size = rank.local_world_size,
                                                            .master_address = rank.master_address,
                                                            .master_port = rank.master_port,
                                                            .timeout_minutes = spec.parallel.timeout_minutes});
  const RunStart run_start = start_run(*request, resolved, *world, context);
  Logger log(log_options(spec, rank, context.environment));
  for (const std::string& note : run_start.notes) log.info(note);
  const train::Start start = find_start(spec, run_start.resume, log);
  const std::string pinned = start.resume ? start.resume->manifest.state.gemm_route : "";
  train::Machine machine = train::prepare_machine(*world, log, spec, cache_folder(context.environment), pinned);
  train::Trainer trainer(spec, *world, log, std::move(machine));
  trainer.tokenizer = std::move(tokenizer);
  train::open_data(trainer);
  train::apply_start(trainer, start);
  if (world->rank() == 0) train::log_header(trainer);

  const std::unique_ptr<ckpt::Writer> writer = open_writer(trainer, run_start.session);
  const std::unique_ptr<train::HfExporter> exporter = open_exporter(trainer);
  train::LoopResult result;
  {
    const Sinks sinks = open_sinks(trainer, log);
    result = train::run_loop(trainer, writer.get(), sinks, exporter.get());
  }
  if (world->rank() == 0) {
    track::write_report(spec.identity.run_folder);
    log_end(trainer, result, exporter.get());
  }
  world->barrier();
  return exit_code(result, exporter.get());
}

}  // namespace primus::run
