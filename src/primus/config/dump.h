// Writing values and experiments as YAML (which reads back to the same values) and JSON. Secrets come out as "***".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "primus/base/json.h"
#include "primus/config/load.h"
#include "primus/config/value.h"

namespace primus::config {

// One scalar as YAML 1.1: texts that would be read as something else are quoted, doubles round-trip.
std::string yaml_scalar(const Value& value);
// `value` in block style, every line indented by `indent` blanks, with a newline at the end. A map or list that is not
// empty.
std::string yaml_block(const Value& value, int indent = 0);

// The whole experiment, resolved: an experiment file of its own, whose `params:` need no presets. Loading and dumping
// the result gives the same bytes. `only` keeps the parameters with these (dotted) names; empty keeps all.
std::string dump_yaml(const Experiment& experiment, const std::vector<std::string>& only = {});

// {"meta": {...}, "modules": {NAME: {"framework", "config", "model", "params"}}}
Json to_json(const Value& value);
Json to_json(const Experiment& experiment, const std::vector<std::string>& only = {});

// {"<module>.<key>": {"file", "line", "column", "layer", "hid": [{... , "value"}]}} for every leaf: config/origin.json.
Json origins_json(const Experiment& experiment);
Json origin_json(const Value& value);

// The parameters of `params` that `only` names. Errors: a name that is not there, with the nearest.
Result<Value> select_params(const Value& params, const std::vector<std::string>& only);

}  // namespace primus::config
