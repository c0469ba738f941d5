#include "primus/cli/config_schema.h"

#include <cmath>
#include <fmt/format.h>
#include <ostream>

#include "primus/base/strings.h"
#include "primus/cli/config_actions.h"
#include "primus/cli/config_request.h"
#include "primus/cli/presets_root.h"
#include "primus/config/dump.h"
#include "primus/config/yaml_reader.h"
#include "primus/dialect/dialects.h"
#include "primus/dialect/parameter_table.h"

namespace primus::cli {
namespace {

using dialect::Parameter;
using dialect::Type;

constexpr const char* kPlaceholder = "\\$\\{.*\\}";
// What editors that read YAML 1.2 take for text: numbers of YAML 1.1 and of upstream's own readers.
constexpr const char* kNumberText = R"(^\s*[-+]?(\d[\d_]*\.?[\d_]*|\.\d+)([eE][-+]?\d+)?\s*$|^[-+]?\.?(inf|nan)$)";
constexpr const char* kBoolText = "^([Yy]es|[Nn]o|[Oo]n|[Oo]ff|YES|NO|ON|OFF|[Tt]rue|[Ff]alse|TRUE|FALSE|0|1)$";

Json text_pattern(const std::string& pattern) {
  return {{"type", "string"}, {"pattern", pattern}};
}

Json number_schema(const Parameter& row, const char* type) {
  Json schema = {{"type", type}};
  if (std::isfinite(row.minimum)) schema["minimum"] = row.minimum;
  if (std::isfinite(row.maximum)) schema["maximum"] = row.maximum;
  return schema;
}

// The kinds of value that fit, as members of an anyOf.
Json alternatives(const Parameter& row) {
  Json any = Json::array();
  const auto list_of = [](const char* type) {
    return Json{{"type", "array"}, {"items", {{"type", Json::array({type, "string"})}}}};
  };
  switch (row.type) {
    case Type::Bool:
      any = {{{"type", "boolean"}}, {{"enum", {0, 1}}}, text_pattern(kBoolText)};
      break;
    case Type::Int:
      any = {number_schema(row, "integer"), text_pattern(kNumberText)};
      break;
    case Type::Float:
      any = {number_schema(row, "number"), text_pattern(kNumberText)};
      break;
    case Type::Text:
      any.push_back({{"type", Json::array({"string", "number", "boolean"})}});
      break;
    case Type::IntList:
      any = {list_of("integer"), {{"type", "integer"}}, {{"type", "string"}}};
      break;
    case Type::FloatList:
      any = {list_of("number"), {{"type", "number"}}, {{"type", "string"}}};
      break;
    case Type::TextList:
      any = {{{"type", "array"}}, {{"type", "string"}}};
      break;
    case Type::Map:
      any = {{{"type", "object"}}, {{"type", "string"}}};
      break;
    case Type::Any:
      break;
  }
  return any;
}

std::string description(const Parameter& row) {
  std::string text(row.doc);
  if (!row.unit.empty()) text += fmt::format(" Unit: {}.", row.unit);
  if (!row.default_text.empty()) text += fmt::format(" Default: {}.", row.default_text);
  if (row.status != dialect::Status::Honoured) text += fmt::format(" ({}: {})", to_string(row.status), row.reason);
  if (!row.needs.empty()) text += fmt::format(" Needs {}.", row.needs);
  if (!row.only_with.empty()) text += fmt::format(" Read only with {}.", row.only_with);
  if (!row.instead.empty()) text += fmt::format(" Write {} instead.", row.instead);
  return text;
}

// The table's text of a default as JSON; nothing when it is no YAML value.
std::optional<Json> default_json(const Parameter& row) {
  Diagnostics ignored;
  const auto name = std::make_shared<const std::string>("table");
  const auto tree = config::read_yaml(fmt::format("v: {}", row.default_text), name, config::Layer::Default, ignored);
  if (!tree || has_errors(ignored) || tree->find("v") == nullptr) return std::nullopt;
  return config::to_json(*tree->find("v"));
}

Json parameter_schema(const Parameter& row) {
  Json schema = {{"description", description(row)}};
  if (const auto value = default_json(row)) schema["default"] = *value;
  if (!row.instead.empty() || row.status == dialect::Status::Refused) schema["deprecated"] = true;
  Json any = alternatives(row);
  const bool one_of_words = !row.choices.empty() && (row.type == Type::Text || row.type == Type::Any);
  if (one_of_words) {
    any = Json::array();
    Json words = Json::array();
    for (const std::string& word : split(row.choices, '|')) words.push_back(word);
    any.push_back({{"enum", std::move(words)}});
    // Words that mean one of them, in another case or of another type, are the checker's business.
    if (row.any_case || !row.harmless.empty()) any.push_back({{"type", Json::array({"string", "number", "boolean"})}});
  }
  if (any.empty()) return schema;
  any.push_back(text_pattern(kPlaceholder));
  // A text null and an empty value switch a key off in every dialect.
  any.push_back({{"type", "null"}});
  any.push_back({{"const", "null"}});
  schema["anyOf"] = std::move(any);
  return schema;
}

Json any_type() {
  return {"object", "null", "string", "number", "boolean", "array"};
}

Json section(Json properties) {
  return {{"type", Json::array({"object", "null"})},
          {"properties", std::move(properties)},
          {"additionalProperties", false}};
}

// Puts a dotted key's schema at its place among nested sections.
void add_parameter(Json& properties, std::string_view key, Json schema) {
  const size_t dot = key.find('.');
  const std::string head(key.substr(0, dot));
  if (dot == std::string_view::npos) {
    // A key that is a value of its own, and a section of other keys.
    if (properties.contains(head) && properties[head].contains("properties")) {
      properties[head]["type"] = any_type();
      properties[head]["description"] = schema["description"];
    } else {
      properties[head] = std::move(schema);
    }
    return;
  }
  if (!properties.contains(head) || !properties[head].contains("properties")) {
    const bool is_value = properties.contains(head);
    Json description = is_value ? properties[head]["description"] : Json();
    properties[head] = section(Json::object());
    if (is_value) {
      properties[head]["type"] = any_type();
      properties[head]["description"] = std::move(description);
    }
  }
  add_parameter(properties[head]["properties"], key.substr(dot + 1), std::move(schema));
}

Json parameters_schema(std::string_view framework) {
  Json properties = Json::object();
  for (const Parameter& row : dialect::all_parameters(framework))
    add_parameter(properties, row.name, parameter_schema(row));
  return section(std::move(properties));
}

Json text_with(const char* description) {
  return {{"type", "string"}, {"description", description}};
}

Json preset_name(const char* description, const std::vector<std::string>& names) {
  Json schema = text_with(description);
  if (!names.empty()) {
    Json files = Json::array();
    for (const std::string& name : names) files.push_back(name + ".yaml");
    schema["anyOf"] = {{{"enum", std::move(files)}}, {{"type", "string"}}};
  }
  return schema;
}

Json module_schema(std::string_view framework, const SchemaNames& names) {
  Json properties = {
      {"framework", {{"const", framework}, {"description", "which trainer's parameters these are"}}},
      {"config", preset_name("module preset: how to train", names.module_presets)},
      {"model", preset_name("model preset: the architecture and its tokenizer", names.model_presets)},
      {"name", {{"type", Json::array({"string", "null"})}}},
      {"trainer_class", {{"type", Json::array({"string", "null"})}, {"description", "upstream's trainer class"}}},
      {"overrides", {{"$ref", "#/$defs/parameters"}, {"description", "changes of this experiment"}}},
      {"params", {{"$ref", "#/$defs/parameters"}, {"description", "all parameters, resolved: no preset is read"}}}};
  // Keys beside `overrides` are parameters too, where the module preset lacks them.
  return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", true}};
}

}  // namespace

Json experiment_schema(std::string_view framework, const SchemaNames& names) {
  Json env = {{"type", Json::array({"object", "null"})},
              {"description", "variables to set before the run"},
              {"additionalProperties", {{"type", Json::array({"string", "number", "boolean", "null"})}}}};
  Json platform = {{"type", "object"},
                   {"properties",
                    {{"config", text_with("platform preset, platform_azure.yaml when absent")},
                     {"overrides", {{"type", Json::array({"object", "null"})}}},
                     {"params", {{"type", "object"}}}}},
                   {"required", {"config"}},
                   {"additionalProperties", false}};
  Json extends = {{"description", "files that this one builds on, relative to it; later ones win"},
                  {"anyOf", {{{"type", "string"}}, {{"type", "array"}, {"items", {{"type", "string"}}}}}}};
  Json properties = {
      {"extends", std::move(extends)},
      {"work_group", text_with("first part of the run folder: <workspace>/<work_group>/<user_name>/<exp_name>")},
      {"user_name", text_with("second part of the run folder")},
      {"exp_name", text_with("last part of the run folder")},
      {"workspace", text_with("where runs are kept")},
      {"platform", std::move(platform)},
      {"env", std::move(env)},
      {"modules",
       {{"type", "object"},
        {"description", "what to train: a name that holds 'trainer', most often pre_trainer or post_trainer"},
        {"properties", {{"pre_trainer", {{"$ref", "#/$defs/module"}}}, {"post_trainer", {{"$ref", "#/$defs/module"}}}}},
        {"patternProperties", {{"trainer", {{"$ref", "#/$defs/module"}}}}},
        {"additionalProperties", false}}}};
  // An experiment that builds on another one takes the three keys of a module from there.
  const Json whole_module = {{"required", {"framework", "config", "model"}}};
  const Json whole = {{"required", {"work_group", "user_name", "exp_name", "workspace", "modules"}},
                      {"properties", {{"modules", {{"additionalProperties", whole_module}}}}}};
  for (const char* key : {"work_group", "user_name", "exp_name"})
    properties[key]["type"] = Json::array({"string", "number", "boolean"});
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"$id", fmt::format("urn:primus:experiment:{}", framework)},
          {"title", fmt::format("Primus experiment ({})", framework)},
          {"type", "object"},
          {"properties", std::move(properties)},
          {"if", {{"required", {"extends"}}}},
          {"else", whole},
          {"additionalProperties", {{"deprecated", true}, {"description", "nothing reads this key"}}},
          {"$defs", {{"module", module_schema(framework, names)}, {"parameters", parameters_schema(framework)}}}};
}

