// Which configuration keys hold a secret. Their values are shown as "***" in every output.
#pragma once

#include <string_view>

#include "primus/config/value.h"

namespace primus::config {

inline constexpr const char* kMask = "***";

// primus::names_a_secret, minus the training vocabulary that only sounds like one: moe_token_dispatcher_type,
// tiktoken_pattern, eod_token, calculate_per_token_loss.
bool is_secret_key(std::string_view key);

// Marks every text and number below a secret key, and what they hid, as secret.
void mark_secrets(Value& value, bool below_secret = false);

}  // namespace primus::config
