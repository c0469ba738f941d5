// What the sub-commands of `config` have in common: options, loading, findings.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "primus/base/json.h"
#include "primus/cli/command.h"
#include "primus/config/load.h"
#include "primus/spec/run_spec.h"

namespace CLI {
class App;
}

namespace primus::cli {

struct ConfigRequest {
  std::string config;                  // --config F
  std::vector<std::string> words;      // what stands before the overrides: KEY, A B, files and folders
  std::vector<std::string> overrides;  // as typed
  std::string presets;                 // --presets DIR
  std::string module;                  // --module NAME
  std::string format = "text";         // --format
  std::string as = "config";           // --as config|spec
  bool json() const { return format == "json"; }
};

// The usual way of a sub-command: options are added, then read() parses and splits the rest.
class ConfigOptions {
 public:
  // `usage`: what follows "config NAME".
  ConfigOptions(const char* name, const char* usage, const char* summary);
  ~ConfigOptions();

  ConfigRequest& request() { return request_; }
  // Options of one command only: --name, where its value goes, a line of help.
  ConfigOptions& flag(const char* name, bool& value, const char* help);
  ConfigOptions& text(const char* name, std::string& value, const char* help, std::vector<std::string> choices = {});
  ConfigOptions& list(const char* name, std::vector<std::string>& values, const char* help);  // parted by commas
  ConfigOptions& count(const char* name, std::optional<int>& value, const char* help);        // at least 1
  ConfigOptions& experiment();                                      // --config, --module and overrides
  ConfigOptions& overrides();                                       // overrides without --config
  ConfigOptions& presets();                                         // --presets
  ConfigOptions& formats(const std::vector<std::string>& formats);  // --format; the first is the default
  ConfigOptions& as_spec();                                         // --as config|spec
  // False: --help was answered. Throws InputError for what fits nowhere, overrides included unless experiment().
  bool read(Context& context);
  // As read(); also demands --config.
  bool read_with_experiment(Context& context);

 private:
  std::string name_, usage_;
  ConfigRequest request_;
  std::unique_ptr<CLI::App> app_;
  bool takes_overrides_ = false;
};

// An error about the command line.
InputError bad_words(std::string message, std::string suggestion);

// Load options for one file of a request: presets of --presets, of the file's own tree, or ours.
config::LoadOptions load_options(const ConfigRequest& request, const Context& context, const std::string& file);
// Loads, prints warnings and notes to context.err. Throws InputError.
config::Experiment load_or_throw(const ConfigRequest& request, Context& context, const std::string& file);

// The run that a module describes, on the smallest number of ranks that its layout allows unless one is given. What is
// not built yet is a note.
Result<spec::RunSpec> describe_run(const config::Experiment& experiment, const std::string& module,
                                   std::optional<int> num_ranks = std::nullopt);

// Takes what the experiment keeps secret out of the texts of a run's description.
void mask_secrets(Json& json, const config::Experiment& experiment);

// Prints warnings and notes to context.err.
void print_findings(const Diagnostics& diagnostics, Context& context);
Json findings_json(const Diagnostics& diagnostics);

// JSON as YAML in block style.
std::string yaml_of(const Json& json);

// Text in a terminal colour ("31" red, "32" green, "33" yellow, "1" bold) when colours are on.
std::string painted(const Context& context, const char* colour, const std::string& text);

}  // namespace primus::cli
