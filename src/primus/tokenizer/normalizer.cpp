#include "primus/tokenizer/normalizer.h"

#include <fmt/format.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>

#include "primus/base/check.h"
#include "primus/base/strings.h"
#include "primus/tokenizer/pre_tokenizer.h"
#include "primus/tokenizer/unicode.h"

namespace primus::tokenizer {

namespace {

bool is_ascii(std::string_view text) {
  unsigned char bits = 0;
  for (const char c : text) bits |= static_cast<unsigned char>(c);
  return bits < 0x80;
}

const icu::Normalizer2* normalizer_of(UnicodeForm form, UErrorCode& code) {
  switch (form) {
    case UnicodeForm::Nfc:
      return icu::Normalizer2::getNFCInstance(code);
    case UnicodeForm::Nfd:
      return icu::Normalizer2::getNFDInstance(code);
    case UnicodeForm::Nfkc:
      return icu::Normalizer2::getNFKCInstance(code);
    case UnicodeForm::Nfkd:
      return icu::Normalizer2::getNFKDInstance(code);
  }
  return nullptr;
}

// Character by character, without context, as the reference library does.
std::string lowercase(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = decode_utf8(text.data() + i);
    append_utf8(static_cast<char32_t>(u_tolower(static_cast<UChar32>(c.value))), result);
    if (c.value == 0x130) append_utf8(0x307, result);  // the only letter whose small form is two code points
    i += static_cast<size_t>(c.num_bytes);
  }
  return result;
}

std::string strip(std::string_view text, const StripStep& step) {
  const CharClasses& classes = CharClasses::get();
  size_t begin = 0;
  size_t end = 0;
  bool leading = step.left;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = decode_utf8(text.data() + i);
    const bool space = classes.of(c.value) & kSpace;
    i += static_cast<size_t>(c.num_bytes);
    if (leading && space) begin = i;
    if (!space) leading = false;
    if (!space || !step.right) end = i;
  }
  return begin < end ? std::string(text.substr(begin, end - begin)) : std::string();
}

struct Step {
  std::string_view text;

  std::string operator()(UnicodeForm form) const { return to_form(form, text); }
  std::string operator()(const PrependStep& step) const { return text.empty() ? "" : step.text + std::string(text); }
  std::string operator()(const ReplaceStep& step) const { return replace_all(text, step.literal, step.content); }
  std::string operator()(const LowercaseStep&) const { return lowercase(text); }
  std::string operator()(const StripStep& step) const { return strip(text, step); }
  std::string operator()(const RegexReplaceStep& step) const {
    std::vector<ByteRange> matches;
    step.regex.find_all(text, matches);
    std::string result;
    size_t at = 0;
    for (const auto& [begin, end] : matches) {
      result.append(text.substr(at, begin - at)).append(step.content);
      at = end;
    }
    return result.append(text.substr(at));
  }
};

Result<NormalizerStep> read_replace(const Json& json, const Place& place) {
  const auto pattern = json.contains("pattern") ? read_pattern(json["pattern"]) : std::nullopt;
  if (!pattern || !json.contains("content") || !json["content"].is_string()) {
    return error_at(place, "a Replace of the tokenizer needs \"pattern\" and \"content\"");
  }
  const std::string content = json["content"];
  if (!pattern->is_regex) return NormalizerStep(ReplaceStep{pattern->text, content});
  Result<Regex> regex = Regex::compile(pattern->text, place);
  if (!regex) return regex.diagnostics();
  return NormalizerStep(RegexReplaceStep{std::move(regex).value(), content});
}

void read_step(const Json& json, const Place& place, const std::string& key, Normalizer& result, Diagnostics& errors) {
  static const std::vector<std::string> kinds = {"NFC",     "NFD",   "NFKC",      "NFKD",    "Prepend",
                                                 "Replace", "Strip", "Lowercase", "Sequence"};
  const auto fail = [&](const std::string& message, const std::string& suggestion) {
    Diagnostic error = error_at(place, message);
    error.key = key;
    error.expected = join(kinds, ", ");
    error.suggestion = suggestion;
    errors.push_back(std::move(error));
  };
  if (!json.is_object() || !json.contains("type") || !json["type"].is_string()) {
    return fail("this part of the tokenizer has no \"type\"", "");
  }
  const std::string type = json["type"];
  if (type == "Sequence") {
    size_t index = 0;
    for (const Json& part : json.value("normalizers", Json::array())) {
      read_step(part, place, fmt::format("{}.normalizers[{}]", key, index++), result, errors);
    }
  } else if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
    result.steps.emplace_back(type == "NFC"    ? UnicodeForm::Nfc
                              : type == "NFD"  ? UnicodeForm::Nfd
                              : type == "NFKC" ? UnicodeForm::Nfkc
                                               : UnicodeForm::Nfkd);
  } else if (type == "Prepend" && json.contains("prepend") && json["prepend"].is_string()) {
    result.steps.emplace_back(PrependStep{json["prepend"].get<std::string>()});
  } else if (type == "Lowercase") {
    result.steps.emplace_back(LowercaseStep{});
  } else if (type == "Strip") {
    result.steps.emplace_back(StripStep{json.value("strip_left", true), json.value("strip_right", true)});
  } else if (type == "Replace") {
    Result<NormalizerStep> step = read_replace(json, place);
    if (step) result.steps.push_back(std::move(step).value());
    if (!step) errors.insert(errors.end(), step.diagnostics().begin(), step.diagnostics().end());
  } else {
    fail(fmt::format("normalizer '{}' is not supported", type), did_you_mean(type, kinds));
  }
}

}  // namespace

std::string to_form(UnicodeForm form, std::string_view text) {
  if (is_ascii(text)) return std::string(text);
  UErrorCode code = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = normalizer_of(form, code);
  PRIMUS_CHECK(U_SUCCESS(code), u_errorName(code));
  std::string result;
  icu::StringByteSink<std::string> sink(&result);
  normalizer->normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())), sink, nullptr, code);
  PRIMUS_CHECK(U_SUCCESS(code), u_errorName(code));
  return result;
}

std::string replace_all(std::string_view text, std::string_view literal, std::string_view content) {
  if (literal.empty()) return std::string(text);
  std::string result;
  result.reserve(text.size() + text.size() / 4);
  size_t at = 0;
  for (size_t hit = text.find(literal); hit != text.npos; hit = text.find(literal, at)) {
    result.append(text.substr(at, hit - at)).append(content);
    at = hit + literal.size();
  }
  return result.append(text.substr(at));
}

std::string Normalizer::apply(std::string_view text) const {
  std::string result(text);
  for (const NormalizerStep& step : steps) result = std::visit(Step{result}, step);
  return result;
}

Result<Normalizer> read_normalizer(const Json& json, const Place& place) {
  Normalizer result;
  Diagnostics errors;
  if (!json.is_null()) read_step(json, place, "normalizer", result, errors);
  if (!errors.empty()) return errors;
  return result;
}

}  // namespace primus::tokenizer
