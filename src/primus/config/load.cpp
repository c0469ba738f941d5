#include "primus/config/load.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <memory>

#include "primus/base/strings.h"
#include "primus/config/merge.h"
#include "primus/config/module_merge.h"
#include "primus/config/override.h"
#include "primus/config/placeholder.h"
#include "primus/config/preset.h"
#include "primus/config/secret.h"
#include "primus/config/surprises.h"

namespace primus::config {
namespace {

constexpr std::array kIdentity = {"work_group", "user_name", "exp_name", "workspace"};
constexpr std::array kOtherKeys = {"modules", "platform", "env"};
constexpr std::array kPlatformKeys = {"name",
                                      "num_nodes_env_key",
                                      "node_rank_env_key",
                                      "master_addr_env_key",
                                      "master_port_env_key",
                                      "gpus_per_node_env_key",
                                      "master_sink_level",
                                      "workspace"};

bool is_identity(std::string_view key) {
  return std::find(kIdentity.begin(), kIdentity.end(), key) != kIdentity.end();
}

class ExperimentReader {
 public:
  explicit ExperimentReader(const LoadOptions& options)
      : options_(options), loader_(options.environment, diagnostics_, options.cache) {}

  Result<Experiment> read();

 private:
  Diagnostic& add_error(Place place, std::string message) {
    diagnostics_.push_back(error_at(std::move(place), std::move(message)));
    return diagnostics_.back();
  }
  fs::path find_file() const;
  void check_top_keys(const Value& root);
  void read_meta(Value& root);
  void set_identity(const std::string& key, Value value);
  void check_identity(const char* key, const Value& value, bool has_value);
  void read_platform(const Value* block);
  void read_env(const Value* block);
  void read_modules(Value& root);
  void apply_command_line();
  bool is_fixed_key(const Override& given, const Module& module);
  void finish();

