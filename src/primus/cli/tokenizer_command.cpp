// primus tokenizer train | encode | decode | info
#include <CLI/CLI.hpp>
#include <chrono>
#include <fmt/format.h>
#include <iostream>
#include <sstream>

#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/base/progress.h"
#include "primus/base/strings.h"
#include "primus/cli/command.h"
#include "primus/cli/options.h"
#include "primus/tokenizer/bpe_train.h"
#include "primus/tokenizer/find.h"

namespace primus::cli {

namespace {

// Which tokenizer, for every sub-command but train.
struct Choice {
  std::string path;
  tokenizer::FindOptions find;
  int64_t vocab_size = 0;

  void add_to(CLI::App& app) {
    app.add_option("--tokenizer", path, "tokenizer file or folder, or a Hugging Face name in the local cache");
    app.add_option("--type", find.tokenizer_type, "tokenizer_type as in an experiment")
        ->default_str("HuggingFaceTokenizer");
    app.add_option("--vocab-file", find.vocab_file, "GPT2BPETokenizer: encoder.json");
    app.add_option("--merge-file", find.merge_file, "GPT2BPETokenizer: vocab.bpe");
    app.add_option("--vocab-size", vocab_size, "NullTokenizer, TikTokenizer: number of ids");
    app.add_option("--rank-kind", find.tiktoken_pattern,
                   "rank file: " + join(tokenizer::rank_kinds(), ", ") + " (default: by the number of ranks)");
  }

  std::unique_ptr<tokenizer::Tokenizer> load(Context& context) {
    if (find.tokenizer_type.empty()) find.tokenizer_type = "HuggingFaceTokenizer";
    if (vocab_size > 0) find.vocab_size = vocab_size;
    find.tokenizer_model = path;
    find.environment = context.environment;
    tokenizer::TokenizerResult result = tokenizer::find_tokenizer(find);
    if (result && !result.diagnostics().empty()) *context.err << render(result.diagnostics(), context.colour) << "\n";
    return value_or_throw(std::move(result));
  }
};

// --text, or a file, or standard input.
struct TextSource {
  std::string text;
  std::string file;
  CLI::Option* text_option = nullptr;

