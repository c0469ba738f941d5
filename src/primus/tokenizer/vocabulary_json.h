// Reads the JSON files of tokenizers. Vocabularies have a hundred thousand keys in one object, which the ordered JSON
// tree would search one by one, so they stream into a list of their own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "primus/base/json.h"
#include "primus/base/result.h"

namespace primus::tokenizer {

struct VocabularyJson {
  Json rest;                                           // everything but the two below
  std::vector<std::pair<std::string, int64_t>> vocab;  // the object "vocab_key", in file order
  bool has_vocab = false;
};

// vocab_key: "model.vocab" for a tokenizer.json, "" when the whole file is the vocabulary (encoder.json).
// Errors: not JSON, nested over 256 levels, a value in the vocabulary that is no whole number, a repeated key
// elsewhere.
Result<VocabularyJson> parse_vocabulary_json(std::string_view text, const std::string& vocab_key, const Place& place);

}  // namespace primus::tokenizer
