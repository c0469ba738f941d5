#include "primus/data/loader.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>

#include "primus/base/check.h"
#include "primus/base/strings.h"
#include "primus/data/gpt_dataset.h"
#include "primus/data/index_cache.h"
#include "primus/data/text_stream.h"
#include "primus/spec/schedule_values.h"

namespace primus::data {

namespace {

constexpr std::array<Split, 3> kSplits = {Split::Train, Split::Valid, Split::Test};

// One file's share of one split.
struct Part {
  std::string prefix;
  double weight = 1;
  std::pair<double, double> fraction = {0, 1};
};

std::string tokens_text(int64_t tokens) {
  return tokens == 1 ? "1 token" : format_thousands(tokens) + " tokens";
}

class Opener {
 public:
  Opener(const spec::RunSpec& run, int64_t eod_id, int64_t vocab_size, const SplitSizes& sizes,
         const OpenOptions& options)
      : data_(run.data),
        run_(run),
        eod_id_(eod_id),
        vocab_size_(vocab_size),
        sizes_(sizes),
        options_(options),
        cache_(run.data.index_cache_folder) {}

  Result<Datasets> open() {
    check_settings();
    if (has_errors(findings_)) return findings_;
    if (data_.texts) {
      open_texts();
    } else if (data_.one_batch) {
      open_one_batch();
    } else if (data_.mock) {
      open_mock();
    } else {
      open_files();
    }
    if (options_.check_enough) check_enough();
    findings_.insert(findings_.end(), cache_.notes().begin(), cache_.notes().end());
    if (has_errors(findings_)) return findings_;
    return {std::move(datasets_), std::move(findings_)};
  }

 private:
  MaskRules mask_rules() const {
    return {eod_id_, data_.reset_position_ids, data_.reset_attention_mask, data_.mask_loss_at_eod};
  }

  void check_settings() {
    PRIMUS_CHECK(data_.sequence_length > 0 && vocab_size_ > 0, "sequence length and vocabulary are at least 1");
    const bool shuffles = !data_.texts && !data_.one_batch;
    if (shuffles && (data_.seed < 0 || data_.seed > std::numeric_limits<uint32_t>::max())) {
      Diagnostic diagnostic = error_at({}, "the seed of the data order is out of range");
      diagnostic.found = fmt::format("seed: {}", data_.seed);
      diagnostic.expected = "0 to 4294967295, as NumPy's RandomState takes it";
      findings_.push_back(std::move(diagnostic));
    }
    const bool needs_eod = data_.reset_position_ids || data_.reset_attention_mask || data_.mask_loss_at_eod;
    if (needs_eod && eod_id_ < 0 && !data_.mock) {
      Diagnostic diagnostic =
          error_at({}, "documents cannot be told apart: the tokenizer has no end-of-document token");
      diagnostic.found = fmt::format("reset_position_ids: {}, reset_attention_mask: {}, eod_mask_loss: {}",
                                     data_.reset_position_ids, data_.reset_attention_mask, data_.mask_loss_at_eod);
      diagnostic.suggestion = "set all three to false, or use a tokenizer with an end token";
      findings_.push_back(std::move(diagnostic));
    }
  }

  // ------------------------------------------------------------------------------------------------ mock data
  void open_mock() {
    const int64_t own_vocab = run_.tokenizer.vocab_size ? *run_.tokenizer.vocab_size + 1 : vocab_size_;
    const int64_t modulus = std::min(own_vocab, vocab_size_);
    if (eod_id_ < 0) eod_id_ = run_.tokenizer.vocab_size ? *run_.tokenizer.vocab_size : vocab_size_ - 1;
    if (eod_id_ >= vocab_size_) {
      Diagnostic diagnostic = error_at({}, "the end token of the mock data is not in the model's vocabulary");
      diagnostic.found = fmt::format("end token {}, model vocabulary {}", eod_id_, vocab_size_);
      diagnostic.suggestion = fmt::format("use a vocabulary of at least {}", eod_id_ + 1);
      findings_.push_back(std::move(diagnostic));
      return;
    }
    const auto source = std::make_shared<MockSource>(modulus, eod_id_);
    const std::vector<int32_t> lengths = source->lengths();
    // Whatever `split` says: Megatron cuts mock data into three equal parts.
    const SplitFractions fractions = value_or_throw(parse_split("1,1,1"));
    for (const Split split : kSplits) {
      if (sizes_[split] <= 0) continue;
      const DocumentRange range = documents_of(*fractions[static_cast<size_t>(split)], source->num_sequences());
      datasets_[split] = std::make_unique<GptDataset>(
          source, GptIndex::build(lengths, request(split, range, sizes_[split])), data_.sequence_length, mask_rules());
    }
  }

