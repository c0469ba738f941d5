#include "primus/hub/hf_config.h"

#include <algorithm>

#include "primus/base/json_file.h"
#include "primus/base/strings.h"
#include "primus/hub/hf_config_reader.h"
#include "primus/spec/architecture.h"
#include "primus/spec/validate.h"

namespace primus::hub {

namespace {

std::vector<std::string> lost_fields(const spec::Model& wanted, const Json& written) {
  const auto again = read_hf_config(written, "config.json");
  if (!again.ok()) return {render(again.diagnostics())};
  return spec::architecture_differences(wanted, again->model);
}

Diagnostic unknown_family(const std::string& found, const std::string& file) {
  Diagnostic finding = error_at({file, 0, 0}, found.empty() ? "the file does not say which family the model is of"
                                                            : "models of the family '" + found + "' are not built");
  finding.key = "model_type";
  finding.expected = join(hf_families(), ", ");
  finding.suggestion = did_you_mean(found, hf_families());
  return finding;
}

// Multimodal checkpoints nest the text model.
const Json& text_part(const Json& config) {
  const auto part = config.find("text_config");
  return part != config.end() && part->is_object() ? *part : config;
}

}  // namespace

const std::vector<HfFamily>& hf_family_table() {
  static const std::vector<HfFamily> table = {{"llama", read_llama, write_llama},
                                              {"mistral", read_mistral, write_mistral},
                                              {"qwen2", read_qwen2, write_qwen2},
                                              {"qwen3", read_qwen3, write_qwen3},
                                              {"olmo2", read_olmo2, write_olmo2},
                                              {"gemma", read_gemma, write_gemma},
                                              {"gemma2", read_gemma2, write_gemma2},
                                              {"glm4", read_glm4, write_glm4},
                                              {"gpt2", read_gpt2, write_gpt2},
                                              {"mixtral", read_mixtral, write_mixtral},
                                              {"qwen3_moe", read_qwen3_moe, write_qwen3_moe},
                                              {"deepseek_v2", read_deepseek_v2, write_deepseek_v2},
                                              {"deepseek_v3", read_deepseek_v3, write_deepseek_v3},
                                              {"kimi_k2", read_deepseek_v3, write_kimi_k2},
                                              {"gpt_oss", read_gpt_oss, write_gpt_oss},
                                              {"llama4_text", read_llama4, write_llama4},
                                              {"glm4_moe", read_glm4_moe, write_glm4_moe},
                                              {"grok-1", read_grok1, write_grok1},
                                              {"grok-2", read_grok2, write_grok2},
                                              {"lfm2", read_lfm2, write_lfm2},
                                              {"lfm2_moe", read_lfm2_moe, write_lfm2_moe},
                                              {"qwen3_next", read_qwen3_next, write_qwen3_next},
                                              {"qwen3_5_text", read_qwen3_5, write_qwen3_5},
                                              {"qwen3_5_moe_text", read_qwen3_5_moe, write_qwen3_5_moe},
                                              {"mamba2", read_mamba2, write_mamba2}};
  return table;
}

const HfFamily* find_hf_family(std::string_view name) {
  if (name == "llama4") name = "llama4_text";
  if (name == "qwen3_5") name = "qwen3_5_text";
  if (name == "qwen3_5_moe") name = "qwen3_5_moe_text";
  for (const HfFamily& family : hf_family_table())
    if (family.name == name) return &family;
  return nullptr;
}

std::vector<std::string> hf_families() {
  std::vector<std::string> names;
  for (const HfFamily& family : hf_family_table()) names.emplace_back(family.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string hf_family_of(const Json& config) {
  const Json& text = text_part(config);
  const auto type_in = [](const Json& part) {
    const auto found = part.find("model_type");
    return found != part.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const std::string type = type_in(text).empty() ? type_in(config) : type_in(text);
  return type == "git" && text.value("architectures", Json()) == Json{"Grok1ForCausalLM"} ? "grok-2" : type;
}

Result<HfModel> read_hf_config(const Json& config, const std::string& file) {
  if (!config.is_object()) return error_at({file, 0, 0}, "a config.json is one JSON object");
  const Json& text = text_part(config);
  const std::string type = hf_family_of(config);
  const HfFamily* family = find_hf_family(type);
  if (family == nullptr) return unknown_family(type, file);
  HfModel out;
  out.family = family->name;
  HfReader reader(text, file, out);
  if (&text != &config) reader.decide("(text_config)", "read", "of a multimodal model only the text half is taken");
  if (text.contains("quantization_config"))
    reader.ignore({"quantization_config"}, "says how the weights are stored, not what the model is");
  family->read(reader, out.model);
  reader.check_unknown_keys();
  if (!has_errors(reader.errors()))
    for (Diagnostic& finding : spec::validate_model(out.model)) {
      finding.place.file = file;
      reader.errors().push_back(std::move(finding));
    }
  if (has_errors(reader.errors())) return std::move(reader.errors());
  return out;
}

Result<HfModel> read_hf_config(const fs::path& path) {
  std::error_code ignored;
  const fs::path file = fs::is_directory(path, ignored) ? path / "config.json" : path;
  auto config = read_json_file(file);
  if (!config.ok()) return config.diagnostics();
  return read_hf_config(*config, file.string());
}

Result<Json> write_hf_config(const spec::Model& model, std::string_view family) {
  if (model.layers.empty()) return error_at({}, "a model without layers has no config.json");
  std::vector<std::string> fewest;
  std::string nearest;
  for (const HfFamily& candidate : hf_family_table()) {
    if (!family.empty() && find_hf_family(family) != &candidate) continue;
    Json written = candidate.write(model);
    std::vector<std::string> lost = lost_fields(model, written);
    if (lost.empty()) return written;
    if (!nearest.empty() && lost.size() >= fewest.size()) continue;
    fewest = std::move(lost);
    nearest = candidate.name;
  }
  if (nearest.empty()) return unknown_family(std::string(family), "");
  Diagnostic finding =
      error_at({}, family.empty() ? "no family of Hugging Face can hold this model; nearest: " + nearest
                                  : "the family " + nearest + " cannot hold this model");
  finding.found = join(fewest, "; ");
  return finding;
}

}  // namespace primus::hub
