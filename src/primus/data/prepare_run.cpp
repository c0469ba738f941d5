#include "primus/data/prepare_run.h"

#include <fmt/format.h>

#include "primus/base/error.h"
#include "primus/base/hash.h"
#include "primus/base/json.h"
#include "primus/base/strings.h"
#include "primus/data/file_lock.h"
#include "primus/data/indexed_dataset.h"
#include "primus/tokenizer/bpe_train.h"

namespace primus::data {

namespace {

bool is_there(const fs::path& path) {
  std::error_code code;
  return fs::exists(path, code);
}

// The working folder first, then the base folder; `ending` is what a prefix lacks.
void resolve(std::string& path, const fs::path& base_folder, const char* ending = "") {
  if (path.empty() || fs::path(path).is_absolute() || is_there(path + ending)) return;
  const std::string other = (base_folder / path).string();
  if (is_there(other + ending)) path = other;
}

Diagnostic cannot_make(std::string message, std::string suggestion) {
  Diagnostic diagnostic = error_at({}, std::move(message));
  diagnostic.key = "prepare_data";
  diagnostic.suggestion = std::move(suggestion);
  return diagnostic;
}

class RunPreparation {
 public:
  RunPreparation(const spec::RunSpec& run, Logger& log, const PrepareRunOptions& options)
      : run_(run), wanted_(*run.data.prepare), log_(log), run_options_(options) {
    options_.corpus = {wanted_.inputs, parse_document_unit(wanted_.document).value_or(DocumentUnit::File),
                       wanted_.json_key};
    options_.valid_fraction = wanted_.valid_fraction;
    options_.num_threads = options.num_threads;
    options_.stop_requested = options.stop_requested;
    options_.say = [&log](const std::string& line) { log.info(line); };
  }

  Result<PrepareReport> make() {
    Diagnostics findings = choose_outputs();
    if (has_errors(findings)) return findings;
    const std::string tokenizer_file = trained_tokenizer_file();
    if (is_done(tokenizer_file)) return PrepareReport{};
    findings = check_inputs(options_.corpus);
    if (has_errors(findings)) return explained(std::move(findings));
    if (!tokenizer_file.empty() && !is_there(tokenizer_file)) {
      const Status trained = train_tokenizer(tokenizer_file);
      if (!trained) return trained.diagnostics();
    }
    tokenizer::TokenizerResult tokenizer = tokenizer::find_tokenizer(tokenizer_options(run_, run_options_.environment));
    if (!tokenizer) return tokenizer.diagnostics();
    options_.append_eod = (*tokenizer)->special().eod.has_value();
    options_.already_done = [this, tokenizer_file] { return is_done(tokenizer_file); };
    log_.info(fmt::format("preparing '{}' from {}", options_.output_prefix, join(wanted_.inputs, ", ")));
    Result<PrepareReport> report = prepare(options_, **tokenizer);
    if (!report || report->stopped || report->was_done) return report;
    write_file_atomic(record_file(), dump_json(record(tokenizer_file), 2) + "\n");
    for (const std::string& line : split(describe(*report), '\n')) log_.info(line);
    return report;
  }

 private:
  Diagnostics choose_outputs() {
    const spec::DataBlend& train = run_.data.train.empty() ? run_.data.blend : run_.data.train;
    Diagnostics findings;
    if (train.files.size() != 1) {
      findings.push_back(
          cannot_make(fmt::format("prepare_data makes one training file, {} are given", train.files.size()),
                      "give one path in train_data_path (or data_path)"));
    } else {
      options_.output_prefix = train.files.front().prefix;
    }
    if (wanted_.valid_fraction > 0) {
      if (run_.data.valid.files.size() != 1) {
        findings.push_back(cannot_make(
            fmt::format("valid_fraction makes one validation file, {} are given", run_.data.valid.files.size()),
            "give one path in valid_data_path, or set valid_fraction: 0"));
      } else {
        options_.valid_prefix = run_.data.valid.files.front().prefix;
      }
    }
    return findings;
  }

  // Empty: this run trains no tokenizer.
  std::string trained_tokenizer_file() const {
    if (wanted_.train_tokenizer_vocab_size <= 0) return "";
    const std::string& model = run_.tokenizer.model;
    return model.ends_with(".json") ? model : (fs::path(model) / "tokenizer.json").string();
  }

  fs::path record_file() const { return options_.output_prefix + ".prepared.json"; }

  // What the files are made from. Sizes instead of times: a fresh copy of the same project needs no new preparation.
  Json record(const std::string& tokenizer_file) const {
    Json inputs = Json::array();
    for (const std::string& input : wanted_.inputs) {
      std::error_code code;
      const auto size = fs::file_size(input, code);
      inputs.push_back({{"file", fs::path(input).filename().string()}, {"bytes", code ? 0 : size}});
    }
    const std::string& model = tokenizer_file.empty() ? run_.tokenizer.model : tokenizer_file;
    std::error_code code;
    const Result<std::string> content =
        fs::is_regular_file(model, code) ? read_text_file(model) : Result<std::string>(std::string());
    return {{"inputs", inputs},
            {"document", wanted_.document},
            {"json_key", wanted_.json_key},
            {"valid_fraction", wanted_.valid_fraction},
            {"tokenizer_type", run_.tokenizer.type},
            {"tokenizer_model", fs::path(model).filename().string()},
            {"tokenizer_sha256", sha256_hex(content ? *content : "")}};
  }

