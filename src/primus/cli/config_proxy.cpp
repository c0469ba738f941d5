// config proxy: what --proxy would change, or the proxy as an experiment file.
#include <fmt/format.h>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/fs.h"
#include "primus/base/strings.h"
#include "primus/cli/config_actions.h"
#include "primus/cli/config_request.h"
#include "primus/config/dump.h"
#include "primus/config/override.h"
#include "primus/dialect/proxy_file.h"

namespace primus::cli {
namespace {

struct ProxyRequest {
  dialect::ProxyOptions options;
  std::string output;
};

Json changes_json(const std::vector<dialect::ProxyChange>& changes) {
  Json list = Json::array();
  for (const dialect::ProxyChange& change : changes)
    list.push_back({{"key", change.key},
                    {"from", config::to_json(change.old_value)},
                    {"to", config::to_json(change.new_value)},
                    {"rule", change.rule}});
  return list;
}

// The command that makes the file again.
std::string command_of(const ConfigRequest& request, const ProxyRequest& proxy) {
  std::string command = fmt::format("primus-cli config proxy --config {} --output {}", request.config, proxy.output);
  if (proxy.options.mock_data) command += " --mock";
  if (proxy.options.one_device) command += " --one-device";
  for (const std::string& word : request.overrides) command += ' ' + word;
  return command;
}

}  // namespace

ExitCode run_config_proxy(Context& context) {
  ConfigOptions options("proxy", "--config F [--mock] [--one-device] [--output FILE] [overrides]",
                        "print what --proxy changes, or write the proxy as an experiment that extends F");
  ProxyRequest proxy;
  options.experiment().presets().formats({"text", "json"});
  options.flag("--mock", proxy.options.mock_data, "made-up data instead of the experiment's");
  options.flag("--one-device", proxy.options.one_device, "all parallel axes become 1");
  options.text("--output", proxy.output, "write an experiment file");
  if (!options.read_with_experiment(context)) return ExitCode::Ok;
  const ConfigRequest& request = options.request();
  if (!request.words.empty())
    throw bad_words(fmt::format("'{}' is no override", printable_ascii(request.words[0])),
                    "an experiment is given as --config F");
  const config::Experiment experiment = load_or_throw(request, context, request.config);
  if (proxy.output.empty()) {
    const auto changes = value_or_throw(dialect::proxy_changes(experiment, request.module, proxy.options));
    *context.out << (request.json() ? dump_json(changes_json(changes), 1) + "\n" : dialect::render_proxy(changes));
    return ExitCode::Ok;
  }
  if (!request.module.empty()) throw bad_words("--output writes the module that is trained", "leave --module out");
  Diagnostics told;
  dialect::ProxyFile file{.source = request.config,
                          .output = proxy.output,
                          .command = command_of(request, proxy),
                          .given = config::parse_overrides(request.overrides, told)};
  const std::string text = value_or_throw(dialect::proxy_file(experiment, file, proxy.options));
  if (const fs::path folder = fs::path(proxy.output).parent_path(); !folder.empty()) create_folders(folder);
  write_file_atomic(proxy.output, text);
  *context.out << "wrote " << proxy.output << '\n';
  return ExitCode::Ok;
}

}  // namespace primus::cli
