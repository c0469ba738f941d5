#include "primus/cli/model_request.h"

#include <cmath>
#include <fmt/format.h>

#include "primus/base/check.h"
#include "primus/base/error.h"
#include "primus/base/fs.h"
#include "primus/base/strings.h"

namespace primus::cli {

namespace {

struct NumberOption {
  const char* name;
  std::string text;
};

InputError bad_number(const NumberOption& option, const char* expected) {
  Diagnostic error = error_at({.file = "command line"}, fmt::format("{} is not usable", option.name));
  error.found = "'" + printable_ascii(option.text) + "'";
  error.expected = expected;
  return InputError(error);
}

void read_number(const NumberOption& option, double low, double high, const char* expected, double& into) {
  if (option.text.empty()) return;
  const auto value = parse_double(option.text);
  if (!value || !(*value >= low && *value <= high)) throw bad_number(option, expected);
  into = *value;
}

void read_number(const NumberOption& option, int64_t low, const char* expected, int64_t& into) {
  if (option.text.empty()) return;
  const auto value = parse_int(option.text);
  if (!value || *value < low) throw bad_number(option, expected);
  into = *value;
}

void check_source(const ModelRequest& request) {
  const ModelSource& source = request.source;
  const int given = !source.hf.empty() + !source.run.empty() + !source.config.config.empty();
  if (given == 1) return;
  throw bad_words(fmt::format("model {} needs one model", request.action),
                  "--hf DIR a Hugging Face folder, --run DIR a run folder, or --config F an experiment");
}

// Before a model is read: a file can be made there.
void check_output(const std::string& output) {
  std::error_code code;
  const fs::path folder = fs::path(output).has_parent_path() ? fs::path(output).parent_path() : fs::path(".");
  Diagnostic error = error_at({.file = output}, "a folder, where --output wants a file");
  if (fs::is_directory(output, code)) throw InputError(error);
  if (fs::is_directory(folder, code)) return;
  error.message = "there is no folder '" + folder.string() + "'";
  error.expected = "a file name in a folder that exists";
  throw InputError(error);
}

// Overrides change keys of an experiment; beside weights that are there a word that no option takes is a mistake.
void refuse_overrides(const ModelRequest& request, std::vector<std::string> options) {
  const std::vector<std::string>& words = request.source.config.overrides;
  if (!request.source.config.config.empty() || words.empty()) return;
  const std::string name = words.front().substr(0, words.front().find('='));
  options.insert(options.end(), {"--hf", "--run", "--config", "--dtype", "--presets", "--module"});
  const bool is_option = name.starts_with("--");
  Diagnostic error = error_at({.file = "command line"},
                              fmt::format("model {} does not take '{}'", request.action, printable_ascii(name)));
  error.expected = is_option ? "an option that --help lists" : "options; keys are changed with --config F only";
  if (is_option) error.suggestion = did_you_mean(name, options);
  throw InputError(error);
}

void add_source(ConfigOptions& options, ModelSource& source) {
  options.experiment().presets();
  options.text("--hf", source.hf, "a Hugging Face folder");
  options.text("--run", source.run, "a run folder: its newest checkpoint");
}

std::optional<ModelRequest> read_tokens_request(ModelRequest request, Context& context) {
  const bool grads = request.action == "grads";
  ConfigOptions options(
      grads ? "model grads" : "model logits",
      "--hf DIR | --run DIR | --config F [overrides] --tokens FILE.json --output OUT.safetensors [--dtype fp32|bf16]",
      grads ? "model grads: the loss of given tokens and its gradient for every weight, by Hugging Face name"
            : "model logits: the logits of given tokens and their loss");
  add_source(options, request.source);
  options.text("--tokens", request.tokens, "token ids: {\"input_ids\": [[1, 2, 3], ...]}, rows of one length");
  options.text("--output", request.output, "the safetensors file to write");
  options.text("--dtype", request.dtype, "in which products are made", {"fp32", "bf16"});
  if (!options.read(context)) return std::nullopt;
  request.source.config = options.request();
  check_source(request);
  refuse_overrides(request, {"--tokens", "--output"});
  for (const auto& [name, value] :
       {std::pair("--tokens FILE.json", &request.tokens), std::pair("--output OUT.safetensors", &request.output)}) {
    if (value->empty())
      throw bad_words(fmt::format("model {} needs {}", request.action, name), "--help says what it holds");
  }
  check_output(request.output);
  return request;
}

std::optional<ModelRequest> read_generate_request(ModelRequest request, Context& context) {
  NumberOption temperature{"--temperature", {}}, top_k{"--top-k", {}}, top_p{"--top-p", {}}, seed{"--seed", {}},
      max_new_tokens{"--max-new-tokens", {}};
  bool no_cache = false;
  ConfigOptions options("model generate",
                        "--hf DIR | --run DIR | --config F [overrides] --prompt TEXT [--max-new-tokens N] "
                        "[--temperature T] [--top-k K] [--top-p P] [--seed N] [--format json]",
                        "model generate: text that the model writes after a prompt; equal for equal seeds");
  add_source(options, request.source);
  options.formats({"text", "json"});
  options.text("--prompt", request.prompt, "the text to go on from");
  options.text("--tokenizer", request.tokenizer, "the tokenizer, where the model's folder has none");
  options.text("--dtype", request.dtype, "in which products are made", {"fp32", "bf16"});
  for (NumberOption* option : {&temperature, &top_k, &top_p, &seed, &max_new_tokens}) {
    const std::string name = option->name;
    options.text(option->name, option->text,
                 name == "--temperature" ? "logits are divided by it; 0: always the most likely token (0.8)"
                 : name == "--top-k"     ? "draw from the K most likely tokens; 0: all (50)"
                 : name == "--top-p"     ? "draw from the likeliest tokens that hold this much of the probability (1)"
                 : name == "--seed"      ? "of the random draws (0)"
                                         : "how many tokens to add at most (200)");
  }
  options.flag("--no-cache", no_cache, "read the whole text again for every token: slow, the same numbers");
  if (!options.read(context)) return std::nullopt;
  request.source.config = options.request();
  request.json = options.request().json();
  request.cache = !no_cache;
  check_source(request);
  refuse_overrides(request, {"--prompt", "--tokenizer", "--temperature", "--top-k", "--top-p", "--seed",
                             "--max-new-tokens", "--no-cache", "--format"});
  read_number(temperature, 0, 1e6, "a number, 0 or more", request.temperature);
  read_number(top_p, 1e-9, 1, "a number above 0, up to 1", request.top_p);
  read_number(top_k, 0, "a whole number, 0 or more", request.top_k);
  read_number(seed, 0, "a whole number, 0 or more", request.seed);
  read_number(max_new_tokens, 1, "a whole number, 1 or more", request.max_new_tokens);
  return request;
}

}  // namespace

std::optional<ModelRequest> read_model_request(Context& context) {
  PRIMUS_CHECK(!context.arguments.empty(), "a model request without its action");
  ModelRequest request{.action = context.arguments.front()};
  Context rest = context;
  rest.arguments.erase(rest.arguments.begin());
  return request.action == "generate" ? read_generate_request(std::move(request), rest)
                                      : read_tokens_request(std::move(request), rest);
}

}  // namespace primus::cli
