#include "primus/tokenizer/vocabulary_json.h"

#include <fmt/format.h>

#include "primus/base/strings.h"

namespace primus::tokenizer {

namespace {

constexpr size_t kMaxDepth = 256;

// Builds the tree from the parser's events; the vocabulary goes to its list.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(const std::string& vocab_key)
      : wanted_(vocab_key.empty() ? std::vector<std::string>{} : split(vocab_key, '.')) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(int64_t value) override { return put(value); }
  bool number_unsigned(uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }

  bool start_object(size_t) override {
    if (in_vocab_) return fail("a value of the vocabulary is not a whole number");
    if (!result.has_vocab && is_vocab_next()) {
      in_vocab_ = result.has_vocab = true;
      return true;
    }
    return open(Json::object());
  }
  bool key(std::string& name) override {
    key_ = std::move(name);
    if (!in_vocab_ && stack_.back()->contains(key_))
      return fail(fmt::format("JSON key '{}' occurs twice in one object", key_));
    return true;
  }
  bool end_object() override {
    if (in_vocab_) {
      in_vocab_ = false;
      return true;
    }
    return close();
  }
  bool start_array(size_t) override {
    if (in_vocab_) return fail("a value of the vocabulary is not a whole number");
    return open(Json::array());
  }
  bool end_array() override { return close(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& exception) override {
    const std::string what = exception.what();
    const size_t at = what.find("syntax error");
    return fail(fmt::format("not valid JSON at byte {}: {}", position, at == what.npos ? what : what.substr(at)));
  }

  VocabularyJson result;
  std::string error;

 private:
  bool is_vocab_next() const {
    if (wanted_.empty()) return stack_.empty();
    if (stack_.size() != wanted_.size() || !stack_.back()->is_object() || key_ != wanted_.back()) return false;
    return std::equal(path_.begin(), path_.end(), wanted_.begin());
  }

  bool fail(const std::string& message) {
    if (error.empty()) error = message;
    return false;
  }

  template <class Value>
  bool put(Value value) {
    if (in_vocab_) {
      if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>) {
        result.vocab.emplace_back(std::move(key_), static_cast<int64_t>(value));
        return true;
      }
      return fail(fmt::format("the vocabulary gives '{}' a value that is not a whole number", printable_ascii(key_)));
    }
    add(Json(std::move(value)));
    return true;
  }

  Json* add(Json value) {
    if (stack_.empty()) {
      result.rest = std::move(value);
      return &result.rest;
    }
    if (stack_.back()->is_array()) {
      stack_.back()->push_back(std::move(value));
      return &stack_.back()->back();
    }
    Json& slot = (*stack_.back())[key_];
    slot = std::move(value);
    return &slot;
  }

  bool open(Json value) {
    if (stack_.size() >= kMaxDepth) return fail(fmt::format("JSON nests deeper than {} levels", kMaxDepth));
    if (!stack_.empty()) path_.push_back(key_);
    stack_.push_back(add(std::move(value)));
    return true;
  }
  bool close() {
    stack_.pop_back();
    if (!stack_.empty()) path_.pop_back();
    return true;
  }

  std::vector<std::string> wanted_;
  std::vector<std::string> path_;
  std::vector<Json*> stack_;
  std::string key_;
  bool in_vocab_ = false;
};

}  // namespace

Result<VocabularyJson> parse_vocabulary_json(std::string_view text, const std::string& vocab_key, const Place& place) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  Builder builder(vocab_key);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    return error_at(place, builder.error.empty() ? "not valid JSON" : builder.error);
  }
  return std::move(builder.result);
}

}  // namespace primus::tokenizer
