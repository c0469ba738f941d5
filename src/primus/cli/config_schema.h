// JSON Schema of an experiment, made from a dialect's parameter table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "primus/base/json.h"

namespace primus::cli {

// Names that the editor offers; they forbid nothing.
struct SchemaNames {
  std::vector<std::string> module_presets, model_presets;
};

// JSON Schema 2020-12. Every value may also be a text with ${...}. Sections of dotted keys are nested objects; unknown
// keys are not allowed anywhere.
Json experiment_schema(std::string_view framework, const SchemaNames& names);

}  // namespace primus::cli
