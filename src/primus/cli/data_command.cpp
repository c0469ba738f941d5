// data prepare | inspect | build-index: training data without training.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <fmt/format.h>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/base/strings.h"
#include "primus/cli/command.h"
#include "primus/cli/options.h"
#include "primus/cli/resolve_run.h"
#include "primus/data/loader.h"
#include "primus/data/prepare_run.h"
#include "primus/dialect/to_spec.h"

namespace primus::cli {
namespace {

constexpr int64_t kShownTokens = 64;  // of a sample, as text

InputError bad_words(std::string message, std::string expected, std::string suggestion) {
  Diagnostic error = error_at({.file = "command line"}, std::move(message));
  error.expected = std::move(expected);
  error.suggestion = std::move(suggestion);
  return InputError(error);
}

// ---------------------------------------------------------------------------------------------------- stopping
// Ctrl-C and SIGTERM ask for a stop instead of ending the process, so that nothing stays half-written.
class StopSignals {
 public:
  StopSignals() {
    caught().store(0);
    struct sigaction action{};
    action.sa_handler = [](int number) { caught().store(number); };
    sigaction(SIGINT, &action, &old_interrupt_);
    sigaction(SIGTERM, &action, &old_terminate_);
  }
  ~StopSignals() {
    sigaction(SIGINT, &old_interrupt_, nullptr);
    sigaction(SIGTERM, &old_terminate_, nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  static int signal() { return caught().load(); }
  static bool requested() { return signal() != 0; }
  static ExitCode exit_code() { return static_cast<ExitCode>(kSignalExitBase + signal()); }

 private:
  // A signal handler can reach nothing but process-wide state.
  static std::atomic<int>& caught() {
    static std::atomic<int> number{0};
    return number;
  }
  struct sigaction old_interrupt_{}, old_terminate_{};
};

// ---------------------------------------------------------------------------------------------------- prepare
struct PrepareRequest {
  data::PrepareOptions options;
  tokenizer::FindOptions find;
  std::string document = "file", format = "text", json_key = "text";
  int64_t vocab_size = 0;

  void add_to(CLI::App& app) {
    app.add_option("--input", options.corpus.inputs, "text or JSON lines: .txt .jsonl, or either with .gz")->required();
    app.add_option("--output-prefix", options.output_prefix, "P: writes P.bin and P.idx")->required();
    app.add_option("--tokenizer-type", find.tokenizer_type, "as in an experiment")->default_str("HuggingFaceTokenizer");
    app.add_option("--tokenizer-model", find.tokenizer_model, "tokenizer file or folder, or a name in the local cache");
    app.add_option("--vocab-file", find.vocab_file, "GPT2BPETokenizer: encoder.json");
    app.add_option("--merge-file", find.merge_file, "GPT2BPETokenizer: vocab.bpe");
    app.add_option("--vocab-size", vocab_size, "NullTokenizer, TikTokenizer: number of ids");
    app.add_option("--valid-fraction", options.valid_fraction,
                   "the last part of the characters goes to P_valid, the rest to P_train");
    app.add_option("--document", document, "what a document of a text file is: file, paragraph or line");
    app.add_option("--json-key", json_key, "key of the text in JSON lines");
    app.add_flag("--append-eod", options.append_eod, "put the end-of-document token behind every document");
    app.add_flag("--special-as-text", options.special_as_text,
                 "read the spelling of a special token in a document as plain text");
    app.add_option("--threads", options.num_threads, "threads that encode; 0: one a core")->check(CLI::Range(0, 4096));
    app.add_option("--format", format, "text or json")->check(CLI::IsMember({"text", "json"}));
  }
};

Json report_json(const data::PrepareReport& report) {
  Json files = Json::array();
  for (const data::PreparedFile& file : report.files) {
    files.push_back({{"prefix", file.prefix}, {"documents", file.documents}, {"tokens", file.tokens}});
  }
  return {{"files", files},
          {"empty_documents", report.empty_documents},
          {"documents_without_text", report.documents_without_text},
          {"documents_with_special", report.documents_with_special},
          {"invalid_utf8_documents", report.invalid_utf8_documents}};
}

ExitCode run_prepare(const std::vector<std::string>& arguments, Context& context) {
  CLI::App app{"makes training data (.bin and .idx) from text; Ctrl-C stops, the same command goes on",
               "primus-cli data prepare"};
  PrepareRequest request;
  request.add_to(app);
  if (!parse_options(app, arguments, context)) return ExitCode::Ok;
  const auto unit = data::parse_document_unit(request.document);
  if (!unit) {
    throw bad_words(fmt::format("unknown --document '{}'", printable_ascii(request.document)),
                    "file, paragraph or line", did_you_mean(request.document, {"file", "paragraph", "line"}));
  }
  data::PrepareOptions& options = request.options;
  options.corpus.unit = *unit;
  options.corpus.json_key = request.json_key;
  if (options.valid_fraction > 0) {
    options.valid_prefix = options.output_prefix + "_valid";
    options.output_prefix += "_train";
  }
  if (request.find.tokenizer_type.empty()) request.find.tokenizer_type = "HuggingFaceTokenizer";
  if (request.vocab_size > 0) request.find.vocab_size = request.vocab_size;
  request.find.environment = context.environment;
  const auto tokenizer = value_or_throw(tokenizer::find_tokenizer(request.find));

  const StopSignals stop;
  options.stop_requested = StopSignals::requested;
  options.say = [&](const std::string& line) { *context.err << line << "\n"; };
  const data::PrepareReport report = value_or_throw(data::prepare(options, *tokenizer));
  if (report.stopped) {
    *context.err << fmt::format("stopped: {} shards are kept in '{}.work'; the same command goes on from there\n",
                                report.shards, options.output_prefix);
    return StopSignals::exit_code();
  }
  *context.out << (request.format == "json" ? dump_json(report_json(report)) : data::describe(report)) << "\n";
  return ExitCode::Ok;
}

// ---------------------------------------------------------------------------------------------------- inspect
struct InspectRequest {
  TrainRequest train;  // the experiment and its overrides
  std::string split = "train", format = "text";
  int64_t num_samples = 3, first = 0;
};

// A run's data as training would open it.
struct OpenedRun {
  spec::RunSpec spec;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;  // null: none was found, or mock data
  data::Datasets datasets;
};

void print(const Diagnostics& findings, Context& context) {
  if (!findings.empty()) *context.err << render(findings, context.colour) << "\n";
}

void load_tokenizer(OpenedRun& run, Context& context) {
  if (run.spec.data.mock) return;
  auto found = tokenizer::find_tokenizer(data::tokenizer_options(run.spec, context.environment));
  if (found) {
    run.tokenizer = std::move(found).value();
    const Diagnostics findings = dialect::finish_vocabulary(run.spec, run.tokenizer->vocab_size());
    if (has_errors(findings)) throw InputError(findings);
    return;
  }
  // Looking at ids needs no tokenizer; where the vocabulary is known, it is still checked.
  Diagnostics notes = found.diagnostics();
  for (Diagnostic& note : notes) note.severity = Severity::Warning;
  print(notes, context);
  if (run.spec.model.vocab_size <= 0) run.spec.model.vocab_size = int64_t{1} << 31;
}

// Nothing when the user stopped the preparation of the data.
std::optional<OpenedRun> open_run(const InspectRequest& request, const data::SplitSizes* only, Context& context) {
  ResolvedRun resolved = resolve_run(request.train, context, 1);
  OpenedRun run;
  run.spec = std::move(resolved.spec);
  data::resolve_paths(run.spec, context.install_root);
  {
    const StopSignals stop;
    Logger log;
    const auto prepared = value_or_throw(data::prepare_if_missing(
        run.spec, log, {.environment = context.environment, .stop_requested = StopSignals::requested}));
    if (prepared.stopped) return std::nullopt;
  }
  load_tokenizer(run, context);
  const int64_t eod = run.tokenizer ? run.tokenizer->special().eod.value_or(-1) : -1;
  data::SplitSizes sizes = data::split_sizes(run.spec, data::train_samples(run.spec));
  if (only != nullptr) {
    // Only one split is looked at; one that the run would not use is shown from its start.
    sizes = {only->train > 0 ? sizes.train : 0, only->valid > 0 ? std::max(sizes.valid, only->valid) : 0,
             only->test > 0 ? std::max(sizes.test, only->test) : 0};
  }
  auto datasets = data::open_datasets(run.spec, eod, run.spec.model.vocab_size, sizes,
                                      {.require_test = only != nullptr, .check_enough = false});
  if (!datasets) throw InputError(datasets.diagnostics());
  print(datasets.diagnostics(), context);
  run.datasets = std::move(datasets).value();
  return run;
}

void add_experiment_options(CLI::App& app, InspectRequest& request) {
  app.allow_extras();
  app.add_option("--config", request.train.config, "the experiment file")->required();
  app.add_option("--presets", request.train.presets, "use DIR's primus/configs and examples");
  app.add_flag("--proxy", request.train.proxy, "of the experiment shrunk by --proxy");
  app.add_option("--format", request.format, "text or json")->check(CLI::IsMember({"text", "json"}));
}

Json sample_json(const data::Sample& sample, int64_t position, int64_t index, const std::string& file) {
  const std::vector<int32_t> inputs(sample.tokens.begin(), sample.tokens.end() - 1);
  const std::vector<int32_t> labels(sample.tokens.begin() + 1, sample.tokens.end());
  const std::vector<int64_t> documents(sample.documents.begin(), sample.documents.end() - 1);
  return {{"position", position},
          {"index", index},
          {"file", file},
          {"tokens", inputs},
          {"labels", labels},
          {"loss_mask", sample.loss_mask},
          {"position_ids", sample.position_ids},
          {"document_start", sample.document_start},
          {"document", documents}};
}

// One token a cell: id, its text, and a star where its prediction of the next token does not count.
void print_sample(const data::Sample& sample, int64_t position, int64_t index, const std::string& file,
                  const tokenizer::Tokenizer* tokenizer, std::ostream& out) {
  const auto length = static_cast<int64_t>(sample.loss_mask.size());
  std::vector<std::string> documents;
  for (int64_t i = 0; i < length; ++i) {
    const std::string name = std::to_string(sample.documents[static_cast<size_t>(i)]);
    if (documents.empty() || documents.back() != name) documents.push_back(name);
  }
  const auto counted = std::count(sample.loss_mask.begin(), sample.loss_mask.end(), 1);
  out << fmt::format("sample {} (index {} of {}): {} tokens, {} in the loss, documents {}\n", position, index, file,
                     length, counted, join(documents, " "));
  std::string line = " ";
  for (int64_t i = 0; i < std::min(length, kShownTokens); ++i) {
    const auto at = static_cast<size_t>(i);
    std::string cell = std::to_string(sample.tokens[at]);
    if (tokenizer != nullptr && sample.tokens[at] < tokenizer->vocab_size()) {
      cell += fmt::format("'{}'", printable_ascii(tokenizer->decode(std::span(&sample.tokens[at], 1))));
    }
    if (sample.loss_mask[at] == 0) cell += '*';
    if (line.size() + cell.size() > 118) {
      out << line << "\n";
      line = " ";
    }
    line += " " + cell;
  }
  out << line << (length > kShownTokens ? fmt::format("\n  ... {} more", length - kShownTokens) : "") << "\n";
}

ExitCode run_inspect(const std::vector<std::string>& arguments, Context& context) {
  CLI::App app{"prints samples in the order in which training reads them, without a model; overrides may follow",
               "primus-cli data inspect"};
  InspectRequest request;
  add_experiment_options(app, request);
  const CLI::Range any_count(int64_t{0}, int64_t{1'000'000'000'000});
  app.add_option("--samples", request.num_samples, "how many")->check(any_count);
  app.add_option("--from", request.first, "samples of the run to pass over")->check(any_count);
  app.add_option("--split", request.split, "train, valid or test")->check(CLI::IsMember({"train", "valid", "test"}));
  if (!parse_options(app, arguments, context)) return ExitCode::Ok;
  request.train.overrides = app.remaining();
  const data::Split split = request.split == "train"   ? data::Split::Train
                            : request.split == "valid" ? data::Split::Valid
                                                       : data::Split::Test;
  const int64_t wanted = std::max<int64_t>(1, request.first + request.num_samples);
  const data::SplitSizes only{split == data::Split::Train ? wanted : 0, split == data::Split::Valid ? wanted : 0,
                              split == data::Split::Test ? wanted : 0};
  std::optional<OpenedRun> run = open_run(request, &only, context);
  if (!run) return StopSignals::exit_code();
  const data::DataSet* dataset = run->datasets[split].get();
  if (dataset == nullptr) throw InputError(fmt::format("the run reads no {} data", request.split));

  // Training follows the loader's order; an evaluation reads its samples from the first one on.
  data::OrderRule rule = data::order_rule(run->spec, 1);
  if (split != data::Split::Train) rule = {.order = spec::LoaderOrder::Single};
  const data::SampleOrder order = value_or_throw(data::SampleOrder::make(dataset->size(), rule));
  const int64_t end = order.num_positions() < 0 ? wanted : std::min(wanted, order.num_positions());
  const int64_t count = request.num_samples > 0 ? std::max<int64_t>(0, end - request.first) : 0;
  const std::vector<int64_t> indices = order.indices(std::min(request.first, end), count);
  const std::vector<std::string> files = dataset->files();

  Json rows = Json::array();
  data::Sample sample;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t index = indices[static_cast<size_t>(i)];
    dataset->get(index, sample);
    const std::string& file = files[static_cast<size_t>(sample.file)];
    if (request.format == "json") {
      rows.push_back(sample_json(sample, request.first + i, index, file));
    } else {
      print_sample(sample, request.first + i, index, file, run->tokenizer.get(), *context.out);
    }
  }
  if (request.format == "json") *context.out << dump_json({{"samples", rows}}) << "\n";
  if (count < request.num_samples) {
    *context.err << fmt::format("the {} data ends after {} samples\n", request.split, dataset->size());
  }
  return ExitCode::Ok;
}

ExitCode run_build_index(const std::vector<std::string>& arguments, Context& context) {
  CLI::App app{"prepares and checks the data of an experiment and builds its sample indices ahead of training",
               "primus-cli data build-index"};
  InspectRequest request;
  add_experiment_options(app, request);
  if (!parse_options(app, arguments, context)) return ExitCode::Ok;
  request.train.overrides = app.remaining();
  std::optional<OpenedRun> run = open_run(request, nullptr, context);
  if (!run) return StopSignals::exit_code();
  Json rows = Json::array();
  for (const data::Split split : {data::Split::Train, data::Split::Valid, data::Split::Test}) {
    const data::DataSet* dataset = run->datasets[split].get();
    if (dataset == nullptr) continue;
    const std::vector<std::string> files = dataset->files();
    rows.push_back({{"split", data::to_string(split)}, {"samples", dataset->size()}, {"files", files}});
    if (request.format == "text") {
      *context.out << fmt::format("{:<5} {} samples of {} tokens from {}\n", data::to_string(split),
                                  format_thousands(dataset->size()), dataset->sequence_length(), join(files, ", "));
    }
  }
  if (request.format == "json") *context.out << dump_json({{"splits", rows}}) << "\n";
  return ExitCode::Ok;
}

constexpr const char* kDataHelp =
    "usage: primus-cli data <prepare|inspect|build-index> [options]\n"
    "  prepare      make training data from text or JSON lines\n"
    "  inspect      print samples of an experiment's data in training order\n"
    "  build-index  check the data of an experiment and build its sample indices\n"
    "Each takes --help.\n";

}  // namespace

ExitCode run_data(Context& context) {
  const std::string action = context.arguments.empty() ? "--help" : context.arguments[0];
  if (action == "--help" || action == "-h") {
    *context.out << kDataHelp;
    return ExitCode::Ok;
  }
  const std::vector<std::string> rest(context.arguments.begin() + 1, context.arguments.end());
  if (action == "prepare") return run_prepare(rest, context);
  if (action == "inspect") return run_inspect(rest, context);
  if (action == "build-index") return run_build_index(rest, context);
  throw bad_words(fmt::format("unknown action '{}' of data", printable_ascii(action)),
                  "prepare, inspect or build-index", did_you_mean(action, {"prepare", "inspect", "build-index"}));
}

}  // namespace primus::cli
