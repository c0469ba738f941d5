// The program without libtorch: its start, the configuration of a real experiment, the tokenizer against the reference
// library.
#include <algorithm>
#include <fmt/format.h>

#include "bench/bench.h"
#include "bench/contenders.h"
#include "bench/process.h"

#include "primus/base/env.h"
#include "primus/base/error.h"
#include "primus/base/strings.h"

namespace primus::bench {
namespace {

// Median wall milliseconds of a program from start to end; nothing when it fails.
std::optional<double> median_ms(const std::vector<std::string>& words, const Setup& setup) {
  std::vector<double> all_ms;
  const int rounds = setup.is_smoke ? 3 : 40;
  for (int round = 0; round <= rounds; ++round) {
    const Ended ended = run_process({.words = words, .prints_command = false});
    if (ended.exit_code != 0) return std::nullopt;
    if (round > 0) all_ms.push_back(1e3 * ended.wall_s);  // the first one reads the program from disk
  }
  std::nth_element(all_ms.begin(), all_ms.begin() + rounds / 2, all_ms.end());
  return all_ms[static_cast<size_t>(rounds / 2)];
}

Row wall_row(const std::string& id, const std::vector<std::string>& arguments, double limit_ms, const Setup& setup) {
  std::vector<std::string> words{beside_this_program("primus").string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Row row{.id = id,
          .what = "primus " + join(arguments, " ") + ", wall time, process included",
          .against = fmt::format("{:.0f} ms", limit_ms),
          .target = 1.0,
          .at_least = false};
  const std::optional<double> ms = median_ms(words, setup);
  if (!ms) {
    row.detail = "the command failed";
    return row;
  }
  row.ratio = *ms / limit_ms;
  row.detail = fmt::format("{:.1f} ms (an empty program: {:.1f} ms)", *ms, median_ms({"true"}, setup).value_or(0));
  return row;
}

struct Text {
  std::string name;
  std::string content;
};

// Both languages that matter: prose and code. Shakespeare's plays, and this project's own sources in the order of their
// paths.
Result<std::vector<Text>> texts() {
  const Ended prose = run_process({.words = {"gzip", "-dc", "data/tinyshakespeare.txt.gz"}, .prints_command = false});
  if (prose.exit_code != 0) return error_at({}, "data/tinyshakespeare.txt.gz cannot be unpacked: " + prose.error_tail);
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator("src/primus")) {
    const fs::path extension = entry.path().extension();
    if (extension == ".cpp" || extension == ".h") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::string code;
  for (const fs::path& file : files) code += value_or_throw(read_text_file(file));
  return std::vector<Text>{{"prose", prose.out}, {"code", code}};
}

Result<Json> run_ours(const fs::path& tokenizer, const fs::path& text) {
  const Ended ended = run_process({.words = {beside_this_program("primus").string(), "tokenizer", "encode",
                                             "--tokenizer", tokenizer.string(), "--bench", "--file", text.string()}});
  if (ended.exit_code != 0) return error_at({}, "primus tokenizer encode failed: " + ended.error_tail);
  return parse_json(trim(ended.out), "primus tokenizer encode");
}

Row tokenizer_row(const std::string& name, const Text& text, const Setup& setup) {
  const Environment environment = process_environment();
  const fs::path assets =
      environment("PRIMUS_ASSETS").value_or(environment("HOME").value_or("") + "/.cache/primus/assets");
  Row row{.id = "e.tokenizer." + name + "." + text.name,
          .what = fmt::format("{} vocabulary, {:.1f} MB of {}, one thread", name,
                              1e-6 * static_cast<double>(text.content.size()), text.name),
          .against = "Hugging Face tokenizers, one thread",
          .target = 10};
  if (!fs::exists(assets / name)) {
    row.detail = "no vocabulary in " + (assets / name).string() + "; tests/assets/fetch.sh brings it";
    return row;
  }
  const ScratchFolder scratch;
  const fs::path file = scratch.path() / "text";
  write_file_atomic(file, text.content);
  Turns ours, theirs;  // seconds per megabyte
  for (int turn = 0; turn < setup.turns(); ++turn) {
    const Result<Json> mine = run_ours(assets / name, file);
    const Result<Json> peer =
        mine.ok() ? run_peer("tokenizer_peer.py", {(assets / name).string(), file.string()}) : mine;
    if (!peer.ok()) {
      row.detail = reason(peer.diagnostics());
      if (mine.ok()) row.detail = fmt::format("{:.1f} MB/s; {}", (*mine)["best_mb_per_s"].get<double>(), row.detail);
      return row;
    }
    if ((*mine)["tokens"] != (*peer)["tokens"]) {
      row.detail = fmt::format("the tokens differ: {} and {}", (*mine)["tokens"].dump(), (*peer)["tokens"].dump());
      return row;
    }
    ours.values.push_back(1 / (*mine)["best_mb_per_s"].get<double>());
    theirs.values.push_back(1 / (*peer)["best_mb_per_s"].get<double>());
  }
  row.ratio = theirs.best() / ours.best();
  row.is_stable = ours.are_stable() && theirs.are_stable();
  row.detail = fmt::format("{:.1f} against {:.1f} MB/s", 1 / ours.best(), 1 / theirs.best());
  return row;
}

}  // namespace

std::vector<Row> config_rows(const Setup& setup) {
  return {wall_row("c.config.show",
                   {"config", "show", "--config", "examples/megatron/configs/MI300X/llama3.1_8B-BF16-pretrain.yaml"},
                   10, setup),
          wall_row("c.config.check", {"config", "check", "examples", "--quiet"}, 500, setup)};
}

std::vector<Row> start_rows(const Setup& setup) {
  return {wall_row("d.start.help", {"--help"}, 20, setup)};
}

std::vector<Row> tokenizer_rows(const Setup& setup) {
  const Result<std::vector<Text>> all = texts();
  std::vector<Row> rows;
  for (const std::string name : {"gpt2", "deepseek"}) {
    for (const Text& text : value_or_throw(all)) rows.push_back(tokenizer_row(name, text, setup));
  }
  return rows;
}

}  // namespace primus::bench
