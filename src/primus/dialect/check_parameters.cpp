#include "primus/dialect/check_parameters.h"

#include <algorithm>
#include <cctype>

#include "primus/base/strings.h"
#include "primus/dialect/parameter_table.h"
#include "primus/dialect/reader.h"
#include "primus/dialect/typed_value.h"

namespace primus::dialect {

namespace {

using config::Value;

class Checker {
 public:
  Checker(const config::Module& module, const CheckOptions& options) : module_(module), options_(options) {}

  Diagnostics run() {
    for (const config::MapEntry& entry : module_.params.as_map()) check(entry.key, entry.value);
    if (!unbuilt_.shown.empty())
      add(Severity::Note, unbuilt_.first_place, unbuilt_.first_key,
          "not built yet, so that train refuses it: " + join(unbuilt_.shown, ", "));
    for (const Idle& idle : idle_) {
      const std::string verb = idle.shown.size() == 1 ? " has" : " have";
      add(Severity::Note, idle.first_place, idle.first_key,
          join(idle.shown, ", ") + verb + " no effect here: " + std::string(idle.reason));
    }
    if (!numeric_text_.keys.empty()) {
      Diagnostic note{Severity::Note, numeric_text_.first_place, numeric_text_.keys.front(), {}, {}, {}, {}};
      note.message = join(numeric_text_.keys, ", ") +
                     ": read as numbers, though YAML 1.1 calls what is written text or another kind of number (1e-5 is "
                     "text, 1.0e-5 a number)";
      out_.push_back(std::move(note));
    }
    return std::move(out_);
  }

 private:
  static Place key_place(const Value& value) { return value.origin().key_place(); }
  static std::string shown_text(const Value& value, const TypedValue& typed) {
    return value.origin().is_secret ? "***" : typed.to_text();
  }

  void add(Severity severity, Place place, std::string_view key, std::string message, std::string expected = {},
           std::string suggestion = {}) {
    out_.push_back({severity,
                    std::move(place),
                    std::string(key),
                    std::move(message),
                    {},
                    std::move(expected),
                    std::move(suggestion)});
  }

  void check(const std::string& key, const Value& value) {
    const bool model_keys = value.is_map() && is_section(module_.framework, "model");
    if ((key == "model" && !model_keys) || key == "extends") return;  // the loader's own
    const Parameter* row = find_parameter(module_.framework, key);
    if (row == nullptr && is_section(module_.framework, key)) return check_section(key, value);
    if (row == nullptr) return unknown(key, value);
    const auto typed = read_typed(*row, value, out_, numeric_text_);
    if (!typed) return;
    check_old_name(*row, value, *typed);
    check_status(*row, value, *typed);
  }

  void check_section(const std::string& key, const Value& value) {
    if (value.is_null()) return;
    if (!value.is_map()) {
      Diagnostic finding{Severity::Error, value.place(), key, "'" + key + "' is a group of keys", {}, "a map", {}};
      finding.found = config::describe(value);
      out_.push_back(std::move(finding));
      return;
    }
    for (const config::MapEntry& entry : value.as_map()) check(key + "." + entry.key, entry.value);
  }

  void unknown(const std::string& key, const Value& value) {
    const bool shouts = std::all_of(key.begin(), key.end(), [](unsigned char c) { return !std::islower(c); });
    std::string suggestion = suggest_parameter(module_.framework, key);
    if (shouts && suggestion.empty())
      suggestion = "if it is an environment variable, write it under the top-level key 'env'";
    add(Severity::Error, key_place(value), key, "unknown key '" + key + "' of " + module_.framework, {},
        std::move(suggestion));
  }

  // The value of another key as the run would see it: its own, or its default.
  TypedValue effective(const Parameter& row) const {
    const Value* value = find_value(module_.params, row.name);
    if (value == nullptr) return table_value(row, row.default_text);
    Diagnostics ignored;
    NumericText also_ignored;
    return read_typed(row, *value, ignored, also_ignored).value_or(table_value(row, row.default_text));
  }
  bool is_on(std::string_view key) const {
    const Parameter* row = find_parameter(module_.framework, key);
    return row != nullptr && !means_default(*row, effective(*row));
  }

  void check_old_name(const Parameter& row, const Value& value, const TypedValue& typed) {
    if (row.instead.empty() || row.status != Status::NoEffect) return;
    const Parameter* twin = find_parameter(module_.framework, row.instead);
    if (twin == nullptr ? means_default(row, typed) : typed.same_as(effective(*twin))) return;
    const std::string name(row.name), other(row.instead);
    add(Severity::Warning, value.place(), row.name,
        "'" + name + ": " + shown_text(value, typed) + "' does nothing: " + std::string(row.reason), {},
        twin == nullptr ? "write " + other
                        : "write " + other + ": " + shown_text(value, typed) + " (now " + effective(*twin).to_text() +
                              ") if that is meant, or drop the key");
  }

