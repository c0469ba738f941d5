#include "primus/tokenizer/decoder.h"

#include <fmt/format.h>

#include "primus/base/strings.h"
#include "primus/tokenizer/normalizer.h"
#include "primus/tokenizer/pre_tokenizer.h"
#include "primus/tokenizer/unicode.h"

namespace primus::tokenizer {

namespace {

std::string run(const DecodeReplace& step, std::string_view text, bool) {
  if (!step.regex) return replace_all(text, step.literal, step.content);
  Normalizer one;
  one.steps.emplace_back(RegexReplaceStep{*step.regex, step.content});
  return one.apply(text);
}

std::string run(const DecodeStrip& step, std::string_view text, bool) {
  for (int i = 0; i < step.start && text.starts_with(step.content); ++i) text.remove_prefix(step.content.size());
  for (int i = 0; i < step.stop && text.ends_with(step.content); ++i) text.remove_suffix(step.content.size());
  return std::string(text);
}

std::string run(const DecodeMetaspace& step, std::string_view text, bool first) {
  return replace_all(text, step.replacement, first && step.drop_in_first ? "" : " ");
}

std::string run_all(const std::vector<DecodeStep>& steps, std::string text, bool first) {
  for (const DecodeStep& step : steps) {
    text = std::visit([&](const auto& one) { return run(one, text, first); }, step);
  }
  return text;
}

class DecoderReader {
 public:
  explicit DecoderReader(const Place& place) : place_(place) {}

  void read(const Json& json, const std::string& key) {
    static const std::vector<std::string> kinds = {"ByteLevel", "Replace",   "ByteFallback", "Fuse",
                                                   "Strip",     "Metaspace", "Sequence"};
    const std::string type = json.is_object() ? json.value("type", "") : "";
    if (rule_.byte_level && type != "Fuse") return fail(key, "a part behind ByteLevel is not supported");
    if (type == "Sequence") {
      size_t index = 0;
      for (const Json& part : json.value("decoders", Json::array())) {
        read(part, fmt::format("{}.decoders[{}]", key, index++));
      }
    } else if (type == "ByteLevel") {
      if (!rule_.token_steps.empty() || fused_) return fail(key, "a part in front of ByteLevel is not supported");
      rule_.byte_level = true;
    } else if (type == "ByteFallback") {
      rule_.byte_fallback = true;
    } else if (type == "Fuse") {
      fused_ = true;
    } else if (type == "Strip") {
      steps().emplace_back(DecodeStrip{json.value("content", " "), json.value("start", 0), json.value("stop", 0)});
    } else if (type == "Metaspace") {
      const bool prefix = json.value("add_prefix_space", true);
      const std::string scheme = json.value("prepend_scheme", prefix ? "always" : "never");
      steps().emplace_back(DecodeMetaspace{json.value("replacement", "\xE2\x96\x81"), scheme != "never"});
    } else if (type == "Replace") {
      read_replace(json, key);
    } else {
      fail(key, fmt::format("decoder '{}' is not supported", type), did_you_mean(type, kinds), join(kinds, ", "));
    }
  }

  Result<DecoderRule> take() {
    if (!errors_.empty()) return std::move(errors_);
    return std::move(rule_);
  }
  DecoderRule& rule() { return rule_; }

 private:
  std::vector<DecodeStep>& steps() { return fused_ ? rule_.text_steps : rule_.token_steps; }

  void fail(const std::string& key, const std::string& message, const std::string& suggestion = "",
            const std::string& expected = "") {
    Diagnostic error = error_at(place_, message);
    error.key = key;
    error.suggestion = suggestion;
    error.expected = expected;
    errors_.push_back(std::move(error));
  }

