#include "primus/tokenizer/find.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "primus/base/strings.h"

namespace primus::tokenizer {

namespace {

enum class Way { Null, Bytes, Characters, Gpt2Files, SentencePiece, Tik, Model };
struct TypeName {
  const char* name;
  Way way;
};
constexpr std::array<TypeName, 19> kTypes = {{{"NullTokenizer", Way::Null},
                                              {"ByteTokenizer", Way::Bytes},
                                              {"CharTokenizer", Way::Characters},
                                              {"GPT2BPETokenizer", Way::Gpt2Files},
                                              {"SentencePieceTokenizer", Way::SentencePiece},
                                              {"GPTSentencePieceTokenizer", Way::SentencePiece},
                                              {"TikTokenizer", Way::Tik},
                                              {"HuggingFaceTokenizer", Way::Model},
                                              {"Llama2Tokenizer", Way::Model},
                                              {"Llama3Tokenizer", Way::Model},
                                              {"Llama4Tokenizer", Way::Model},
                                              {"MixtralTokenizer", Way::Model},
                                              {"DeepSeekV2Tokenizer", Way::Model},
                                              {"DeepSeekV3Tokenizer", Way::Model},
                                              {"DeepSeekV4Tokenizer", Way::Model},
                                              {"KimiK2Tokenizer", Way::Model},
                                              {"Lfm2Tokenizer", Way::Model},
                                              {"Qwen2Tokenizer", Way::Model},
                                              {"Qwen3Tokenizer", Way::Model}}};

constexpr std::array<const char*, 5> kFolderFiles = {"tokenizer.json", "tokenizer.model", "tekken.json",
                                                     "tiktoken.model", "characters.json"};

bool is_file(const fs::path& path) {
  std::error_code code;
  return fs::is_regular_file(path, code);
}
bool is_folder(const fs::path& path) {
  std::error_code code;
  return fs::is_directory(path, code);
}

// The two GPT-2 files of a folder, under either pair of names.
std::optional<std::pair<fs::path, fs::path>> gpt2_pair(const fs::path& folder) {
  for (const auto& [vocab, merges] : {std::pair{"encoder.json", "vocab.bpe"}, std::pair{"vocab.json", "merges.txt"}}) {
    if (is_file(folder / vocab) && is_file(folder / merges)) return std::pair{folder / vocab, folder / merges};
  }
  return std::nullopt;
}

std::optional<fs::path> tokenizer_file_in(const fs::path& folder) {
  for (const char* name : kFolderFiles) {
    if (is_file(folder / name)) return folder / name;
  }
  return std::nullopt;
}

bool holds_tokenizer(const fs::path& path) {
  return is_file(path) || (is_folder(path) && (tokenizer_file_in(path) || gpt2_pair(path)));
}

TokenizerResult load_gpt2_pair(const fs::path& vocab, const fs::path& merges) {
  Result<std::string> vocab_text = read_text_file(vocab);
  Result<std::string> merges_text = read_text_file(merges);
  Diagnostics errors;
  for (const auto* one : {&vocab_text, &merges_text}) {
    if (!*one) errors.insert(errors.end(), one->diagnostics().begin(), one->diagnostics().end());
  }
  if (!errors.empty()) return errors;
  TokenizerResult result = read_gpt2_files(*vocab_text, {vocab.string()}, *merges_text, {merges.string()});
  if (result) (*result)->set_source(vocab.string());
  return result;
}

TokenizerResult load_file(const fs::path& path, const std::string& rank_kind) {
  Result<std::string> text = read_text_file(path);
  if (!text) return text.diagnostics();
  const Place place{path.string()};
  const size_t first = text->find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string::npos) return error_at(place, "the tokenizer file is empty");
  const char c = (*text)[first];
  if (c == '{') {
    // A tekken.json starts with its config; a tokenizer.json is the only one that says "model".
    const std::string_view head = std::string_view(*text).substr(0, 4096);
    const bool is_tekken = head.find("\"default_num_special_tokens\"") != head.npos;
    return is_tekken ? read_tekken(*text, place) : read_tokenizer_json(*text, place);
  }
  if (c == '[') {
    const size_t next = text->find_first_not_of(" \t\r\n", first + 1);
    const bool is_list_of_objects = next != std::string::npos && (*text)[next] == '{';
    return is_list_of_objects ? read_megatron_tik(*text, {}, place) : read_characters(*text, place);
  }
  const std::string_view head = std::string_view(*text).substr(0, 256);
  const bool is_text = std::all_of(head.begin(), head.end(), [](char byte) {
    return (byte >= ' ' && byte <= '~') || byte == '\n' || byte == '\r' || byte == '\t';
  });
  if (is_text) return read_rank_file(*text, rank_kind, place);
  return read_sentencepiece(*text, place);
}

Diagnostic missing(const FindOptions& options, const char* key) {
  Diagnostic error = error_at({}, fmt::format("tokenizer_type {} needs '{}'", options.tokenizer_type, key));
  error.key = key;
  error.suggestion = fmt::format("set {} in the model preset or as an override", key);
  return error;
}

fs::path absolute_of(const FindOptions& options, const std::string& path) {
  return fs::path(path).is_absolute() || options.base_folder.empty() ? fs::path(path) : options.base_folder / path;
}

// Folders of the Hugging Face cache, first the ones that the environment names.
std::vector<fs::path> cache_folders(const Environment& environment) {
  std::vector<fs::path> folders;
  const auto get = [&](const char* name) { return environment ? environment(name) : std::nullopt; };
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (const auto value = get(name); value && !value->empty()) folders.emplace_back(*value);
  }
  if (const auto home = get("HF_HOME"); home && !home->empty()) {
    folders.push_back(fs::path(*home) / "hub");
  } else if (const auto cache = get("XDG_CACHE_HOME"); cache && !cache->empty()) {
    folders.push_back(fs::path(*cache) / "huggingface" / "hub");
  } else if (const auto user = get("HOME"); user && !user->empty()) {
    folders.push_back(fs::path(*user) / ".cache" / "huggingface" / "hub");
  }
  return folders;
}

