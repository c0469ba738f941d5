// train: resolves and checks an experiment before anything is started, then supervises the ranks of this node.
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/base/log.h"
#include "primus/base/strings.h"
#include "primus/cli/app.h"
#include "primus/cli/claim_run.h"
#include "primus/cli/resolve_run.h"
#include "primus/cli/train_hf.h"
#include "primus/cli/train_request.h"
#include "primus/cli/train_upstream.h"
#include "primus/config/secret.h"
#include "primus/data/prepare_run.h"
#include "primus/dialect/export.h"
#include "primus/launch/machine.h"
#include "primus/launch/port.h"
#include "primus/launch/supervisor.h"
#include "primus/launch/world.h"

namespace primus::cli {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

// Everything that is known before the first process starts.
struct Plan {
  ResolvedRun resolved;
  launch::World world;
  int num_cores = 1;
};

// --- planning: no side effects

Variables experiment_variables(const config::Experiment& experiment) {
  Variables result;
  if (!experiment.env.is_map()) return result;
  for (const auto& [name, value] : experiment.env.as_map()) {
    if (value.is_string()) result.emplace_back(name, value.as_string());
  }
  return result;
}

// torchrun would start as many launchers as it should start ranks.
void refuse_foreign_launcher(const Environment& environment) {
  if (!environment("TORCHELASTIC_RUN_ID") || !environment("LOCAL_RANK")) return;
  Diagnostic error = error_at({.file = "environment"}, "primus starts the ranks itself and cannot run under torchrun");
  error.suggestion = "torchrun --no-python ... primus-train train pretrain ..., or primus-cli without torchrun";
  throw InputError(error);
}

launch::World plan_ranks(const TrainRequest& request, const spec::Parallel& layout, const Environment& environment,
                         int num_cores) {
  launch::WorldRequest wanted;
  wanted.nodes = value_or_throw(launch::read_node_request(environment));
  wanted.ranks_per_node = request.nproc;
  wanted.layout = {.tensor = layout.tensor,
                   .pipeline = layout.pipeline,
                   .context = layout.context,
                   .expert = layout.expert,
                   .expert_tensor = layout.expert_tensor};
  wanted.num_cores = num_cores;
  wanted.inherited_threads = environment("OMP_NUM_THREADS");
  return value_or_throw(launch::plan_world(wanted));
}

// Everything that is wrong with the experiment, found before any process starts; warnings and notes are printed.
Plan make_plan(const TrainRequest& request, Context& context) {
  refuse_foreign_launcher(context.environment);
  Plan plan;
  plan.num_cores = launch::available_cores();
  // The number of ranks follows from the layout, and the batch is checked against the number of ranks: hence a second
  // time when the first guess (what the user asked for, else one rank) was not right.
  plan.world = plan_ranks(request, {}, context.environment, plan.num_cores);
  const int guess = plan.world.world_size();
  plan.resolved = resolve_run(request, context, guess);
  plan.world = plan_ranks(request, plan.resolved.spec.parallel, context.environment, plan.num_cores);
  if (plan.world.world_size() != guess) plan.resolved = resolve_run(request, context, plan.world.world_size());

  const Diagnostics& findings = plan.resolved.findings;
  if (!findings.empty()) *context.err << render(findings, context.colour) << "\n";
  check_hugging_face(request, plan.resolved, context);
  if (request.proxy) *context.err << "proxy:\n" << dialect::render_proxy(plan.resolved.proxy_changes) << "\n";
  return plan;
}

// --- starting

fs::path logs_folder(const Plan& plan) {
  return fs::path(plan.resolved.spec.identity.run_folder) / "logs";
}

Variables rank_variables(const Plan& plan, int local_rank, const std::string& port) {
  const launch::World& world = plan.world;
  Variables result = experiment_variables(plan.resolved.experiment);
  result.insert(result.end(), {{"RANK", std::to_string(world.node_rank * world.ranks_per_node + local_rank)},
                               {"LOCAL_RANK", std::to_string(local_rank)},
                               {"WORLD_SIZE", std::to_string(world.world_size())},
                               {"LOCAL_WORLD_SIZE", std::to_string(world.ranks_per_node)},
                               {"MASTER_ADDR", world.master_address},
                               {"MASTER_PORT", port},
                               {"OMP_NUM_THREADS", std::to_string(world.threads_per_rank)}});
  return result;
}

std::vector<launch::RankCommand> rank_commands(const TrainRequest& request, const Plan& plan, const Context& context,
                                               const std::string& port) {
  std::vector<launch::RankCommand> commands;
  for (int local_rank = 0; local_rank < plan.world.ranks_per_node; ++local_rank) {
    launch::RankCommand command;
    command.rank = plan.world.node_rank * plan.world.ranks_per_node + local_rank;
    command.arguments = {train_program(context).string(), "train", "pretrain"};
    command.arguments.insert(command.arguments.end(), request.for_ranks.begin(), request.for_ranks.end());
    command.log_file = logs_folder(plan) / fmt::format("rank-{}.log", command.rank);
    command.environment = rank_variables(plan, local_rank, port);
    command.environment.emplace_back("PRIMUS_RANK_LOG", command.log_file.string());
    commands.push_back(std::move(command));
  }
  return commands;
}

void print_dry_run(const TrainRequest& request, const Plan& plan, const Context& context) {
  const std::string port = plan.world.master_port ? std::to_string(*plan.world.master_port) : "chosen at start";
  const auto commands = rank_commands(request, plan, context, port);
  const config::Value& env = plan.resolved.experiment.env;
  std::ostream& out = *context.out;
  if (request.format == "json") {
    Json ranks = Json::array();
    for (const auto& command : commands) {
      Json variables = Json::object();
      for (const auto& [name, value] : command.environment) variables[name] = config::shown_variable(env, name, value);
      ranks.push_back({{"rank", command.rank},
                       {"env", variables},
                       {"argv", config::mask_arguments(command.arguments)},
                       {"log", command.log_file.string()}});
    }
    out << dump_json(Json{{"run_folder", plan.resolved.spec.identity.run_folder},
                          {"world_size", plan.world.world_size()},
                          {"threads_per_rank", plan.world.threads_per_rank},
                          {"ranks", ranks}},
                     2)
        << "\n";
    return;
  }
  out << "run folder: " << plan.resolved.spec.identity.run_folder << "\n"
      << plan.world.to_string(plan.num_cores) << "\n";
  for (const auto& command : commands) {
    out << fmt::format("rank {} would be started as:\n ", command.rank);
    for (const auto& [name, value] : command.environment) {
      out << ' ' << name << '=' << dialect::shell_quoted(config::shown_variable(env, name, value));
    }
    for (const auto& argument : config::mask_arguments(command.arguments))
      out << ' ' << dialect::shell_quoted(argument);
    out << "\n";
  }
}

// Grace periods for tests and for clusters with their own limits.
void read_grace(const Environment& environment, launch::JobOptions& options) {
  const auto text = environment("PRIMUS_GRACE_SECONDS");
  if (!text) return;
  const auto seconds = parse_double(trim(*text));
  if (!seconds || *seconds < 0 || *seconds > 86400) {
    Diagnostic error = error_at({.file = "environment"}, "PRIMUS_GRACE_SECONDS is not usable");
    error.found = "'" + printable_ascii(*text) + "'";
    error.expected = "seconds, from 0 to 86400";
    throw InputError(error);
  }
  options.grace_after_failure = options.grace_after_stop =
      std::chrono::milliseconds(static_cast<int64_t>(*seconds * 1000));
}

// Before the logs are opened, since an earlier run's are moved aside. The result must live until the job has ended.
track::RunFolderClaim claim_folder(const TrainRequest& request, const Plan& plan, Context& context) {
  track::RunFolderClaim claim = claim_run(request, plan.resolved);
  for (const auto& note : claim.notes) *context.err << "launch: " << note << "\n";
  return claim;
}

// Makes the data files that the experiment says how to make, before any rank waits for them. Ctrl-C ends it; what was
// done by then is used by the next start.
void prepare_data(const Plan& plan, const Context& context) {
  Logger log;
  const auto report =
      value_or_throw(data::prepare_if_missing(plan.resolved.spec, log, {.environment = context.environment}));
  if (!report.files.empty()) *context.err << "launch: " << data::describe(report) << "\n";
}

int start_job(const TrainRequest& request, Plan& plan, Context& context) {
  launch::JobOptions options;
  read_grace(context.environment, options);
  // Node 0 owns the port: rank 0 will listen on it.
  std::optional<launch::PortReservation> port;
  if (plan.world.node_rank == 0) {
    port.emplace(value_or_throw(plan.world.master_port ? launch::PortReservation::of(*plan.world.master_port)
                                                       : launch::PortReservation::any_free()));
    plan.world.master_port = port->port();
  }
  prepare_data(plan, context);
  track::RunFolderClaim claim;
  Variables decision;
  if (plan.world.node_rank == 0) {
    claim = claim_folder(request, plan, context);
    decision.emplace_back("PRIMUS_RUN_CLAIM", claim.resume ? "resume" : "start");
  }
  create_folders(logs_folder(plan));
  options.launcher_log = logs_folder(plan) / "launcher.log";
  options.ranks = rank_commands(request, plan, context, std::to_string(*plan.world.master_port));
  for (auto& rank : options.ranks) rank.environment.insert(rank.environment.end(), decision.begin(), decision.end());
  context.out->flush();
  context.err->flush();
  return launch::run_job(options);
}

}  // namespace

ExitCode run_train(Context& context) {
  const auto request = read_train_request(context);
  if (!request) return ExitCode::Ok;
  if (request->engine == "upstream") return train_upstream(*request, context);
  Plan plan = make_plan(*request, context);
  if (request->dry_run) {
    print_dry_run(*request, plan, context);
    return ExitCode::Ok;
  }
  *context.err << "launch: " << plan.world.to_string(plan.num_cores) << "\n";
  for (const auto& warning : plan.world.warnings) *context.err << "launch: warning: " << warning << "\n";
  return static_cast<ExitCode>(start_job(*request, plan, context));
}

}  // namespace primus::cli
