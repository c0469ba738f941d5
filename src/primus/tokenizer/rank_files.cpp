// tiktoken rank files, tekken.json and the file of megatron's TikTokenizer: token bytes with ranks.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "primus/base/strings.h"
#include "primus/tokenizer/bpe_tokenizer.h"
#include "primus/tokenizer/load.h"
#include "primus/tokenizer/unicode.h"
#include "primus/tokenizer/vocabulary_json.h"

namespace primus::tokenizer {

namespace {

constexpr size_t kMaxRanks = 4'000'000;
constexpr const char* kNoVocabulary = "-";  // a key that these files do not have

struct RankKind {
  std::string name;
  size_t num_ranks;
  std::string pattern;  // a name of word_rule.h
  bool nfc = false;
  std::string bos, eos, eod;
  std::vector<std::pair<std::string, int32_t>> special;
};

std::vector<std::pair<std::string, int32_t>> llama3_special() {
  std::vector<std::string> names = {"<|begin_of_text|>",
                                    "<|end_of_text|>",
                                    "<|reserved_special_token_0|>",
                                    "<|reserved_special_token_1|>",
                                    "<|finetune_right_pad_id|>",
                                    "<|step_id|>",
                                    "<|start_header_id|>",
                                    "<|end_header_id|>",
                                    "<|eom_id|>",
                                    "<|eot_id|>",
                                    "<|python_tag|>",
                                    "<|image|>"};
  for (int i = 2; names.size() < 256; ++i) names.push_back(fmt::format("<|reserved_special_token_{}|>", i));
  std::vector<std::pair<std::string, int32_t>> special;
  for (size_t i = 0; i < names.size(); ++i) special.emplace_back(names[i], 128000 + static_cast<int32_t>(i));
  return special;
}

// 2,048 ids from 200,000 on; the names and their order are those of llama-models 0.3.0.
std::vector<std::pair<std::string, int32_t>> llama4_special() {
  std::vector<std::string> names = {"<|begin_of_text|>", "<|end_of_text|>",  "<|fim_prefix|>", "<|fim_middle|>",
                                    "<|fim_suffix|>",    "<|header_start|>", "<|header_end|>", "<|eom|>",
                                    "<|eot|>",           "<|step|>"};
  const auto reserve = [&](const char* group, int from, int to) {
    for (int i = from; i <= to; ++i) names.push_back(fmt::format("<|{}reserved_special_token_{}|>", group, i));
  };
  const auto put = [&](std::initializer_list<const char*> more) {
    names.insert(names.end(), more.begin(), more.end());
  };
  reserve("text_post_train_", 0, 5);
  put({"<|python_start|>", "<|python_end|>", "<|finetune_right_pad|>"});
  reserve("text_post_train_", 8, 68);
  put({"<|image_start|>", "<|image_end|>"});
  reserve("vision_", 0, 1);
  put({"<|tile_x_separator|>", "<|tile_y_separator|>"});
  reserve("vision_", 2, 5);
  put({"<|image|>"});
  reserve("vision_", 6, 6);
  put({"<|patch|>"});
  reserve("vision_", 7, 1047);
  reserve("reasoning_", 0, 7);
  put({"<|reasoning_thinking_start|>", "<|reasoning_thinking_end|>"});
  reserve("", 0, 2048 - static_cast<int>(names.size()) - 1);
  std::vector<std::pair<std::string, int32_t>> special;
  for (size_t i = 0; i < names.size(); ++i) special.emplace_back(names[i], 200000 + static_cast<int32_t>(i));
  return special;
}

std::vector<RankKind> all_kinds() {
  const std::string end = "<|endoftext|>";
  std::vector<RankKind> kinds = {
      {"gpt2", 50256, "gpt2", false, end, end, end, {{end, 50256}}},
      {"p50k_base", 50281, "gpt2", false, end, end, end, {{end, 50256}}},
      {"cl100k_base",
       100256,
       "cl100k",
       false,
       end,
       end,
       end,
       {{end, 100257},
        {"<|fim_prefix|>", 100258},
        {"<|fim_middle|>", 100259},
        {"<|fim_suffix|>", 100260},
        {"<|endofprompt|>", 100276}}},
      {"o200k_base", 199998, "o200k", false, end, end, end, {{end, 199999}, {"<|endofprompt|>", 200018}}},
      {"llama3", 128000, "llama3", false, "<|begin_of_text|>", "<|end_of_text|>", "<|end_of_text|>", llama3_special()},
      {"llama4", 200000, "o200k", false, "<|begin_of_text|>", "<|end_of_text|>", "<|end_of_text|>", llama4_special()},
      {"qwen2", 151643, "qwen2", true, "", end, end, {{end, 151643}, {"<|im_start|>", 151644}, {"<|im_end|>", 151645}}},
  };
  return kinds;
}

// RFC 4648 with padding; false for anything else.
bool decode_base64(std::string_view text, std::string& bytes) {
  bytes.clear();
  if (text.size() % 4 != 0) return false;
  uint32_t group = 0;
  int count = 0;
  size_t padding = 0;
  for (const char c : text) {
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (c == '=') ++padding;
    if ((c == '=' && padding > 2) || (c != '=' && (value < 0 || padding > 0))) return false;
    group = group << 6 | static_cast<uint32_t>(c == '=' ? 0 : value);
    if (++count % 4 == 0) {
      for (int shift = 16; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(group >> shift & 0xFF));
      group = 0;
    }
  }
  bytes.resize(bytes.size() - padding);
  return true;
}

using Ranks = std::vector<std::optional<std::string>>;  // bytes by rank

Result<Ranks> read_rank_lines(std::string_view text, const Place& place) {
  Ranks ranks;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    const std::vector<std::string> fields = split_whitespace(line);
    if (fields.empty()) continue;
    std::string bytes;
    const auto rank = fields.size() == 2 ? parse_int(fields[1]) : std::nullopt;
    if (!rank || *rank < 0 || static_cast<size_t>(*rank) >= kMaxRanks || !decode_base64(fields[0], bytes)) {
      Diagnostic error = error_at({place.file, number}, "this line is not a rank");
      error.found = printable_ascii(line.substr(0, 60));
      error.expected = "base64 text, a space, a whole number";
      return error;
    }
    const auto at = static_cast<size_t>(*rank);
    if (at >= ranks.size()) ranks.resize(at + 1);
    if (ranks[at]) return error_at({place.file, number}, fmt::format("rank {} is given twice", at));
    ranks[at] = std::move(bytes);
  }
  return ranks;
}

// ranks[r] becomes the token r + first_id; special tokens lie where they say.
std::unique_ptr<Tokenizer> assemble(std::string kind, const Ranks& ranks, size_t first_id, const WordRule& rule,
                                    std::vector<AddedToken> added, const std::vector<std::string>& added_texts,
                                    SpecialIds special, Boundary boundary, bool nfc = false) {
  const ByteAlphabet alphabet;
  Ranks texts(ranks.size() + first_id);
  Ranks bytes(texts.size());
  std::vector<uint32_t> rank_of(texts.size(), BpeModel::kNoRank);
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks[rank]) continue;
    texts[rank + first_id] = alphabet.to_token(*ranks[rank]);
    bytes[rank + first_id] = ranks[rank];
    rank_of[rank + first_id] = static_cast<uint32_t>(rank);
  }
  for (size_t i = 0; i < added.size(); ++i) {
    const auto at = static_cast<size_t>(added[i].id);
    if (at >= texts.size()) texts.resize(at + 1);
    texts[at] = added_texts[i];
  }
  PreTokenizer words;
  words.stages.emplace_back(rule);
  words.byte_level = true;
  DecoderRule decoder;
  decoder.byte_level = true;
  BpeModel model = BpeModel::from_ranks(std::move(bytes), rank_of, {.byte_level = true, .ignore_merges = true});
  Normalizer normalizer;
  if (nfc) normalizer.steps.emplace_back(UnicodeForm::Nfc);
  return std::make_unique<BpeTokenizer>(BpeParts{std::move(kind), std::move(texts), std::move(added),
                                                 std::move(normalizer), std::move(words), std::move(model),
                                                 std::move(decoder), special, std::move(boundary)});
}

