// The model presets with what they are: family, parameters, active parameters.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "primus/base/env.h"
#include "primus/base/fs.h"
#include "primus/cli/config_list.h"
#include "primus/config/load.h"

namespace primus::cli {

// One row a model preset, resolved through its dialect with the usual module preset.
ListTable models_table(const fs::path& presets_root, const std::vector<std::string>& frameworks,
                       const Environment& environment);
// The models that the frameworks' own packages know by name.
ListTable flavors_table(const std::vector<std::string>& frameworks);

// "LLaMA 3.1" of "llama3.1_8B"; empty when the name tells nothing.
std::string_view family_of(std::string_view model);

// The module that trains this model preset when nothing else is said: "pre_trainer" with pre_trainer.yaml, or
// "post_trainer" with the fine-tuning preset where the preset is a fine-tuning recipe.
struct UsualModule {
  std::string name, preset;
};
UsualModule usual_module(const fs::path& presets_root, const std::string& framework, const std::string& model);

// An experiment of one module with no overrides but `mock data` where the dialect has it. Errors: presets that cannot
// be read.
Result<config::Experiment> bare_experiment(const fs::path& presets_root, const std::string& framework,
                                           const std::string& model, const Environment& environment);

}  // namespace primus::cli
