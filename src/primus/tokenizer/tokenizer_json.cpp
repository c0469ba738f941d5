// Reads a Hugging Face tokenizer.json, and GPT-2's two files into the same parts.
#include <algorithm>
#include <fmt/format.h>

#include "primus/base/strings.h"
#include "primus/tokenizer/bpe_tokenizer.h"
#include "primus/tokenizer/load.h"
#include "primus/tokenizer/unicode.h"
#include "primus/tokenizer/vocabulary_json.h"

namespace primus::tokenizer {

namespace {

constexpr int64_t kMaxId = 16'000'000;

using Texts = std::vector<std::optional<std::string>>;

class TokenizerJsonReader {
 public:
  explicit TokenizerJsonReader(const Place& place) : place_(place) {}

  TokenizerResult read(std::string_view text) {
    Result<VocabularyJson> parsed = parse_vocabulary_json(text, "model.vocab", place_);
    if (!parsed) return parsed.diagnostics();
    const Json& root = parsed->rest;
    if (!root.is_object() || !root.contains("model") || !root["model"].is_object()) {
      return error_at(place_, "this is not a tokenizer.json: it has no \"model\"");
    }
    check_model_kind(root["model"], *parsed);
    if (root.contains("truncation") && !root["truncation"].is_null()) {
      notes_.push_back(warning_at(place_, "the truncation set in this file is not applied: texts are encoded whole"));
    }
    PreTokenizer pre_tokenizer = take(read_pre_tokenizer(part(root, "pre_tokenizer"), place_));
    Normalizer normalizer = take(read_normalizer(part(root, "normalizer"), place_));
    DecoderRule decoder = take(read_decoder(part(root, "decoder"), place_));
    if (!errors_.empty()) return errors_;
    const bool byte_level = pre_tokenizer.byte_level;

    Texts texts = vocab_texts(parsed->vocab);
    Result<BpeModel> model = read_model(root["model"], texts, byte_level);
    if (!model) return model.diagnostics();
    std::vector<AddedToken> added = read_added(part(root, "added_tokens"), texts);
    Boundary boundary;
    read_post_processor(part(root, "post_processor"), "post_processor", boundary);
    if (!errors_.empty()) return errors_;

    SpecialIds special;
    if (boundary.before.size() == 1) special.bos = boundary.before[0];
    if (boundary.after.size() == 1) special.eos = boundary.after[0];
    std::unique_ptr<Tokenizer> result = std::make_unique<BpeTokenizer>(
        BpeParts{byte_level ? "byte-level BPE (tokenizer.json)" : "character BPE (tokenizer.json)", std::move(texts),
                 std::move(added), std::move(normalizer), std::move(pre_tokenizer), std::move(model).value(),
                 std::move(decoder), special, std::move(boundary)});
    return {std::move(result), notes_};
  }

 private:
  static const Json& part(const Json& root, const char* name) {
    static const Json null;
    return root.contains(name) ? root[name] : null;
  }

  void fail(const std::string& key, const std::string& message) {
    Diagnostic error = error_at(place_, message);
    error.key = key;
    errors_.push_back(std::move(error));
  }

  template <class T>
  T take(Result<T> result) {
    if (result) return std::move(result).value();
    errors_.insert(errors_.end(), result.diagnostics().begin(), result.diagnostics().end());
    return {};
  }

  void check_model_kind(const Json& model, const VocabularyJson& parsed) {
    const std::string type = model.value("type", "BPE");
    if (type != "BPE") {
      return fail("model.type", fmt::format("a tokenizer.json with a {} model is not supported: only BPE is", type));
    }
    if (!parsed.has_vocab) fail("model.vocab", "the BPE model has no vocabulary");
    for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      if (model.contains(name) && !model[name].is_null() && model[name] != "") {
        fail(fmt::format("model.{}", name), fmt::format("'{}' is not supported", name));
      }
    }
    if (model.contains("dropout") && !model["dropout"].is_null() && model["dropout"] != 0.0) {
      fail("model.dropout", "merge dropout is not supported: encoding must give the same ids each time");
    }
  }

  Texts vocab_texts(const std::vector<std::pair<std::string, int64_t>>& vocab) {
    Texts texts;
    for (const auto& [text, id] : vocab) set_text(texts, text, id, "model.vocab");
    return texts;
  }

