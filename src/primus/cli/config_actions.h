// What the sub-commands of `config` do once their options are read. Private to the config command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "primus/base/json.h"
#include "primus/cli/command.h"
#include "primus/config/load.h"

namespace primus::cli {

struct ConfigRequest {
  std::string config;              // --config F
  std::vector<std::string> words;  // what stands before the overrides: KEY, A B, files and folders
  std::vector<std::string> overrides;
  std::string presets;            // --presets DIR
  std::string module;             // --module NAME
  std::vector<std::string> only;  // --only KEY,KEY
  bool json = false;
  bool origins = false;          // --origins
  bool strict = false;           // --strict
  std::optional<int> num_ranks;  // --nproc N: check the batch against this number of ranks
};

// Load options for one file of a request.
config::LoadOptions load_options(const ConfigRequest& request, const Context& context, const std::string& file);

// Prints warnings and notes to context.err.
void print_findings(const Diagnostics& diagnostics, Context& context);
Json findings_json(const Diagnostics& diagnostics);

ExitCode config_show(const ConfigRequest& request, Context& context);
ExitCode config_explain(const ConfigRequest& request, Context& context);
ExitCode config_diff(const ConfigRequest& request, Context& context);
ExitCode config_check(const ConfigRequest& request, Context& context);

}  // namespace primus::cli