  void check_status(const Parameter& row, const Value& value, const TypedValue& typed) {
    const bool is_default = means_default(row, typed);
    const std::string shown = std::string(row.name) + ": " + shown_text(value, typed);
    check_unbuilt_choices(row, value, typed);
    if (is_default) return;
    if (!row.needs.empty() && !is_on(row.needs)) {
      const std::string needs = std::string(row.needs) + ": true";
      add(Severity::Error, value.place(), row.name, "'" + shown + "' needs " + needs, needs,
          "set " + needs + ", or " + std::string(row.name) + ": " + std::string(row.default_text));
      return;
    }
    if (!row.only_with.empty() && !is_read(row.only_with)) return;
    const std::string reason(row.reason);
    switch (row.status) {
      case Status::Honoured:
        return;
      case Status::NoEffect:
        if (row.instead.empty() && set_by_user(value)) add_idle(row, value, shown);
        return;
      case Status::NotBuilt:
        return not_built(row, value, shown);
      case Status::Refused:
        add(Severity::Error, value.place(), row.name, "'" + shown + "' is refused: " + reason, {},
            row.instead.empty() ? "" : "write " + std::string(row.instead));
        return;
    }
  }

  // One note for all keys that have no effect for the same reason.
  void add_idle(const Parameter& row, const Value& value, const std::string& shown) {
    auto same = std::find_if(idle_.begin(), idle_.end(), [&](const Idle& idle) { return idle.reason == row.reason; });
    if (same == idle_.end()) same = idle_.insert(same, {row.reason, row.name, value.place(), {}});
    same->shown.push_back("'" + shown + "'");
  }

  // False when the key that governs a row is off, or refuses the run by itself already.
  bool is_read(std::string_view governor) const {
    const Parameter* row = find_parameter(module_.framework, governor);
    if (row == nullptr || !is_on(governor)) return false;
    return row->status == Status::Honoured || row->status == Status::NoEffect;
  }

  static bool set_by_user(const Value& value) {
    const config::Layer layer = value.origin().layer;
    return layer == config::Layer::Overrides || layer == config::Layer::CommandLine;
  }

  void not_built(const Parameter& row, const Value& value, const std::string& shown) {
    const bool precision = row.name == "fp8" || row.name == "fp4" || row.name == "enable_turbo_attention_float8";
    if (precision && options_.allow_precision_fallback) {
      add(Severity::Warning, value.place(), row.name,
          "'" + shown + "' is not built yet: the run computes in bf16 instead, as --allow-precision-fallback allows");
      return;
    }
    if (!options_.for_training) {
      if (unbuilt_.shown.empty()) unbuilt_ = {{}, row.name, value.place(), {}};
      unbuilt_.shown.push_back("'" + shown + "'");
      return;
    }
    std::string suggestion = "set " + std::string(row.name) + ": " + std::string(row.default_text);
    if (precision) suggestion += ", or train in bf16 with --allow-precision-fallback";
    add(Severity::Error, value.place(), row.name, "'" + shown + "' is not built yet (" + std::string(row.reason) + ")",
        std::string(row.default_text), std::move(suggestion));
  }

  void check_unbuilt_choices(const Parameter& row, const Value& value, const TypedValue& typed) {
    if (row.status != Status::Honoured || row.unbuilt_choices.empty()) return;
    const std::vector<std::string> unbuilt = table_words(row.unbuilt_choices);
    std::vector<std::string> given;
    if (const auto* text = std::get_if<std::string>(&typed.data)) given = {*text};
    if (const auto* list = std::get_if<std::vector<std::string>>(&typed.data)) given = *list;
    for (const std::string& word : given) {
      if (std::find(unbuilt.begin(), unbuilt.end(), word) == unbuilt.end()) continue;
      if (!options_.for_training) {
        if (unbuilt_.shown.empty()) unbuilt_ = {{}, row.name, value.place(), {}};
        unbuilt_.shown.push_back("'" + std::string(row.name) + ": " + word + "'");
        continue;
      }
      std::vector<std::string> built = table_words(row.choices);
      std::erase_if(built,
                    [&](const auto& w) { return std::find(unbuilt.begin(), unbuilt.end(), w) != unbuilt.end(); });
      add(Severity::Error, value.place(), row.name, "'" + std::string(row.name) + ": " + word + "' is not built yet",
          join(built, ", "));
    }
  }

  struct Idle {
    std::string_view reason, first_key;
    Place first_place;
    std::vector<std::string> shown;
  };

  const config::Module& module_;
  const CheckOptions& options_;
  Diagnostics out_;
  std::vector<Idle> idle_;
  Idle unbuilt_;  // one note for all of them when nobody trains
  NumericText numeric_text_;
};

}  // namespace

Diagnostics check_parameters(const config::Module& module, const CheckOptions& options) {
  return Checker(module, options).run();
}

}  // namespace primus::dialect
