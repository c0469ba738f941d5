// The megatron_bridge dialect: table, recipes and translation. Private to the room.
// Lists of values are written as text, "path=value path=value": the table's row of the path says how to read a value.
#pragma once

#include "primus/dialect/rows.h"
#include "primus/dialect/translation.h"

namespace primus::dialect {

inline constexpr std::string_view kBridgeFramework = "megatron_bridge";

// An architecture that a recipe names: its Hugging Face id, or the name of upstream's provider.
struct BridgeModel {
  std::string_view name;    // "Qwen/Qwen3-8B"
  std::string_view family;  // settings that its whole family shares; paths without "model."
  std::string_view settings;
};

// A function of upstream that builds the configuration for several recipes.
struct BridgeBuilder {
  std::string_view arguments;           // its keyword arguments with their defaults
  std::string_view settings;            // container values that it sets whatever it is called with
  std::string_view more_settings = {};  // further ones, behind what several builders share
  std::string_view packed, unpacked;    // arguments that are null become these, by packed_sequence
  bool finetunes = false;
  bool takes_hf_path = false;     // false: the recipe itself gives hf_path, so that nobody else may
  bool precision_is_map = false;  // mixed_precision is an object when maps are merged, not yet a name
  std::string_view adapter = {};  // target modules of its adapters, when not all four
};

struct BridgeRecipe {
  std::string_view module, flavor;  // "qwen.qwen3", "qwen3_8b_finetune_config"
  std::string_view model;           // of bridge_models()
  const BridgeBuilder* builder;
  std::string_view arguments;                // keyword arguments that it gives the builder, below the user's
  std::string_view full = {}, adapted = {};  // further ones when all weights, or adapters, are trained
  std::string_view settings = {};            // container values set behind the builder, above the user's arguments
  std::string_view full_settings = {}, adapted_settings = {};
};

std::span<const BridgeModel> bridge_models();
std::span<const BridgeRecipe> bridge_recipes();
// Modules that upstream has and this table has not.
std::span<const std::string_view> bridge_other_modules();

// Calls `use(path, value)` for each "path=value" of a list.
template <class Use>
void for_each_setting(std::string_view settings, Use use) {
  while (!settings.empty()) {
    const size_t end = std::min(settings.find(' '), settings.size());
    const std::string_view word = settings.substr(0, end);
    settings.remove_prefix(std::min(end + 1, settings.size()));
    const size_t equals = word.find('=');
    if (equals != std::string_view::npos) use(word.substr(0, equals), word.substr(equals + 1));
  }
}

void bridge_to_spec(Translation& t);

std::vector<std::span<const Parameter>> bridge_rows();
std::span<const Parameter> bridge_argument_rows();
std::span<const Parameter> bridge_primus_rows();
std::span<const Parameter> bridge_model_rows();
std::span<const Parameter> bridge_model_family_rows();
std::span<const Parameter> bridge_train_rows();
std::span<const Parameter> bridge_data_rows();
std::span<const Parameter> bridge_checkpoint_rows();
std::span<const Parameter> bridge_system_rows();

}  // namespace primus::dialect
