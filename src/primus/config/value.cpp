#include "primus/config/value.h"

#include <cmath>
#include <fmt/format.h>
#include <functional>

#include "primus/base/check.h"
#include "primus/base/strings.h"

namespace primus::config {

const char* to_string(Kind kind) {
  switch (kind) {
    case Kind::Null:
      return "null";
    case Kind::Bool:
      return "true/false";
    case Kind::Int:
      return "integer";
    case Kind::Double:
      return "number";
    case Kind::String:
      return "text";
    case Kind::List:
      return "list";
    case Kind::Map:
      return "map";
  }
  return "?";
}

const char* to_string(Layer layer) {
  switch (layer) {
    case Layer::Default:
      return "default";
    case Layer::ModelPreset:
      return "model preset";
    case Layer::ModulePreset:
      return "module preset";
    case Layer::PlatformPreset:
      return "platform preset";
    case Layer::Experiment:
      return "experiment";
    case Layer::Overrides:
      return "overrides";
    case Layer::CommandLine:
      return "command line";
  }
  return "?";
}

Place Origin::place() const {
  return {.file = file ? *file : std::string(), .line = line, .column = column};
}

Place Origin::key_place() const {
  if (key_line == 0) return place();
  return {.file = file ? *file : std::string(), .line = key_line, .column = key_column};
}

// ---- Map

namespace {
constexpr size_t kSmallMap = 12;  // up to here a scan beats hashing
}

Map::Map() = default;
Map::Map(const Map&) = default;
Map::Map(Map&&) noexcept = default;
Map& Map::operator=(const Map&) = default;
Map& Map::operator=(Map&&) noexcept = default;
Map::~Map() = default;

size_t Map::size() const {
  return entries_.size();
}
const MapEntry* Map::begin() const {
  return entries_.data();
}
const MapEntry* Map::end() const {
  return entries_.data() + entries_.size();
}
MapEntry* Map::begin() {
  return entries_.data();
}
MapEntry* Map::end() {
  return entries_.data() + entries_.size();
}

// The slot that holds `key`, or the free one where it belongs.
size_t Map::slot_of(std::string_view key) const {
  const size_t mask = slots_.size() - 1;
  size_t at = std::hash<std::string_view>{}(key)&mask;
  while (slots_[at] != 0 && entries_[slots_[at] - 1].key != key) at = (at + 1) & mask;
  return at;
}

void Map::index_all() {
  slots_.clear();
  if (entries_.size() <= kSmallMap) return;
  size_t num_slots = 64;
  while (num_slots < 3 * entries_.size()) num_slots *= 2;
  slots_.assign(num_slots, 0);
  for (size_t i = 0; i < entries_.size(); ++i) slots_[slot_of(entries_[i].key)] = static_cast<uint32_t>(i + 1);
}

const Value* Map::find(std::string_view key) const {
  if (!slots_.empty()) {
    const uint32_t slot = slots_[slot_of(key)];
    return slot == 0 ? nullptr : &entries_[slot - 1].value;
  }
  for (const MapEntry& entry : entries_) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Value* Map::find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

Value& Map::set(std::string key, Value value) {
  if (Value* present = find(key)) return *present = std::move(value);
  entries_.push_back({std::move(key), std::move(value)});
  if (entries_.size() > kSmallMap) {
    if (2 * entries_.size() > slots_.size()) {
      index_all();
    } else {
      slots_[slot_of(entries_.back().key)] = static_cast<uint32_t>(entries_.size());
    }
  }
  return entries_.back().value;
}

bool Map::erase(std::string_view key) {
  const Value* present = find(key);
  if (present == nullptr) return false;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (&entry->value != present) continue;
    entries_.erase(entry);
    break;
  }
  index_all();
  return true;
}

std::vector<std::string> Map::keys() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const MapEntry& entry : entries_) names.push_back(entry.key);
  return names;
}

// ---- Value