  void set_text(Texts& texts, const std::string& text, int64_t id, const std::string& key) {
    if (id < 0 || id > kMaxId) {
      return fail(key,
                  fmt::format("token '{}' has the id {}, which is not in 0 to {}", printable_ascii(text), id, kMaxId));
    }
    const auto at = static_cast<size_t>(id);
    if (at >= texts.size()) texts.resize(at + 1);
    if (texts[at] && *texts[at] != text) {
      return fail(key, fmt::format("id {} belongs to two tokens, '{}' and '{}'", id, printable_ascii(*texts[at]),
                                   printable_ascii(text)));
    }
    texts[at] = text;
  }

  Result<BpeModel> read_model(const Json& model, const Texts& texts, bool byte_level) {
    BpeOptions options;
    options.byte_level = byte_level;
    options.byte_fallback = flag(model, "byte_fallback");
    options.fuse_unk = flag(model, "fuse_unk");
    options.ignore_merges = flag(model, "ignore_merges");
    const ByteAlphabet alphabet;
    Texts model_texts = texts;
    std::string bytes;
    for (size_t id = 0; byte_level && id < model_texts.size(); ++id) {
      if (!model_texts[id]) continue;
      // A token outside the byte alphabet never arises from bytes.
      if (alphabet.to_bytes(*model_texts[id], bytes)) {
        model_texts[id] = bytes;
      } else {
        model_texts[id].reset();
      }
    }
    if (model.contains("unk_token") && model["unk_token"].is_string()) {
      const auto found = std::find(texts.begin(), texts.end(), model["unk_token"].get<std::string>());
      if (found != texts.end()) options.unk = static_cast<int32_t>(found - texts.begin());
    }
    std::vector<BpeModel::Pair> merges = read_merges(part(model, "merges"));
    if (byte_level) {
      for (auto& [left, right] : merges) {
        if (alphabet.to_bytes(left, bytes)) left = bytes;
        if (alphabet.to_bytes(right, bytes)) right = bytes;
      }
    }
    if (!errors_.empty()) return errors_;
    return BpeModel::create(std::move(model_texts), merges, options, place_);
  }

  static bool flag(const Json& json, const char* name) {
    return json.contains(name) && json[name].is_boolean() && json[name].get<bool>();
  }

  // "a b" in old files, ["a", "b"] in newer ones.
  std::vector<BpeModel::Pair> read_merges(const Json& json) {
    std::vector<BpeModel::Pair> merges;
    size_t rank = 0;
    for (const Json& merge : json) {
      if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
        merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
      } else if (merge.is_string() && std::ranges::count(merge.get_ref<const std::string&>(), ' ') == 1) {
        const std::string& text = merge.get_ref<const std::string&>();
        const size_t space = text.find(' ');
        merges.emplace_back(text.substr(0, space), text.substr(space + 1));
      } else {
        fail("model.merges", fmt::format("merge {} is not two tokens: {}", rank, printable_ascii(merge.dump())));
      }
      if (errors_.size() >= 20) break;
      ++rank;
    }
    return merges;
  }

  std::vector<AddedToken> read_added(const Json& json, Texts& texts) {
    std::vector<AddedToken> added;
    for (const Json& item : json) {
      if (!item.is_object() || !item.contains("id") || !item["id"].is_number_integer() || !item.contains("content") ||
          !item["content"].is_string()) {
        fail("added_tokens", "an added token needs \"id\" and \"content\"");
        continue;
      }
      AddedToken token;
      const int64_t id = item["id"];
      token.content = item["content"];
      token.single_word = flag(item, "single_word");
      token.lstrip = flag(item, "lstrip");
      token.rstrip = flag(item, "rstrip");
      token.special = flag(item, "special");
      token.normalized = item.contains("normalized") ? flag(item, "normalized") : !token.special;
      set_text(texts, token.content, id, "added_tokens");
      if (!errors_.empty()) continue;
      token.id = static_cast<int32_t>(id);
      added.push_back(std::move(token));
    }
    return added;
  }

  void read_post_processor(const Json& json, const std::string& key, Boundary& boundary) {
    if (json.is_null()) return;
    const std::string type = json.is_object() ? json.value("type", "") : "";
    if (type == "ByteLevel") return;  // only offsets
    if (type == "Sequence") {
      size_t index = 0;
      for (const Json& step : json.value("processors", Json::array())) {
        read_post_processor(step, fmt::format("{}.processors[{}]", key, index++), boundary);
      }
      return;
    }
    if (type != "TemplateProcessing") {
      return fail(key,
                  fmt::format("post-processor '{}' is not supported: TemplateProcessing, ByteLevel, Sequence", type));
    }
    bool behind = false;
    for (const Json& item : json.value("single", Json::array())) {
      if (item.contains("Sequence")) {
        behind = true;
      } else if (item.contains("SpecialToken")) {
        const std::string name = item["SpecialToken"].value("id", "");
        const Json& tokens = part(json, "special_tokens");
        if (!tokens.contains(name) || !tokens[name].contains("ids")) {
          fail(key,
               fmt::format("the template names '{}', which its special_tokens do not have", printable_ascii(name)));
          continue;
        }
        for (const Json& id : tokens[name]["ids"]) (behind ? boundary.after : boundary.before).push_back(id);
      }
    }
    boundary.before_by_default = !boundary.before.empty();
    boundary.after_by_default = !boundary.after.empty();
    boundary.decided_by = "tokenizer.json (post_processor)";
  }

