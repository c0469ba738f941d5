// The sub-commands of `config`, each in its own file config_<name>.cpp. context.arguments: what follows its name.
#pragma once

#include "primus/cli/command.h"

namespace primus::cli {

ExitCode run_config_show(Context& context);
ExitCode run_config_explain(Context& context);
ExitCode run_config_diff(Context& context);
ExitCode run_config_check(Context& context);
ExitCode run_config_schema(Context& context);
ExitCode run_config_list(Context& context);
ExitCode run_config_new(Context& context);
ExitCode run_config_proxy(Context& context);

struct ConfigCommand {
  const char* name;
  const char* usage;
  const char* summary;
  CommandFunction run;
};

// In the order of the help page.
const std::vector<ConfigCommand>& config_commands();

}  // namespace primus::cli
