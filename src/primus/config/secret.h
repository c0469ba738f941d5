// Values of keys that name a secret (primus::names_a_secret) are shown as "***" in every output.
#pragma once

#include "primus/config/value.h"

namespace primus::config {

inline constexpr const char* kMask = "***";

// Marks every text and number below a secret key, and what they hid, as secret.
void mark_secrets(Value& value, bool below_secret = false);

}  // namespace primus::config
