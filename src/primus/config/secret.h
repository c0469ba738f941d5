// Values of keys that name a secret (primus::names_a_secret) are shown as "***" in every output: what came from a set
// variable, from the command line, or stands in an experiment or preset in plain. Empty values, true/false and what a
// placeholder's default says are shown. Programs that are started get the value itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "primus/config/value.h"

namespace primus::config {

inline constexpr const char* kMask = "***";

// Nothing that could be a secret: empty, or a pair of quotes.
bool is_blank(std::string_view text);

// Marks every text and number below a secret key, and what they hid, as secret.
void mark_secrets(Value& value, bool below_secret = false);
// The same for a whole file. What stands under `params` was resolved before, and masked then.
void mark_secrets_of_file(Value& root);

// A command line for people: values of overrides and variables whose names tell a secret are masked, in every spelling
// (--wandb_key x, --wandb_key=x, wandb_key=x, NAME=x).
std::vector<std::string> mask_arguments(const std::vector<std::string>& arguments);

// A variable of a process for people: masked by its own name, or because the experiment's `env` block (a map, or
// nothing) fills it from a secret one.
std::string shown_variable(const Value& env, const std::string& name, const std::string& value);

}  // namespace primus::config
