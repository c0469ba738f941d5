// Reads the "pre_tokenizer" part of a tokenizer.json.
#include <array>
#include <fmt/format.h>

#include "primus/base/strings.h"
#include "primus/tokenizer/pre_tokenizer.h"

namespace primus::tokenizer {

namespace {

const std::vector<std::string>& known_pre_tokenizers() {
  static const std::vector<std::string> kinds = {"ByteLevel",  "Split",           "Digits",      "Metaspace",
                                                 "Whitespace", "WhitespaceSplit", "Punctuation", "Sequence"};
  return kinds;
}

std::optional<SplitBehavior> behavior_of(const Json& json, SplitBehavior otherwise) {
  if (!json.contains("behavior")) return otherwise;
  if (!json["behavior"].is_string()) return std::nullopt;
  const std::string name = json["behavior"];
  constexpr std::array<std::pair<const char*, SplitBehavior>, 5> kNames = {
      {{"Removed", SplitBehavior::Removed},
       {"Isolated", SplitBehavior::Isolated},
       {"MergedWithPrevious", SplitBehavior::MergedWithPrevious},
       {"MergedWithNext", SplitBehavior::MergedWithNext},
       {"Contiguous", SplitBehavior::Contiguous}}};
  for (const auto& [text, behavior] : kNames) {
    if (name == text) return behavior;
  }
  return std::nullopt;
}

bool flag_or(const Json& json, const char* name, bool otherwise) {
  return json.contains(name) && json[name].is_boolean() ? json[name].get<bool>() : otherwise;
}

class PreTokenizerReader {
 public:
  explicit PreTokenizerReader(const Place& place) : place_(place) {}

  void read(const Json& json, const std::string& key) {
    if (json.is_null()) return;
    if (!json.is_object() || !json.contains("type") || !json["type"].is_string()) {
      return fail(key, "this part of the tokenizer has no \"type\"");
    }
    if (result_.byte_level) return fail(key, "a part after ByteLevel is not supported: ByteLevel must come last");
    const std::string type = json["type"];
    if (type == "Sequence") return read_sequence(json, key);
    if (type == "ByteLevel") return read_byte_level(json);
    if (type == "Split") return read_split(json, key);
    if (type == "Digits") {
      const bool individual = flag_or(json, "individual_digits", false);
      return add(CharacterStage{CharacterStage::Class::Number,
                                individual ? SplitBehavior::Isolated : SplitBehavior::Contiguous});
    }
    if (type == "Metaspace") return read_metaspace(json, key);
    if (type == "Whitespace") return add_regex(R"(\w+|[^\w\s]+)", SplitBehavior::Removed, true);
    if (type == "WhitespaceSplit") return add_regex(R"(\s)", SplitBehavior::Removed, false);
    if (type == "Punctuation") {
      const auto behavior = behavior_of(json, SplitBehavior::Isolated);
      if (!behavior) return fail(key, "unknown split behavior of Punctuation");
      return add(CharacterStage{CharacterStage::Class::Punctuation, *behavior});
    }
    fail(key, fmt::format("pre-tokenizer '{}' is not supported", type), did_you_mean(type, known_pre_tokenizers()));
  }

  Result<PreTokenizer> take() {
    if (!errors_.empty()) return std::move(errors_);
    return std::move(result_);
  }

 private:
  void fail(const std::string& key, const std::string& message, const std::string& suggestion = "") {
    Diagnostic error = error_at(place_, message);
    error.key = key;
    error.expected = join(known_pre_tokenizers(), ", ");
    error.suggestion = suggestion;
    errors_.push_back(std::move(error));
  }

  template <class Stage>
  void add(Stage stage) {
    result_.stages.emplace_back(std::in_place_type<Stage>, std::move(stage));
  }

  void add_regex(const std::string& pattern, SplitBehavior behavior, bool invert) {
    Result<Regex> regex = Regex::compile(pattern, place_);
    if (!regex) {
      errors_.insert(errors_.end(), regex.diagnostics().begin(), regex.diagnostics().end());
    } else {
      add(SplitStage{std::move(regex).value(), behavior, invert});
    }
  }

  void read_sequence(const Json& json, const std::string& key) {
    if (!json.contains("pretokenizers") || !json["pretokenizers"].is_array()) {
      return fail(key, "a Sequence needs a list \"pretokenizers\"");
    }
    size_t index = 0;
    for (const Json& part : json["pretokenizers"]) read(part, fmt::format("{}.pretokenizers[{}]", key, index++));
  }

  void read_byte_level(const Json& json) {
    if (flag_or(json, "add_prefix_space", true)) add(PrefixSpaceStage{});
    if (flag_or(json, "use_regex", true)) add(*known_word_rule("gpt2"));
    result_.byte_level = true;
  }

  void read_split(const Json& json, const std::string& key) {
    const std::optional<PatternText> pattern = json.contains("pattern") ? read_pattern(json["pattern"]) : std::nullopt;
    if (!pattern) return fail(key, "a Split needs \"pattern\": {\"String\": ...} or {\"Regex\": ...}");
    const auto behavior = behavior_of(json, SplitBehavior::Removed);
    if (!behavior) return fail(key, "unknown split behavior");
    const bool invert = flag_or(json, "invert", false);
    const std::optional<WordRule> rule = pattern->is_regex ? known_word_rule(pattern->text) : std::nullopt;
    // The known rules match every character, so Removed with invert keeps the same words as Isolated without.
    const bool all_words = (*behavior == SplitBehavior::Isolated) || (*behavior == SplitBehavior::Removed && invert);
    if (rule && all_words && pattern->text.find('{') != std::string::npos) return add(*rule);
    add_regex(pattern->is_regex ? pattern->text : Regex::escape(pattern->text), *behavior, invert);
  }

  void read_metaspace(const Json& json, const std::string& key) {
    MetaspaceStage stage;
    if (json.contains("replacement")) stage.replacement = json["replacement"].get<std::string>();
    if (!flag_or(json, "add_prefix_space", true)) stage.prepend = MetaspaceStage::Prepend::Never;
    if (json.contains("prepend_scheme") && json["prepend_scheme"].is_string()) {
      const std::string scheme = json["prepend_scheme"];
      if (scheme == "first") {
        stage.prepend = MetaspaceStage::Prepend::First;
      } else if (scheme == "always") {
        stage.prepend = MetaspaceStage::Prepend::Always;
      } else if (scheme == "never") {
        stage.prepend = MetaspaceStage::Prepend::Never;
      } else {
        return fail(key, fmt::format("unknown prepend_scheme '{}' of Metaspace: first, always or never", scheme));
      }
    }
    stage.split = flag_or(json, "split", true);
    add(stage);
  }

  Place place_;
  PreTokenizer result_;
  Diagnostics errors_;
};

}  // namespace

std::optional<PatternText> read_pattern(const Json& json) {
  if (json.is_string()) return PatternText{json.get<std::string>(), false};
  if (!json.is_object() || json.size() != 1) return std::nullopt;
  for (const char* kind : {"String", "Regex"}) {
    if (json.contains(kind) && json[kind].is_string()) {
      return PatternText{json[kind].get<std::string>(), kind == std::string_view("Regex")};
    }
  }
  return std::nullopt;
}

Result<PreTokenizer> read_pre_tokenizer(const Json& json, const Place& place) {
  PreTokenizerReader reader(place);
  reader.read(json, "pre_tokenizer");
  return reader.take();
}

}  // namespace primus::tokenizer