ExitCode run_config_schema(Context& context) {
  ConfigOptions options("schema", "--framework F", "JSON Schema of an experiment, for editors");
  std::string framework;
  options.presets().formats({"json", "text"});
  options.text("--framework", framework, "megatron, torchtitan, maxtext or megatron_bridge");
  if (!options.read(context)) return ExitCode::Ok;
  if (!options.request().words.empty() && framework.empty()) framework = options.request().words[0];
  std::vector<std::string> known;
  for (const dialect::Dialect& one : dialect::all_dialects()) known.emplace_back(one.framework);
  if (dialect::find_dialect(framework) == nullptr) {
    const std::string near = did_you_mean(framework, known);
    throw bad_words(framework.empty() ? "config schema needs a framework"
                                      : fmt::format("there is no parameter table for '{}'", printable_ascii(framework)),
                    near.empty() ? "--framework " + join(known, ", ") : near);
  }
  const fs::path root =
      options.request().presets.empty() ? context.install_root : presets_tree(options.request().presets);
  const SchemaNames names = {.module_presets = config::list_presets(root, "modules", framework),
                             .model_presets = config::list_presets(root, "models", framework)};
  *context.out << dump_json(experiment_schema(framework, names), 1) << '\n';
  return ExitCode::Ok;
}

}  // namespace primus::cli