  // ------------------------------------------------------------------------------------------------ texts, one batch
  // Validation on random texts sees the first of them again, as upstream's mock has it.
  void open_texts() {
    for (const Split split : {Split::Train, Split::Valid}) {
      const int64_t wanted = sizes_[split];
      if (wanted <= 0) continue;
      const std::string& path = split == Split::Train ? data_.texts->train_path : data_.texts->valid_path;
      if (path.empty() && !data_.texts->random_integers) {
        findings_.push_back(error_at({}, fmt::format("no texts are given for {}", to_string(split))));
        continue;
      }
      Result<std::vector<int32_t>> tokens =
          stream_tokens(*data_.texts, path, options_.tokenizer, vocab_size_, wanted * (data_.sequence_length + 1));
      if (!tokens) {
        append(tokens.diagnostics());
        continue;
      }
      datasets_[split] = std::make_unique<TextStreamDataset>(
          path.empty() ? "random texts" : path, std::move(tokens).value(), wanted, data_.sequence_length, mask_rules());
    }
  }

  void open_one_batch() {
    for (const Split split : {Split::Train, Split::Valid}) {
      if (sizes_[split] <= 0) continue;
      datasets_[split] = std::make_unique<OneBatchDataset>(run_.batch.global_batch_size, sizes_[split],
                                                           data_.sequence_length, vocab_size_);
    }
  }

  // ------------------------------------------------------------------------------------------------ files
  void open_files() {
    if (!data_.blend.empty()) {
      const Result<SplitFractions> fractions = parse_split(data_.split);
      if (!fractions) return append(fractions.diagnostics());
      for (const Split split : kSplits) {
        if (sizes_[split] <= 0) continue;
        if (!(*fractions)[static_cast<size_t>(split)]) {
          refuse(split, empty_split(split, "", 0));
          continue;
        }
        open_split(split, data_.blend, *(*fractions)[static_cast<size_t>(split)], data_.blend.weighted);
      }
      return;
    }
    const std::array<const spec::DataBlend*, 3> blends = {&data_.train, &data_.valid, &data_.test};
    for (const Split split : kSplits) {
      const spec::DataBlend& blend = *blends[static_cast<size_t>(split)];
      if (sizes_[split] <= 0) continue;
      if (blend.empty() && split == Split::Test && !options_.require_test) continue;
      if (blend.empty()) {
        refuse(split, no_files(split));
      } else {
        // Per-split files: a single one is taken as it is, its weight says nothing.
        open_split(split, blend, {0, 1}, blend.weighted && blend.files.size() > 1);
      }
    }
  }

  void open_split(Split split, const spec::DataBlend& blend, std::pair<double, double> fraction, bool weighted) {
    const int64_t wanted = sizes_[split];
    std::vector<double> weights;
    for (const spec::DataFile& file : blend.files) {
      weights.push_back(file.weight);
      if (!weighted || file.weight > 0) continue;
      findings_.push_back(error_at(
          {}, fmt::format("the weight of '{}' is {}; weights are above 0", file.prefix, format_double(file.weight))));
      return;
    }
    if (weighted) weights = normalised(weights);
    const bool single = blend.files.size() == 1 && !weighted;
    std::vector<std::unique_ptr<DataSet>> parts;
    for (size_t i = 0; i < blend.files.size(); ++i) {
      std::optional<int64_t> samples;  // nothing: one epoch
      if (single) samples = wanted;
      if (weighted) samples = blend_built(wanted, weights[i]);
      parts.push_back(open_part(split, {blend.files[i].prefix, weights[i], fraction}, samples));
    }
    if (std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part == nullptr; })) return;
    datasets_[split] = single ? std::move(parts.front()) : blended(std::move(parts), weights, weighted, wanted);
  }

