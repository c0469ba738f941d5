// --proxy: an experiment shrunk so that it trains on a small machine in about a minute, while it stays the same kind of
// model. A pure function of the experiment: a fixed number of floating point operations, never a look at the machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "primus/base/result.h"
#include "primus/config/load.h"

namespace primus::dialect {

// Model FLOPs (a multiply-add is 2, backward twice forward) that a proxy run spends at most.
inline constexpr double kProxyFlops = 3e12;

struct ProxyChange {
  std::string key;
  config::Value old_value;  // null when nobody says what it was
  config::Value new_value;
  std::string rule;  // one short sentence
};

struct ProxyOptions {
  bool mock_data = false;   // made-up data instead of the experiment's, where the dialect has any
  bool one_device = false;  // all parallel axes become 1
  int64_t most_steps = 50;
};

// Shrinks the module that the sub-command selects (`module_name` empty) and returns what it changed, in a fixed order;
// keys are dotted where a dialect has sections. Never enlarges anything. Kept: family, kind of attention, ratio of
// query to key/value heads, routing of experts (there are fewer), latent attention, pattern of the layers, biases,
// tying, precision, shape of the schedules, parallel axes, data and tokenizer. Errors: what to_spec says of an
// experiment that is wrong as it stands; a framework without a parameter table.
Result<std::vector<ProxyChange>> apply_proxy(config::Experiment& experiment, std::string_view module_name = {},
                                             const ProxyOptions& options = {});
// What apply_proxy would change.
Result<std::vector<ProxyChange>> proxy_changes(const config::Experiment& experiment, std::string_view module_name = {},
                                               const ProxyOptions& options = {});

// The changes as lines "key: old -> new  (rule)".
std::string render_proxy(const std::vector<ProxyChange>& changes);

}  // namespace primus::dialect
