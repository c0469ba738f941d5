// Reads the vocabulary out of a GGUF file's metadata and writes it as a tokenizer.json, for tests: no package ships the
// tokenizer.json of these families.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "primus/base/json.h"

namespace primus::tokenizer {

struct GgufVocabulary {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;  // 3 is a control token, 6 a byte
  std::vector<float> scores;
  std::vector<std::string> merges;
};

class GgufReader {
 public:
  explicit GgufReader(std::string_view bytes) : rest_(bytes) {}

  GgufVocabulary read() {
    if (take(4) != "GGUF") throw std::runtime_error("not a GGUF file");
    number<uint32_t>();  // version
    number<uint64_t>();  // tensors
    for (auto n = number<uint64_t>(); n > 0; --n) {
      const std::string key(string());
      value(key, number<uint32_t>());
    }
    return result_;
  }

 private:
  std::string_view take(size_t size) {
    if (size > rest_.size()) throw std::runtime_error("the GGUF file is cut short");
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view string() { return take(number<uint64_t>()); }

  void value(const std::string& key, uint32_t type) {
    static const std::map<uint32_t, size_t> sizes = {{0, 1}, {1, 1}, {2, 2},  {3, 2},  {4, 4}, {5, 4},
                                                     {6, 4}, {7, 1}, {10, 8}, {11, 8}, {12, 8}};
    if (type == 8) {
      const std::string_view text = string();
      if (key == "tokenizer.ggml.tokens") result_.tokens.emplace_back(text);
      if (key == "tokenizer.ggml.merges") result_.merges.emplace_back(text);
    } else if (type == 9) {
      const auto item = number<uint32_t>();
      for (auto n = number<uint64_t>(); n > 0; --n) value(key, item);
    } else if (key == "tokenizer.ggml.token_type" && type == 5) {
      result_.types.push_back(number<int32_t>());
    } else if (key == "tokenizer.ggml.scores" && type == 6) {
      result_.scores.push_back(number<float>());
    } else {
      take(sizes.at(type));
    }
  }

  std::string_view rest_;
  GgufVocabulary result_;
};

// The parts of a tokenizer.json that the file does not hold.
struct GgufFamily {
  Json pre_tokenizer;
  Json normalizer;
  Json decoder = {{"type", "ByteLevel"}};
  bool ignore_merges = false;
  bool byte_fallback = false;
};

inline std::string tokenizer_json_of(const GgufVocabulary& vocabulary, const GgufFamily& family) {
  std::string vocab;
  Json added = Json::array();
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    vocab += (id ? "," : "") + Json(vocabulary.tokens[id]).dump() + ":" + std::to_string(id);
    if (vocabulary.types[id] != 3) continue;
    added.push_back({{"id", id}, {"content", vocabulary.tokens[id]}, {"special", true}, {"normalized", false}});
  }
  Json merges = Json::array();
  for (const std::string& merge : vocabulary.merges) merges.push_back(merge);
  if (family.byte_fallback) {
    // SentencePiece: every split of a piece into two pieces, by falling score.
    std::map<std::string_view, size_t> id_of;
    for (size_t id = 0; id < vocabulary.tokens.size(); ++id) id_of.emplace(vocabulary.tokens[id], id);
    std::vector<size_t> order(vocabulary.tokens.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return vocabulary.scores[a] != vocabulary.scores[b] ? vocabulary.scores[a] > vocabulary.scores[b] : a < b;
    });
    for (const size_t id : order) {
      const std::string_view text = vocabulary.tokens[id];
      if (vocabulary.types[id] != 1) continue;
      for (size_t cut = 1; cut < text.size(); ++cut) {
        const auto left = id_of.find(text.substr(0, cut));
        const auto right = id_of.find(text.substr(cut));
        if (left != id_of.end() && right != id_of.end()) merges.push_back({left->first, right->first});
      }
    }
  }
  Json model_flags = {{"ignore_merges", family.ignore_merges},
                      {"byte_fallback", family.byte_fallback},
                      {"fuse_unk", family.byte_fallback}};
  std::string flags = model_flags.dump();
  flags.pop_back();
  return "{\"added_tokens\":" + added.dump() + ",\"normalizer\":" + family.normalizer.dump() +
         ",\"pre_tokenizer\":" + family.pre_tokenizer.dump() + ",\"decoder\":" + family.decoder.dump() +
         ",\"model\":" + flags + ",\"type\":\"BPE\",\"vocab\":{" + vocab + "},\"merges\":" + merges.dump() + "}}";
}

}  // namespace primus::tokenizer