  std::unique_ptr<DataSet> blended(std::vector<std::unique_ptr<DataSet>> parts, std::vector<double> weights,
                                   bool weighted, int64_t wanted) {
    int64_t size = 0;
    if (weighted) {
      for (const double weight : weights) size += blend_target(wanted, weight);
    } else {
      for (size_t i = 0; i < parts.size(); ++i) weights[i] = static_cast<double>(parts[i]->size());
      for (const auto& part : parts) size += part->size();
      size = std::min(size, wanted);
    }
    BlendOrder order(normalised(weights), size);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (order.taken(static_cast<int32_t>(i)) <= parts[i]->size()) continue;
      Diagnostic diagnostic =
          error_at({parts[i]->files().front()}, "the blend asks this file for more samples than it has");
      diagnostic.found = fmt::format("{} samples for a share of {}", parts[i]->size(), format_double(weights[i]));
      diagnostic.expected = fmt::format("{} samples", order.taken(static_cast<int32_t>(i)));
      findings_.push_back(std::move(diagnostic));
    }
    return std::make_unique<BlendedDataset>(std::move(parts), std::move(order));
  }

  GptIndexRequest request(Split split, DocumentRange range, std::optional<int64_t> num_samples) const {
    return {range.begin,
            range.end,
            num_samples,
            data_.sequence_length,
            static_cast<uint32_t>(data_.seed),
            split == Split::Valid && !data_.drop_last_partial_validation_sample};
  }

  // Null when something is wrong with the file or with its part of the split; what, is in findings_.
  std::unique_ptr<DataSet> open_part(Split split, const Part& part, std::optional<int64_t> num_samples) {
    const std::shared_ptr<const FileSource> source = open_file(part.prefix);
    if (source == nullptr) return nullptr;
    const DocumentRange range = documents_of(part.fraction, source->num_sequences());
    int64_t tokens = 0;
    for (int64_t i = range.begin; i < range.end; ++i) tokens += source->length(i);
    if (range.empty() || tokens == 0) {
      return refuse(split, empty_split(split, part.prefix, source->num_sequences()));
    }
    const GptIndexRequest wanted = request(split, range, num_samples);
    const int64_t least = wanted.keep_last_partial ? 2 : data_.sequence_length + 1;
    if (tokens < least) {
      Diagnostic diagnostic =
          error_at({part.prefix}, fmt::format("the {} data is shorter than one sample", to_string(split)));
      diagnostic.found = fmt::format("{} in {} documents", tokens_text(tokens), range.end - range.begin);
      diagnostic.expected = fmt::format("at least {}: a sample of seq_length {} and the token after it",
                                        tokens_text(least), data_.sequence_length);
      diagnostic.suggestion = "use more data or a shorter seq_length";
      return refuse(split, std::move(diagnostic));
    }
    return std::make_unique<GptDataset>(source, cache_.index(source->dataset(), wanted, to_string(split)),
                                        data_.sequence_length, mask_rules());
  }

  std::shared_ptr<const FileSource> open_file(const std::string& prefix) {
    if (const auto known = files_.find(prefix); known != files_.end()) return known->second;
    std::shared_ptr<const FileSource>& slot = files_[prefix];
    Result<IndexedDataset> dataset = IndexedDataset::open(prefix);
    if (!dataset) {
      append(dataset.diagnostics());
    } else if (dataset->num_tokens() == 0) {
      Diagnostic diagnostic = error_at({bin_path(prefix).string()}, "the dataset is empty");
      diagnostic.found = fmt::format("{} documents, 0 tokens", dataset->num_documents());
      findings_.push_back(std::move(diagnostic));
    } else if (check_vocabulary(*dataset)) {
      slot = std::make_shared<const FileSource>(std::move(dataset).value());
    }
    return slot;
  }

  bool check_vocabulary(const IndexedDataset& dataset) {
    const bool always_fits = (dataset.token_type() == TokenType::U16 && vocab_size_ >= 65536) ||
                             (dataset.token_type() == TokenType::U8 && vocab_size_ >= 256);
    if (always_fits) return true;
    const IdRange range = cache_.id_range(dataset);
    if (range.min >= 0 && range.max < vocab_size_) return true;
    Diagnostic diagnostic = error_at({bin_path(dataset.prefix()).string()},
                                     "the data holds a token id that the model's vocabulary does not have");
    if (const std::optional<ForeignId> where = dataset.first_foreign_id(vocab_size_)) {
      diagnostic.found = fmt::format("id {} at token {} of document {}; ids of the file: {} to {}", where->id,
                                     where->offset, where->sequence, range.min, range.max);
    }
    diagnostic.expected = fmt::format("ids from 0 to {} (vocabulary of {})", vocab_size_ - 1, vocab_size_);
    diagnostic.suggestion = fmt::format(
        "prepare the data with the model's tokenizer, or give the model a vocabulary of at least {}", range.max + 1);
    findings_.push_back(std::move(diagnostic));
    return false;
  }

  // ------------------------------------------------------------------------------------------------ findings
  Diagnostic empty_split(Split split, const std::string& prefix, int64_t num_documents) const {
    Diagnostic diagnostic = error_at({prefix}, fmt::format("the {} split is empty", to_string(split)));
    diagnostic.found = fmt::format("split: '{}'", data_.split);
    if (!prefix.empty()) {
      diagnostic.found += fmt::format(" of {} document{}", num_documents, num_documents == 1 ? "" : "s");
    }
    diagnostic.expected = "every split that is used gets at least one document";
    diagnostic.suggestion = split == Split::Train ? "give training a larger part of `split`"
                                                  : fmt::format(
                                                        "give {} a larger part of `split`, own files with "
                                                        "{}_data_path, or set eval_iters: 0",
                                                        to_string(split), to_string(split));
    return diagnostic;
  }

  Diagnostic no_files(Split split) const {
    Diagnostic diagnostic = error_at({}, fmt::format("no {} data is given", to_string(split)));
    diagnostic.expected = fmt::format("data_path, or {}_data_path", to_string(split));
    diagnostic.suggestion = split == Split::Train
                                ? "make data with `primus-cli data prepare`, or set mock_data: true to try without"
                                : fmt::format("give {}_data_path, or set eval_iters: 0", to_string(split));
    return diagnostic;
  }

  // Training and validation must exist when they are used; a test split that cannot exist is left out with a sentence.
  std::unique_ptr<DataSet> refuse(Split split, Diagnostic finding) {
    if (split == Split::Test && !options_.require_test) {
      finding.severity = Severity::Warning;
      finding.message += "; there will be no test evaluation";
      finding.expected.clear();
    }
    findings_.push_back(std::move(finding));
    return nullptr;
  }

  void append(const Diagnostics& found) { findings_.insert(findings_.end(), found.begin(), found.end()); }

  // Only files without weights can fall short: each gives one epoch.
  void check_enough() {
    if (data_.order != spec::LoaderOrder::Single) return;
    const int64_t round = run_.evaluation.num_batches * run_.batch.global_batch_size;
    for (const Split split : kSplits) {
      const int64_t needed = split == Split::Train ? sizes_.train : std::min(round, sizes_[split]);
      if (datasets_[split] == nullptr || datasets_[split]->size() >= needed) continue;
      Diagnostic diagnostic = error_at({}, fmt::format("the {} data ends before the run does", to_string(split)));
      diagnostic.found = fmt::format("{} samples: files without weights are read once", datasets_[split]->size());
      diagnostic.expected = fmt::format("{} samples", needed);
      diagnostic.suggestion = "give the files weights, use dataloader_type: cyclic, or ask for fewer steps";
      findings_.push_back(std::move(diagnostic));
    }
  }

  const spec::Data& data_;
  const spec::RunSpec& run_;
  int64_t eod_id_, vocab_size_;
  SplitSizes sizes_;
  OpenOptions options_;
  IndexCache cache_;
  std::map<std::string, std::shared_ptr<const FileSource>> files_;
  Datasets datasets_;
  Diagnostics findings_;
};

}  // namespace