  void read_replace(const Json& json, const std::string& key) {
    const auto pattern = json.contains("pattern") ? read_pattern(json["pattern"]) : std::nullopt;
    if (!pattern) return fail(key, "a Replace of the decoder needs \"pattern\" and \"content\"");
    DecodeReplace step{std::nullopt, pattern->text, json.value("content", "")};
    if (pattern->is_regex) {
      Result<Regex> regex = Regex::compile(pattern->text, place_);
      if (!regex) {
        errors_.insert(errors_.end(), regex.diagnostics().begin(), regex.diagnostics().end());
        return;
      }
      step.regex = std::move(regex).value();
    }
    steps().emplace_back(std::move(step));
  }

  Place place_;
  DecoderRule rule_;
  bool fused_ = false;
  Diagnostics errors_;
};

// A run of byte tokens is text when all of it is valid, else one U+FFFD a byte, as the reference library does.
void close_run(std::string& run, std::string& text) {
  if (valid_utf8_prefix(run) == run.size()) {
    text += run;
  } else {
    for (size_t i = 0; i < run.size(); ++i) text += "\xEF\xBF\xBD";
  }
  run.clear();
}

}  // namespace

std::optional<uint8_t> byte_of_token(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  int value = 0;
  for (const char c : text.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + digit;
  }
  return static_cast<uint8_t>(value);
}

Result<DecoderRule> read_decoder(const Json& json, const Place& place) {
  DecoderReader reader(place);
  if (json.is_null()) {
    reader.rule().joined_by_spaces = true;
  } else {
    reader.read(json, "decoder");
  }
  return reader.take();
}

Decoder::Decoder(DecoderRule rule, const std::vector<std::optional<std::string>>& texts)
    : rule_(std::move(rule)), bytes_(texts.size()), is_byte_(texts.size()) {
  const ByteAlphabet alphabet;
  const bool first_differs =
      std::any_of(rule_.token_steps.begin(), rule_.token_steps.end(),
                  [](const DecodeStep& step) { return std::holds_alternative<DecodeMetaspace>(step); });
  if (first_differs) first_bytes_.resize(texts.size());
  for (size_t id = 0; id < texts.size(); ++id) {
    if (!texts[id]) continue;
    const auto byte = rule_.byte_fallback ? byte_of_token(*texts[id]) : std::nullopt;
    if (byte) {
      is_byte_[id] = true;
      bytes_[id] = std::string(1, static_cast<char>(*byte));
    } else if (!rule_.byte_level) {
      bytes_[id] = run_all(rule_.token_steps, *texts[id], false);
    } else if (!alphabet.to_bytes(*texts[id], bytes_[id])) {
      bytes_[id] = *texts[id];
    }
    if (first_differs) first_bytes_[id] = byte ? bytes_[id] : run_all(rule_.token_steps, *texts[id], true);
  }
}

std::string Decoder::decode(std::span<const int32_t> ids) const {
  std::string text;
  std::string run;
  bool first = true;
  for (const int32_t id : ids) {
    const auto at = static_cast<size_t>(id);
    if (is_byte_[at]) {
      run += bytes_[at];
    } else {
      close_run(run, text);
      if (rule_.joined_by_spaces && !first) text.push_back(' ');
      text += first && !first_bytes_.empty() ? first_bytes_[at] : bytes_[at];
    }
    first = false;
  }
  close_run(run, text);
  if (rule_.byte_level) return valid_utf8_prefix(text) == text.size() ? text : replace_bad_utf8(text);
  return run_all(rule_.text_steps, std::move(text), true);
}

void Decoder::append_bytes(int32_t id, bool first, std::string& bytes) const {
  const auto at = static_cast<size_t>(id);
  if (rule_.joined_by_spaces && !first) bytes.push_back(' ');
  if (!first) {
    bytes += bytes_[at];
    return;
  }
  // What the text steps take away in front can only come from the first token; the end is not known yet.
  std::string piece = first_bytes_.empty() ? bytes_[at] : first_bytes_[at];
  for (const DecodeStep& step : rule_.text_steps) {
    if (const auto* strip = std::get_if<DecodeStrip>(&step))
      piece = run({strip->content, strip->start, 0}, piece, true);
  }
  bytes += piece;
}

}  // namespace primus::tokenizer