namespace {
template <class T, class Data>
auto& get_as(Data& data, Kind found, const char* wanted) {
  auto* value = std::get_if<T>(&data);
  PRIMUS_CHECK(value != nullptr, fmt::format("a {} was taken as {}", to_string(found), wanted));
  return *value;
}
}  // namespace

bool Value::as_bool() const {
  return get_as<bool>(data_, kind(), "true/false");
}
int64_t Value::as_int() const {
  return get_as<int64_t>(data_, kind(), "integer");
}
double Value::as_double() const {
  return is_int() ? static_cast<double>(as_int()) : get_as<double>(data_, kind(), "number");
}
const std::string& Value::as_string() const {
  return get_as<std::string>(data_, kind(), "text");
}
const List& Value::as_list() const {
  return get_as<List>(data_, kind(), "list");
}
List& Value::as_list() {
  return get_as<List>(data_, kind(), "list");
}
const Map& Value::as_map() const {
  return get_as<Map>(data_, kind(), "map");
}
Map& Value::as_map() {
  return get_as<Map>(data_, kind(), "map");
}

const Value* Value::find(std::string_view key) const {
  return is_map() ? as_map().find(key) : nullptr;
}

const Value* Value::find_path(std::string_view dotted) const {
  // A key that itself holds dots wins over the path.
  if (const Value* whole = find(dotted)) return whole;
  const size_t dot = dotted.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const Value* head = find(dotted.substr(0, dot));
  return head == nullptr ? nullptr : head->find_path(dotted.substr(dot + 1));
}

void Value::hide(Value older) {
  std::vector<Value> its_hidden = std::move(older.hidden_);
  older.hidden_.clear();
  hidden_.push_back(std::move(older));
  for (Value& value : its_hidden) hidden_.push_back(std::move(value));
}

bool Value::same_data(const Value& other) const {
  if (kind() != other.kind()) return false;
  if (is_double()) {
    const double a = as_double(), b = other.as_double();
    return a == b ? std::signbit(a) == std::signbit(b) : std::isnan(a) && std::isnan(b);
  }
  if (is_list()) {
    const List &a = as_list(), &b = other.as_list();
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!a[i].same_data(b[i])) return false;
    }
    return true;
  }
  if (is_map()) {
    const Map &a = as_map(), &b = other.as_map();
    if (a.size() != b.size()) return false;
    for (const MapEntry& entry : a) {
      const Value* mate = b.find(entry.key);
      if (mate == nullptr || !entry.value.same_data(*mate)) return false;
    }
    return true;
  }
  if (is_null()) return true;
  if (is_bool()) return as_bool() == other.as_bool();
  return is_int() ? as_int() == other.as_int() : as_string() == other.as_string();
}

namespace {

void describe_into(const Value& value, size_t most, std::string& out) {
  if (out.size() > most) return;
  if (value.origin().is_secret && !value.is_null()) {
    out += "***";
    return;
  }
  switch (value.kind()) {
    case Kind::Null:
      out += "null";
      return;
    case Kind::Bool:
      out += value.as_bool() ? "true" : "false";
      return;
    case Kind::Int:
      out += std::to_string(value.as_int());
      return;
    case Kind::Double:
      out += format_double(value.as_double());
      return;
    case Kind::String:
      out += '\'' + printable_ascii(value.as_string()) + '\'';
      return;
    case Kind::List:
      out += '[';
      for (const Value& item : value.as_list()) {
        if (&item != value.as_list().data()) out += ", ";
        describe_into(item, most, out);
      }
      out += ']';
      return;
    case Kind::Map:
      out += '{';
      for (const MapEntry& entry : value.as_map()) {
        if (&entry != value.as_map().begin()) out += ", ";
        out += printable_ascii(entry.key) + ": ";
        describe_into(entry.value, most, out);
      }
      out += '}';
      return;
  }
}

}  // namespace

std::string describe(const Value& value, size_t most) {
  std::string text;
  describe_into(value, most, text);
  if (text.size() > most) text = text.substr(0, most > 3 ? most - 3 : 0) + "...";
  return text;
}

}  // namespace primus::config
