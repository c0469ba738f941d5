// A configuration value: null, bool, integer, number, text, list or map, and for every node where it came from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "primus/base/diagnostic.h"

namespace primus::config {

enum class Kind : uint8_t { Null, Bool, Int, Double, String, List, Map };
const char* to_string(Kind kind);  // "null", "true/false", "integer", "number", "text", "list", "map"

// Who said it, weakest first.
enum class Layer : uint8_t { Default, ModelPreset, ModulePreset, PlatformPreset, Experiment, Overrides, CommandLine };
const char* to_string(Layer layer);  // "default", "model preset", ..., "command line"

enum class Style : uint8_t { Plain, Quoted, Block };  // how a scalar was written; Block is | or >
enum class Substitution : uint8_t {
  None,
  Variable,
  Default
};  // ${...}: a set variable had a part in it, or only defaults

struct Origin {
  std::shared_ptr<const std::string> file;  // as shown to users; null when the value was made by the program
  int line = 0, column = 0;                 // of the value, from 1, columns in code points
  int key_line = 0, key_column = 0;         // of its key in a map; 0 in a list
  Layer layer = Layer::Default;
  Style style = Style::Plain;
  Substitution substitution = Substitution::None;
  bool is_date = false;     // plain text that YAML 1.1 calls a date; its value is the text
  bool is_secret = false;   // shown as "***" everywhere
  std::string raw;          // the scalar's text after substitution, before typing: "010", "1e-5", "yes"
  std::string placeholder;  // the text with its ${...}, as written; empty without one

  Place place() const;
  Place key_place() const;  // place() when there is no key
};

class Value;
struct MapEntry;
using List = std::vector<Value>;

// Keys in the order in which they were first set. Look-up is by hash once a map is large.
class Map {
 public:
  Map();
  Map(const Map&);
  Map(Map&&) noexcept;
  Map& operator=(const Map&);
  Map& operator=(Map&&) noexcept;
  ~Map();

  size_t size() const;
  bool empty() const { return size() == 0; }
  const Value* find(std::string_view key) const;  // null when absent
  Value* find(std::string_view key);
  Value& set(std::string key, Value value);  // replaces in place, or appends
  bool erase(std::string_view key);
  std::vector<std::string> keys() const;
  const MapEntry* begin() const;
  const MapEntry* end() const;
  MapEntry* begin();
  MapEntry* end();

 private:
  size_t slot_of(std::string_view key) const;
  void index_all();

  std::vector<MapEntry> entries_;
  std::vector<uint32_t> slots_;  // open addressing, entry + 1; empty while the map is small
};

class Value {
 public:
  Value() = default;
  explicit Value(bool value) : data_(value) {}
  explicit Value(int64_t value) : data_(value) {}
  explicit Value(double value) : data_(value) {}
  explicit Value(std::string value) : data_(std::move(value)) {}
  explicit Value(const char* value) : data_(std::string(value)) {}
  explicit Value(List value) : data_(std::move(value)) {}
  explicit Value(Map value) : data_(std::move(value)) {}
  template <class T>
  Value(T value, Origin origin) : Value(std::move(value)) {
    origin_ = std::move(origin);
  }

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is_null() const { return kind() == Kind::Null; }
  bool is_bool() const { return kind() == Kind::Bool; }
  bool is_int() const { return kind() == Kind::Int; }
  bool is_double() const { return kind() == Kind::Double; }
  bool is_string() const { return kind() == Kind::String; }
  bool is_list() const { return kind() == Kind::List; }
  bool is_map() const { return kind() == Kind::Map; }
  bool is_scalar() const { return !is_list() && !is_map(); }

  // Each demands its kind (PRIMUS_CHECK); as_double also takes an integer.
  bool as_bool() const;
  int64_t as_int() const;
  double as_double() const;
  const std::string& as_string() const;
  const List& as_list() const;
  List& as_list();
  const Map& as_map() const;
  Map& as_map();

  // Null when this is no map or has no such key. The path form follows dots: "torch_compile.mode".
  const Value* find(std::string_view key) const;
  const Value* find_path(std::string_view dotted) const;

  const Origin& origin() const { return origin_; }
  Origin& origin() { return origin_; }
  Place place() const { return origin_.place(); }

  // The values that this one replaced, newest first; they have no `hidden` of their own.
  const std::vector<Value>& hidden() const { return hidden_; }
  std::vector<Value>& hidden() { return hidden_; }
  void hide(Value older);  // appends `older` and all that it hid
  void set_data_of(const Value& other) { data_ = other.data_; }

  // Equal data, whatever the origins. 1 and 1.0 differ; NaN equals NaN.
  bool same_data(const Value& other) const;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, List, Map> data_;
  Origin origin_;
  std::vector<Value> hidden_;
};

struct MapEntry {
  std::string key;
  Value value;
};

// One line for messages: text in quotes, lists and maps in flow form, cut at `most` characters; secrets as "***".
std::string describe(const Value& value, size_t most = 60);

}  // namespace primus::config