// {rank, token_bytes, ...} items; those with a rank from limit on are left out.
Result<Ranks> read_rank_items(const Json& items, size_t limit, const Place& place) {
  Ranks ranks;
  for (const Json& item : items) {
    std::string bytes;
    const bool good = item.is_object() && item.contains("rank") && item["rank"].is_number_unsigned() &&
                      item.contains("token_bytes") && item["token_bytes"].is_string() &&
                      decode_base64(item["token_bytes"].get_ref<const std::string&>(), bytes);
    const size_t rank = good ? item["rank"].get<size_t>() : kMaxRanks;
    if (rank >= kMaxRanks)
      return error_at(place, "an entry of the vocabulary has no good \"rank\" and \"token_bytes\"");
    if (rank >= limit) continue;
    if (rank >= ranks.size()) ranks.resize(rank + 1);
    ranks[rank] = std::move(bytes);
  }
  if (ranks.empty()) return error_at(place, "the vocabulary is empty");
  return ranks;
}

// Control tokens of files whose reference library never cuts them out of a text: an empty spelling is never found.
AddedToken control_token(size_t id) {
  return {.id = static_cast<int32_t>(id), .content = "", .special = true};
}

std::optional<int32_t> index_of(const std::vector<std::string>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<int32_t>(found - names.begin());
}

