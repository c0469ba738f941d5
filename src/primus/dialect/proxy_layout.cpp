// Made-up data and one device, in each dialect's keys.
#include <algorithm>

#include "primus/dialect/proxy_change_list.h"

namespace primus::dialect {

namespace {

using config::Value;

constexpr std::string_view kMock = "made-up data", kOne = "one device";

constexpr std::string_view kMegatronAxes[] = {"tensor_model_parallel_size",
                                              "pipeline_model_parallel_size",
                                              "context_parallel_size",
                                              "expert_model_parallel_size",
                                              "expert_tensor_parallel_size",
                                              "data_parallel_replicate_degree",
                                              "num_layers_per_virtual_pipeline_stage",
                                              "num_virtual_stages_per_pipeline_rank",
                                              "decoder_first_pipeline_num_layers",
                                              "decoder_last_pipeline_num_layers",
                                              "decoder_pipeline_manual_split_list",
                                              "pipeline_model_parallel_layout",
                                              "account_for_embedding_in_pipeline_split",
                                              "account_for_loss_in_pipeline_split",
                                              "use_torch_fsdp2",
                                              "use_megatron_fsdp"};
constexpr std::string_view kTitanAxes[] = {
    "parallelism.tensor_parallel_degree",        "parallelism.pipeline_parallel_degree",
    "parallelism.context_parallel_degree",       "parallelism.expert_parallel_degree",
    "parallelism.expert_tensor_parallel_degree", "parallelism.data_parallel_replicate_degree",
    "parallelism.data_parallel_shard_degree"};
constexpr std::string_view kMaxTextAxes[] = {"data",
                                             "fsdp",
                                             "fsdp_transpose",
                                             "sequence",
                                             "context",
                                             "context_usp_ulysses",
                                             "tensor",
                                             "context_autoregressive",
                                             "tensor_sequence",
                                             "autoregressive",
                                             "pipeline",
                                             "expert"};
constexpr std::string_view kBridgeAxes[] = {"model.tensor_model_parallel_size",
                                            "model.pipeline_model_parallel_size",
                                            "model.virtual_pipeline_model_parallel_size",
                                            "model.context_parallel_size",
                                            "model.expert_model_parallel_size",
                                            "model.expert_tensor_parallel_size",
                                            "model.account_for_embedding_in_pipeline_split",
                                            "model.account_for_loss_in_pipeline_split",
                                            "ddp.use_megatron_fsdp"};

// Sizes above 1 become 1, switches go off, layers of stages are no longer listed.
void one_device(std::string_view key, ProxyChangeList& changes) {
  const TypedValue value = changes.view().value(key);
  const auto* size = std::get_if<int64_t>(&value.data);
  const auto* on = std::get_if<bool>(&value.data);
  const bool is_axis = key.ends_with("_size") || key.ends_with("_degree") || key.ends_with("_parallelism");
  if (on != nullptr && *on) return changes.put(key, Value(false), kOne);
  if (size != nullptr && is_axis && *size > 1) return changes.put(key, 1, kOne);
  const bool is_list = !is_axis && on == nullptr && !value.is_null();
  if (is_list && changes.view().written(key) != nullptr) changes.put(key, Value(), kOne);
}

}  // namespace

std::vector<ProxyChange> mock_data_changes(const config::Module& module) {
  ProxyChangeList changes(module);
  if (module.framework == "megatron") changes.put("mock_data", Value(true), kMock);
  if (module.framework == "torchtitan") changes.put("training.mock_data", Value(true), kMock);
  if (module.framework == "maxtext") changes.put("dataset_type", Value("synthetic"), kMock);
  if (module.framework != "megatron_bridge" || !changes.view().pretrains()) return changes.take();
  for (const char* path : {"data_paths", "train_data_path", "valid_data_path", "test_data_path"}) {
    const Value* given = module.params.find(path);
    if (given != nullptr && !given->is_null()) changes.set(path, Value(), kMock);
  }
  changes.set("mock", Value(true), kMock);
  return changes.take();
}

std::vector<ProxyChange> one_device_changes(const config::Module& module) {
  ProxyChangeList changes(module);
  if (module.framework == "megatron")
    for (const std::string_view key : kMegatronAxes) one_device(key, changes);
  if (module.framework == "torchtitan")
    for (const std::string_view key : kTitanAxes) one_device(key, changes);
  if (module.framework == "megatron_bridge")
    for (const std::string_view key : kBridgeAxes) one_device(key, changes);
  if (module.framework != "maxtext") return changes.take();
  for (const char* group : {"ici_", "dcn_"})
    for (const std::string_view axis : kMaxTextAxes)
      one_device(std::string(group) + std::string(axis) + "_parallelism", changes);
  return changes.take();
}

}  // namespace primus::dialect
