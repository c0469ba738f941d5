#include "primus/dialect/flavors.h"

#include "primus/dialect/bridge.h"
#include "primus/dialect/maxtext_models.h"
#include "primus/dialect/torchtitan_flavors.h"

namespace primus::dialect {

std::vector<Flavor> all_flavors() {
  std::vector<Flavor> all;
  for (const std::string& name : titan_families())
    if (const auto family = titan_family(name))
      for (std::string& flavor : titan_flavors(*family)) all.push_back({"torchtitan", name, std::move(flavor)});
  for (std::string& name : maxtext_model_names()) all.push_back({"maxtext", "", std::move(name)});
  for (const BridgeRecipe& recipe : bridge_recipes())
    all.push_back({"megatron_bridge", std::string(recipe.module), std::string(recipe.flavor)});
  return all;
}

}  // namespace primus::dialect
