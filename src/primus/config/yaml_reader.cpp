#include "primus/config/yaml_reader.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <yaml.h>

#include "primus/base/strings.h"
#include "primus/config/merge.h"
#include "primus/config/yaml_scalar.h"
#include "primus/config/yaml_syntax_error.h"

namespace primus::config {
namespace {

// Thrown inside this file only: the text cannot be read any further, and the finding is already recorded.
struct Unreadable {};

// libyaml's parser with its current event, both released with the object.
class EventStream {
 public:
  explicit EventStream(std::string_view text) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~EventStream() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  bool next() {
    yaml_event_delete(&event_);
    return yaml_parser_parse(&parser_, &event_) != 0;
  }
  const yaml_event_t& event() const { return event_; }
  const yaml_parser_t& parser() const { return parser_; }

 private:
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

std::string text_of(const yaml_char_t* text) {
  return text ? reinterpret_cast<const char*>(text) : "";
}

constexpr size_t kMostFindings = 20;    // of one file; behind them reading stops
constexpr size_t kMostMergedMaps = 64;  // of one map
// Values hidden by a merge count too: each copy carries them along.
size_t count_nodes(const Value& value) {
  size_t count = 1;
  for (const Value& older : value.hidden()) count += count_nodes(older);
  if (value.is_list()) {
    for (const Value& item : value.as_list()) count += count_nodes(item);
  } else if (value.is_map()) {
    for (const MapEntry& entry : value.as_map()) count += count_nodes(entry.value);
  }
  return count;
}

class TreeReader {
 public:
  TreeReader(std::string_view text, std::shared_ptr<const std::string> file, Layer layer, Diagnostics& diagnostics)
      : text_(text),
        file_(std::move(file)),
        layer_(layer),
        diagnostics_(diagnostics),
        num_findings_before_(diagnostics.size()),
        stream_(text) {}

  std::optional<Value> read_document();

 private:
  struct Anchor {
    bool open = true;  // still being read: an alias to it would never end
    size_t num_nodes = 0;
    Value value;
  };
  struct Key {
    std::string name;
    yaml_mark_t mark{};
    bool is_merge = false;
    bool is_usable = false;
  };

  void advance();
  Place place_of(const yaml_mark_t& mark) const {
    return {.file = *file_, .line = static_cast<int>(mark.line) + 1, .column = static_cast<int>(mark.column) + 1};
  }
  Origin origin_here() const;
  void add_error(const yaml_mark_t& mark, std::string message, std::string suggestion = {});
  [[noreturn]] void fail(const yaml_mark_t& mark, std::string message, std::string suggestion = {});
  [[noreturn]] void fail_syntax();

  Value read_node(int depth);
  Value read_content(int depth);
  Value read_scalar();
  Value read_tagged_scalar(const std::string& tag, std::string text, Origin origin);
  Value read_list(int depth);
  Value read_map(int depth);
  Value read_alias();
  Key read_key(int depth);
  void add_merge_sources(Value source, std::vector<Value>& sources);
  void check_collection_tag(const yaml_char_t* tag, const char* standard);
  void count_new_nodes(size_t count);

