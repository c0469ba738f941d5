// The table of megatron_bridge is true about what the translation reads; its recipes name what exists.
#include <gtest/gtest.h>
#include <set>

#include "experiment.h"

#include "primus/base/strings.h"
#include "primus/dialect/bridge.h"
#include "primus/dialect/parameter_table.h"
#include "primus/dialect/to_spec.h"

namespace primus::dialect {
namespace {

using testing::experiment;

constexpr std::string_view kFramework = "megatron_bridge";

std::string recipe_keys(const BridgeRecipe& recipe) {
  return "recipe: " + std::string(recipe.module) + "\nflavor: " + std::string(recipe.flavor) + "\n";
}

TEST(BridgeTable, RowsWithAFieldAreExactlyTheKeysThatTheTranslationTakes) {
  std::set<std::string> with_field, taken;
  for (const Parameter& row : all_parameters(kFramework))
    if (!row.spec_field.empty()) with_field.emplace(row.name);
  // A recipe takes its own arguments only.
  for (const BridgeRecipe& recipe : bridge_recipes())
    for (const std::string& key : keys_read(experiment(recipe_keys(recipe), "megatron_bridge"))) taken.insert(key);
  EXPECT_EQ(with_field, taken);
}

TEST(BridgeRecipes, NameArgumentsPathsAndModelsThatExist) {
  std::set<std::string> flavors;
  const auto check = [](std::string_view settings, bool paths, const std::string& who) {
    for_each_setting(settings, [&](std::string_view path, std::string_view text) {
      std::string name(path);
      if (name.starts_with("adapter.")) name = "peft." + name.substr(8);
      const Parameter* row = find_parameter(kFramework, name);
      ASSERT_NE(row, nullptr) << who << ": " << path;
      EXPECT_EQ(paths, name.find('.') != std::string::npos) << who << ": " << path;
      const bool number = row->type == Type::Int     ? parse_int(text).has_value()
                          : row->type == Type::Float ? parse_double(text).has_value()
                          : row->type == Type::Bool  ? text == "true" || text == "false"
                                                     : true;
      EXPECT_TRUE(number || text == "null") << who << ": " << path << " = " << text;
    });
  };
  for (const BridgeRecipe& recipe : bridge_recipes()) {
    const std::string who(recipe.flavor);
    EXPECT_TRUE(flavors.insert(std::string(recipe.module) + "." + who).second) << who;
    for (const auto& arguments : {recipe.arguments, recipe.full, recipe.adapted, recipe.builder->arguments,
                                  recipe.builder->packed, recipe.builder->unpacked})
      check(arguments, false, who);
    for (const auto& settings : {recipe.settings, recipe.full_settings, recipe.adapted_settings,
                                 recipe.builder->settings, recipe.builder->more_settings})
      check(settings, true, who);
    // What a recipe gives its builder, the builder must take.
    for_each_setting(recipe.arguments, [&](std::string_view name, std::string_view) {
      EXPECT_NE((" " + std::string(recipe.builder->arguments)).find(" " + std::string(name) + "="), std::string::npos)
          << who << ": " << name;
    });
    const auto models = bridge_models();
    EXPECT_TRUE(
        std::any_of(models.begin(), models.end(), [&](const BridgeModel& model) { return model.name == recipe.model; }))
        << who << ": " << recipe.model;
  }
  EXPECT_GE(flavors.size(), 58U);
}

TEST(BridgeRecipes, AllTranslateOnAsManyRanksAsTheyNeed) {
  for (const BridgeRecipe& recipe : bridge_recipes()) {
    const std::string yaml =
        recipe_keys(recipe) + (recipe.builder->finetunes ? "pretrained_checkpoint: /w\n" : "mock: true\n");
    const auto run = to_spec(experiment(yaml, "megatron_bridge"), {}, {.world_size = 16384, .for_training = false});
    for (const Diagnostic& finding : run.diagnostics()) {
      // 16,384 ranks are more than a batch has sequences; everything else must fit.
      if (finding.severity == Severity::Error) {
        EXPECT_EQ(finding.key, "global_batch_size") << recipe.flavor << "\n" << render(run.diagnostics());
      }
    }
  }
}

}  // namespace
}  // namespace primus::dialect
