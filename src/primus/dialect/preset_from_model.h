// From an architecture to a model preset of a dialect: the inverse of the translation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "primus/base/result.h"
#include "primus/config/value.h"
#include "primus/spec/model.h"

namespace primus::dialect {

struct PresetLine {
  std::string group;  // "Attention"; lines of a group stand together
  std::string key;    // with dots inside sections: "model.flavor"; a section's lines stand together
  config::Value value;
  bool ours = false;  // an addition of this project: upstream does not know the key
};

// Why the dialect says it so: "model.flavor", "8B", "its arguments are those of this model".
struct PresetDecision {
  std::string field, value, reason;
};

struct ModelPreset {
  std::vector<PresetLine> lines;
  std::string extends;                    // the preset that gives everything else: "language_model.yaml", or empty
  std::vector<PresetDecision> decisions;  // also what becomes another spelling of the same meaning
};

// Frameworks that a preset can be written for.
std::vector<std::string> preset_frameworks();

// megatron: every key of the architecture. torchtitan: the nearest flavor and model.<argument>. maxtext: a model_name
// where one has this architecture, else sizes. megatron_bridge: the recipe that has it.
// The preset is translated back and compared with the model. Errors: a framework without a writer, and an architecture
// that the dialect cannot express, with the fields that would be lost.
Result<ModelPreset> preset_from_model(const spec::Model& model, std::string_view framework);

// The lines as parameters: dots make maps.
config::Map preset_params(const ModelPreset& preset);

// As a file: `comment` lines at the head, then extends and the groups, additions of this project marked.
std::string preset_text(const ModelPreset& preset, const std::vector<std::string>& comment);

}  // namespace primus::dialect