  void add_to(CLI::App& app) {
    text_option = app.add_option("--text", text, "the text itself");
    app.add_option("--file", file, "a file with the text; without --text and --file standard input is read");
  }
  std::string read() const {
    if (text_option->count() > 0) return text;
    if (!file.empty()) return value_or_throw(read_text_file(file));
    std::ostringstream all;
    all << std::cin.rdbuf();
    return std::move(all).str();
  }
};

void check_format(const std::string& format) {
  if (format == "text" || format == "json") return;
  Diagnostic error = error_at({"command line"}, "unknown --format");
  error.found = format;
  error.expected = "text or json";
  throw InputError(error);
}

// Encodes the text again and again for about two seconds on one thread; a million bytes a time, as documents are.
ExitCode bench(Context& context, const tokenizer::Tokenizer& tokenizer, const std::string& text) {
  constexpr size_t kPieceBytes = 65536;
  std::vector<int32_t> ids;
  const auto encode_all = [&] {
    ids.clear();
    for (size_t at = 0; at < text.size();) {
      size_t end = std::min(text.size(), at + kPieceBytes);
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
      tokenizer.encode_to(std::string_view(text).substr(at, end - at), {}, ids);
      at = end;
    }
  };
  if (text.empty()) throw InputError("--bench needs a text that is not empty");
  encode_all();  // fills the word cache
  double best_s = 1e9;
  double total_s = 0;
  int rounds = 0;
  while (rounds < 3 || total_s < 2.0) {
    const auto start = std::chrono::steady_clock::now();
    encode_all();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best_s = std::min(best_s, seconds);
    total_s += seconds;
    ++rounds;
  }
  const auto size = static_cast<double>(text.size());
  const Json row = {{"bytes", text.size()},
                    {"tokens", ids.size()},
                    {"rounds", rounds},
                    {"best_mb_per_s", size / best_s / 1e6},
                    {"mean_mb_per_s", size * rounds / total_s / 1e6},
                    {"best_mtokens_per_s", static_cast<double>(ids.size()) / best_s / 1e6}};
  *context.out << dump_json(row) << "\n";
  return ExitCode::Ok;
}

ExitCode encode(Context& context, const std::vector<std::string>& arguments) {
  CLI::App app{"text to token ids", "primus tokenizer encode"};
  Choice choice;
  TextSource source;
  tokenizer::EncodeOptions options;
  std::string format = "text";
  bool no_special = false, as_file = false, run_bench = false;
  choice.add_to(app);
  source.add_to(app);
  app.add_flag("--bos", options.add_bos, "put the beginning-of-text token in front");
  app.add_flag("--eos", options.add_eos, "put the end-of-text token behind");
  app.add_flag("--as-file", as_file, "put around the text what the tokenizer's own files say");
  app.add_flag("--no-special", no_special, "read the spelling of special tokens as plain text");
  app.add_flag("--bench", run_bench, "measure the speed on one thread instead");
  app.add_option("--format", format, "text or json");
  if (!parse_options(app, arguments, context)) return ExitCode::Ok;
  check_format(format);
  const auto tokenizer = choice.load(context);
  const std::string text = source.read();
  if (run_bench) return bench(context, *tokenizer, text);
  options.allow_special = !no_special;
  if (as_file) {
    options.add_bos = tokenizer->boundary().before_by_default;
    options.add_eos = tokenizer->boundary().after_by_default;
  }
  const std::vector<int32_t> ids = tokenizer->encode(text, options);
  if (format == "json") {
    Json tokens = Json::array();
    for (const int32_t id : ids) tokens.push_back(tokenizer->token_text(id).value_or(""));
    *context.out << dump_json({{"ids", ids}, {"tokens", tokens}}) << "\n";
    return ExitCode::Ok;
  }
  for (size_t i = 0; i < ids.size(); ++i) *context.out << (i ? " " : "") << ids[i];
  *context.out << "\n";
  return ExitCode::Ok;
}

ExitCode decode(Context& context, const std::vector<std::string>& arguments) {
  CLI::App app{"token ids to text", "primus tokenizer decode"};
  Choice choice;
  std::vector<std::string> words;
  std::string file, format = "text";
  tokenizer::DecodeOptions options;
  choice.add_to(app);
  app.add_option("ids", words, "token ids");
  app.add_option("--file", file,
                 "a file with ids, separated by white space; without ids and --file standard input is read");
  app.add_flag("--skip-special", options.skip_special, "leave special tokens out");
  app.add_option("--format", format, "text or json");
  if (!parse_options(app, arguments, context)) return ExitCode::Ok;
  check_format(format);
  const auto tokenizer = choice.load(context);
  if (words.empty()) {
    TextSource source;
    source.file = file;
    CLI::App unused;
    source.text_option = unused.add_option("--text", source.text);
    words = split_whitespace(source.read());
  }
  std::vector<int32_t> ids;
  for (const std::string& word : words) {
    const auto id = parse_int(word);
    if (!id || *id < 0 || *id >= tokenizer->vocab_size()) {
      Diagnostic error = error_at({"command line"}, "this is not a token id");
      error.found = printable_ascii(word);
      error.expected = fmt::format("whole numbers from 0 to {}", tokenizer->vocab_size() - 1);
      throw InputError(error);
    }
    ids.push_back(static_cast<int32_t>(*id));
  }
  const std::string text = tokenizer->decode(ids, options);
  *context.out << (format == "json" ? dump_json({{"text", text}}) : text) << "\n";
  return ExitCode::Ok;
}

Json optional_id(const std::optional<int32_t>& id) {
  return id ? Json(*id) : Json(nullptr);
}

ExitCode info(Context& context, const std::vector<std::string>& arguments) {
  CLI::App app{"kind, sizes, special ids and who decides them", "primus tokenizer info"};
  Choice choice;
  std::string format = "text", probe = "Hello, world! It is 2024.";
  choice.add_to(app);
  app.add_option("--probe", probe, "text whose first ids are shown");
  app.add_option("--format", format, "text or json");
  if (!parse_options(app, arguments, context)) return ExitCode::Ok;
  check_format(format);
  const auto tokenizer = choice.load(context);
  std::vector<int32_t> ids;
  if (tokenizer->kind().find("numbers") == std::string::npos) ids = tokenizer->encode_as_file(probe);
  if (ids.size() > 10) ids.resize(10);
  if (format == "text") {
    *context.out << tokenizer->describe() << "probe       " << printable_ascii(probe) << "\n            ";
    for (const int32_t id : ids) *context.out << id << " ";
    *context.out << "\n";
    return ExitCode::Ok;
  }
  const tokenizer::SpecialIds& special = tokenizer->special();
  const Json row = {{"kind", tokenizer->kind()},
                    {"source", tokenizer->source()},
                    {"vocab_size", tokenizer->vocab_size()},
                    {"bos", optional_id(special.bos)},
                    {"eos", optional_id(special.eos)},
                    {"pad", optional_id(special.pad)},
                    {"eod", optional_id(special.eod)},
                    {"adds_bos", tokenizer->boundary().before_by_default},
                    {"adds_eos", tokenizer->boundary().after_by_default},
                    {"decided_by", tokenizer->boundary().decided_by},
                    {"probe", probe},
                    {"probe_ids", ids}};
  *context.out << dump_json(row) << "\n";
  return ExitCode::Ok;
}

ExitCode train(Context& context, const std::vector<std::string>& arguments) {
  CLI::App app{"train a byte-level BPE vocabulary, or collect characters", "primus tokenizer train"};
  tokenizer::BpeTrainOptions options;
  std::vector<std::string> files;
  std::string output, kind = "bpe";
  bool overwrite = false;
  app.add_option("--input", files, "text files")->required();
  app.add_option("--output", output, "folder for tokenizer.json (bpe) or characters.json (characters)")->required();
  app.add_option("--kind", kind, "bpe or characters");
  app.add_option("--vocab-size", options.vocab_size, "tokens, special ones and the 256 bytes included (bpe)");
  app.add_option("--special", options.special, "special tokens, the first ids (bpe)")->default_str("<|endoftext|>");
  app.add_option("--min-count", options.min_count, "pairs seen less often are not joined (bpe)");
  app.add_flag("--overwrite", overwrite, "replace a file that is there");
  if (!parse_options(app, arguments, context)) return ExitCode::Ok;
  if (kind != "bpe" && kind != "characters") {
    Diagnostic error = error_at({"command line"}, "unknown --kind");
    error.found = kind;
    error.expected = "bpe or characters";
    throw InputError(error);
  }
  const fs::path target = fs::path(output) / (kind == "bpe" ? "tokenizer.json" : "characters.json");
  if (fs::exists(target) && !overwrite) {
    Diagnostic error = error_at({target.string()}, "there is a tokenizer already");
    error.suggestion = "choose another --output, or add --overwrite";
    throw InputError(error);
  }
  tokenizer::BpeTrainer trainer(options);
  std::string all;
  Diagnostics missing;
  Progress progress("reading text", static_cast<int64_t>(files.size()));
  for (size_t i = 0; i < files.size(); ++i) {
    Result<std::string> text = read_text_file(files[i]);
    if (!text) {
      missing.insert(missing.end(), text.diagnostics().begin(), text.diagnostics().end());
      continue;
    }
    if (kind == "bpe") trainer.add(*text);
    if (kind == "characters") all += *text;
    progress.update(static_cast<int64_t>(i) + 1);
  }
  if (!missing.empty()) throw InputError(missing);
  if (kind == "characters") {
    create_folders(output);
    write_file_atomic(target, tokenizer::characters_json(all));
  } else {
    const tokenizer::TrainedBpe trained = value_or_throw(trainer.train());
    create_folders(output);
    write_file_atomic(target, trained.to_json());
    *context.out << fmt::format("{} words, {} different, {} merges\n", format_thousands(trained.num_words),
                                format_thousands(trained.num_different_words),
                                format_thousands(static_cast<int64_t>(trained.merges.size())));
    if (trained.vocab_size() < options.vocab_size) {
      *context.err << render(
                          warning_at({}, fmt::format(
                                             "the text gave only {} of {} tokens: no pair is left that occurs {} times",
                                             trained.vocab_size(), options.vocab_size, options.min_count)),
                          context.colour)
                   << "\n";
    }
  }
  const auto tokenizer = value_or_throw(tokenizer::load_tokenizer(target));
  *context.out << fmt::format("wrote {} ({} tokens)\n", target.string(), tokenizer->vocab_size());
  return ExitCode::Ok;
}

constexpr const char* kTokenizerHelp =
    "primus tokenizer <train|encode|decode|info> [options]\n"
    "  train   make a byte-level BPE vocabulary (or a character list) from text files\n"
    "  encode  text to token ids\n"
    "  decode  token ids to text\n"
    "  info    kind, sizes, special ids and who decides them\n"
    "Each takes --help.\n";

}  // namespace

ExitCode run_tokenizer(Context& context) {
  const std::string action = context.arguments.empty() ? "--help" : context.arguments[0];
  if (action == "--help" || action == "-h") {
    *context.out << kTokenizerHelp;
    return ExitCode::Ok;
  }
  const std::vector<std::string> rest(context.arguments.begin() + 1, context.arguments.end());
  if (action == "train") return train(context, rest);
  if (action == "encode") return encode(context, rest);
  if (action == "decode") return decode(context, rest);
  if (action == "info") return info(context, rest);
  Diagnostic error = error_at({"command line"}, fmt::format("unknown action '{}' of tokenizer", action));
  error.expected = "train, encode, decode or info";
  error.suggestion = did_you_mean(action, {"train", "encode", "decode", "info"});
  throw InputError(error);
}

}  // namespace primus::cli
