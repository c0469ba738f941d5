// What stands beside a vocabulary in a Hugging Face folder: names of special tokens, and begin and end of a text.
#include <array>
#include <fmt/format.h>

#include "primus/base/json.h"
#include "primus/base/strings.h"
#include "primus/tokenizer/load.h"

namespace primus::tokenizer {

namespace {

// "bos_token": "<s>" or {"content": "<s>", ...}; nothing when absent or null.
std::optional<std::string> token_name(const Json& config, const char* key) {
  if (!config.is_object() || !config.contains(key)) return std::nullopt;
  const Json& value = config[key];
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("content") && value["content"].is_string()) return value["content"];
  return std::nullopt;
}

std::optional<bool> flag(const Json& config, const char* key) {
  if (!config.is_object() || !config.contains(key) || !config[key].is_boolean()) return std::nullopt;
  return config[key].get<bool>();
}

class Applier {
 public:
  Applier(Tokenizer& tokenizer, SpecialIds special) : tokenizer_(tokenizer), special_(special) {}

  void take_names(const Json& config, const Place& place) {
    const std::array<std::pair<const char*, std::optional<int32_t>*>, 4> names = {{{"bos_token", &special_.bos},
                                                                                   {"eos_token", &special_.eos},
                                                                                   {"pad_token", &special_.pad},
                                                                                   {"unk_token", &special_.unk}}};
    for (const auto& [key, id] : names) {
      const auto name = token_name(config, key);
      if (!name) continue;
      const auto found = tokenizer_.token_id(*name);
      if (found) *id = *found;
      const bool matters = key != std::string_view("unk_token") && key != std::string_view("pad_token");
      if (found || !matters) continue;
      Diagnostic error = error_at(place, fmt::format("{} is not a token of the vocabulary", key));
      error.key = key;
      error.found = printable_ascii(*name);
      errors.push_back(std::move(error));
    }
  }

  // The end-of-text tokens of well-known families, where no file names one.
  void guess_end() {
    if (special_.eos) return;
    for (const char* name : {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>",
                             "<\xEF\xBD\x9C"
                             "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>"}) {
      const auto id = tokenizer_.token_id(name);
      if (!id || !tokenizer_.is_special(*id)) continue;
      special_.eos = *id;
      return;
    }
  }

  SpecialIds special() const { return special_; }
  Diagnostics errors;

 private:
  Tokenizer& tokenizer_;
  SpecialIds special_;
};

void apply_boundary(const Json& config, const SpecialIds& special, Tokenizer& tokenizer) {
  Boundary boundary = tokenizer.boundary();
  const auto add_bos = flag(config, "add_bos_token");
  const auto add_eos = flag(config, "add_eos_token");
  if (add_bos || add_eos) {
    const std::string keys = add_bos && add_eos ? "add_bos_token, add_eos_token"
                             : add_bos          ? "add_bos_token"
                                                : "add_eos_token";
    boundary.before_by_default = add_bos.value_or(false) && special.bos;
    boundary.after_by_default = add_eos.value_or(false) && special.eos;
    boundary.decided_by = fmt::format("tokenizer_config.json ({})", keys);
    if (special.bos) boundary.before = {*special.bos};
    if (special.eos) boundary.after = {*special.eos};
  } else if (boundary.decided_by.empty()) {
    boundary.decided_by = "no file (neither is added unless asked for)";
  }
  if (boundary.before.empty() && special.bos) boundary.before = {*special.bos};
  if (boundary.after.empty() && special.eos) boundary.after = {*special.eos};
  tokenizer.set_boundary(std::move(boundary));
}

}  // namespace

Status apply_config_files(const fs::path& folder, Tokenizer& tokenizer) {
  Applier applier(tokenizer, tokenizer.special());
  Json config;
  std::error_code code;
  for (const char* name : {"special_tokens_map.json", "tokenizer_config.json"}) {
    const fs::path path = folder / name;
    if (!fs::is_regular_file(path, code)) continue;
    Result<std::string> text = read_text_file(path);
    if (!text) return text.diagnostics();
    Result<Json> parsed = parse_json(*text, path.string());
    if (!parsed) return parsed.diagnostics();
    applier.take_names(*parsed, {path.string()});
    config = std::move(parsed).value();
    if (name == std::string_view("special_tokens_map.json")) config = Json();
  }
  if (!applier.errors.empty()) return applier.errors;
  applier.guess_end();
  SpecialIds special = applier.special();
  if (!special.eod) special.eod = special.eos;
  if (config.is_object() && special.eos) special.eod = special.eos;
  tokenizer.set_special(special);
  apply_boundary(config, special, tokenizer);
  return Done{};
}

}  // namespace primus::tokenizer
