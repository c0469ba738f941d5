// How the four forms are made. Private to the room.
#pragma once

#include "primus/dialect/export.h"
#include "primus/dialect/typed_value.h"

namespace primus::dialect {

// What a form is made from. `params` hold the values themselves or "***", as the options say.
struct ExportSource {
  const config::Experiment& experiment;
  const config::Module& module;
  const ExportOptions& options;

  // The value as its row wants it; nothing when it is absent or does not fit.
  std::optional<TypedValue> typed(const Parameter& row) const;
  // "folder/name", or the name alone.
  std::string path_of(const std::string& file_name) const;
};

void export_megatron(const ExportSource& source, LaunchForm& form);
void export_torchtitan(const ExportSource& source, LaunchForm& form);
void export_maxtext(const ExportSource& source, LaunchForm& form);
void export_bridge(const ExportSource& source, LaunchForm& form);

// Leaves of nested maps as dotted keys, in order. Lists are leaves, empty maps too.
struct Leaf {
  std::string key;
  const config::Value* value;
};
std::vector<Leaf> leaves_of(const config::Value& params);

// A value in the notation of a language.
std::string toml_literal(const config::Value& value);
std::string python_literal(const config::Value& value);
std::string toml_literal(const TypedValue& value);
std::string python_literal(const TypedValue& value);

// Why a key of Primus' own has no form upstream.
std::string reason_of(const Parameter& row, std::string_view upstream);

}  // namespace primus::dialect
