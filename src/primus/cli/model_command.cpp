// model: what a model is made of, and what it computes.
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <ostream>
#include <unistd.h>

#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/cli/app.h"
#include "primus/cli/command.h"
#include "primus/cli/model_params.h"
#include "primus/cli/model_request.h"

namespace primus::cli {

namespace {

constexpr const char* kModelHelp =
    "usage: primus-cli model <params | logits | grads | generate> [options]\n"
    "  params    how many parameters a model has, and where they are\n"
    "  logits    logits and loss of given tokens\n"
    "  grads     loss of given tokens and the gradient of every weight\n"
    "  generate  text that the model writes after a prompt\n"
    "Each takes --help.\n";

// This process becomes primus-train, with the arguments as they were typed.
[[noreturn]] void become_train_program(const Context& context) {
  context.out->flush();
  context.err->flush();
  std::vector<std::string> words = {train_program(context).string(), "model"};
  words.insert(words.end(), context.arguments.begin(), context.arguments.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(arguments.front(), arguments.data());
  Diagnostic error = error_at({words.front()}, fmt::format("cannot be started: {}", std::strerror(errno)));
  error.suggestion = "models compute in the program that is built with libtorch; primus-cli builds it";
  throw InputError(error);
}

}  // namespace

ExitCode run_model(Context& context) {
  if (context.arguments.empty() || context.arguments[0] == "--help" || context.arguments[0] == "-h") {
    *context.out << kModelHelp;
    return ExitCode::Ok;
  }
  const std::string name = context.arguments[0];
  if (std::find(kModelEngineActions.begin(), kModelEngineActions.end(), name) != kModelEngineActions.end()) {
    if (!read_model_request(context)) return ExitCode::Ok;
    become_train_program(context);
  }
  if (name != "params") {
    std::vector<std::string> names = kModelEngineActions;
    names.insert(names.begin(), "params");
    Diagnostic unknown =
        error_at({.file = "command line"}, fmt::format("unknown command 'model {}'", printable_ascii(name)));
    unknown.expected = join(names, ", ");
    unknown.suggestion = did_you_mean(name, names);
    throw InputError(unknown);
  }
  context.arguments.erase(context.arguments.begin());
  return run_model_params(context);
}

}  // namespace primus::cli