  const LoadOptions& options_;
  Diagnostics diagnostics_;
  FileLoader loader_;
  Experiment experiment_;
};

// An experiment of the presets' tree may be named from any folder.
fs::path ExperimentReader::find_file() const {
  const fs::path path = options_.path;
  if (path.is_absolute()) return path;
  std::error_code error;
  const fs::path shipped = options_.presets_root / path;
  const bool shipped_first = options_.prefer_presets_tree && !path.empty() && *path.begin() == "examples";
  if ((shipped_first || !fs::exists(path, error)) && fs::exists(shipped, error)) return shipped;
  return path;
}

Result<Experiment> ExperimentReader::read() {
  const fs::path path = find_file();
  experiment_.file = shown_path(path);
  std::optional<Value> root =
      loader_.load({.path = path, .layer = Layer::Experiment, .is_experiment = true}, experiment_.chain);
  if (root) {
    check_top_keys(*root);
    read_meta(*root);
    read_platform(root->find("platform"));
    read_env(root->find("env"));
    read_modules(*root);
    apply_command_line();
    if (!has_errors(diagnostics_)) finish();
  }
  // A file that is reached on two ways reports its findings twice.
  Diagnostics unique;
  for (Diagnostic& found : diagnostics_) {
    const auto same = [&](const Diagnostic& d) { return d.place == found.place && d.message == found.message; };
    if (std::none_of(unique.begin(), unique.end(), same)) unique.push_back(std::move(found));
  }
  if (has_errors(unique)) return unique;
  return {std::move(experiment_), std::move(unique)};
}

void ExperimentReader::check_top_keys(const Value& root) {
  std::vector<std::string> known(kIdentity.begin(), kIdentity.end());
  known.insert(known.end(), kOtherKeys.begin(), kOtherKeys.end());
  for (const MapEntry& entry : root.as_map()) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    std::vector<std::string> words = known;
    words.push_back("extends");
    // A slip of the pen when the key that it resembles is absent; else a block that other tools may read.
    const std::vector<std::string> near = nearest(entry.key, words, 1);
    const bool misspelt = !near.empty() && edit_distance(entry.key, near[0]) <= 2 && root.find(near[0]) == nullptr &&
                          entry.key.size() > 3;
    Diagnostic& found = add_error(
        entry.value.origin().key_place(),
        fmt::format("unknown top-level key '{}'{}", printable_ascii(entry.key), misspelt ? "" : ": nothing reads it"));
    found.key = entry.key;
    if (misspelt) {
      found.suggestion = did_you_mean(entry.key, words);
    } else {
      found.severity = Severity::Warning;
      found.suggestion = "parameters belong under modules.<name>.overrides";
    }
  }
}

void ExperimentReader::check_identity(const char* key, const Value& value, bool has_value) {
  std::string problem;
  const std::string text = has_value ? value.as_string() : "";
  if (!has_value) {
    problem = "must be a text";
  } else if (text.empty()) {
    problem = "is empty";
  } else if (std::string_view(key) != "workspace") {
    const std::vector<std::string> parts = split(text, '/');
    if (text[0] == '/' || std::find(parts.begin(), parts.end(), "..") != parts.end()) {
      problem = "must name a folder below the workspace";
    }
  }
  if (problem.empty()) return;
  Diagnostic& found = add_error(value.place(), fmt::format("{} {}", key, problem));
  found.key = key;
  found.found = value.origin().placeholder.empty()
                    ? describe(value)
                    : fmt::format("{} from {}", describe(value), value.origin().placeholder);
}

// Names of people and runs stay text even when they look like numbers: 007, 1e3, yes.
void ExperimentReader::set_identity(const std::string& key, Value value) {
  const bool has_value = value.is_scalar() && !value.is_null();
  if (has_value && !value.is_string()) value.set_data_of(Value(value.origin().raw));
  check_identity(key.c_str(), value, has_value);
  if (!has_value) return;
  Meta& meta = experiment_.meta;
  (key == "work_group"  ? meta.work_group
   : key == "user_name" ? meta.user_name
   : key == "exp_name"  ? meta.exp_name
                        : meta.workspace) = value.as_string();
  if (const Value* older = meta.values.find(key)) value.hide(*older);
  meta.values.as_map().set(key, std::move(value));
}

void ExperimentReader::read_meta(Value& root) {
  experiment_.meta.values = Value(Map());
  for (const char* key : kIdentity) {
    if (const Value* value = root.find(key)) {
      set_identity(key, *value);
    } else {
      add_error({.file = experiment_.file}, fmt::format("the key '{}' is missing", key)).key = key;
    }
  }
}

void ExperimentReader::read_platform(const Value* block) {
  Value config("platform_azure.yaml");
  if (block != nullptr) {
    if (!block->is_map()) {
      add_error(block->place(), "'platform' must be a map").found = describe(*block);
      return;
    }
    const Value* name = block->find("config");
    if (name == nullptr || !name->is_string()) {
      Diagnostic& found = add_error(block->origin().key_place(), "'platform' has no 'config'");
      found.expected = "config: platform_azure.yaml, for example";
      return;
    }
    config = *name;
    for (const MapEntry& entry : block->as_map()) {
      if (entry.key == "config" || entry.key == "overrides" || entry.key == "params") continue;
      Diagnostic& found = add_error(entry.value.origin().key_place(),
                                    fmt::format("unknown key '{}' in platform", printable_ascii(entry.key)));
      found.suggestion = suggest_names(entry.key, {"config", "overrides"});
    }
  }
  experiment_.platform_config = config.as_string();
  Value platform;
  if (const Value* params = block == nullptr ? nullptr : block->find("params"); params != nullptr && params->is_map()) {
    platform = *params;
  } else {
    const auto path = find_preset(options_.presets_root, "platforms", "", config, diagnostics_);
    if (!path) return;
    std::vector<std::string> chain;
    std::optional<Value> tree =
        loader_.load({.path = *path, .layer = Layer::PlatformPreset, .asked_at = config.place()}, chain);
    if (!tree) return;
    platform = std::move(*tree);
  }
  const Value* overrides = block == nullptr ? nullptr : block->find("overrides");
  if (overrides != nullptr && overrides->is_map()) {
    Value layer = *overrides;
    set_layer(layer, Layer::Overrides);
    deep_merge(platform.as_map(), std::move(layer.as_map()));
  } else if (overrides != nullptr && !overrides->is_null()) {
    add_error(overrides->place(), "platform.overrides must be a map").found = describe(*overrides);
  }
  for (const char* key : kPlatformKeys) {
    if (platform.find(key) == nullptr)
      add_error(config.place(), fmt::format("the platform '{}' lacks the key '{}'", config.as_string(), key));
  }
  experiment_.platform = std::move(platform);
}

std::string python_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = format_double(value);
  if (const size_t at = text.find(".0e"); at != std::string::npos) text.erase(at, 2);
  return text;
}

// As Python's str() would write it, since that is what a run of the same file sets elsewhere.
std::string env_text(const Value& value) {
  switch (value.kind()) {
    case Kind::Null:
      return "None";
    case Kind::Bool:
      return value.as_bool() ? "True" : "False";
    case Kind::Int:
      return std::to_string(value.as_int());
    case Kind::Double:
      return python_repr(value.as_double());
    default:
      return value.as_string();
  }
}

