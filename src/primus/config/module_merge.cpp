#include "primus/config/module_merge.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "primus/base/strings.h"
#include "primus/config/merge.h"

namespace primus::config {
namespace {

constexpr std::array kStructure = {"name", "framework", "config", "model", "overrides", "params", "trainer_class"};

bool is_structure(std::string_view key) {
  return std::find(kStructure.begin(), kStructure.end(), key) != kStructure.end();
}

class ModuleBuilder {
 public:
  ModuleBuilder(const std::string& name, Value block, const fs::path& presets_root, FileLoader& loader,
                Diagnostics& diagnostics)
      : key_("modules." + name),
        block_(std::move(block)),
        presets_root_(presets_root),
        loader_(loader),
        diagnostics_(diagnostics) {
    module_.name = name;
    module_.place = block_.origin().key_place();
  }

  std::optional<Module> build() {
    if (!block_.is_map()) {
      add_error(block_.place(), fmt::format("{} must be a map", key_)).found = describe(block_);
      return std::nullopt;
    }
    const bool resolved = block_.find("params") != nullptr;
    const bool named = read_names();
    check_own_keys(resolved);
    const Value* overrides = block_.find("overrides");
    const bool overrides_fit = overrides == nullptr || overrides->is_null() || overrides->is_map();
    if (!overrides_fit) {
      add_error(overrides->place(), fmt::format("{}.overrides must be a map", key_)).found =
          to_string(overrides->kind());
    }
    if (!named || !(resolved ? take_params() : read_presets()) || !overrides_fit) return std::nullopt;
    if (!resolved) add_own_keys();
    add_overrides();
    move_extras();
    Map& params = module_.params.as_map();
    if (params.find("model") == nullptr) params.set("model", *block_.find("model"));
    return std::move(module_);
  }

 private:
  Diagnostic& add_error(Place place, std::string message) {
    diagnostics_.push_back(error_at(std::move(place), std::move(message)));
    return diagnostics_.back();
  }

  bool read_names() {
    bool complete = true;
    for (const auto& [key, into] :
         {std::pair{"framework", &module_.framework}, {"config", &module_.config}, {"model", &module_.model}}) {
      const Value* value = block_.find(key);
      if (value == nullptr) {
        Diagnostic& found = add_error(module_.place, fmt::format("{} has no '{}'", key_, key));
        found.expected = std::string(key) == "framework"
                             ? "framework: megatron, for example"
                             : fmt::format("{}: the file name of a {} preset", key,
                                           std::string(key) == "config" ? "module" : "model");
        complete = false;
      } else if (!value->is_string() || value->as_string().empty()) {
        add_error(value->place(), fmt::format("{}.{} must be a name", key_, key)).found = describe(*value);
        complete = false;
      } else {
        *into = value->as_string();
      }
    }
    return complete;
  }

  // A key beside `overrides` becomes a parameter, so a misspelt structural key would vanish among them.
  void check_own_keys(bool resolved) {
    for (const MapEntry& entry : block_.as_map()) {
      if (is_structure(entry.key)) continue;
      const std::vector<std::string> near = nearest(entry.key, {kStructure.begin(), kStructure.end()}, 1);
      const bool misspelt = !near.empty() && edit_distance(entry.key, near[0]) <= 2;
      if (!misspelt && !resolved) continue;
      Diagnostic& found = add_error(entry.value.origin().key_place(),
                                    fmt::format("unknown key '{}' in {}", printable_ascii(entry.key), key_));
      found.suggestion = misspelt ? fmt::format("did you mean '{}'?", near[0]) : "parameters belong under 'overrides'";
    }
  }

  bool take_params() {
    const Value* params = block_.find("params");
    if (!params->is_map()) {
      add_error(params->place(), fmt::format("{}.params must be a map", key_)).found = to_string(params->kind());
      return false;
    }
    module_.params = *params;
    return true;
  }

  bool read_presets() {
    if (!check_framework(presets_root_, *block_.find("framework"), diagnostics_)) return false;
    std::optional<Value> config = read_preset("modules", "config", Layer::ModulePreset, module_.config_chain);
    std::optional<Value> model = read_preset("models", "model", Layer::ModelPreset, module_.model_chain);
    if (!config || !model) return false;
    module_.params = std::move(*config);
    Map& params = module_.params.as_map();
    for (MapEntry& entry : model->as_map()) {
      Value* present = params.find(entry.key);
      if (present != nullptr) {
        present->hide(std::move(entry.value));
      } else {
        params.set(std::move(entry.key), std::move(entry.value));
      }
    }
    for (MapEntry& entry : params) null_from_text(entry.value);
    return true;
  }

  std::optional<Value> read_preset(const char* kind, const char* key, Layer layer, std::vector<std::string>& chain) {
    const Value& name = *block_.find(key);
    const std::optional<fs::path> path = find_preset(presets_root_, kind, module_.framework, name, diagnostics_);
    if (!path) return std::nullopt;
    return loader_.load({.path = *path, .layer = layer, .asked_at = name.place()}, chain);
  }

  void add_own_keys() {
    Map& params = module_.params.as_map();
    for (MapEntry& entry : block_.as_map()) {
      if (is_structure(entry.key)) continue;
      Value* present = params.find(entry.key);
      if (present != nullptr && present->origin().layer == Layer::ModulePreset) {
        Diagnostic lost =
            warning_at(entry.value.origin().key_place(),
                       fmt::format("'{}' beside 'overrides' has no effect: the module preset sets it", entry.key));
        lost.found = fmt::format("{} at {}", describe(*present), present->place().to_string());
        lost.suggestion = "move it under 'overrides'";
        diagnostics_.push_back(std::move(lost));
        continue;
      }
      Value value = entry.value;
      null_from_text(value);
      if (present != nullptr) value.hide(std::move(*present));
      params.set(entry.key, std::move(value));
    }
  }

  void add_overrides() {
    Value* overrides = block_.as_map().find("overrides");
    if (overrides == nullptr || !overrides->is_map()) return;
    set_layer(*overrides, Layer::Overrides);
    Map& params = module_.params.as_map();
    note_null_texts(overrides->as_map());
    null_from_text_in_overrides(overrides->as_map(), params);
    deep_merge(params, std::move(overrides->as_map()));
  }

  void note_null_texts(const Map& overrides) {
    for (const MapEntry& entry : overrides) {
      const Value& value = entry.value;
      if (!value.is_string() || value.as_string() != "null" || value.origin().style == Style::Plain) continue;
      diagnostics_.push_back(
          {.severity = Severity::Note,
           .place = value.place(),
           .message = fmt::format("the text \"null\" of '{}' is taken as the empty value", entry.key)});
    }
  }

  void move_extras() {
    Map extras;
    Map& params = module_.params.as_map();
    if (const Value* own = block_.find("trainer_class")) extras.set("trainer_class", *own);
    if (const Value* preset = params.find("trainer_class")) {
      if (extras.find("trainer_class") == nullptr) extras.set("trainer_class", *preset);
      params.erase("trainer_class");
    }
    module_.extras = Value(std::move(extras));
  }

  std::string key_;
  Value block_;
  const fs::path& presets_root_;
  FileLoader& loader_;
  Diagnostics& diagnostics_;
  Module module_;
};

}  // namespace

std::optional<Module> build_module(const std::string& name, Value block, const fs::path& presets_root,
                                   FileLoader& loader, Diagnostics& diagnostics) {
  return ModuleBuilder(name, std::move(block), presets_root, loader, diagnostics).build();
}

}  // namespace primus::config
