// Texts joined into one stream of tokens and cut into samples that do not overlap; and one batch that never changes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "primus/base/result.h"
#include "primus/data/dataset.h"
#include "primus/data/jax_random.h"
#include "primus/spec/train.h"
#include "primus/tokenizer/tokenizer.h"

namespace primus::data {

// Sample i holds the tokens [i (s + 1), (i + 1) (s + 1)) of all passes over the texts, one pass behind the other: the
// end of a pass is no end of a sample. So a token at a cut is an input or a label, never both. Source: torchtitan,
// hf_datasets/text_datasets.py, with one data-parallel rank; more ranks read the same samples here.
class TextStreamDataset final : public DataSet {
 public:
  // tokens: one pass, or as much of it as num_samples need; not empty.
  TextStreamDataset(std::string name, std::vector<int32_t> tokens, int64_t num_samples, int64_t sequence_length,
                    MaskRules rules);
  int64_t size() const override { return num_samples_; }
  int64_t sequence_length() const override { return sequence_length_; }
  void get(int64_t index, Sample& sample) const override;
  std::vector<std::string> files() const override { return {name_}; }

 private:
  std::string name_;
  std::vector<int32_t> tokens_;
  int64_t num_samples_, sequence_length_;
  MaskRules rules_;
};

// Row i % batch size of one random batch: MaxText's synthetic data, jax.random.randint(PRNGKey(0), [batch, s + 1]).
class OneBatchDataset final : public DataSet {
 public:
  OneBatchDataset(int64_t batch_size, int64_t num_samples, int64_t sequence_length, int64_t vocab_size);
  int64_t size() const override { return num_samples_; }
  int64_t sequence_length() const override { return sequence_length_; }
  void get(int64_t index, Sample& sample) const override;
  std::vector<std::string> files() const override { return {"one synthetic batch"}; }

 private:
  JaxIntegers tokens_;
  int64_t batch_size_, num_samples_, sequence_length_;
};

// The mock's texts: numbers below 32,000 with spaces between them, from numpy's default_rng(42).
constexpr int64_t kRandomTexts = 256, kNumbersInRandomText = 8192, kRandomNumbers = 32000;

// Tokens of the texts in order, each with BOS and EOS; reading stops when there are `enough`.
//   texts: random numbers, or files at `path` (one file, or the .txt, .jsonl and .gz ones of a folder, by name).
//   A NullTokenizer takes the random numbers themselves, modulo its size, for ids.
// Errors: no tokenizer, no texts there, what CorpusReader says, ids that the model's vocabulary does not have.
Result<std::vector<int32_t>> stream_tokens(const spec::TextStream& texts, const std::string& path,
                                           const tokenizer::Tokenizer* tokenizer, int64_t vocab_size, int64_t enough);

}  // namespace primus::data
