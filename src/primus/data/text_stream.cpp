#include "primus/data/text_stream.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "primus/base/check.h"
#include "primus/base/error.h"
#include "primus/base/fs.h"
#include "primus/base/strings.h"
#include "primus/data/corpus.h"
#include "primus/data/numpy_random.h"

namespace primus::data {

namespace {

// Ids of one text after the other, until there are enough.
class Stream {
 public:
  Stream(const tokenizer::Tokenizer& tokenizer, int64_t enough) : tokenizer_(tokenizer), enough_(enough) {}

  bool is_full() const { return static_cast<int64_t>(tokens_.size()) >= enough_; }
  void add_text(const std::string& text) { tokenizer_.encode_to(text, {.add_bos = true, .add_eos = true}, tokens_); }
  void add_numbers(const std::vector<int32_t>& numbers) {
    const auto end = static_cast<int32_t>(tokenizer_.vocab_size() - 1);
    for (const int32_t number : numbers) tokens_.push_back(number % end);
    tokens_.push_back(end);
  }
  std::vector<int32_t> take() { return std::move(tokens_); }

 private:
  const tokenizer::Tokenizer& tokenizer_;
  int64_t enough_;
  std::vector<int32_t> tokens_;
};

void add_random_texts(const tokenizer::Tokenizer& tokenizer, Stream& stream) {
  const bool are_ids = tokenizer.kind().find("NullTokenizer") != std::string::npos;
  NumpyGenerator generator(42);
  for (int64_t i = 0; i < kRandomTexts && !stream.is_full(); ++i) {
    const std::vector<int32_t> numbers = generator.integers(0, kRandomNumbers, kNumbersInRandomText);
    if (are_ids) {
      stream.add_numbers(numbers);
    } else {
      stream.add_text(fmt::format("{}", fmt::join(numbers, " ")));
    }
  }
}

std::vector<std::string> text_files(const std::string& path) {
  std::error_code code;
  if (!fs::is_directory(path, code)) return {path};
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, code)) {
    std::string name = entry.path().string();
    std::string_view kind = name;
    if (kind.ends_with(".gz")) kind.remove_suffix(3);
    if (kind.ends_with(".txt") || kind.ends_with(".jsonl")) files.push_back(std::move(name));
  }
  std::sort(files.begin(), files.end());
  return files;
}

Diagnostics add_files(const std::string& path, Stream& stream) {
  const CorpusOptions options{.inputs = text_files(path)};
  if (options.inputs.empty()) {
    Diagnostic finding = error_at({path}, "the folder holds no text");
    finding.expected = "files named .txt or .jsonl, or either of them with .gz";
    return {finding};
  }
  if (Diagnostics findings = check_inputs(options); !findings.empty()) return findings;
  CorpusReader reader(options);
  Document document;
  while (!stream.is_full() && reader.next(document)) stream.add_text(document.text);
  return {};
}

}  // namespace

Result<std::vector<int32_t>> stream_tokens(const spec::TextStream& texts, const std::string& path,
                                           const tokenizer::Tokenizer* tokenizer, int64_t vocab_size, int64_t enough) {
  if (tokenizer == nullptr) return error_at({}, "texts can only be read with a tokenizer");
  Stream stream(*tokenizer, enough);
  Diagnostics findings;
  try {
    if (texts.random_integers) {
      add_random_texts(*tokenizer, stream);
    } else {
      findings = add_files(path, stream);
    }
  } catch (const InputError& error) {
    findings = error.diagnostics();
  }
  if (!findings.empty()) return findings;
  std::vector<int32_t> tokens = stream.take();
  if (tokens.empty()) return error_at({path}, "the texts are empty");
  const int32_t largest = *std::max_element(tokens.begin(), tokens.end());
  if (largest < vocab_size) return tokens;
  Diagnostic finding = error_at({path}, "the tokenizer makes ids that the model's vocabulary does not have");
  finding.found = fmt::format("id {} in the texts", largest);
  finding.expected = fmt::format("ids from 0 to {} (vocabulary of {})", vocab_size - 1, format_thousands(vocab_size));
  finding.suggestion = fmt::format("use the model's own tokenizer, or a vocabulary of at least {}", largest + 1);
  return finding;
}

TextStreamDataset::TextStreamDataset(std::string name, std::vector<int32_t> tokens, int64_t num_samples,
                                     int64_t sequence_length, MaskRules rules)
    : name_(std::move(name)),
      tokens_(std::move(tokens)),
      num_samples_(num_samples),
      sequence_length_(sequence_length),
      rules_(rules) {
  PRIMUS_CHECK(!tokens_.empty() && sequence_length_ > 0, "a stream of texts needs tokens");
}

void TextStreamDataset::get(int64_t index, Sample& sample) const {
  PRIMUS_CHECK(index >= 0 && index < size(), fmt::format("sample {} of {}", index, size()));
  const auto length = static_cast<size_t>(sequence_length_ + 1);
  sample.tokens.resize(length);
  sample.documents.assign(length, 0);
  sample.file = 0;
  size_t place = static_cast<size_t>(index) * length % tokens_.size();
  for (int32_t& token : sample.tokens) {
    token = tokens_[place];
    if (++place == tokens_.size()) place = 0;
  }
  fill_masks(rules_, sequence_length_ + 1, sample);
}

OneBatchDataset::OneBatchDataset(int64_t batch_size, int64_t num_samples, int64_t sequence_length, int64_t vocab_size)
    : tokens_(0, static_cast<int32_t>(vocab_size)),
      batch_size_(batch_size),
      num_samples_(num_samples),
      sequence_length_(sequence_length) {
  PRIMUS_CHECK(batch_size > 0 && sequence_length > 0, "a batch has rows and tokens");
}

void OneBatchDataset::get(int64_t index, Sample& sample) const {
  PRIMUS_CHECK(index >= 0 && index < size(), fmt::format("sample {} of {}", index, size()));
  const int64_t length = sequence_length_ + 1, first = index % batch_size_ * length;
  sample.tokens.resize(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) sample.tokens[static_cast<size_t>(i)] = tokens_.at(first + i);
  sample.documents.assign(static_cast<size_t>(length), 0);
  sample.file = 0;
  fill_masks({}, length, sample);
}

}  // namespace primus::data
