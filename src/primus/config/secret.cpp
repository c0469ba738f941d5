#include "primus/config/secret.h"

#include <algorithm>

#include "primus/base/strings.h"

namespace primus::config {
namespace {

// True when a part of a dotted key, or all of it, tells a secret.
bool key_names_a_secret(std::string_view key) {
  const std::vector<std::string> parts = split(key, '.');
  return std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return names_a_secret(part); });
}

}  // namespace

bool is_blank(std::string_view text) {
  return text.empty() || text == "\"\"" || text == "''";
}

void mark_secrets(Value& value, bool below_secret) {
  if (value.is_map()) {
    for (MapEntry& entry : value.as_map()) mark_secrets(entry.value, below_secret || names_a_secret(entry.key));
  } else if (value.is_list()) {
    for (Value& item : value.as_list()) mark_secrets(item, below_secret);
  } else if (below_secret && !value.is_null() && !value.is_bool()) {
    value.origin().is_secret = !value.is_string() || !is_blank(value.as_string());
  }
  for (Value& older : value.hidden()) mark_secrets(older, below_secret);
}

void mark_secrets_of_file(Value& root) {
  if (!root.is_map()) return;
  const auto mark_block = [](Value& block) {
    if (!block.is_map()) return;
    for (MapEntry& entry : block.as_map())
      if (entry.key != "params") mark_secrets(entry.value, names_a_secret(entry.key));
  };
  for (MapEntry& entry : root.as_map()) {
    if (entry.key == "platform") {
      mark_block(entry.value);
    } else if (entry.key == "modules" && entry.value.is_map()) {
      for (MapEntry& module : entry.value.as_map()) mark_block(module.value);
    } else {
      mark_secrets(entry.value, names_a_secret(entry.key));
    }
  }
}

std::vector<std::string> mask_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> shown;
  bool next_is_secret = false;
  for (const std::string& word : arguments) {
    const size_t equals = word.find('=');
    const size_t dashes = word.starts_with("--") ? 2 : 0;
    const std::string_view key =
        std::string_view(word).substr(dashes, equals == std::string::npos ? equals : equals - dashes);
    if (next_is_secret && dashes == 0) {
      shown.emplace_back(word.empty() ? "" : kMask);
    } else if (equals != std::string::npos && equals + 1 < word.size() && key_names_a_secret(key)) {
      shown.push_back(word.substr(0, equals + 1) + kMask);
    } else {
      shown.push_back(word);
    }
    next_is_secret = dashes == 2 && equals == std::string::npos && key_names_a_secret(key);
  }
  return shown;
}

std::string shown_variable(const Value& env, const std::string& name, const std::string& value) {
  const Value* given = env.is_map() ? env.find(name) : nullptr;
  const bool secret = names_a_secret(name) || (given != nullptr && given->origin().is_secret);
  return secret && !is_blank(value) ? kMask : value;
}

}  // namespace primus::config