  Place place_;
  Diagnostics errors_;
  Diagnostics notes_;
};

// Lines "left right"; a first line "#version ..." is a comment.
Result<std::vector<BpeModel::Pair>> read_merge_lines(std::string_view text, const Place& place) {
  const ByteAlphabet alphabet;
  std::vector<BpeModel::Pair> merges;
  int number = 0;
  for (std::string& line : split(text, '\n')) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    const size_t space = line.find(' ');
    BpeModel::Pair pair;
    if (space == line.npos || line.find(' ', space + 1) != line.npos ||
        !alphabet.to_bytes(line.substr(0, space), pair.first) ||
        !alphabet.to_bytes(line.substr(space + 1), pair.second)) {
      Diagnostic error = error_at({place.file, number}, "this line is not a merge");
      error.found = printable_ascii(line);
      error.expected = "two tokens in GPT-2's byte alphabet with one space between";
      return error;
    }
    merges.push_back(std::move(pair));
  }
  return merges;
}

}  // namespace

TokenizerResult read_tokenizer_json(std::string_view text, const Place& place) {
  const size_t good = valid_utf8_prefix(text);
  if (good != text.size()) return error_at(place, fmt::format("not UTF-8 at byte {}", good));
  try {
    return TokenizerJsonReader(place).read(text);
  } catch (const Json::exception& error) {
    return error_at(place, fmt::format("a value of the tokenizer has the wrong type: {}", error.what()));
  }
}

TokenizerResult read_gpt2_files(std::string_view vocab, const Place& vocab_place, std::string_view merges,
                                const Place& merges_place) {
  Result<VocabularyJson> parsed = parse_vocabulary_json(vocab, "", vocab_place);
  if (!parsed) return parsed.diagnostics();
  if (!parsed->has_vocab)
    return error_at(vocab_place, "this is not a vocabulary: an object {\"token\": id} was expected");
  const ByteAlphabet alphabet;
  Texts texts;
  Texts bytes_of;
  for (const auto& [text, id] : parsed->vocab) {
    if (id < 0 || id > kMaxId) return error_at(vocab_place, fmt::format("token id {} is out of range", id));
    const auto at = static_cast<size_t>(id);
    if (at >= texts.size()) texts.resize(at + 1), bytes_of.resize(at + 1);
    texts[at] = text;
    std::string bytes;
    if (alphabet.to_bytes(text, bytes)) bytes_of[at] = bytes;
  }
  Result<std::vector<BpeModel::Pair>> pairs = read_merge_lines(merges, merges_place);
  if (!pairs) return pairs.diagnostics();
  SpecialIds special;
  std::vector<AddedToken> added;
  Boundary boundary;
  const auto end = std::find(texts.begin(), texts.end(), "<|endoftext|>");
  if (end != texts.end()) {
    const auto id = static_cast<int32_t>(end - texts.begin());
    special.bos = special.eos = special.eod = id;
    added.push_back({.id = id, .content = "<|endoftext|>", .special = true});
    boundary.before = boundary.after = {id};
    boundary.decided_by = "GPT-2's rule (neither unless asked for)";
    bytes_of[static_cast<size_t>(id)].reset();
  }
  Result<BpeModel> model = BpeModel::create(std::move(bytes_of), *pairs, {.byte_level = true}, merges_place);
  if (!model) return model.diagnostics();
  PreTokenizer words;
  words.stages.emplace_back(*known_word_rule("gpt2"));
  words.byte_level = true;
  DecoderRule decoder;
  decoder.byte_level = true;
  std::unique_ptr<Tokenizer> result = std::make_unique<BpeTokenizer>(BpeParts{"byte-level BPE (GPT-2 files)",
                                                                              std::move(texts),
                                                                              std::move(added),
                                                                              {},
                                                                              std::move(words),
                                                                              std::move(model).value(),
                                                                              std::move(decoder),
                                                                              special,
                                                                              std::move(boundary)});
  return result;
}

}  // namespace primus::tokenizer