// Snapshots of a model in a cache folder: the one that refs/main names first, then by name.
std::vector<fs::path> snapshots(const fs::path& model_folder) {
  std::vector<fs::path> found;
  std::error_code code;
  for (fs::directory_iterator at(model_folder / "snapshots", code), end; !code && at != end; at.increment(code)) {
    found.push_back(at->path());
  }
  std::sort(found.begin(), found.end());
  const Result<std::string> main = read_text_file(model_folder / "refs" / "main");
  if (main) {
    const std::string name(trim(*main));
    const auto at =
        std::find_if(found.begin(), found.end(), [&](const fs::path& path) { return path.filename() == name; });
    if (at != found.end()) std::rotate(found.begin(), at, at + 1);
  }
  return found;
}

Result<fs::path> find_model(const FindOptions& options) {
  std::vector<std::string> looked_at;
  const fs::path local = absolute_of(options, options.tokenizer_model);
  if (holds_tokenizer(local)) return local;
  looked_at.push_back(fmt::format("{} ({})", local.string(),
                                  is_folder(local) ? "a folder without a tokenizer file" : "no such file or folder"));
  if (!fs::path(options.tokenizer_model).is_absolute()) {
    std::string name = options.tokenizer_model;
    for (size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at)) name.replace(at, 1, "--");
    for (const fs::path& cache : cache_folders(options.environment)) {
      const fs::path folder = cache / ("models--" + name);
      for (const fs::path& snapshot : snapshots(folder)) {
        if (holds_tokenizer(snapshot)) return snapshot;
      }
      looked_at.push_back(fmt::format("{} ({})", (folder / "snapshots").string(),
                                      is_folder(folder) ? "no snapshot with a tokenizer file" : "not in this cache"));
    }
  }
  Diagnostic error = error_at(
      {}, fmt::format("the tokenizer '{}' was not found, and nothing is downloaded in a run", options.tokenizer_model));
  error.key = "tokenizer_model";
  error.found = "looked at " + join(looked_at, "; ");
  error.expected = "a file or a folder with " + join({kFolderFiles.begin(), kFolderFiles.end()}, ", ") +
                   " or vocab.json and merges.txt";
  error.suggestion = "put the model's tokenizer files into one of these places, or set tokenizer_model to their path";
  return error;
}