std::unique_ptr<Tokenizer> assemble_control_first(std::string kind, const Ranks& ranks, const WordRule& rule,
                                                  const std::vector<std::string>& names) {
  std::vector<AddedToken> added;
  for (size_t id = 0; id < names.size(); ++id) added.push_back(control_token(id));
  SpecialIds special;
  special.unk = index_of(names, "<unk>");
  special.bos = index_of(names, "<s>");
  special.eos = special.eod = index_of(names, "</s>");
  special.pad = index_of(names, "<pad>");
  Boundary boundary;
  if (special.bos) boundary.before = {*special.bos};
  if (special.eos) boundary.after = {*special.eos};
  boundary.decided_by = "the reference library's rule (neither unless asked for)";
  return assemble(std::move(kind), ranks, names.size(), rule, std::move(added), names, special, std::move(boundary));
}

}  // namespace

std::vector<std::string> rank_kinds() {
  std::vector<std::string> names;
  for (const RankKind& kind : all_kinds()) names.push_back(kind.name);
  return names;
}

TokenizerResult read_rank_file(std::string_view text, const std::string& kind, const Place& place) {
  Result<Ranks> ranks = read_rank_lines(text, place);
  if (!ranks) return ranks.diagnostics();
  const std::vector<RankKind> kinds = all_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const RankKind& one) {
    return kind.empty() ? one.num_ranks == ranks->size() : one.name == kind;
  });
  if (found == kinds.end()) {
    Diagnostic error =
        error_at(place, kind.empty() ? "a rank file holds no word pattern, and this one is not known by its size"
                                     : fmt::format("unknown rank file kind '{}'", kind));
    error.found = fmt::format("{} ranks", ranks->size());
    error.expected = "one of " + join(rank_kinds(), ", ");
    error.suggestion = "name the kind (--rank-kind), or use the model's tokenizer.json";
    return error;
  }
  std::vector<AddedToken> added;
  std::vector<std::string> texts;
  SpecialIds special;
  for (const auto& [name, id] : found->special) {
    added.push_back({.id = id, .content = name, .special = true});
    texts.push_back(name);
    if (name == found->bos) special.bos = id;
    if (name == found->eos) special.eos = id;
    if (name == found->eod) special.eod = id;
    if (name == "<|finetune_right_pad_id|>" || name == "<|finetune_right_pad|>") special.pad = id;
  }
  Boundary boundary;
  if (special.bos) boundary.before = {*special.bos};
  if (special.eos) boundary.after = {*special.eos};
  boundary.decided_by = "the reference library's rule (neither unless asked for)";
  std::unique_ptr<Tokenizer> result =
      assemble(fmt::format("byte-level BPE (rank file, {})", found->name), *ranks, 0, *known_word_rule(found->pattern),
               std::move(added), texts, special, std::move(boundary), found->nfc);
  return result;
}

