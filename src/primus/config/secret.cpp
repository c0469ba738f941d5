#include "primus/config/secret.h"

#include "primus/base/strings.h"

namespace primus::config {

void mark_secrets(Value& value, bool below_secret) {
  if (value.is_map()) {
    for (MapEntry& entry : value.as_map()) mark_secrets(entry.value, below_secret || names_a_secret(entry.key));
  } else if (value.is_list()) {
    for (Value& item : value.as_list()) mark_secrets(item, below_secret);
  } else if (below_secret && !value.is_null() && !value.is_bool()) {
    value.origin().is_secret = true;
  }
  for (Value& older : value.hidden()) mark_secrets(older, below_secret);
}

}  // namespace primus::config
