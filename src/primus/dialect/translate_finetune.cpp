// Post-training between dialects: megatron and megatron_bridge have it, torchtitan and maxtext have not.
#include "primus/base/strings.h"
#include "primus/dialect/translate_writers.h"

namespace primus::dialect {

namespace {

struct FinetuneKeys {
  std::string_view framework, dataset, weights, packed, adapter, kind;
};
constexpr FinetuneKeys kFinetuneKeys[] = {
    {"megatron", "sft_dataset_name", "hf_path", "enable_packed_sequences", "lora", "stage"},
    {"megatron_bridge", "dataset.dataset_name", "hf_path", "packed_sequence", "peft", "flavor"}};

constexpr std::string_view kTitanKind = "torchtitan trains on running text only";
constexpr std::string_view kMaxtextKind =
    "MaxText fine-tunes with another program (maxtext.trainers.post_train.sft), which Primus does not start";

}  // namespace

void write_megatron_finetune(const spec::RunSpec& run, KeyWriter& keys) {
  const spec::Finetune& tune = *run.finetune;
  keys.set("stage", "sft");
  keys.set("sft_dataset_name", tune.dataset);
  // The form in which every recipe of megatron_bridge reads its records.
  keys.set("sft_conversation_format", "squad");
  keys.note(
      "sft_conversation_format: squad is how the recipe reads its records; an end token is appended there, and none "
      "here");
  if (!tune.pretrained_folder.empty()) keys.set("hf_path", tune.pretrained_folder);
  keys.set("enable_packed_sequences", tune.packed_sequences);
  // Samples in one sequence do not see each other there.
  if (tune.packed_sequences) keys.set("use_packed_attention", true);
  keys.set("lora.enabled", tune.adapter.has_value());
  if (!tune.adapter) return;
  keys.set("lora.dim", tune.adapter->rank);
  keys.set("lora.alpha", tune.adapter->alpha);
  keys.set("lora.dropout", tune.adapter->dropout);
  config::List targets;
  for (const std::string& name : tune.adapter->targets) targets.emplace_back(name);
  keys.set("lora.target_modules", config::Value(std::move(targets)));
}

Diagnostics finetuning_lost(const config::Module& module, const spec::RunSpec& run, std::string_view framework) {
  const FinetuneKeys* names = nullptr;
  for (const FinetuneKeys& one : kFinetuneKeys) {
    if (one.framework == framework) return {};
    if (one.framework == module.framework) names = &one;
  }
  if (names == nullptr) return {};
  Diagnostics out;
  const bool titan = framework == "torchtitan";
  const auto lose = [&](std::string_view key, std::string found, std::string why) {
    const config::Value* value = module.params.find_path(key);
    Diagnostic finding =
        error_at(value == nullptr ? module.place : value->place(),
                 "'" + std::string(key) + "' has no counterpart in " + std::string(framework) + ": " + why);
    finding.key = key;
    finding.found = std::move(found);
    out.push_back(std::move(finding));
  };
  lose(names->kind, "supervised fine-tuning", std::string(titan ? kTitanKind : kMaxtextKind));
  const spec::Finetune& tune = *run.finetune;
  lose(names->dataset, tune.dataset, "there are no records of prompts and answers, and no masks on prompts");
  if (tune.packed_sequences)
    lose(names->packed, "true", "samples that share a sequence without seeing each other exist for such records only");
  if (tune.adapter)
    lose(names->adapter,
         "rank " + std::to_string(tune.adapter->rank) + (tune.adapter->targets.empty() ? "" : " on ") +
             join(tune.adapter->targets, ", "),
         "there are no adapters");
  if (!tune.pretrained_folder.empty() && !titan)
    lose(names->weights, tune.pretrained_folder, "its trainer starts from checkpoints of its own only");
  out.back().suggestion = "export it to its own trainer, or to one that fine-tunes: --to " + module.framework +
                          ", --to " + (module.framework == "megatron" ? "megatron_bridge" : "megatron");
  return out;
}

}  // namespace primus::dialect
