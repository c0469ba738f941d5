// Takes the keys that set a field of the spec by name, with the table's type and default, and remembers which were
// taken. Private to the room. Values that do not fit were reported by check_parameters; here they read as the default.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "primus/config/load.h"
#include "primus/dialect/typed_value.h"

namespace primus::dialect {

// A parameter's value: dots in the key lead into maps ("training.steps"). Null when absent.
const config::Value* find_value(const config::Value& params, std::string_view key);

class Reader {
 public:
  explicit Reader(const config::Module& module) : module_(module) {}

  bool flag(std::string_view key) { return take<bool>(key).value_or(false); }
  std::optional<bool> maybe_flag(std::string_view key) { return take<bool>(key); }
  std::optional<int64_t> maybe_integer(std::string_view key) { return take<int64_t>(key); }
  int64_t integer(std::string_view key) { return take<int64_t>(key).value_or(0); }
  std::optional<double> maybe_number(std::string_view key) { return take<double>(key); }
  double number(std::string_view key) { return take<double>(key).value_or(0); }
  std::optional<std::string> maybe_text(std::string_view key) { return take<std::string>(key); }
  std::string text(std::string_view key) { return take<std::string>(key).value_or(""); }
  std::vector<int64_t> integers(std::string_view key) {
    return take<std::vector<int64_t>>(key).value_or(std::vector<int64_t>{});
  }
  std::vector<std::string> texts(std::string_view key) {
    return take<std::vector<std::string>>(key).value_or(std::vector<std::string>{});
  }
  // The configuration's own map; null when the key is absent or null.
  const config::Value* map(std::string_view key);

  // Where the key's value stands; the module's place when the key is absent.
  Place place(std::string_view key) const;
  bool is_given(std::string_view key) const;  // present with a value other than the default
  const std::set<std::string, std::less<>>& taken() const { return taken_; }
  const config::Module& module() const { return module_; }

 private:
  TypedValue typed(std::string_view key);
  template <class T>
  std::optional<T> take(std::string_view key);

  const config::Module& module_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace primus::dialect
