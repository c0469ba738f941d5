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
  config::Value old_value;  // null when the key was absent
  config::Value new_value;
  std::string rule;  // one short sentence
};

// What would change, in a fixed order. Never enlarges anything. Kept: family, kind of attention, ratio of query to
// key/value heads, biases, tying, precision, shape of the schedules, parallel axes, data and tokenizer.
// Errors: a key that the rules need is missing or no number (to_spec says more).
Result<std::vector<ProxyChange>> proxy_changes(const config::Module& module);

// Applies the changes to the module that the sub-command selects (`module_name` empty) and returns them.
Result<std::vector<ProxyChange>> apply_proxy(config::Experiment& experiment, std::string_view module_name = {});

// The changes as lines "key: old -> new  (rule)".
std::string render_proxy(const std::vector<ProxyChange>& changes);

}  // namespace primus::dialect
