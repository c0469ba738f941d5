#include "primus/dialect/megatron_pattern.h"

#include <algorithm>
#include <cctype>

#include "primus/base/strings.h"

namespace primus::dialect {

namespace {

using Numbers = std::vector<int64_t>;
using Item = std::variant<int64_t, Numbers>;
constexpr size_t kMostNumbers = 10'000;  // a slip of the keyboard must not fill the memory
constexpr int kDeepest = 32;

// Recursive descent over sums, products and atoms. A failed part gives nothing, and so does the whole.
class PatternParser {
 public:
  explicit PatternParser(std::string_view text) : text_(text) {}

  std::optional<Item> whole() {
    auto item = sum(0);
    skip_blanks();
    return at_ == text_.size() ? item : std::nullopt;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool eat(char wanted) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  std::optional<Item> sum(int depth) {
    auto left = product(depth);
    while (left && eat('+')) {
      const auto right = product(depth);
      if (!right || left->index() != right->index()) return std::nullopt;
      if (auto* number = std::get_if<int64_t>(&*left)) {
        if (__builtin_add_overflow(*number, std::get<int64_t>(*right), number)) return std::nullopt;
        continue;
      }
      Numbers& list = std::get<Numbers>(*left);
      const Numbers& more = std::get<Numbers>(*right);
      if (list.size() + more.size() > kMostNumbers) return std::nullopt;
      list.insert(list.end(), more.begin(), more.end());
    }
    return left;
  }

  static std::optional<Item> repeat(const Numbers& list, int64_t times) {
    if (times > static_cast<int64_t>(kMostNumbers / std::max<size_t>(1, list.size()))) return std::nullopt;
    Numbers out;
    for (int64_t i = 0; i < times; ++i) out.insert(out.end(), list.begin(), list.end());
    return out;
  }

  std::optional<Item> product(int depth) {
    auto left = atom(depth);
    while (left && eat('*')) {
      const auto right = atom(depth);
      if (!right) return std::nullopt;
      const auto* a = std::get_if<int64_t>(&*left);
      const auto* b = std::get_if<int64_t>(&*right);
      if (a == nullptr && b == nullptr) return std::nullopt;
      int64_t number = 0;
      if (a != nullptr && b != nullptr) {
        if (__builtin_mul_overflow(*a, *b, &number)) return std::nullopt;
        left = number;
      } else {
        left = a != nullptr ? repeat(std::get<Numbers>(*right), *a) : repeat(std::get<Numbers>(*left), *b);
      }
    }
    return left;
  }

  std::optional<Item> atom(int depth) {
    if (depth > kDeepest) return std::nullopt;
    if (eat('(')) {
      auto inner = sum(depth + 1);
      return eat(')') ? inner : std::nullopt;
    }
    if (eat('[')) return list(depth);
    skip_blanks();
    size_t end = at_;
    while (end < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[end])) || text_[end] == '-')) ++end;
    const auto number = parse_int(text_.substr(at_, end - at_));
    at_ = end;
    return number ? std::optional<Item>(*number) : std::nullopt;
  }

  std::optional<Item> list(int depth) {
    Numbers numbers;
    if (eat(']')) return numbers;
    do {
      const auto item = sum(depth + 1);
      if (!item || !std::holds_alternative<int64_t>(*item) || numbers.size() >= kMostNumbers) return std::nullopt;
      numbers.push_back(std::get<int64_t>(*item));
    } while (eat(','));
    return eat(']') ? std::optional<Item>(std::move(numbers)) : std::nullopt;
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::optional<LayerPattern> pattern_of(const config::Value& value) {
  if (value.is_null()) return LayerPattern{};
  if (value.is_int()) return LayerPattern{value.as_int()};
  if (value.is_string()) return parse_layer_pattern(value.as_string());
  if (!value.is_list()) return std::nullopt;
  Numbers numbers;
  for (const config::Value& item : value.as_list()) {
    if (!item.is_int() && !item.is_bool()) return std::nullopt;
    numbers.push_back(item.is_bool() ? item.as_bool() : item.as_int());
  }
  return LayerPattern{std::move(numbers)};
}

}  // namespace

std::optional<LayerPattern> parse_layer_pattern(std::string_view text) {
  const auto item = PatternParser(text).whole();
  if (!item) return std::nullopt;
  if (const auto* number = std::get_if<int64_t>(&*item)) return LayerPattern{*number};
  return LayerPattern{std::get<Numbers>(*item)};
}

const config::Value* any_value(Translation& t, std::string_view key) {
  (void)t.keys.map(key);  // remembers that the key was taken
  return find_value(t.keys.module().params, key);
}

LayerPattern layer_pattern(Translation& t, std::string_view key, int64_t num_layers) {
  const config::Value* value = any_value(t, key);
  const Parameter* row = find_parameter(t.keys.module().framework, key);
  if (value == nullptr) return parse_layer_pattern(row->default_text).value_or(LayerPattern{});
  const std::string name(key);
  const auto pattern = pattern_of(*value);
  if (!pattern) {
    t.error(key, "'" + name + ": " + config::describe(*value) + "' is neither a period nor a list of layers",
            "a number, or a list like [0, 1, 1] or \"[0]*1+[1]*2\"");
    return {};
  }
  if (const auto* period = std::get_if<int64_t>(&*pattern); period != nullptr && *period < 1) {
    t.error(key, "'" + name + "' has a period of " + std::to_string(*period), "at least 1");
    return {};
  }
  const auto* list = std::get_if<Numbers>(&*pattern);
  if (list != nullptr && static_cast<int64_t>(list->size()) != num_layers) {
    t.error(key,
            "'" + name + "' speaks of " + std::to_string(list->size()) + " layers, and the model has " +
                std::to_string(num_layers),
            "one number a layer");
    return {};
  }
  return *pattern;
}

bool in_period(const LayerPattern& pattern, int64_t layer, bool without) {
  if (const auto* list = std::get_if<std::vector<int64_t>>(&pattern)) return (*list)[static_cast<size_t>(layer)] != 0;
  const auto* period = std::get_if<int64_t>(&pattern);
  return period == nullptr ? without : (layer + 1) % *period == 0;
}

}  // namespace primus::dialect
