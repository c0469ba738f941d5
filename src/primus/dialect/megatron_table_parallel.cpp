// Table data: sizes of the axes, data parallelism, communication, FSDP.
#include "primus/dialect/megatron.h"
#include "primus/dialect/rows.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kTp = "tensor parallelism";
constexpr std::string_view kCp = "context parallelism";
constexpr std::string_view kFsdp = "fully sharded data parallelism";
constexpr std::string_view kOdc = "on-demand communication";

constexpr Parameter kParallelRows[] = {
    // ------------------------------------------------------------------------------------------------ axes
    described("tensor_model_parallel_size", kInt, "1", "Ranks that share each layer.", "parallel.tensor", kTp)
        .at_least(1),
    refused("model_parallel_size", kMaybeInt, "null", "Old name of it.", "upstream refuses it since it was renamed")
        .use("tensor_model_parallel_size"),
    not_built("encoder_tensor_model_parallel_size", kInt, "0", "The same for an encoder.", "encoder-decoder models"),
    no_effect("sequence_parallel", kBool, "false", "Norms and dropout cut along the sequence.",
              "switched off by upstream too when tensor_model_parallel_size is 1"),
    described("context_parallel_size", kInt, "1", "Ranks that share each sequence.", "parallel.context", kCp)
        .at_least(1),
    not_built("cp_comm_type", kAny, "p2p", "How they exchange keys and values.", kCp).under("context_parallel_size"),
    not_built("hierarchical_context_parallel_sizes", kMaybeInts, "null", "In two levels.", kCp)
        .under("context_parallel_size"),
    no_effect("use_tp_pp_dp_mapping", kBool, "false", "Order of the ranks.", "with one axis there is only one order"),
    honoured("use_distributed_optimizer", kBool, "false", "Optimizer state is cut over the data-parallel ranks.",
             "optimizer.shard_state"),
    not_built("num_distributed_optimizer_instances", kInt, "1", "Copies of that cut.", "several optimizer groups"),
    described("data_parallel_replicate_degree", kInt, "1", "Copies of the sharded model.", "parallel.weight_shards",
              kFsdp)
        .at_least(1),
    honoured("overlap_grad_reduce", kBool, "false", "Gradients are reduced while backward goes on.",
             "parallel.overlap_grad_reduce"),
    no_effect("overlap_param_gather", kBool, "false", "Weights are gathered while forward goes on.",
              "the numbers do not change"),
    no_effect("overlap_param_gather_with_optimizer_step", kBool, "false", "And while the optimizer works.",
              "the numbers do not change"),
    honoured("ddp_bucket_size", kMaybeInt, "null", "Elements per bucket of gradients; null: 40,000,000.",
             "parallel.bucket_elements")
        .at_least(1)
        .in_unit("elements"),
    no_effect("ddp_num_buckets", kMaybeInt, "null", "The same as a number of buckets.", kComm),
    no_effect("ddp_pad_buckets_for_high_nccl_busbw", kBool, "false", "Padded buckets.", kComm),
    no_effect("ddp_average_in_collective", kBool, "false", "Who divides by the number of ranks.", kComm),
    no_effect("gradient_reduce_div_fusion", kBool, "true", "Who divides by the number of ranks.", kComm),
    no_effect("align_grad_reduce", kBool, "true", "Stages reduce at the same time.", kComm),
    no_effect("align_param_gather", kBool, "true", "Stages gather at the same time.", kComm),
    not_built("check_weight_hash_across_dp_replicas_interval", kMaybeInt, "null", "Compares weights over ranks.",
              "that check"),
    honoured("deterministic_mode", kBool, "false",
             "One summation order over micro-batches and ranks: any number of ranks gives the same bits.",
             "parallel.deterministic"),
    honoured("distributed_timeout_minutes", kFloat, "10", "Longest wait for another rank.", "parallel.timeout_minutes")
        .at_least(0)
        .in_unit("minutes"),
    no_effect("distributed_backend", kText, "nccl", "Communication library.", "it follows the device here")
        .in("nccl|gloo"),
    no_effect("enable_gloo_process_groups", kBool, "true", "Groups on the CPU beside those on the GPU.", kComm),
    no_effect("nccl_communicator_config_path", kMaybeText, "null", "Tuning of NCCL.", kComm),
    no_effect("high_priority_stream_groups", kMaybeTexts, "[]", "GPU streams.", kComm),
    no_effect("use_sharp", kBool, "false", "Reduction inside the network.", kComm),
    no_effect("sharp_enabled_group", kMaybeText, "null", "For which group.", kComm),
    no_effect("tp_comm_overlap", kBool, "false", "Tensor-parallel exchange beside computation.", kComm),
    no_effect("tp_comm_overlap_cfg", kMaybeText, "null", "Its file.", kComm),
    no_effect("tp_comm_overlap_ag", kBool, "true", "Its parts.", kComm),
    no_effect("tp_comm_overlap_rs", kBool, "true", "Its parts.", kComm),
    no_effect("tp_comm_overlap_rs_dgrad", kBool, "false", "Its parts.", kComm),
    no_effect("tp_comm_split_ag", kBool, "true", "Its parts.", kComm),
    no_effect("tp_comm_split_rs", kBool, "true", "Its parts.", kComm),
    no_effect("tp_comm_bulk_wgrad", kBool, "true", "Its parts.", kComm),
    no_effect("tp_comm_bulk_dgrad", kBool, "true", "Its parts.", kComm),
    no_effect("tp_comm_bootstrap_backend", kText, "nccl", "Its start.", kComm).in("nccl|mpi|gloo"),
    no_effect("async_tensor_model_parallel_allreduce", kBool, "true", "Exchange beside computation.", kUnread),
    no_effect("local_rank", kMaybeInt, "null", "Rank inside a node.", "read from the launcher's environment"),
    no_effect("lazy_mpu_init", kMaybeBool, "null", "Groups made by another program.", kOtherProgram),
    no_effect("empty_unused_memory_level", kInt, "0", "GPU cache emptied.", kMemory).at_least(0).at_most(2),
    no_effect("empty_cache_interval", kMaybeInt, "null", "GPU cache emptied.", kMemory),
    no_effect("manual_gc", kBool, "false", "Python's garbage collection.", "there is no Python here"),
    no_effect("manual_gc_interval", kInt, "0", "Its steps.", "there is no Python here"),
    no_effect("manual_gc_eval", kBool, "true", "In evaluation too.", "there is no Python here"),
    no_effect("disable_compile_dependencies", kBool, "true", "Helpers are compiled at start.",
              "nothing is compiled at start"),
    // ------------------------------------------------------------------------------------------------ FSDP
    described("use_megatron_fsdp", kBool, "false", "Megatron's own FSDP.", "parallel.weight_shards", kFsdp),
    described("use_torch_fsdp2", kBool, "false", "PyTorch's FSDP.", "parallel.weight_shards", kFsdp),
    no_effect("use_custom_fsdp", kBool, "false", "Old name of use_megatron_fsdp.", kUnread).use("use_megatron_fsdp"),
    described("data_parallel_sharding_strategy", kText, "no_shard", "What is cut.",
              "parallel.weight_shards optimizer.shard_state", kFsdp)
        .under("use_megatron_fsdp")
        .in("no_shard|optim|optim_grads|optim_grads_params"),
    not_built("suggested_communication_unit_size", kMaybeInt, "400000000", "Size of an exchange.", kFsdp)
        .under("use_megatron_fsdp"),
    not_built("enable_odc", kBool, "false", "AMD's on-demand communication.", kOdc),
    not_built("odc_phase", kInt, "2", "Its phase.", kOdc).under("enable_odc"),
    not_built("odc_grad_spike_threshold", kFloat, "1000.0", "Its guard.", kOdc).under("enable_odc"),
    not_built("odc_p2p_backend", kText, "mori", "Its library.", kOdc).under("enable_odc"),
    not_built("odc_mori_init", kText, "pg", "Its start.", kOdc).under("enable_odc"),
    not_built("odc_max_buffer_size", kInt, "67108864", "Its buffers.", kOdc).under("enable_odc"),
    not_built("odc_rocshmem_gda", kBool, "false", "Its transport.", kOdc).under("enable_odc"),
    not_built("odc_rocshmem_lib", kMaybeText, "null", "Its transport.", kOdc).under("enable_odc"),
    not_built("odc_gda_rs_blocks", kInt, "64", "Its transport.", kOdc).under("enable_odc"),
    not_built("odc_gda_pipe", kInt, "1", "Its transport.", kOdc).under("enable_odc"),
    not_built("odc_gda_defer_reduce", kText, "auto", "Its transport.", kOdc).under("enable_odc"),
    not_built("odc_gda_warmup_mode", kText, "strided", "Its transport.", kOdc).under("enable_odc"),
    not_built("odc_gda_stride_bytes", kInt, "65536", "Its transport.", kOdc).under("enable_odc"),
    // ------------------------------------------------------------------------------------------------ resilience
    no_effect("enable_ft_package", kBool, "false", "NVIDIA's restart library.", "that library is not there"),
    no_effect("calc_ft_timeouts", kBool, "false", "Its waits.", "that library is not there"),
    no_effect("inprocess_restart", kBool, "false", "Its restart.", "that library is not there"),
    no_effect("run_workload_inspector_server", kBool, "false", "A server that shows GPU work.", kLogOnly),
};

}  // namespace

std::span<const Parameter> megatron_parallel_rows() {
  return kParallelRows;
}

}  // namespace primus::dialect
