#include "primus/data/prepare.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <fmt/format.h>
#include <future>
#include <thread>

#include "primus/base/error.h"
#include "primus/base/fs.h"
#include "primus/base/hash.h"
#include "primus/base/json.h"
#include "primus/base/progress.h"
#include "primus/base/strings.h"
#include "primus/data/file_lock.h"
#include "primus/data/indexed_dataset_writer.h"

namespace primus::data {

namespace {

struct Piece {
  std::string text;
  size_t input = 0;  // file and line where it starts
  int64_t line = 1;
  bool complete = true;  // the document ends here
};

// Documents that are encoded together, all for one output.
struct Shard {
  int64_t number = 0;
  int output = 0;
  std::vector<Piece> pieces;
  int64_t text_bytes = 0;
};

struct EncodedShard {
  std::string prefix;  // of its dataset in the work folder
  int output = 0;
  int64_t empty_documents = 0, documents_with_special = 0;
  bool reused = false, stopped = false;
};

int64_t num_characters(const CorpusOptions& corpus) {
  CorpusReader reader(corpus);
  Document document;
  int64_t total = 0;
  while (reader.next(document)) total += static_cast<int64_t>(num_code_points(document.text));
  return total;
}

// Byte offset of the n-th character.
size_t byte_of_character(const std::string& text, int64_t n) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    const bool starts_one = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (starts_one && n-- == 0) break;
  }
  return at;
}

class Preparation {
 public:
  Preparation(const PrepareOptions& options, const tokenizer::Tokenizer& tokenizer)
      : options_(options), tokenizer_(tokenizer), work_folder_(options.output_prefix + ".work") {
    prefixes_.push_back(options.output_prefix);
    if (options.valid_fraction > 0) prefixes_.push_back(options.valid_prefix);
    num_threads_ = options.num_threads > 0 ? options.num_threads
                                           : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    special_.resize(static_cast<size_t>(tokenizer.vocab_size()));
    for (size_t id = 0; id < special_.size(); ++id) special_[id] = tokenizer.is_special(static_cast<int32_t>(id));
  }

  PrepareReport run() {
    for (const std::string& prefix : prefixes_) create_folders(fs::absolute(prefix).parent_path());
    create_folders(work_folder_);
    encode_all();
    if (!report_.stopped) assemble();
    return report_;
  }

 private:
  bool stop_requested() const { return options_.stop_requested && options_.stop_requested(); }

  // Reads shard by shard; as many as there are threads are encoded at once, results are taken in order.
  void encode_all() {
    Progress progress("preparing text (bytes)", total_size_bytes(options_.corpus));
    Shard shard;
    const auto launch = [&] {
      if (shard.pieces.empty()) return;
      running_.push_back(std::async(std::launch::async, [this, full = std::move(shard)] { return encode(full); }));
      shard = Shard{.number = ++num_shards_};
      while (static_cast<int>(running_.size()) > num_threads_) take_oldest();
    };
    const auto give = [&](const Document& document, int output, bool complete) {
      if (output != shard.output) launch();
      shard.output = output;
      shard.pieces.push_back({document.text, document.input, document.line, complete});
      shard.text_bytes += static_cast<int64_t>(document.text.size());
      if (!is_valid_utf8(document.text)) ++report_.invalid_utf8_documents;
      if (shard.text_bytes >= options_.shard_text_bytes) {
        launch();
        progress.update(document.position_bytes);
      }
      return !report_.stopped && !stop_requested();
    };
    const CorpusCounts counts = for_each_document(options_.corpus, options_.valid_fraction, give);
    report_.documents_without_text = counts.without_text;
    if (!stop_requested()) launch();
    while (!running_.empty()) take_oldest();
    report_.stopped |= stop_requested();
  }

  void take_oldest() {
    EncodedShard shard = running_.front().get();
    running_.pop_front();
    report_.empty_documents += shard.empty_documents;
    report_.documents_with_special += shard.documents_with_special;
    report_.shards_reused += shard.reused ? 1 : 0;
    report_.stopped |= shard.stopped;
    ++report_.shards;
    shards_.push_back(std::move(shard));
  }

