// Supervised fine-tuning and adapters. Source: Primus' SFT trainer of the megatron backend.
#include "primus/base/strings.h"
#include "primus/dialect/megatron.h"

namespace primus::dialect {

namespace {

std::optional<spec::Adapter> adapter(Translation& t) {
  const config::Value* map = t.keys.map("lora");
  if (map == nullptr) return std::nullopt;
  const config::Value* enabled = map->find("enabled");
  if (enabled == nullptr || !enabled->is_bool() || !enabled->as_bool()) return std::nullopt;
  spec::Adapter adapter;
  const auto number = [&](const char* key, double otherwise) {
    const config::Value* value = map->find(key);
    if (value == nullptr) return otherwise;
    if (value->is_int() || value->is_double()) return value->as_double();
    t.error("lora", "'lora." + std::string(key) + ": " + config::describe(*value) + "' is no number", "a number");
    return otherwise;
  };
  adapter.rank = static_cast<int64_t>(number("dim", 32));
  adapter.alpha = number("alpha", 32);
  adapter.dropout = number("dropout", 0);
  if (adapter.rank < 1) t.error("lora", "an adapter of rank " + std::to_string(adapter.rank), "lora.dim of at least 1");
  const config::Value* targets = map->find("target_modules");
  if (targets != nullptr && targets->is_list())
    for (const config::Value& item : targets->as_list())
      if (item.is_string()) adapter.targets.push_back(item.as_string());
  return adapter;
}

}  // namespace

void megatron_finetune(Translation& t) {
  const auto stage = t.keys.maybe_text("stage");
  spec::Finetune finetune;
  finetune.dataset = t.keys.text("sft_dataset_name");
  finetune.pretrained_folder = t.keys.text("hf_path");
  finetune.packed_sequences = t.keys.flag("enable_packed_sequences");
  finetune.adapter = adapter(t);
  if (stage == "sft") t.run.finetune = finetune;
}

}  // namespace primus::dialect
