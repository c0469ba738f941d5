#include "primus/cli/models_page.h"

#include <array>
#include <fmt/format.h>

#include "primus/base/strings.h"
#include "primus/cli/config_request.h"
#include "primus/cli/model_catalogue.h"
#include "primus/config/preset.h"
#include "primus/dialect/dialects.h"
#include "primus/spec/model_size.h"

namespace primus::cli {
namespace {

struct Published {
  std::string_view model;
  int64_t parameters;
};

// Counts of the published checkpoints, without multi-token prediction and without buffers (a router's correction bias
// is a buffer). Source: transformers 5.24 on meta devices (tests/golden/hf_config), Grok-1: its model card,
// Grok-2: the shapes of its reference.
constexpr std::array kPublished = {Published{"llama2_7B", 6738415616},
                                   Published{"llama2_13B", 13015864320},
                                   Published{"llama2_70B", 68976648192},
                                   Published{"llama3_8B", 8030261248},
                                   Published{"llama3_70B", 70553706496},
                                   Published{"llama3.1_8B", 8030261248},
                                   Published{"llama3.1_70B", 70553706496},
                                   Published{"llama3.1_405B", 405853388800},
                                   Published{"llama3.2_1B", 1235814400},
                                   Published{"llama3.2_3B", 3212749824},
                                   Published{"llama3.3_70B", 70553706496},
                                   Published{"tinyllama_1.1B", 1100048384},
                                   Published{"mistral_7B_v0.1", 7241732096},
                                   Published{"mistral_7B_v0.3", 7248023552},
                                   Published{"mixtral_8x7B_v0.1", 46702792704},
                                   Published{"mixtral_8x22B_v0.1", 140630071296},
                                   Published{"qwen2.5_0.5B", 494032768},
                                   Published{"qwen2.5_1.5B", 1543714304},
                                   Published{"deepseek_r1_distill_qwen_1.5B", 1777088000},
                                   Published{"qwen2.5_3B", 3085938688},
                                   Published{"qwen2.5_7B", 7615616512},
                                   Published{"qwen2.5_14B", 14770033664},
                                   Published{"qwen2.5_32B", 32763876352},
                                   Published{"qwen2.5_72B", 72706203648},
                                   Published{"qwen3_0.6B", 596049920},
                                   Published{"qwen3_1.7B", 1720574976},
                                   Published{"qwen3_4B", 4022468096},
                                   Published{"qwen3_8B", 8190735360},
                                   Published{"qwen3_14B", 14768307200},
                                   Published{"qwen3_32B", 32762123264},
                                   Published{"qwen3_30B_A3B", 30532122624},
                                   Published{"qwen3_235B_A22B", 235093634560},
                                   Published{"deepseek_v2_lite", 15706484224},
                                   Published{"deepseek_v2", 235741434880},
                                   Published{"deepseek_v3", 671026404352},
                                   Published{"moonlight_16B", 15960108544},
                                   Published{"kimi_k2", 1026408209408},
                                   Published{"gpt_oss_20B", 20914757184},
                                   Published{"gpt_oss_120B", 116829156672},
                                   Published{"glm4.5_air", 106852245504},
                                   Published{"glm4.5", 352797814784},
                                   Published{"glm4_7", 352797814784},
                                   Published{"gemma_2B", 2506172416},
                                   Published{"gemma_7B", 8537680896},
                                   Published{"gemma2_2B", 2614341888},
                                   Published{"gemma2_9B", 9241705984},
                                   Published{"gemma2_27B", 27227128320},
                                   Published{"llama4_17B16E", 107769861120},
                                   Published{"llama4_17B128E", 400711848960},
                                   Published{"gpt2", 124439808},
                                   Published{"grok1", 315684820992},
                                   Published{"grok2", 269515497472}};

std::string published_of(std::string_view model) {
  const std::string_view name = model.ends_with("-hf") ? model.substr(0, model.size() - 3) : model;
  for (const Published& one : kPublished)
    if (one.model == name) return format_thousands(one.parameters);
  return "";
}

struct Size {
  std::string parameters, active, remark;
};

Size size_of(const fs::path& root, const std::string& framework, const std::string& model,
             const Environment& environment) {
  const Result<config::Experiment> experiment = bare_experiment(root, framework, model, environment);
  if (!experiment) return {"", "", "not a model by itself"};
  const Result<spec::RunSpec> run = describe_run(*experiment, {});
  if (!run) return {"", "", "part of other presets, or refused by `config check`"};
  spec::Model described = run->model;
  std::string remark;
  if (described.vocab_size == 0) described.vocab_size = described.padded_vocab_size;
  if (described.vocab_size == 0) remark = "without the vocabulary's tables: the tokenizer decides";
  if (!spec::has_known_size(described)) return {"", "", "has layers whose size is not known here"};
  const spec::ModelSize size = spec::count_parameters(described, /*padded=*/false);
  if (size.mtp > 0) {
    if (!remark.empty()) remark += "; ";
    remark += format_thousands(size.mtp) + " more for multi-token prediction";
  }
  return {format_thousands(size.total() - size.mtp), format_thousands(size.active()), remark};
}

}  // namespace

std::string models_page(const fs::path& presets_root, const Environment& environment) {
  std::string page =
      "# Models\n\nMade by `primus-cli config list models --format markdown`; do not edit.\n\n"
      "Parameters are counted from the preset alone, without multi-token prediction and without buffers; active ones "
      "are "
      "those that one token passes. `published` is the count of the published checkpoint of that name. A preset with "
      "the "
      "suffix `-hf` is the published architecture; without it, what upstream trains under the name.\n";
  for (const dialect::Dialect& dialect : dialect::all_dialects()) {
    const std::string framework(dialect.framework);
    const std::vector<std::string> models = config::list_presets(presets_root, "models", framework);
    if (models.empty()) continue;
    page += fmt::format(
        "\n## {}\n\n| model | family | parameters | active | published | |\n"
        "| --- | --- | ---: | ---: | ---: | --- |\n",
        framework);
    for (const std::string& model : models) {
      const Size size = size_of(presets_root, framework, model, environment);
      page += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", model, family_of(model), size.parameters, size.active,
                          published_of(model), size.remark);
    }
  }
  return page;
}

}  // namespace primus::cli
