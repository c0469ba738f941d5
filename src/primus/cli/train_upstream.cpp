#include "primus/cli/train_upstream.h"

#include <fmt/format.h>
#include <optional>
#include <ostream>
#include <sys/stat.h>

#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/base/strings.h"
#include "primus/cli/resolve_run.h"
#include "primus/config/secret.h"
#include "primus/dialect/export.h"
#include "primus/dialect/proxy.h"
#include "primus/dialect/to_spec.h"
#include "primus/launch/machine.h"
#include "primus/launch/port.h"
#include "primus/launch/supervisor.h"
#include "primus/launch/upstream.h"

namespace primus::cli {
namespace {

// How each framework's trainer is known. A script of our own (megatron_bridge) needs only the package.
launch::TrainerRequest trainer_of(const dialect::LaunchForm& form, const std::string& backend_path) {
  launch::TrainerRequest request;
  request.backend_path = backend_path;
  if (form.framework == "megatron") {
    request.name = "Megatron-LM";
    request.package = "megatron-lm (the source tree: the package megatron-core has no " + form.program[0] + ")";
    request.entries = {{form.program[0], form.program}};
  } else if (form.framework == "torchtitan") {
    request.name = "TorchTitan";
    request.package = "torchtitan==0.2.2";
    request.entries = {{"torchtitan/train.py", form.program}};
  } else if (form.framework == "maxtext") {
    request.name = "MaxText";
    request.package = "maxtext";
    request.entries = {{"maxtext/trainers/pre_train/train.py", form.program},
                       {"MaxText/train.py", {"-m", "MaxText.train"}}};
  } else {
    request.name = "Megatron Bridge";
    request.package = "megatron-bridge";
    request.entries = {{"megatron/bridge/__init__.py", form.program}};
  }
  return request;
}

struct UpstreamPlan {
  config::Experiment experiment;
  dialect::LaunchForm form, shown;  // with secrets, and for people
  launch::World world;
  launch::Trainer trainer;
  fs::path run_folder, files_folder;
};

// The module that the stage trains; empty: the experiment's only one.
std::string module_of(const TrainRequest& request, const config::Experiment& experiment) {
  const std::string wanted = request.stage == "posttrain" ? "post_trainer" : "pre_trainer";
  return experiment.find_module(wanted) != nullptr ? wanted : "";
}

// A dry run shows the command on a laptop too; a place that was named must hold the trainer.
launch::Trainer trainer_for(const TrainRequest& request, const dialect::LaunchForm& form, Context& context) {
  const launch::TrainerRequest wanted = trainer_of(form, request.backend_path);
  const auto named = context.environment("BACKEND_PATH");
  if (!request.dry_run || !request.backend_path.empty() || (named && !named->empty()))
    return launch::find_trainer(wanted, context.environment);
  try {
    return launch::find_trainer(wanted, context.environment);
  } catch (const MissingPartError& error) {
    *context.err << "warning: " << error.what() << "\n";
    return launch::expected_trainer(wanted, context.environment);
  }
}

config::Experiment load(const TrainRequest& request, Context& context) {
  config::Experiment experiment = value_or_throw(config::load_experiment(load_options(request, context)));
  if (request.proxy) {
    const auto changes = value_or_throw(dialect::apply_proxy(experiment));
    *context.err << "proxy:\n" << dialect::render_proxy(changes) << "\n";
  }
  return experiment;
}

UpstreamPlan make_upstream_plan(const TrainRequest& request, Context& context) {
  UpstreamPlan plan;
  plan.experiment = load(request, context);
  plan.run_folder = plan.experiment.meta.folder();
  plan.files_folder = plan.run_folder / "config" / "upstream";
  const std::string folder = plan.files_folder.string();
  const std::string module = module_of(request, plan.experiment);
  Result<dialect::LaunchForm> form =
      dialect::export_launch(plan.experiment, module, {.folder = folder, .show_secrets = true});
  if (!form) throw InputError(form.diagnostics());
  if (!form.diagnostics().empty()) *context.err << render(form.diagnostics(), context.colour) << "\n";
  plan.form = *form;
  plan.shown = value_or_throw(dialect::export_launch(plan.experiment, module, {.folder = folder}));
  const spec::Parallel layout =
      value_or_throw(dialect::to_spec(plan.experiment, module, {.for_training = false})).parallel;
  launch::WorldRequest wanted;
  wanted.nodes = value_or_throw(launch::read_node_request(context.environment));
  wanted.ranks_per_node = plan.form.by_torchrun ? request.nproc : std::optional<int>(1);
  if (plan.form.by_torchrun)
    wanted.layout = {.tensor = layout.tensor,
                     .pipeline = layout.pipeline,
                     .context = layout.context,
                     .expert = layout.expert,
                     .expert_tensor = layout.expert_tensor};
  wanted.num_cores = launch::available_cores();
  wanted.inherited_threads = context.environment("OMP_NUM_THREADS");
  plan.world = value_or_throw(launch::plan_world(wanted));
  plan.trainer = trainer_for(request, plan.form, context);
  return plan;
}

launch::RankCommand command_of(const UpstreamPlan& plan, const dialect::LaunchForm& form, const Context& context) {
  std::vector<std::string> words = plan.trainer.program;
  words.insert(words.end(), form.arguments.begin(), form.arguments.end());
  launch::UpstreamCommand upstream =
      launch::upstream_command(plan.trainer, words, plan.world, form.by_torchrun, context.environment);
  launch::RankCommand command;
  command.arguments = std::move(upstream.arguments);
  if (plan.experiment.env.is_map())
    for (const auto& [name, value] : plan.experiment.env.as_map())
      if (value.is_string()) command.environment.emplace_back(name, value.as_string());
  command.environment.insert(command.environment.end(), upstream.environment.begin(), upstream.environment.end());
  command.log_file = plan.run_folder / "logs" / fmt::format("upstream-node-{}.log", plan.world.node_rank);
  return command;
}

void print_upstream_dry_run(const TrainRequest& request, const UpstreamPlan& plan, const Context& context) {
  const launch::RankCommand command = command_of(plan, plan.shown, context);
  const std::vector<std::string> arguments = config::mask_arguments(command.arguments);
  std::ostream& out = *context.out;
  if (request.format == "json") {
    Json variables = Json::object();
    for (const auto& [name, value] : command.environment)
      variables[name] = config::shown_variable(plan.experiment.env, name, value);
    Json json = {{"trainer", plan.trainer.import_root.string()},
                 {"found_by", plan.trainer.found_by},
                 {"run_folder", plan.run_folder.string()},
                 {"env", variables},
                 {"argv", arguments},
                 {"log", command.log_file.string()}};
    json["form"] = dialect::launch_json(plan.shown);
    out << dump_json(json, 2) << "\n";
    return;
  }
  out << fmt::format("trainer: {} in {} ({})\n", plan.form.upstream, plan.trainer.import_root.string(),
                     plan.trainer.found_by);
  for (const dialect::NotCarried& one : plan.shown.not_carried)
    out << fmt::format("not carried: {}: {}  ({})\n", one.key, one.value, one.reason);
  for (const std::string& note : plan.shown.notes) out << "note: " << note << "\n";
  out << (plan.shown.accepted.empty() ? "No real parser has accepted this form." : plan.shown.accepted) << "\n";
  for (const dialect::LaunchFile& file : plan.shown.files)
    out << fmt::format("file {}:\n{}", (plan.files_folder / file.name).string(), file.text);
  if (!plan.world.master_port) out << "port 0 stands for a free one, chosen at the start\n";
  out << "would be started as:\n ";
  for (const auto& [name, value] : command.environment)
    out << ' ' << name << '=' << dialect::shell_quoted(config::shown_variable(plan.experiment.env, name, value));
  for (const std::string& word : arguments) out << ' ' << dialect::shell_quoted(word);
  out << "\n";
}

// Only this user may read them: they hold what is masked elsewhere.
void write_files(const UpstreamPlan& plan) {
  create_folders(plan.files_folder);
  for (const dialect::LaunchFile& file : plan.form.files) {
    const fs::path path = plan.files_folder / file.name;
    write_file_atomic(path, file.text);
    ::chmod(path.c_str(), S_IRUSR | S_IWUSR);
  }
}

}  // namespace

ExitCode train_upstream(const TrainRequest& request, Context& context) {
  UpstreamPlan plan = make_upstream_plan(request, context);
  if (request.dry_run) {
    print_upstream_dry_run(request, plan, context);
    return ExitCode::Ok;
  }
  std::optional<launch::PortReservation> port;
  if (plan.world.num_nodes == 1 && !plan.world.master_port) {
    port.emplace(value_or_throw(launch::PortReservation::any_free()));
    plan.world.master_port = port->port();
  }
  write_files(plan);
  launch::JobOptions options;
  options.ranks = {command_of(plan, plan.form, context)};
  create_folders(options.ranks[0].log_file.parent_path());
  options.launcher_log = options.ranks[0].log_file.parent_path() / "launcher.log";
  *context.err << fmt::format("launch: {} in {} ({}), {}\n", plan.form.upstream, plan.trainer.import_root.string(),
                              plan.trainer.found_by, plan.world.to_string(launch::available_cores()));
  for (const dialect::NotCarried& one : plan.shown.not_carried)
    *context.err << fmt::format("launch: not carried: {}: {}  ({})\n", one.key, one.value, one.reason);
  context.out->flush();
  context.err->flush();
  return static_cast<ExitCode>(launch::run_job(options));
}

}  // namespace primus::cli