  bool is_done(const std::string& tokenizer_file) const {
    for (const std::string& prefix : {options_.output_prefix, options_.valid_prefix}) {
      if (!prefix.empty() && (!is_there(idx_path(prefix)) || !is_there(bin_path(prefix)))) return false;
    }
    if (!tokenizer_file.empty() && !is_there(tokenizer_file)) return false;
    const Result<std::string> text = read_text_file(record_file());
    if (!text) return true;
    const Result<Json> made_from = parse_json(*text, record_file().string());
    // Without the text there is nothing to compare with, and nothing to prepare again from.
    if (made_from && has_errors(check_inputs(options_.corpus))) return true;
    if (made_from && *made_from == record(tokenizer_file)) return true;
    if (!said_again_)
      log_.info(fmt::format("'{}' was prepared from something else: preparing it again", options_.output_prefix));
    said_again_ = true;
    return false;
  }

  Status train_tokenizer(const std::string& file) {
    create_folders(fs::absolute(file).parent_path());
    const FileLock lock(file + ".lock", options_.say, options_.stop_requested);
    if (is_there(file)) return Done{};
    log_.info(fmt::format("training a byte-level BPE of {} tokens: '{}'",
                          format_thousands(wanted_.train_tokenizer_vocab_size), file));
    tokenizer::BpeTrainer trainer({.vocab_size = wanted_.train_tokenizer_vocab_size});
    try {
      for_each_document(options_.corpus, options_.valid_fraction, [&](const Document& document, int output, bool) {
        if (output == 0) trainer.add(document.text);
        return output == 0 && !(options_.stop_requested && options_.stop_requested());
      });
    } catch (const InputError& error) {
      return error.diagnostics();
    }
    if (options_.stop_requested && options_.stop_requested())
      return error_at({}, "stopped before the tokenizer was trained");
    const Result<tokenizer::TrainedBpe> trained = trainer.train();
    if (!trained) return trained.diagnostics();
    write_file_atomic(file, trained->to_json());
    if (trained->vocab_size() < wanted_.train_tokenizer_vocab_size) {
      log_.info(fmt::format("the text gave {} of {} tokens: no pair is left that occurs twice",
                            format_thousands(trained->vocab_size()),
                            format_thousands(wanted_.train_tokenizer_vocab_size)));
    }
    return Done{};
  }

  Diagnostics explained(Diagnostics findings) const {
    for (Diagnostic& finding : findings) {
      if (finding.key.empty()) finding.key = "prepare_data.input";
      if (finding.expected.empty()) {
        finding.expected = fmt::format("the text from which '{}' is made", options_.output_prefix);
      }
    }
    return findings;
  }

  const spec::RunSpec& run_;
  const spec::PrepareData& wanted_;
  Logger& log_;
  const PrepareRunOptions& run_options_;
  PrepareOptions options_;
  mutable bool said_again_ = false;
};

}  // namespace

void resolve_paths(spec::RunSpec& run, const fs::path& base_folder) {
  if (base_folder.empty()) return;
  for (spec::DataBlend* blend : {&run.data.blend, &run.data.train, &run.data.valid, &run.data.test}) {
    for (spec::DataFile& file : blend->files) resolve(file.prefix, base_folder, ".idx");
  }
  if (run.data.prepare) {
    for (std::string& input : run.data.prepare->inputs) resolve(input, base_folder);
  }
  if (run.data.texts) {
    resolve(run.data.texts->train_path, base_folder);
    resolve(run.data.texts->valid_path, base_folder);
  }
  resolve(run.tokenizer.model, base_folder);
  resolve(run.tokenizer.vocab_file, base_folder);
  resolve(run.tokenizer.merge_file, base_folder);
}

tokenizer::FindOptions tokenizer_options(const spec::RunSpec& run, Environment environment) {
  tokenizer::FindOptions options;
  options.tokenizer_type = run.tokenizer.type;
  options.tokenizer_model = run.tokenizer.model;
  options.vocab_file = run.tokenizer.vocab_file;
  options.merge_file = run.tokenizer.merge_file;
  options.vocab_size = run.tokenizer.vocab_size;
  options.environment = std::move(environment);
  return options;
}

Result<PrepareReport> prepare_if_missing(const spec::RunSpec& run, Logger& log, const PrepareRunOptions& options) {
  if (!run.data.prepare || run.data.mock) return PrepareReport{};
  return RunPreparation(run, log, options).make();
}

}  // namespace primus::data