TokenizerResult load_tik(const FindOptions& options) {
  const fs::path path = absolute_of(options, options.tokenizer_model);
  Result<std::string> text = read_text_file(path);
  if (!text) return text.diagnostics();
  MegatronTikOptions tik;
  if (!options.tiktoken_pattern.empty()) tik.pattern = options.tiktoken_pattern;
  if (options.tiktoken_num_special_tokens) tik.num_special_tokens = *options.tiktoken_num_special_tokens;
  tik.special_tokens = options.tiktoken_special_tokens;
  tik.vocab_size = options.vocab_size;
  TokenizerResult result = read_megatron_tik(*text, tik, {path.string()});
  if (result) (*result)->set_source(path.string());
  return result;
}

}  // namespace

std::vector<std::string> tokenizer_types() {
  std::vector<std::string> names;
  for (const TypeName& type : kTypes) names.emplace_back(type.name);
  return names;
}

TokenizerResult load_tokenizer(const fs::path& path, const std::string& rank_kind) {
  fs::path file = path;
  if (is_folder(path)) {
    if (const auto found = tokenizer_file_in(path)) {
      file = *found;
    } else if (const auto pair = gpt2_pair(path)) {
      TokenizerResult result = load_gpt2_pair(pair->first, pair->second);
      if (!result) return result;
      if (Status status = apply_config_files(path, **result); !status) return status.diagnostics();
      return result;
    } else {
      Diagnostic error = error_at({path.string()}, "this folder holds no tokenizer file");
      error.expected = "one of " + join({kFolderFiles.begin(), kFolderFiles.end()}, ", ");
      return error;
    }
  }
  TokenizerResult result = load_file(file, rank_kind);
  if (!result) return result;
  (*result)->set_source(file.string());
  if (Status status = apply_config_files(file.parent_path(), **result); !status) return status.diagnostics();
  return result;
}

TokenizerResult find_tokenizer(const FindOptions& options) {
  const auto type = std::find_if(kTypes.begin(), kTypes.end(),
                                 [&](const TypeName& one) { return options.tokenizer_type == one.name; });
  if (type == kTypes.end()) {
    Diagnostic error = error_at({}, options.tokenizer_type.empty()
                                        ? std::string("no tokenizer_type is set")
                                        : fmt::format("tokenizer_type '{}' is not supported", options.tokenizer_type));
    error.key = "tokenizer_type";
    error.expected = join(tokenizer_types(), ", ");
    error.suggestion = did_you_mean(options.tokenizer_type, tokenizer_types());
    return error;
  }
  switch (type->way) {
    case Way::Bytes:
      return make_byte_tokenizer();
    case Way::Null:
      if (!options.vocab_size || *options.vocab_size < 1 || *options.vocab_size > 0x7FFFFFFE) {
        return missing(options, "vocab_size");
      }
      return make_null_tokenizer(*options.vocab_size);
    case Way::Gpt2Files:
      if (options.vocab_file.empty()) return missing(options, "vocab_file");
      if (options.merge_file.empty()) return missing(options, "merge_file");
      return load_gpt2_pair(absolute_of(options, options.vocab_file), absolute_of(options, options.merge_file));
    default:
      break;
  }
  if (options.tokenizer_model.empty()) return missing(options, "tokenizer_model");
  if (type->way == Way::Tik) return load_tik(options);
  Result<fs::path> path = find_model(options);
  if (!path) return path.diagnostics();
  return load_tokenizer(*path, options.tiktoken_pattern);
}

}  // namespace primus::tokenizer
