// config explain: the layers of a value, and what its key means.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <ostream>

#include "primus/base/strings.h"
#include "primus/cli/config_actions.h"
#include "primus/cli/config_request.h"
#include "primus/config/dump.h"
#include "primus/config/explain.h"
#include "primus/dialect/dialects.h"
#include "primus/dialect/parameter_table.h"
#include "primus/spec/to_json.h"

namespace primus::cli {
namespace {

using dialect::Parameter;

std::string listed(std::string_view words) {
  return join(split(words, '|'), ", ");
}

std::string range_note(const Parameter& row) {
  const bool from = std::isfinite(row.minimum), to = std::isfinite(row.maximum);
  if (!from && !to) return {};
  if (from && to) return fmt::format("from {:g} to {:g}", row.minimum, row.maximum);
  return from ? fmt::format("at least {:g}", row.minimum) : fmt::format("at most {:g}", row.maximum);
}

// Switches that the key needs or gives its meaning to.
void add_switch_notes(const Parameter& row, std::string_view framework, std::vector<std::string>& notes) {
  if (!row.needs.empty()) notes.push_back(fmt::format("needs {}: true", row.needs));
  if (!row.only_with.empty()) notes.push_back(fmt::format("read only with {}", row.only_with));
  if (!row.instead.empty()) notes.push_back(fmt::format("write {} instead", row.instead));
  std::vector<std::string> followers;
  for (const Parameter& other : dialect::all_parameters(framework))
    if (other.needs == row.name || other.only_with == row.name) followers.emplace_back(other.name);
  constexpr size_t kMost = 12;
  if (followers.empty()) return;
  const std::string more =
      followers.size() > kMost ? fmt::format(", ... ({} in all)", followers.size()) : std::string();
  followers.resize(std::min(kMost, followers.size()));
  notes.push_back(fmt::format("switches on the reading of: {}{}", join(followers, ", "), more));
}

// Tables name parts of a layer by themselves: "rope.base" is model.layers.attention.rope.base. The field's full name
// and its value.
std::pair<std::string, std::optional<Json>> field_of(const std::string& name, const spec::RunSpec* run) {
  if (run == nullptr) return {name, std::nullopt};
  const std::string inner = name.starts_with("layer.") ? name.substr(6) : name;
  for (const char* part : {"", "model.", "model.layers.", "model.layers.attention.", "model.layers.moe."})
    if (auto value = spec::field_value(*run, part + inner)) return {part + inner, std::move(value)};
  return {name, std::nullopt};
}

struct Described {
  const config::Experiment& experiment;
  const spec::RunSpec& run;
};

// One line for each field that the key sets, with the value that this experiment gives it.
void add_field_notes(const Parameter& row, const Described* described, std::vector<std::string>& notes) {
  const spec::RunSpec* run = described == nullptr ? nullptr : &described->run;
  for (const std::string& name : split_whitespace(row.spec_field)) {
    const auto [field, found] = field_of(name, run);
    std::optional<Json> value = found;
    if (value) mask_secrets(*value, described->experiment);
    std::string text = value ? dump_json(*value) : "";
    if (text.size() > 100) text = text.substr(0, 97) + "...";
    notes.push_back(value ? fmt::format("RunSpec field: {} = {}", field, text)
                          : fmt::format("RunSpec field: {}", field));
  }
}

std::optional<config::ParameterFacts> table_facts(std::string_view framework, std::string_view key,
                                                  const Described* described) {
  const Parameter* row = dialect::find_parameter(framework, key);
  if (row == nullptr) return std::nullopt;
  config::ParameterFacts facts;
  facts.type = dialect::to_string(row->type);
  if (row->nullable) facts.type += " or null";
  facts.unit = row->unit;
  facts.default_text = row->default_text;
  facts.doc = row->doc;
  facts.status = dialect::to_string(row->status);
  if (!row->reason.empty()) facts.status += fmt::format(": {}", row->reason);
  facts.spec_field = row->spec_field;
  if (!row->choices.empty()) facts.notes.push_back("one of: " + listed(row->choices));
  if (!row->unbuilt_choices.empty()) facts.notes.push_back("not built yet: " + listed(row->unbuilt_choices));
  if (std::string range = range_note(*row); !range.empty()) facts.notes.push_back(std::move(range));
  if (row->ours) facts.notes.emplace_back("an addition of this project, unknown upstream");
  add_switch_notes(*row, framework, facts.notes);
  add_field_notes(*row, described, facts.notes);
  return facts;
}

void print(const std::vector<config::Explanation>& answers, bool json, Context& context) {
  if (json) {
    Json list = Json::array();
    for (const config::Explanation& one : answers) list.push_back(config::to_json(one));
    *context.out << dump_json(list.size() == 1 ? list[0] : Json{{"answers", list}}, 1) << '\n';
    return;
  }
  for (const config::Explanation& one : answers) *context.out << config::render(one);
}

// Without an experiment: what the tables say.
ExitCode explain_from_tables(const std::string& key, bool json, Context& context) {
  std::vector<config::Explanation> answers;
  std::vector<std::string> names;
  for (const dialect::Dialect& one : dialect::all_dialects()) {
    if (auto facts = table_facts(one.framework, key, nullptr))
      answers.push_back({.key = fmt::format("{} {}", one.framework, key), .facts = std::move(facts)});
    for (const Parameter& row : dialect::all_parameters(one.framework)) names.emplace_back(row.name);
  }
  if (answers.empty()) {
    const std::string near = did_you_mean(key, names);
    throw bad_words(fmt::format("no parameter is called '{}'", printable_ascii(key)),
                    near.empty() ? "config list keys WORDS searches the tables" : near);
  }
  print(answers, json, context);
  return ExitCode::Ok;
}

}  // namespace

ExitCode run_config_explain(Context& context) {
  ConfigOptions options("explain", "KEY [--config F [overrides]]",
                        "tell which layers set a value, what the key means and what it sets");
  options.experiment().presets().formats({"text", "json"});
  if (!options.read(context)) return ExitCode::Ok;
  const ConfigRequest& request = options.request();
  if (request.words.size() != 1) throw bad_words("config explain takes one key", "config explain KEY --config F");
  const std::string& key = request.words[0];
  if (request.config.empty()) {
    if (!request.overrides.empty()) throw bad_words("overrides change an experiment", "--config F names it");
    return explain_from_tables(key, request.json(), context);
  }
  const config::Experiment experiment = load_or_throw(request, context, request.config);
  const auto lookup = [&experiment](std::string_view framework, std::string_view name) {
    for (const config::Module& module : experiment.modules) {
      if (module.framework != framework) continue;
      const Result<spec::RunSpec> run = describe_run(experiment, module.name);
      if (!run) break;
      const Described described{experiment, *run};
      return table_facts(framework, name, &described);
    }
    return table_facts(framework, name, nullptr);
  };
  print(value_or_throw(config::explain(experiment, key, lookup)), request.json(), context);
  return ExitCode::Ok;
}

}  // namespace primus::cli