int64_t SplitSizes::operator[](Split split) const {
  return std::array{train, valid, test}[static_cast<size_t>(split)];
}

std::unique_ptr<DataSet>& Datasets::operator[](Split split) {
  return *std::array{&train, &valid, &test}[static_cast<size_t>(split)];
}

int64_t train_samples(const spec::RunSpec& run) {
  if (!run.batch.rampup) return run.exit.train_steps * run.batch.global_batch_size;
  const std::vector<spec::StepValues> steps = spec::step_values(run);
  return steps.empty() ? 0 : steps.back().samples;
}

SplitSizes split_sizes(const spec::RunSpec& run, int64_t train_samples) {
  const int64_t round = run.evaluation.num_batches * run.batch.global_batch_size;
  const int64_t interval = run.evaluation.interval_steps;
  return {train_samples, interval > 0 ? (run.exit.train_steps / interval + 1) * round : 0, round};
}

Result<Datasets> open_datasets(const spec::RunSpec& run, int64_t eod_id, int64_t vocab_size, const SplitSizes& sizes,
                               const OpenOptions& options) {
  return Opener(run, eod_id, vocab_size, sizes, options).open();
}

OrderRule order_rule(const spec::RunSpec& run, int64_t num_ranks) {
  return {run.data.order, run.data.shard_per_rank, run.batch.micro_batch_size, num_ranks};
}

}  // namespace primus::data
