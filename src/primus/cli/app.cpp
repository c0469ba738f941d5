#include "primus/cli/app.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <ostream>
#include <unistd.h>

#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/cli/build_facts.h"

namespace primus::cli {
namespace {

constexpr const char* kUsage =
    "usage: primus-cli [--help] [--version] [--debug] [direct [--env NAME=VALUE] [--dry-run] --] <command> ...\n"
    "\n"
    "Trains language models from one YAML file. An experiment is given as --config F; keys of it can be changed behind "
    "the\n"
    "options, in any of these spellings: --lr 3e-5  --lr=3e-5  lr=3e-5  --flag.\n";

constexpr const char* kExitCodes =
    "\nexit codes: 0 done, 1 failed while running, 2 bad arguments or configuration, 3 something is missing on this "
    "machine,\n"
    "4 a check did not pass, 128+n ended by signal n.   <command> --help tells more; docs/cli.md has everything.\n";

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : command_table()) names.emplace_back(command.name);
  return names;
}

void print_main_help(std::ostream& out) {
  out << kUsage << "\ncommands:\n";
  for (const Command& command : command_table()) out << fmt::format("  {:<11} {}\n", command.name, command.summary);
  out << kExitCodes;
}

InputError bad_argument(const std::string& message, const std::string& suggestion) {
  Diagnostic error = error_at({.file = "command line"}, message);
  error.suggestion = suggestion;
  return InputError(error);
}

// Walks over a command line; what it has passed is gone.
class Words {
 public:
  explicit Words(const std::vector<std::string>& words) : words_(words) {}
  bool empty() const { return at_ == words_.size(); }
  const std::string& peek() const { return words_[at_]; }
  std::string take() { return words_[at_++]; }
  std::vector<std::string> rest() const { return {words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end()}; }

 private:
  const std::vector<std::string>& words_;
  size_t at_ = 0;
};

void set_variable(const std::string& assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw bad_argument("--env takes NAME=VALUE, not '" + assignment + "'", "");
  }
  ::setenv(assignment.substr(0, equals).c_str(), assignment.substr(equals + 1).c_str(), 1);
}

// Options of "direct" up to its "--" or the command. Returns true when --dry-run was among them.
bool read_direct_options(Words& words) {
  static const std::vector<std::string> kNotBuilt = {"--script", "--patch",   "--log_file",
                                                     "--numa",   "--no-numa", "--silent"};
  bool dry_run = false;
  while (!words.empty() && words.peek().starts_with("-")) {
    const std::string word = words.take();
    if (word == "--") break;
    if (word == "--dry-run") {
      dry_run = true;
    } else if (word == "--debug") {
      ::setenv("PRIMUS_LOG_LEVEL", "DEBUG", 1);
    } else if (word == "--env" && !words.empty()) {
      set_variable(words.take());
    } else if (word.starts_with("--env=")) {
      set_variable(word.substr(6));
    } else if (word == "--single") {
      throw bad_argument("direct --single is not needed here", "one rank is `train ... --nproc 1`");
    } else if (std::find(kNotBuilt.begin(), kNotBuilt.end(), word) != kNotBuilt.end()) {
      throw bad_argument("direct " + word + " is not built yet", "leave it out");
    } else {
      throw bad_argument("unknown option '" + word + "' of direct",
                         did_you_mean(word, {"--env", "--dry-run", "--debug"}));
    }
  }
  return dry_run;
}

// The mode in front of the command, when there is one. True when its options hold --dry-run.
bool read_mode(Words& words) {
  if (words.empty()) return false;
  if (words.peek() == "container" || words.peek() == "slurm") {
    throw bad_argument("the mode '" + words.peek() + "' is not built yet",
                       "start the ranks of this machine with `primus-cli direct -- <command>`");
  }
  if (words.peek() != "direct") return false;
  words.take();
  return read_direct_options(words);
}

// True when the command line is answered already.
bool read_global_options(Words& words, const Context& context) {
  while (!words.empty() && words.peek().starts_with("-")) {
    const std::string word = words.take();
    if (word == "--help" || word == "-h") {
      print_main_help(*context.out);
      return true;
    }
    if (word == "--version") {
      *context.out << version_text(context);
      return true;
    }
    if (word != "--debug") {
      throw bad_argument("unknown option '" + word + "' in front of the command",
                         did_you_mean(word, {"--help", "--version", "--debug"}));
    }
    ::setenv("PRIMUS_LOG_LEVEL", "DEBUG", 1);
  }
  return false;
}

}  // namespace

const std::vector<Command>& command_table() {
  static const std::vector<Command> table = {
      {"train", "train a model from an experiment file", run_train},
      {"config", "show, explain, check and compare experiments without running them", run_config},
      {"model", "parameters, logits, gradients or text of a model", run_model},
      {"data", "prepare and look into training data", run_data},
      {"tokenizer", "train a tokenizer, encode and decode text", run_tokenizer},
      {"checkpoint", "list and verify checkpoints", run_checkpoint},
      {"verify", "the staged test of a new model: says which stage fails, why, and what to try", run_verify},
      {"report", "write the report page of a run", run_report},
      {"doctor", "tell what is installed, found and chosen, and what to do about what is missing", run_doctor},
      {"completion", "print a script that completes commands, options, keys and presets", run_completion},
  };
  return table;
}

ExitCode run_app(Context context, const std::vector<std::string>& arguments) {
  Words words(arguments);
  if (words.empty()) {
    print_main_help(*context.out);
    return ExitCode::Ok;
  }
  if (read_global_options(words, context)) return ExitCode::Ok;
  const bool dry_run = read_mode(words);
  if (words.empty()) throw bad_argument("no command is given", "primus-cli --help lists them");
  const std::string name = words.take();
  if (name == "--help" || name == "-h" || name == "help") {
    print_main_help(*context.out);
    return ExitCode::Ok;
  }
  context.arguments = words.rest();
  for (const Command& command : command_table()) {
    if (name != command.name) continue;
    if (dry_run) {
      if (name != "train") throw bad_argument("direct --dry-run works with `train` only", "");
      context.arguments.emplace_back("--dry-run");
    }
    return command.run(context);
  }
  const std::string near = did_you_mean(name, command_names());
  throw bad_argument("unknown command '" + name + "'", near.empty() ? "primus-cli --help lists them" : near);
}

fs::path train_program(const Context& context) {
  const auto chosen = context.environment("PRIMUS_TRAIN_PROGRAM");
  return chosen && !chosen->empty() ? fs::path(*chosen) : context.program_folder / "primus-train";
}

}  // namespace primus::cli