void ExperimentReader::read_env(const Value* block) {
  experiment_.env = Value(Map());
  if (block == nullptr || block->is_null()) return;
  if (!block->is_map()) {
    add_error(block->place(), "'env' must be a map of variables").found = describe(*block);
    return;
  }
  // Later variables may use earlier ones.
  const Environment with_earlier = [this](const std::string& name) -> std::optional<std::string> {
    if (const Value* set = experiment_.env.find(name)) return set->as_string();
    return options_.environment(name);
  };
  for (const MapEntry& entry : block->as_map()) {
    const std::string key = "env." + entry.key;
    if (!entry.value.is_scalar()) {
      add_error(entry.value.place(), fmt::format("{} must be a text", key)).found = to_string(entry.value.kind());
      continue;
    }
    if (entry.value.is_null()) {
      Diagnostic odd = warning_at(entry.value.place(), fmt::format("{} is null, which sets the text 'None'", key));
      odd.suggestion = "write \"\" for an empty variable";
      diagnostics_.push_back(std::move(odd));
    }
    const Expansion expansion = expand_placeholders(env_text(entry.value), with_earlier, /*bare_dollar=*/true);
    report_expansion(expansion, entry.value, key, diagnostics_);
    Origin origin = entry.value.origin();
    if (entry.value.is_string() && expansion.text != entry.value.as_string())
      origin.placeholder = entry.value.as_string();
    origin.is_secret = (origin.is_secret || expansion.names_secret) && !is_blank(expansion.text);
    origin.style = Style::Quoted;  // a variable is text
    experiment_.env.as_map().set(entry.key, Value(expansion.text, std::move(origin)));
  }
}

void ExperimentReader::read_modules(Value& root) {
  Value* modules = root.as_map().find("modules");
  if (modules == nullptr) {
    add_error({.file = experiment_.file}, "the key 'modules' is missing");
    return;
  }
  if (!modules->is_map() || modules->as_map().empty()) {
    Diagnostic& found = add_error(modules->place(), "'modules' must be a map with at least one module");
    found.found = describe(*modules);
    found.expected = "modules:\n                pre_trainer: {framework: ..., config: ..., model: ...}";
    return;
  }
  for (MapEntry& entry : modules->as_map()) {
    if (entry.key.find("trainer") == std::string::npos) {
      Diagnostic& found =
          add_error(entry.value.origin().key_place(), fmt::format("unknown module '{}'", printable_ascii(entry.key)));
      found.expected = "a name that holds 'trainer'";
      found.suggestion = suggest_names(entry.key, {"pre_trainer", "post_trainer"});
      continue;
    }
    std::optional<Module> module =
        build_module(entry.key, std::move(entry.value), options_.presets_root, loader_, diagnostics_);
    if (module) experiment_.modules.push_back(std::move(*module));
  }
}

bool ExperimentReader::is_fixed_key(const Override& given, const Module& module) {
  const std::string& key = given.path[0];
  const Value* model = module.params.find("model");
  const bool fixed = key == "framework" || key == "config" || key == "trainer_class" ||
                     (key == "model" && (given.path.size() == 1 && model != nullptr && !model->is_map()));
  if (!fixed) return false;
  Diagnostic& found =
      add_error({.file = "command line"}, fmt::format("'{}' cannot be changed on the command line", key));
  found.suggestion = fmt::format("change it in {}", experiment_.file);
  return true;
}

void ExperimentReader::apply_command_line() {
  const std::vector<Override> given = parse_overrides(options_.command_line_overrides, diagnostics_);
  if (given.empty() || experiment_.modules.empty()) return;
  Module* module = options_.module.empty() ? const_cast<Module*>(&experiment_.main_module())
                                           : experiment_.find_module(options_.module);
  if (module == nullptr) {
    add_error({.file = experiment_.file}, fmt::format("there is no module '{}'", options_.module));
    return;
  }
  std::vector<Override> params;
  for (const Override& one : given) {
    if (one.path.size() == 1 && is_identity(one.path[0])) {
      Value text = one.value;
      if (!text.is_map() && !text.is_list()) text.set_data_of(Value(text.origin().raw));
      set_identity(one.path[0], std::move(text));
    } else if (!is_fixed_key(one, *module)) {
      params.push_back(one);
    }
  }
  apply_overrides(params, module->params.as_map(), diagnostics_);
}

void ExperimentReader::finish() {
  for (Module& module : experiment_.modules) {
    for (const MapEntry& entry : module.params.as_map()) note_surprises(entry, diagnostics_);
  }
}

}  // namespace

fs::path Meta::folder() const {
  return fs::path(workspace) / work_group / user_name / exp_name;
}

const Module* Experiment::find_module(std::string_view name) const {
  const auto named = [this](std::string_view wanted) -> const Module* {
    for (const Module& module : modules) {
      if (module.name == wanted) return &module;
    }
    return nullptr;
  };
  if (const Module* module = named(name)) return module;
  if (name == "pre_trainer") return named("post_trainer");
  if (name == "post_trainer") return named("pre_trainer");
  return nullptr;
}

Module* Experiment::find_module(std::string_view name) {
  return const_cast<Module*>(std::as_const(*this).find_module(name));
}

const Module& Experiment::main_module() const {
  if (const Module* module = find_module("pre_trainer")) return *module;
  PRIMUS_CHECK(!modules.empty(), "an experiment has at least one module");
  return modules.front();
}

Result<Experiment> load_experiment(const LoadOptions& options) {
  return ExperimentReader(options).read();
}

}  // namespace primus::config