TokenizerResult read_tekken(std::string_view text, const Place& place) {
  Result<VocabularyJson> parsed = parse_vocabulary_json(text, kNoVocabulary, place);
  if (!parsed) return parsed.diagnostics();
  const Json& root = parsed->rest;
  if (!root.is_object() || !root.contains("config") || !root["config"].is_object() || !root.contains("vocab")) {
    return error_at(place, "this is not a tekken.json: \"config\" and \"vocab\" were expected");
  }
  const Json& config = root["config"];
  const std::string pattern = config.value("pattern", "");
  const auto num_tokens = config.value("default_vocab_size", int64_t{0});
  const auto num_special = config.value("default_num_special_tokens", int64_t{0});
  if (num_special <= 0 || num_tokens <= num_special) {
    return error_at(place, "config.default_vocab_size must be larger than config.default_num_special_tokens");
  }
  const std::optional<WordRule> rule = known_word_rule(pattern);
  if (!rule) {
    Diagnostic error = error_at(place, "the word pattern of this tekken.json is not known");
    error.found = pattern;
    return error;
  }
  std::vector<std::string> names = {"<unk>",
                                    "<s>",
                                    "</s>",
                                    "[INST]",
                                    "[/INST]",
                                    "[AVAILABLE_TOOLS]",
                                    "[/AVAILABLE_TOOLS]",
                                    "[TOOL_RESULTS]",
                                    "[/TOOL_RESULTS]",
                                    "[TOOL_CALLS]",
                                    "[IMG]",
                                    "<pad>",
                                    "[IMG_BREAK]",
                                    "[IMG_END]",
                                    "[PREFIX]",
                                    "[MIDDLE]",
                                    "[SUFFIX]",
                                    "[SYSTEM_PROMPT]",
                                    "[/SYSTEM_PROMPT]",
                                    "[TOOL_CONTENT]"};
  if (root.contains("special_tokens") && root["special_tokens"].is_array()) {
    names.clear();
    for (const Json& item : root["special_tokens"]) names.push_back(item.value("token_str", ""));
  }
  while (names.size() < static_cast<size_t>(num_special)) names.push_back(fmt::format("<SPECIAL_{}>", names.size()));
  names.resize(static_cast<size_t>(num_special));
  Result<Ranks> ranks = read_rank_items(root["vocab"], static_cast<size_t>(num_tokens - num_special), place);
  if (!ranks) return ranks.diagnostics();
  return assemble_control_first("byte-level BPE (tekken.json)", *ranks, *rule, names);
}

TokenizerResult read_megatron_tik(std::string_view text, const MegatronTikOptions& options, const Place& place) {
  if (options.pattern != "v1" && options.pattern != "v2") {
    Diagnostic error = error_at(place, "unknown tiktoken_pattern");
    error.found = options.pattern;
    error.expected = "v1 or v2";
    return error;
  }
  Result<VocabularyJson> parsed = parse_vocabulary_json(text, kNoVocabulary, place);
  if (!parsed) return parsed.diagnostics();
  const Json& items = parsed->rest;
  std::vector<std::string> names = options.special_tokens;
  if (names.empty()) names = {"<unk>", "<s>", "</s>", "<mask>", "<pad>", "<cls>", "<sep>"};
  const int64_t size = options.vocab_size.value_or(static_cast<int64_t>(items.size()) + options.num_special_tokens);
  if (static_cast<int64_t>(names.size()) > options.num_special_tokens || size <= options.num_special_tokens) {
    return error_at(place, fmt::format("{} special tokens and a vocabulary of {} do not go together",
                                       options.num_special_tokens, size));
  }
  while (static_cast<int64_t>(names.size()) < options.num_special_tokens) {
    names.push_back(fmt::format("<SPECIAL_{}>", names.size()));
  }
  Result<Ranks> ranks = read_rank_items(items, static_cast<size_t>(size - options.num_special_tokens), place);
  if (!ranks) return ranks.diagnostics();
  const auto rule = known_word_rule(options.pattern == "v1" ? "megatron_v1" : "tekken");
  return assemble_control_first("byte-level BPE (TikTokenizer)", *ranks, *rule, names);
}

}  // namespace primus::tokenizer
