#include "primus/cli/config_request.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/cli/options.h"
#include "primus/cli/presets_root.h"
#include "primus/config/dump.h"
#include "primus/config/secret.h"
#include "primus/dialect/to_spec.h"
#include "primus/launch/world.h"
#include "primus/spec/validate.h"

namespace primus::cli {
namespace {

config::Value value_of(const Json& json) {
  switch (json.type()) {
    case Json::value_t::null:
      return {};
    case Json::value_t::boolean:
      return config::Value(json.get<bool>());
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return config::Value(json.get<int64_t>());
    case Json::value_t::number_float:
      return config::Value(json.get<double>());
    case Json::value_t::array: {
      config::List list;
      for (const Json& item : json) list.push_back(value_of(item));
      return config::Value(std::move(list));
    }
    case Json::value_t::object: {
      config::Map map;
      for (const auto& [key, value] : json.items()) map.set(key, value_of(value));
      return config::Value(std::move(map));
    }
    default:
      return config::Value(json.get<std::string>());
  }
}

void collect_secrets(const config::Value& value, std::vector<std::string>& secrets) {
  if (value.is_map()) {
    for (const config::MapEntry& entry : value.as_map()) collect_secrets(entry.value, secrets);
  } else if (value.is_list()) {
    for (const config::Value& item : value.as_list()) collect_secrets(item, secrets);
  } else if (value.origin().is_secret && value.is_string() && !value.as_string().empty()) {
    secrets.push_back(value.as_string());
  }
}

void mask_texts(Json& json, const std::vector<std::string>& secrets) {
  if (json.is_structured()) {
    for (auto& item : json) mask_texts(item, secrets);
    return;
  }
  if (!json.is_string()) return;
  for (const std::string& secret : secrets)
    if (json.get_ref<const std::string&>().find(secret) != std::string::npos) json = config::kMask;
}

}  // namespace

ConfigOptions::ConfigOptions(const char* name, const char* usage, const char* summary)
    : name_(std::string_view(name).find(' ') == std::string_view::npos ? fmt::format("config {}", name) : name),
      usage_(fmt::format("{} {}", name_, usage)),
      app_(std::make_unique<CLI::App>(fmt::format("{}\n{}", summary, usage_), name_)) {
  app_->allow_extras();
}

ConfigOptions::~ConfigOptions() = default;

ConfigOptions& ConfigOptions::flag(const char* name, bool& value, const char* help) {
  app_->add_flag(name, value, help);
  return *this;
}

ConfigOptions& ConfigOptions::text(const char* name, std::string& value, const char* help,
                                   std::vector<std::string> choices) {
  CLI::Option* option = app_->add_option(name, value, help);
  if (!choices.empty()) option->check(CLI::IsMember(std::move(choices)));
  return *this;
}

ConfigOptions& ConfigOptions::list(const char* name, std::vector<std::string>& values, const char* help) {
  app_->add_option(name, values, help)->delimiter(',')->expected(1)->take_all();
  return *this;
}

ConfigOptions& ConfigOptions::count(const char* name, std::optional<int>& value, const char* help) {
  app_->add_option(name, value, help)->check(CLI::Range(1, 1'000'000'000));
  return *this;
}

ConfigOptions& ConfigOptions::experiment() {
  app_->add_option("--config", request_.config, "the experiment file");
  app_->add_option("--module", request_.module, "the module that overrides change");
  return overrides();
}

ConfigOptions& ConfigOptions::overrides() {
  takes_overrides_ = true;
  return *this;
}

ConfigOptions& ConfigOptions::presets() {
  app_->add_option("--presets", request_.presets,
                   "use the presets and examples of this tree (or of this primus/configs)");
  return *this;
}

ConfigOptions& ConfigOptions::formats(const std::vector<std::string>& formats) {
  request_.format = formats.front();
  app_->add_option("--format", request_.format, "default: " + formats.front())->check(CLI::IsMember(formats));
  return *this;
}

ConfigOptions& ConfigOptions::as_spec() {
  app_->add_option("--as", request_.as, "config (default), or spec: what the engine is told")
      ->check(CLI::IsMember({"config", "spec"}));
  return *this;
}

bool ConfigOptions::read(Context& context) {
  if (!parse_options(*app_, context)) return false;
  const std::vector<std::string> rest = app_->remaining();
  // Words in front of the first override: no dash, no '='.
  const auto first = std::find_if(rest.begin(), rest.end(), [](const std::string& word) {
    return word.starts_with("-") || word.find('=') != std::string::npos;
  });
  request_.words.assign(rest.begin(), first);
  request_.overrides.assign(first, rest.end());
  if (takes_overrides_ || request_.overrides.empty()) return true;
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options())
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  const std::string& word = request_.overrides[0];
  const std::string near = did_you_mean(word.substr(0, word.find('=')), names);
  throw bad_words(fmt::format("'{}' is no option of {}", printable_ascii(word), name_), near.empty() ? usage_ : near);
}

bool ConfigOptions::read_with_experiment(Context& context) {
  if (!read(context)) return false;
  if (request_.config.empty()) throw bad_words(fmt::format("{} needs an experiment", name_), "--config F names it");
  return true;
}

InputError bad_words(std::string message, std::string suggestion) {
  Diagnostic error = error_at({.file = "command line"}, std::move(message));
  error.suggestion = std::move(suggestion);
  return InputError(std::move(error));
}

config::LoadOptions load_options(const ConfigRequest& request, const Context& context, const std::string& file) {
  return {.path = file,
          .command_line_overrides = request.overrides,
          .environment = context.environment,
          .presets_root = presets_root_for(request.presets, file, context.install_root),
          .prefer_presets_tree = !request.presets.empty(),
          .module = request.module};
}

config::Experiment load_or_throw(const ConfigRequest& request, Context& context, const std::string& file) {
  Result<config::Experiment> loaded = config::load_experiment(load_options(request, context, file));
  if (!loaded) throw InputError(loaded.diagnostics());
  print_findings(loaded.diagnostics(), context);
  return std::move(loaded).value();
}

Result<spec::RunSpec> describe_run(const config::Experiment& experiment, const std::string& module,
                                   std::optional<int> num_ranks) {
  dialect::ToSpecOptions options;
  options.for_training = false;
  options.world_size = num_ranks.value_or(0);
  Result<spec::RunSpec> run = dialect::to_spec(experiment, module, options);
  if (num_ranks || !run) return run;
  const spec::Parallel& layout = run->parallel;
  options.world_size = launch::smallest_world({.tensor = layout.tensor,
                                               .pipeline = layout.pipeline,
                                               .context = layout.context,
                                               .expert = layout.expert,
                                               .expert_tensor = layout.expert_tensor});
  const bool one_replica = spec::data_parallel_size(layout, options.world_size) == 1;
  // A global batch that is not given follows from the number of replicas: then, and for the places of findings, the
  // module is translated once more.
  if (one_replica && dialect::check_world(*run, options.world_size).empty()) return run;
  return dialect::to_spec(experiment, module, options);
}

void mask_secrets(Json& json, const config::Experiment& experiment) {
  std::vector<std::string> secrets;
  for (const config::Value* block : {&experiment.meta.values, &experiment.platform, &experiment.env})
    collect_secrets(*block, secrets);
  for (const config::Module& module : experiment.modules) collect_secrets(module.params, secrets);
  if (!secrets.empty()) mask_texts(json, secrets);
}

void print_findings(const Diagnostics& diagnostics, Context& context) {
  if (!diagnostics.empty()) *context.err << render(diagnostics, context.colour) << '\n';
}

Json findings_json(const Diagnostics& diagnostics) {
  Json list = Json::array();
  for (const Diagnostic& d : diagnostics) {
    Json one = {{"severity", d.severity == Severity::Error     ? "error"
                             : d.severity == Severity::Warning ? "warning"
                                                               : "note"},
                {"file", d.place.file},
                {"line", d.place.line},
                {"column", d.place.column}};
    one["message"] = d.message;
    for (const auto& [name, text] :
         {std::pair{"key", &d.key}, {"found", &d.found}, {"expected", &d.expected}, {"suggestion", &d.suggestion}}) {
      if (!text->empty()) one[name] = *text;
    }
    list.push_back(std::move(one));
  }
  return list;
}

std::string yaml_of(const Json& json) {
  return config::yaml_block(value_of(json));
}

std::string painted(const Context& context, const char* colour, const std::string& text) {
  return context.colour ? fmt::format("\033[{}m{}\033[0m", colour, text) : text;
}

}  // namespace primus::cli
