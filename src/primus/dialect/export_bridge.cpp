// Megatron Bridge: a Python program that calls the recipe and sets what Primus would set in its container.
#include <algorithm>

#include "primus/base/strings.h"
#include "primus/dialect/bridge_config.h"
#include "primus/dialect/export_forms.h"

namespace primus::dialect {

namespace {

class BridgeExport {
 public:
  BridgeExport(const ExportSource& source, LaunchForm& form) : source_(source), form_(form) {}

  void run() {
    Reader keys(source_.module);
    spec::RunSpec run;
    Diagnostics findings;
    const ToSpecOptions options{.for_training = false};
    Translation translation{keys, run, findings, options};
    BridgeConfig config(translation);
    resolve_bridge(translation, config);
    config_ = &config;
    findings_ = &findings;
    for (const config::MapEntry& entry : source_.module.params.as_map()) key(entry);
    std::string text = program(*config.recipe);
    const std::string name = source_.experiment.meta.exp_name + ".py";
    form_.program = {source_.path_of(name)};
    form_.files.push_back({name, std::move(text)});
  }

 private:
  std::string program(const BridgeRecipe& recipe) const {
    const std::string flavor(recipe.flavor);
    const std::string job = recipe.builder->finetunes ? "finetune" : "pretrain";
    std::string text = "from megatron.bridge.recipes." + std::string(recipe.module) + " import " + flavor + "\n";
    text += "from megatron.bridge.training." + job + " import " + job + "\n";
    text += "from megatron.bridge.training.gpt_step import forward_step\n\n";
    text += "cfg = " + flavor + "(" + (arguments_.empty() ? "" : "\n" + arguments_) + ")\n" + assignments_ + "\n";
    return text + "if __name__ == \"__main__\":\n    " + job + "(cfg, forward_step)\n";
  }

  void lose(const std::string& name, const config::Value& value, std::string reason) {
    // What the resolution said about the key is the better reason.
    for (const Diagnostic& finding : *findings_)
      if (finding.key == name && finding.severity == Severity::Warning) reason = finding.message;
    form_.not_carried.push_back({name, config::describe(value), std::move(reason)});
  }

  void key(const config::MapEntry& entry) {
    if (entry.key == "recipe" || entry.key == "flavor" || entry.value.is_null()) return;
    if (entry.key == "model" && !entry.value.is_map()) return;  // the preset's name
    const Parameter* row = find_parameter("megatron_bridge", entry.key);
    if (entry.value.is_map() && config_->argument(entry.key) == nullptr) {
      for (const Leaf& leaf : leaves_of(entry.value)) field(entry.key + "." + leaf.key, *leaf.value);
      return;
    }
    const auto typed = row == nullptr ? std::nullopt : source_.typed(*row);
    if (config_->argument(entry.key) != nullptr) {
      arguments_ += "    " + entry.key + "=" + (typed ? python_literal(*typed) : python_literal(entry.value)) + ",\n";
      return;
    }
    if (entry.key == "hf_path")
      return lose(entry.key, entry.value,
                  "a hook of Primus converts it to a Megatron checkpoint and gives that as pretrained_checkpoint");
    if (flat(entry.key, entry.value)) return;
    if (row != nullptr && typed && means_default(*row, *typed)) return;
    lose(entry.key, entry.value,
         row != nullptr && row->ours ? reason_of(*row, "Megatron Bridge")
                                     : "the recipe takes no such argument: Primus drops it");
  }

  // Keys that Primus copies into the container behind the recipe.
  bool flat(const std::string& name, const config::Value& value) {
    constexpr std::pair<std::string_view, std::string_view> kFlat[] = {{"log_interval", "logger.log_interval"},
                                                                       {"eval_interval", "train.eval_interval"},
                                                                       {"eval_iters", "train.eval_iters"},
                                                                       {"save_interval", "checkpoint.save_interval"}};
    for (const auto& [key, path] : kFlat) {
      if (key != name) continue;
      assign(std::string(path), python_literal(value));
      return true;
    }
    if (name != "skip_save") return false;
    if (value.is_bool() && value.as_bool()) {
      assign("checkpoint.save", "None");
      assign("checkpoint.save_interval", "0");
    }
    return true;
  }

  void field(const std::string& path, const config::Value& value) {
    if (value.is_null() || value.is_map()) return;
    const Parameter* row = find_parameter("megatron_bridge", path);
    const auto typed = row == nullptr ? std::nullopt : source_.typed(*row);
    const bool skipped = std::any_of(findings_->begin(), findings_->end(),
                                     [&](const Diagnostic& finding) { return finding.key == path; });
    if (row != nullptr && row->reason.starts_with("null in every recipe"))
      return lose(path, value, std::string(row->reason));
    if (skipped || !typed) return lose(path, value, "Primus puts it nowhere");
    assign(path, python_literal(*typed));
  }

  void assign(const std::string& path, const std::string& value) {
    assignments_ += "cfg." + path + " = " + value + "\n";
  }

  const ExportSource& source_;
  LaunchForm& form_;
  BridgeConfig* config_ = nullptr;
  Diagnostics* findings_ = nullptr;
  std::string arguments_, assignments_;
};

}  // namespace

void export_bridge(const ExportSource& source, LaunchForm& form) {
  form.upstream = "NVIDIA-NeMo/Megatron-Bridge 9577b128";
  form.package = "megatron.bridge";
  BridgeExport(source, form).run();
}

}  // namespace primus::dialect
