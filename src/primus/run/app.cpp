#include <array>
#include <fmt/format.h>
#include <ostream>

#include "primus/base/fault.h"
#include "primus/base/strings.h"
#include "primus/cli/build_facts.h"
#include "primus/run/commands.h"
#include "primus/tensor/runtime.h"

namespace primus::run {

namespace {

constexpr std::array kCommands = {
    cli::Command{"train", "one rank of a training run", run_train_rank},
    cli::Command{"model", "logits, gradients or text of a model", run_model_computation},
};

std::string help() {
  std::string text =
      "primus-train: the program that trains. Started by primus-cli, torchrun --no-python, srun or mpirun.\n\n"
      "usage: primus-train <command> [options]\n\ncommands:\n";
  for (const cli::Command& command : kCommands) text += fmt::format("  {:<12} {}\n", command.name, command.summary);
  return text +
         "\noptions:\n  --help       this page; after a command: its options\n  --version    versions of this program "
         "and of its libraries\n";
}

}  // namespace

ExitCode run_app(cli::Context context, const std::vector<std::string>& arguments) {
  install_fault_from_environment(context.environment);
  if (arguments.empty() || arguments.front() == "--help" || arguments.front() == "-h") {
    *context.out << help();
    return arguments.empty() ? ExitCode::BadInput : ExitCode::Ok;
  }
  if (arguments.front() == "--version") {
    *context.out << tensor::versions() << "\n";
    return ExitCode::Ok;
  }
  std::vector<std::string> names;
  for (const cli::Command& command : kCommands) {
    names.emplace_back(command.name);
    if (arguments.front() != command.name) continue;
    context.arguments.assign(arguments.begin() + 1, arguments.end());
    return command.run(context);
  }
  Diagnostic error = error_at({"command line"}, fmt::format("primus-train has no command '{}'", arguments.front()));
  error.expected = join(names, ", ");
  error.suggestion = did_you_mean(arguments.front(), names);
  throw InputError(error);
}

}  // namespace primus::run
