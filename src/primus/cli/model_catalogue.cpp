#include "primus/cli/model_catalogue.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "primus/base/strings.h"
#include "primus/cli/config_request.h"
#include "primus/config/module_merge.h"
#include "primus/config/preset.h"
#include "primus/dialect/flavors.h"
#include "primus/spec/model_size.h"

namespace primus::cli {
namespace {

struct Family {
  std::string_view start, name;
};

// Longer starts before shorter ones.
constexpr std::array kFamilies = {Family{"llama2", "LLaMA 2"},
                                  Family{"llama3.1", "LLaMA 3.1"},
                                  Family{"llama31", "LLaMA 3.1"},
                                  Family{"llama3.2", "LLaMA 3.2"},
                                  Family{"llama3.3", "LLaMA 3.3"},
                                  Family{"llama33", "LLaMA 3.3"},
                                  Family{"llama3", "LLaMA 3"},
                                  Family{"llama4", "LLaMA 4"},
                                  Family{"llama", "LLaMA"},
                                  Family{"tinyllama", "TinyLlama"},
                                  Family{"deepseek_v2", "DeepSeek V2"},
                                  Family{"deepseek_v3", "DeepSeek V3"},
                                  Family{"deepseek_v4", "DeepSeek V4"},
                                  Family{"deepseek_r1", "DeepSeek R1"},
                                  Family{"mixtral", "Mixtral"},
                                  Family{"qwen2.5", "Qwen 2.5"},
                                  Family{"qwen25", "Qwen 2.5"},
                                  Family{"qwen3_5", "Qwen 3.5"},
                                  Family{"qwen3", "Qwen 3"},
                                  Family{"grok", "Grok"},
                                  Family{"gpt_oss", "GPT-OSS"},
                                  Family{"gpt-oss", "GPT-OSS"},
                                  Family{"gemma", "Gemma"},
                                  Family{"glm", "GLM"},
                                  Family{"kimi", "Kimi"},
                                  Family{"lfm", "LFM2"},
                                  Family{"minimax", "MiniMax"},
                                  Family{"mamba", "Mamba"},
                                  Family{"zebra", "Zebra-Llama"},
                                  Family{"moe_", "MoE"},
                                  Family{"char_", "character model"}};

std::string described(int64_t parameters, bool with_vocabulary) {
  const std::string text = format_count(static_cast<double>(parameters));
  return with_vocabulary ? text : text + " + vocabulary";
}

ListRow model_row(const fs::path& root, const std::string& framework, const std::string& model,
                  const Environment& environment) {
  ListRow row{{framework, model, std::string(family_of(model)), "-", "-"}};
  const auto problem = [&row](const Diagnostics& findings) {
    for (const Diagnostic& one : findings) {
      if (one.severity != Severity::Error) continue;
      row.facts["problem"] = one.message;
      break;
    }
    row.facts["parameters"] = nullptr;
    row.facts["active parameters"] = nullptr;
    return row;
  };
  const Result<config::Experiment> experiment = bare_experiment(root, framework, model, environment);
  if (!experiment) return problem(experiment.diagnostics());
  Result<spec::RunSpec> run = describe_run(*experiment, {});
  if (!run) return problem(run.diagnostics());
  // A preset may say the number of rows only; the tokenizer decides how many of them are used.
  if (run->model.vocab_size == 0) run->model.vocab_size = run->model.padded_vocab_size;
  const spec::ModelSize size = spec::count_parameters(run->model, /*padded=*/false);
  const bool complete = run->model.vocab_size > 0;
  const bool known = spec::has_known_size(run->model);
  row.cells[3] = known ? described(size.total(), complete) : "-";
  row.cells[4] = known ? described(size.active(), complete) : "-";
  row.facts["parameters"] = known ? Json(size.total()) : Json(nullptr);
  row.facts["active parameters"] = known ? Json(size.active()) : Json(nullptr);
  row.facts["with vocabulary"] = complete;
  row.facts["layers"] = run->model.layers.size();
  const auto has_experts = [](const spec::LayerSpec& layer) { return layer.moe.has_value(); };
  const std::vector<spec::LayerSpec>& layers = run->model.layers;
  row.facts["kind"] = std::any_of(layers.begin(), layers.end(), has_experts) ? "moe" : "dense";
  return row;
}

}  // namespace

std::string_view family_of(std::string_view model) {
  const std::string lower = to_lower(model);
  for (const Family& family : kFamilies)
    if (lower.starts_with(family.start)) return family.name;
  return {};
}

UsualModule usual_module(const fs::path& presets_root, const std::string& framework, const std::string& model) {
  const std::vector<std::string> presets = config::list_presets(presets_root, "modules", framework);
  const auto has = [&presets](const char* name) {
    return std::find(presets.begin(), presets.end(), name) != presets.end();
  };
  const auto text = read_text_file(presets_root / "primus/configs/models" / framework / (model + ".yaml"));
  const bool finetunes = text && text->find("finetune") != std::string::npos;
  if (finetunes && framework == "megatron_bridge" && has("sft_trainer")) return {"post_trainer", "sft_trainer.yaml"};
  if (has("pre_trainer")) return {"pre_trainer", "pre_trainer.yaml"};
  if (has("pretrain_trainer")) return {"pre_trainer", "pretrain_trainer.yaml"};
  return {"pre_trainer", presets.empty() ? "pre_trainer.yaml" : presets.front() + ".yaml"};
}

Result<config::Experiment> bare_experiment(const fs::path& presets_root, const std::string& framework,
                                           const std::string& model, const Environment& environment) {
  const UsualModule usual = usual_module(presets_root, framework, model);
  Diagnostics findings;
  config::FileLoader loader(environment, findings);
  config::Map block;
  block.set("framework", config::Value(framework));
  block.set("config", config::Value(usual.preset));
  block.set("model", config::Value(model + ".yaml"));
  auto module = config::build_module(usual.name, config::Value(std::move(block)), presets_root, loader, findings);
  if (!module) return findings;
  config::Experiment experiment;
  experiment.file = model + ".yaml";
  experiment.platform = config::Value(config::Map());
  experiment.env = config::Value(config::Map());
  experiment.meta = {.work_group = "a", .user_name = "b", .exp_name = "c", .workspace = "./output", .values = {}};
  experiment.meta.values = config::Value(config::Map());
  // Data and lengths are another question than size: something stands there.
  if (framework == "megatron") {
    config::Map& params = module->params.as_map();
    params.set("train_data_path", config::Value("data"));
    params.set("seq_length", config::Value(int64_t{16}));
    const config::Value* positions = params.find("max_position_embeddings");
    if (positions == nullptr || positions->is_null())
      params.set("max_position_embeddings", config::Value(int64_t{4096}));
  }
  experiment.modules.push_back(std::move(*module));
  return experiment;
}

ListTable models_table(const fs::path& presets_root, const std::vector<std::string>& frameworks,
                       const Environment& environment) {
  ListTable table{{"framework", "model", "family", "parameters", "active parameters"}, {}, {}};
  for (const std::string& framework : frameworks)
    for (const std::string& model : config::list_presets(presets_root, "models", framework))
      table.rows.push_back(model_row(presets_root, framework, model, environment));
  return table;
}

ListTable flavors_table(const std::vector<std::string>& frameworks) {
  ListTable table{{"framework", "family", "flavor"}, {}, {}};
  for (const dialect::Flavor& one : dialect::all_flavors())
    if (std::find(frameworks.begin(), frameworks.end(), one.framework) != frameworks.end())
      table.rows.push_back({{one.framework, one.family, one.name}});
  return table;
}

}  // namespace primus::cli