  std::string_view text_;
  std::shared_ptr<const std::string> file_;
  Layer layer_;
  Diagnostics& diagnostics_;
  size_t num_findings_before_;
  EventStream stream_;
  std::map<std::string, Anchor> anchors_;
  size_t num_nodes_ = 0;
};

void TreeReader::advance() {
  if (!stream_.next()) fail_syntax();
  if (diagnostics_.size() >= num_findings_before_ + kMostFindings)
    fail(stream_.event().start_mark,
         fmt::format("{} findings up to here; the rest of the file is not read", kMostFindings));
}

Origin TreeReader::origin_here() const {
  const yaml_mark_t& mark = stream_.event().start_mark;
  Origin origin;
  origin.file = file_;
  origin.line = static_cast<int>(mark.line) + 1;
  origin.column = static_cast<int>(mark.column) + 1;
  origin.layer = layer_;
  return origin;
}

void TreeReader::add_error(const yaml_mark_t& mark, std::string message, std::string suggestion) {
  diagnostics_.push_back({.place = place_of(mark), .message = std::move(message), .suggestion = std::move(suggestion)});
}

void TreeReader::fail(const yaml_mark_t& mark, std::string message, std::string suggestion) {
  add_error(mark, std::move(message), std::move(suggestion));
  throw Unreadable{};
}

void TreeReader::fail_syntax() {
  diagnostics_.push_back(describe_syntax_error(stream_.parser(), text_, *file_));
  throw Unreadable{};
}

void TreeReader::count_new_nodes(size_t count) {
  num_nodes_ += count;
  if (num_nodes_ > kMostNodes) {
    fail(stream_.event().start_mark, fmt::format("more than {} values once aliases are expanded", kMostNodes),
         "write the values out, or use fewer aliases");
  }
}

std::optional<Value> TreeReader::read_document() {
  try {
    advance();  // stream start
    advance();
    if (stream_.event().type == YAML_STREAM_END_EVENT)
      fail({}, "the file is empty", "an experiment starts with work_group, user_name, exp_name, workspace and modules");
    advance();  // the root
    const yaml_mark_t root_mark = stream_.event().start_mark;
    Value root = read_node(1);
    advance();  // document end
    advance();
    if (stream_.event().type != YAML_STREAM_END_EVENT) {
      fail(stream_.event().start_mark,
           fmt::format("a second document; the first starts at line {}", root_mark.line + 1),
           "one file holds one document: remove the line '---'");
    }
    if (root.is_null()) fail(root_mark, "the file is empty");
    if (!root.is_map()) {
      add_error(root_mark, fmt::format("the file holds a {} at its top, not a map of keys", to_string(root.kind())));
      return std::nullopt;
    }
    return root;
  } catch (const Unreadable&) {
    return std::nullopt;
  }
}

Value TreeReader::read_node(int depth) {
  const yaml_event_t& event = stream_.event();
  if (event.type == YAML_ALIAS_EVENT) return read_alias();
  if (depth > kMostDepth) fail(event.start_mark, fmt::format("more than {} levels of nesting", kMostDepth));
  count_new_nodes(1);
  const yaml_char_t* name = event.type == YAML_SCALAR_EVENT           ? event.data.scalar.anchor
                            : event.type == YAML_SEQUENCE_START_EVENT ? event.data.sequence_start.anchor
                                                                      : event.data.mapping_start.anchor;
  if (name == nullptr) return read_content(depth);
  const std::string anchor = text_of(name);
  anchors_[anchor] = {};
  Value value = read_content(depth);
  anchors_[anchor] = {.open = false, .num_nodes = count_nodes(value), .value = value};
  return value;
}

Value TreeReader::read_content(int depth) {
  switch (stream_.event().type) {
    case YAML_SCALAR_EVENT:
      return read_scalar();
    case YAML_SEQUENCE_START_EVENT:
      return read_list(depth);
    default:
      return read_map(depth);
  }
}

Value TreeReader::read_alias() {
  const yaml_event_t& event = stream_.event();
  const std::string name = text_of(event.data.alias.anchor);
  const auto found = anchors_.find(name);
  if (found == anchors_.end()) {
    std::vector<std::string> names;
    for (const auto& [known, anchor] : anchors_) names.push_back(known);
    add_error(event.start_mark, fmt::format("no anchor &{} stands before this alias", name), did_you_mean(name, names));
    return Value(Map(), origin_here());  // a map, so that a merge of it is not a second finding
  }
  if (found->second.open)
    fail(event.start_mark, fmt::format("the alias *{} stands inside the value that it names", name));
  count_new_nodes(found->second.num_nodes);
  return found->second.value;
}

Value TreeReader::read_scalar() {
  const auto& scalar = stream_.event().data.scalar;
  Origin origin = origin_here();
  origin.style = scalar.style == YAML_PLAIN_SCALAR_STYLE ? Style::Plain
                 : scalar.style == YAML_LITERAL_SCALAR_STYLE || scalar.style == YAML_FOLDED_SCALAR_STYLE
                     ? Style::Block
                     : Style::Quoted;
  std::string text(reinterpret_cast<const char*>(scalar.value), scalar.length);
  origin.raw = text;
  if (scalar.tag != nullptr) return read_tagged_scalar(text_of(scalar.tag), std::move(text), std::move(origin));
  if (origin.style != Style::Plain) return Value(std::move(text), std::move(origin));
  ScalarReading reading = read_plain_scalar(text);
  if (reading.problem != nullptr) {
    add_error(stream_.event().start_mark,
              fmt::format("'{}' is {}", printable_ascii(text.substr(0, 40)), reading.problem));
  }
  if (reading.is_reserved) {
    add_error(stream_.event().start_mark, fmt::format("a plain {} has a meaning of its own in YAML 1.1", text),
              fmt::format("write \"{}\"", text));
  }
  origin.is_date = reading.is_date;
  reading.value.origin() = std::move(origin);
  return std::move(reading.value);
}

Value TreeReader::read_tagged_scalar(const std::string& tag, std::string text, Origin origin) {
  constexpr std::string_view kStandard = "tag:yaml.org,2002:";
  const std::string name = tag.starts_with(kStandard) ? tag.substr(kStandard.size()) : tag;
  if (name == "!" || name == "str") {
    origin.style = Style::Quoted;
    return Value(std::move(text), std::move(origin));
  }
  const ScalarReading reading = read_plain_scalar(text);
  Value value = reading.value;
  bool fits = reading.problem == nullptr;
  if (name == "int") {
    fits = fits && value.is_int();
  } else if (name == "float") {
    if (value.is_int()) value = Value(value.as_double());
    if (const auto number = parse_double(text); value.is_string() && number) value = Value(*number);
    fits = fits && value.is_double();
  } else if (name == "bool") {
    fits = fits && value.is_bool();
  } else if (name == "null") {
    fits = fits && value.is_null();
  } else {
    add_error(stream_.event().start_mark, fmt::format("unknown tag '{}'", printable_ascii(tag)),
              "the tags !!str, !!int, !!float, !!bool, !!null, !!map and !!seq are read");
    fits = true;
  }
  if (!fits) {
    add_error(stream_.event().start_mark, fmt::format("'{}' is no !!{}", printable_ascii(text.substr(0, 40)), name));
  }
  value.origin() = std::move(origin);
  return value;
}

void TreeReader::check_collection_tag(const yaml_char_t* tag, const char* standard) {
  if (tag == nullptr) return;
  const std::string name = text_of(tag);
  if (name == "!" || name == std::string("tag:yaml.org,2002:") + standard) return;
  add_error(stream_.event().start_mark, fmt::format("unknown tag '{}'", printable_ascii(name)),
            "the tags !!str, !!int, !!float, !!bool, !!null, !!map and !!seq are read");
}

Value TreeReader::read_list(int depth) {
  Origin origin = origin_here();
  check_collection_tag(stream_.event().data.sequence_start.tag, "seq");
  List items;
  for (advance(); stream_.event().type != YAML_SEQUENCE_END_EVENT; advance()) items.push_back(read_node(depth + 1));
  return Value(std::move(items), std::move(origin));
}

TreeReader::Key TreeReader::read_key(int depth) {
  Key key;
  key.mark = stream_.event().start_mark;
  if (stream_.event().type != YAML_SCALAR_EVENT) {
    const bool is_alias = stream_.event().type == YAML_ALIAS_EVENT;
    read_node(depth + 1);
    add_error(key.mark,
              is_alias ? "an alias stands where a key is expected" : "a list or map stands where a key is expected",
              "a text that starts with [ or { needs quotes");
    return key;
  }
  const bool tagged = stream_.event().data.scalar.tag != nullptr;
  const size_t num_findings = diagnostics_.size();
  const bool plain = stream_.event().data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  if (plain && !tagged && text_of(stream_.event().data.scalar.value) == "<<") {
    key.is_merge = true;
    return key;
  }
  const Value value = read_node(depth + 1);
  key.is_usable = value.is_string() && !value.origin().is_date && diagnostics_.size() == num_findings;
  if (key.is_usable) {
    key.name = value.as_string();
  } else if (diagnostics_.size() == num_findings) {
    const std::string& raw = value.origin().raw;
    add_error(key.mark,
              fmt::format("the key '{}' is read as {}, and keys are text", printable_ascii(raw),
                          value.origin().is_date ? "a date" : to_string(value.kind())),
              fmt::format("write \"{}\"", printable_ascii(raw)));
  }
  return key;
}

Value TreeReader::read_map(int depth) {
  Origin origin = origin_here();
  check_collection_tag(stream_.event().data.mapping_start.tag, "map");
  Map own;
  std::vector<Value> sources;
  std::optional<yaml_mark_t> merge_mark;
  for (advance(); stream_.event().type != YAML_MAPPING_END_EVENT; advance()) {
    Key key = read_key(depth);
    advance();
    if (key.is_merge) {
      if (merge_mark) {
        add_error(key.mark, fmt::format("the key '<<' is given twice; the first is at line {}", merge_mark->line + 1),
                  "write <<: [*first, *second]");
      }
      merge_mark = key.mark;
      add_merge_sources(read_node(depth + 1), sources);
      if (sources.size() > kMostMergedMaps)
        fail(key.mark, fmt::format("more than {} maps merged into one", kMostMergedMaps));
      continue;
    }
    Value value = read_node(depth + 1);
    if (!key.is_usable) continue;
    value.origin().key_line = static_cast<int>(key.mark.line) + 1;
    value.origin().key_column = static_cast<int>(key.mark.column) + 1;
    if (const Value* first = own.find(key.name)) {
      const Origin& older = first->origin();
      Diagnostic twice =
          error_at(place_of(key.mark), fmt::format("the key '{}' is given twice", printable_ascii(key.name)));
      twice.found = fmt::format("first at line {}, column {}", older.key_line, older.key_column);
      twice.suggestion = "keep one of them";
      diagnostics_.push_back(std::move(twice));
    }
    own.set(std::move(key.name), std::move(value));
  }
  return Value(merge_keys(std::move(sources), std::move(own)), std::move(origin));
}

void TreeReader::add_merge_sources(Value source, std::vector<Value>& sources) {
  const auto refuse = [this](const Value& wrong) {
    Diagnostic found = error_at(wrong.place(), "'<<' takes a map, an alias of one, or a list of them");
    found.found = to_string(wrong.kind());
    diagnostics_.push_back(std::move(found));
  };
  if (source.is_map()) return sources.push_back(std::move(source));
  if (!source.is_list()) return refuse(source);
  for (Value& item : source.as_list()) {
    if (!item.is_map()) return refuse(item);
    sources.push_back(std::move(item));
  }
}

}  // namespace

std::optional<Value> read_yaml(std::string_view text, std::shared_ptr<const std::string> file, Layer layer,
                               Diagnostics& diagnostics) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  for (size_t at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark, at + 1)) {
    if (at > 0 && text[at - 1] != '\n') continue;  // inside a value it is content
    const auto line = static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    diagnostics.push_back(
        error_at({*file, line + 1, 1}, "a byte-order mark that is not at the very start of the file"));
    return std::nullopt;
  }
  return TreeReader(text, std::move(file), layer, diagnostics).read_document();
}

}  // namespace primus::config
