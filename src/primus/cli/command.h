// What a sub-command is: a function from its arguments to an exit code. The one table of them is in app.cpp.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "primus/base/env.h"
#include "primus/base/exit_code.h"
#include "primus/base/fs.h"

namespace primus::cli {

// What a command may look at; passed in so that tests run commands in-process.
struct Context {
  std::vector<std::string>
      arguments;  // after the command's own name: for "config show --config F": {"show", "--config", "F"}
  Environment environment = process_environment();
  std::ostream* out = nullptr;   // results (machine-readable with --format json)
  std::ostream* err = nullptr;   // diagnostics, progress
  bool colour = false;           // the terminal shows colours
  bool out_is_terminal = false;  // somebody looks at `out`: text of strangers must not steer the terminal
  fs::path install_root;         // folder that holds primus/configs and examples (the repository)
  fs::path program_folder;       // where primus and primus-train lie
};

// Throws primus::Error; the caller maps it to the exit code. Unknown options are refused with the nearest name unless
// the command takes overrides.
using CommandFunction = ExitCode (*)(Context&);

struct Command {
  const char* name;     // "config"
  const char* summary;  // one line for --help
  CommandFunction run;
};

// One function a file: src/primus/cli/<name>_command.cpp.
ExitCode run_config(Context& context);
ExitCode run_model(Context& context);
ExitCode run_data(Context& context);
ExitCode run_tokenizer(Context& context);
ExitCode run_train(Context& context);
ExitCode run_checkpoint(Context& context);
ExitCode run_report(Context& context);
ExitCode run_verify(Context& context);
ExitCode run_doctor(Context& context);
ExitCode run_completion(Context& context);

}  // namespace primus::cli
