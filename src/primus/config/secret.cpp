#include "primus/config/secret.h"

#include <string>
#include <vector>

#include "primus/base/strings.h"

namespace primus::config {

bool is_secret_key(std::string_view key) {
  if (!names_a_secret(key) || key.ends_with("_env_key")) return false;  // ... and names of variables
  const std::string lower = to_lower(key);
  for (const char* word : {"secret", "password", "passwd", "credential", "key"}) {
    if (lower.find(word) != std::string::npos) return true;
  }
  // Only "token" is left: a secret when it is the last word, unless it names a vocabulary entry.
  const std::vector<std::string> words = split(lower, '_');
  if (words.back() != "token" && !words.back().ends_with("-token"))
    return lower.find("access_token") != std::string::npos;
  for (const char* entry :
       {"bos", "eos", "eod", "pad", "unk", "mask", "cls", "sep", "per", "image", "special", "moe"}) {
    if (words.front() == entry || (words.size() > 1 && words[words.size() - 2] == entry)) return false;
  }
  return true;
}

void mark_secrets(Value& value, bool below_secret) {
  if (value.is_map()) {
    for (MapEntry& entry : value.as_map()) mark_secrets(entry.value, below_secret || is_secret_key(entry.key));
  } else if (value.is_list()) {
    for (Value& item : value.as_list()) mark_secrets(item, below_secret);
  } else if (below_secret && !value.is_null() && !value.is_bool()) {
    value.origin().is_secret = true;
  }
  for (Value& older : value.hidden()) mark_secrets(older, below_secret);
}

}  // namespace primus::config
