// Where a value comes from: every layer that set it, newest first.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "primus/base/json.h"
#include "primus/base/result.h"
#include "primus/config/load.h"

namespace primus::config {

// What a parameter table knows about a key; made by the caller, since this room knows no table.
struct ParameterFacts {
  std::string type, unit, default_text, status, doc;
  std::string spec_field;          // "lr.max_lr"; several are separated by a space; empty: sets none
  std::vector<std::string> notes;  // "needs sequence_parallel", "one of adam, sgd": one line each
};
using FactsLookup = std::function<std::optional<ParameterFacts>(std::string_view framework, std::string_view key)>;

struct Explanation {
  std::string key;               // "pre_trainer.lr", "exp_name", "platform.name", "env.HF_HOME"
  const Value* value = nullptr;  // inside the experiment; null: a key of the table that nothing sets
  std::optional<ParameterFacts> facts = {};
  const Module* module = nullptr;  // whose parameter it is
};

// `key`: a parameter ("lr", "torch_compile.mode"), also as "pre_trainer.lr" or "modules.pre_trainer.overrides.lr"; an
// identity key; platform.X; env.X. One answer a module that has it. Errors: no such key, with the nearest names.
// The result points into `experiment`.
Result<std::vector<Explanation>> explain(const Experiment& experiment, const std::string& key,
                                         const FactsLookup& lookup);

std::string render(const Explanation& explanation);  // several lines, with a newline at the end
Json to_json(const Explanation& explanation);

}  // namespace primus::config