  // Names a shard by what it holds and how it is encoded, so that one of an earlier try is used only when it is the
  // same.
  std::string shard_name(const Shard& shard) const {
    uint64_t hash = fnv1a64(fmt::format("shard 1|{}|{}|{}|{}|{}", tokenizer_.kind(), tokenizer_.vocab_size(),
                                        tokenizer_.source(), options_.append_eod, options_.special_as_text));
    std::error_code code;
    const auto changed = fs::last_write_time(tokenizer_.source(), code);
    if (!code) hash ^= fnv1a64(std::to_string(changed.time_since_epoch().count()));
    for (const Piece& piece : shard.pieces) {
      hash = hash * 0x9E3779B97F4A7C15ULL + (fnv1a64(piece.text) ^ (piece.complete ? 1 : 0));
    }
    return fmt::format("shard-{:06}-{:016x}", shard.number, hash);
  }

  bool find_finished(const std::string& marker, EncodedShard& shard) const {
    const Result<std::string> text = read_text_file(marker);
    const Result<Json> json = text ? parse_json(*text, marker) : Result<Json>(text.diagnostics());
    if (!json || !json->is_object() || !IndexedDataset::open(shard.prefix)) return false;
    shard.empty_documents = json->value("empty", int64_t{0});
    shard.documents_with_special = json->value("special", int64_t{0});
    return shard.reused = true;
  }

  EncodedShard encode(const Shard& shard) const {
    EncodedShard result;
    result.output = shard.output;
    result.prefix = (work_folder_ / shard_name(shard)).string();
    const std::string marker = result.prefix + ".done";
    if (find_finished(marker, result)) return result;
    IndexedDatasetWriter writer(result.prefix, token_type_for_vocab(tokenizer_.vocab_size()));
    std::vector<int32_t> ids;
    for (const Piece& piece : shard.pieces) {
      if (stop_requested()) {
        result.stopped = true;
        return result;
      }
      encode_piece(piece, ids, result);
      if (!ids.empty()) writer.add_document(ids);
    }
    writer.close();
    write_file_atomic(marker,
                      dump_json({{"empty", result.empty_documents}, {"special", result.documents_with_special}}));
    return result;
  }

  void encode_piece(const Piece& piece, std::vector<int32_t>& ids, EncodedShard& result) const {
    const tokenizer::Boundary& boundary = tokenizer_.boundary();
    ids.clear();
    try {
      tokenizer_.encode_to(piece.text, {.allow_special = !options_.special_as_text}, ids);
    } catch (const InputError& error) {
      Diagnostics findings = error.diagnostics();
      for (Diagnostic& finding : findings) {
        finding.place = {options_.corpus.inputs[piece.input], static_cast<int>(piece.line)};
      }
      throw InputError(findings);
    }
    if (ids.empty()) {
      ++result.empty_documents;
      return;
    }
    if (std::any_of(ids.begin(), ids.end(), [&](int32_t id) { return special_[static_cast<size_t>(id)]; })) {
      ++result.documents_with_special;
    }
    if (boundary.before_by_default) ids.insert(ids.begin(), boundary.before.begin(), boundary.before.end());
    if (boundary.after_by_default && piece.complete)
      ids.insert(ids.end(), boundary.after.begin(), boundary.after.end());
    if (options_.append_eod && piece.complete) ids.push_back(*tokenizer_.special().eod);
  }

  // One dataset a file from the shards, then the work folder goes.
  void assemble() {
    std::vector<std::unique_ptr<IndexedDatasetWriter>> writers;
    for (const std::string& prefix : prefixes_) {
      writers.push_back(std::make_unique<IndexedDatasetWriter>(prefix, token_type_for_vocab(tokenizer_.vocab_size())));
    }
    for (const EncodedShard& shard : shards_) {
      writers[static_cast<size_t>(shard.output)]->add_dataset(value_or_throw(IndexedDataset::open(shard.prefix)));
    }
    for (size_t i = 0; i < writers.size(); ++i) {
      if (writers[i]->num_tokens() > 0) continue;
      Diagnostic diagnostic =
          error_at({options_.corpus.inputs.front()}, fmt::format("the text gives no tokens for '{}'", prefixes_[i]));
      diagnostic.found = fmt::format("{} empty documents", report_.empty_documents);
      diagnostic.suggestion = i == 0 ? "give more text" : "give more text, or a larger part for validation";
      throw InputError(diagnostic);
    }
    for (size_t i = 0; i < writers.size(); ++i) {
      report_.files.push_back({prefixes_[i], writers[i]->num_sequences(), writers[i]->num_tokens()});
      writers[i]->close();
    }
    std::error_code code;
    fs::remove_all(work_folder_, code);
  }

