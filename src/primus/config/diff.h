// What differs between two resolved experiments.
#pragma once

#include <string>
#include <vector>

#include "primus/base/json.h"
#include "primus/config/load.h"

namespace primus::config {

struct Difference {
  std::string key;                // "exp_name", "pre_trainer.lr", "pre_trainer.torch_compile.mode"
  const Value* before = nullptr;  // null: added
  const Value* after = nullptr;   // null: removed
  std::vector<Value> texts = {};  // what the two point to where the experiments hold no value: names of presets
};

// Leaf by leaf: identity, platform, env, and the modules by name (two files with one module each are compared whatever
// their names). A number is equal to the same number in another spelling (1, 1.0, the plain text 1e0). The result
// points into both.
std::vector<Difference> compare(const Experiment& before, const Experiment& after);

std::string render(const std::vector<Difference>& differences);  // grouped: changed, added, removed
// {"changed": {KEY: {"before", "after"}}, "added": {KEY: value}, "removed": {KEY: value}}
Json to_json(const std::vector<Difference>& differences);

}  // namespace primus::config
