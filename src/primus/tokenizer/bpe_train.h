// Trains a byte-level BPE vocabulary. The same texts give the same file, whatever the thread count or the order of
// texts. Source: Sennrich et al. 2016, arXiv:1508.07909, over GPT-2's words and byte alphabet.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "primus/base/result.h"

namespace primus::tokenizer {

struct BpeTrainOptions {
  int64_t vocab_size = 32000;                            // special tokens and the 256 bytes included
  std::vector<std::string> special = {"<|endoftext|>"};  // the first ids
  int64_t min_count = 1;                                 // pairs seen less often are not joined
  bool show_progress = true;
};

struct TrainedBpe {
  std::vector<std::string> special;
  std::vector<std::pair<int32_t, int32_t>> merges;  // merge m makes the token special.size() + 256 + m
  int64_t num_words = 0;                            // words in the texts
  int64_t num_different_words = 0;
  // The tokenizer.json: same ids here and in the tokenizers library.
  std::string to_json() const;
  int64_t vocab_size() const { return static_cast<int64_t>(special.size() + 256 + merges.size()); }
};

// Counts words text by text, so that a corpus need not be in memory at once. Special tokens are cut out first.
class BpeTrainer {
 public:
  explicit BpeTrainer(BpeTrainOptions options) : options_(std::move(options)) {}
  void add(std::string_view text);
  // The pair with the highest count joins next; ties go to the pair with the lower ids. Stops early, with fewer tokens
  // than asked for, when no pair is left that occurs min_count times. Errors: a vocabulary too small for the bytes.
  Result<TrainedBpe> train() const;

 private:
  BpeTrainOptions options_;
  std::unordered_map<std::string, int64_t> counts_;
  int64_t num_words_ = 0;
};

}  // namespace primus::tokenizer