  const PrepareOptions& options_;
  const tokenizer::Tokenizer& tokenizer_;
  fs::path work_folder_;
  std::vector<std::string> prefixes_;
  int num_threads_ = 1;
  std::vector<bool> special_;
  std::deque<std::future<EncodedShard>> running_;
  std::vector<EncodedShard> shards_;
  int64_t num_shards_ = 0;
  PrepareReport report_;
};

Diagnostics check_options(const PrepareOptions& options, const tokenizer::Tokenizer& tokenizer) {
  Diagnostics findings = check_inputs(options.corpus);
  if (options.append_eod && !tokenizer.special().eod) {
    Diagnostic diagnostic = error_at({tokenizer.source()}, "the tokenizer has no end-of-document token to append");
    diagnostic.suggestion = "leave out --append-eod, or use another tokenizer";
    findings.push_back(std::move(diagnostic));
  }
  if (options.valid_fraction < 0 || options.valid_fraction >= 1) {
    Diagnostic diagnostic = error_at({}, "the part for validation is out of range");
    diagnostic.found = format_double(options.valid_fraction);
    diagnostic.expected = "a number from 0 to less than 1";
    findings.push_back(std::move(diagnostic));
  }
  if (options.valid_fraction > 0 && options.valid_prefix == options.output_prefix) {
    findings.push_back(error_at({options.valid_prefix}, "training and validation data cannot be the same file"));
  }
  return findings;
}

}  // namespace

CorpusCounts for_each_document(const CorpusOptions& corpus, double valid_fraction,
                               const std::function<bool(const Document&, int, bool)>& use) {
  int64_t cut = -1;
  if (valid_fraction > 0) {
    cut = static_cast<int64_t>(std::floor(static_cast<double>(num_characters(corpus)) * (1 - valid_fraction)));
  }
  CorpusReader reader(corpus);
  Document document;
  int64_t begin = 0;
  while (reader.next(document)) {
    const bool behind = cut >= 0 && begin >= cut;
    const auto characters = cut < 0 ? 0 : static_cast<int64_t>(num_code_points(document.text));
    const bool whole_file = corpus.unit == DocumentUnit::File && !document.from_json;
    if (whole_file && !behind && cut >= 0 && begin + characters > cut) {
      Document rest = document;
      const size_t at = byte_of_character(document.text, cut - begin);
      rest.text.erase(0, at);
      document.text.resize(at);
      if (!use(document, 0, false) || !use(rest, 1, true)) break;
    } else if (!use(document, behind ? 1 : 0, true)) {
      break;
    }
    begin += characters;
  }
  return reader.counts();
}

Result<PrepareReport> prepare(const PrepareOptions& options, const tokenizer::Tokenizer& tokenizer) {
  Diagnostics findings = check_options(options, tokenizer);
  if (has_errors(findings)) return findings;
  try {
    create_folders(fs::absolute(options.output_prefix).parent_path());
    const FileLock lock(options.output_prefix + ".lock", options.say, options.stop_requested);
    if (options.already_done && options.already_done()) return PrepareReport{.was_done = true};
    return Preparation(options, tokenizer).run();
  } catch (const InputError& error) {
    return error.diagnostics();
  }
}

std::string describe(const PrepareReport& report) {
  std::string text;
  for (const PreparedFile& file : report.files) {
    text += fmt::format("{}{}: {} documents, {} tokens", text.empty() ? "" : "\n", file.prefix,
                        format_thousands(file.documents), format_thousands(file.tokens));
  }
  const auto add = [&](int64_t count, const char* what) {
    if (count > 0) text += fmt::format("\n{} {}", format_thousands(count), what);
  };
  add(report.empty_documents, "empty documents were left out");
  add(report.documents_without_text, "lines without the text key were left out");
  add(report.documents_with_special, "documents hold the spelling of a special token; it became that token");
  add(report.invalid_utf8_documents, "documents hold bytes that are not UTF-8; they were read as U+FFFD");
  add(report.shards_reused, "shards of an earlier try were reused");
  return text;
}

}  // namespace primus::data
