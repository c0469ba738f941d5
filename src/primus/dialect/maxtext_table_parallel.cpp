// Table data: devices and parallel axes. Names, kinds and defaults: MaxText 0.2.5 (base.yml, configs/types.py).
#include "primus/dialect/maxtext.h"
#include "primus/dialect/maxtext_reasons.h"
#include "primus/dialect/rows.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kElastic = "read only with elastic_enabled";
constexpr std::string_view kMesh = "lays tensors out over JAX's mesh of devices; the numbers do not change";
constexpr std::string_view kPipeSchedule = "read only with pipeline parallelism";
constexpr std::string_view kDiloco = "read only with enable_diloco";
constexpr std::string_view kPipe = "pipeline parallelism";

constexpr Parameter kParallelRows[] = {
    // -------------------------------------------------------------------------------------- IciParallelism
    not_built("ici_diloco_parallelism", kInt, "1",
              "Model replicas that rarely meet in a slice (a node); -1: what is left over.", "DiLoCo")
        .also("-1"),
    honoured("ici_data_parallelism", kInt, "1", "Data parallelism in a slice (a node); -1: what is left over.",
             "parallel")
        .at_least(-1),
    honoured("ici_fsdp_parallelism", kInt, "-1",
             "Data parallelism with weights shared out in a slice (a node); -1: what is left over.",
             "parallel.weight_shards")
        .at_least(-1),
    honoured("ici_fsdp_transpose_parallelism", kInt, "1",
             "The second axis of shared-out weights in a slice (a node); -1: what is left over.",
             "parallel.weight_shards")
        .at_least(-1),
    described("ici_sequence_parallelism", kInt, "1", "Sequence parallelism in a slice (a node); -1: what is left over.",
              "parallel.context", "sequence parallelism")
        .also("-1")
        .at_least(-1),
    described("ici_context_parallelism", kInt, "1", "Context parallelism in a slice (a node); -1: what is left over.",
              "parallel.context", "context parallelism")
        .also("-1")
        .at_least(-1),
    described("ici_context_usp_ulysses_parallelism", kInt, "1",
              "Context parallelism over heads in a slice (a node); -1: what is left over.", "parallel.context",
              "context parallelism over heads")
        .also("-1")
        .at_least(-1),
    described("ici_context_autoregressive_parallelism", kInt, "1",
              "Context parallelism of inference in a slice (a node); -1: what is left over.",
              "parallel.context.of_inference", "context parallelism of inference")
        .also("-1")
        .at_least(-1),
    described("ici_tensor_parallelism", kInt, "1", "Tensor parallelism in a slice (a node); -1: what is left over.",
              "parallel.tensor", "tensor parallelism")
        .also("-1")
        .at_least(-1),
    described("ici_tensor_sequence_parallelism", kInt, "1",
              "Tensor parallelism with sequence parallelism in a slice (a node); -1: what is left over.",
              "parallel.tensor", "tensor parallelism with sequence parallelism")
        .also("-1")
        .at_least(-1),
    described("ici_autoregressive_parallelism", kInt, "1",
              "Tensor parallelism of inference in a slice (a node); -1: what is left over.",
              "parallel.tensor.of_inference", "tensor parallelism of inference")
        .also("-1")
        .at_least(-1),
    described("ici_pipeline_parallelism", kInt, "1", "Pipeline parallelism in a slice (a node); -1: what is left over.",
              "parallel.pipeline", "pipeline parallelism")
        .also("-1")
        .at_least(-1),
    described("ici_expert_parallelism", kInt, "1", "Expert parallelism in a slice (a node); -1: what is left over.",
              "parallel.expert", "expert parallelism")
        .also("-1")
        .at_least(-1),
    // -------------------------------------------------------------------------------------- DcnParallelism
    not_built("dcn_diloco_parallelism", kInt, "1",
              "Model replicas that rarely meet across slices (nodes); -1: what is left over.", "DiLoCo")
        .also("-1"),
    honoured("dcn_data_parallelism", kInt, "-1", "Data parallelism across slices (nodes); -1: what is left over.",
             "parallel")
        .at_least(-1),
    honoured("dcn_fsdp_parallelism", kInt, "1",
             "Data parallelism with weights shared out across slices (nodes); -1: what is left over.",
             "parallel.weight_shards")
        .at_least(-1),
    honoured("dcn_fsdp_transpose_parallelism", kInt, "1",
             "The second axis of shared-out weights across slices (nodes); -1: what is left over.",
             "parallel.weight_shards")
        .at_least(-1),
    described("dcn_sequence_parallelism", kInt, "1",
              "Sequence parallelism across slices (nodes); -1: what is left over.", "parallel.context.across_slices",
              "sequence parallelism")
        .also("-1")
        .at_least(-1),
    described("dcn_context_parallelism", kInt, "1", "Context parallelism across slices (nodes); -1: what is left over.",
              "parallel.context.across_slices", "context parallelism")
        .also("-1")
        .at_least(-1),
    described("dcn_context_usp_ulysses_parallelism", kInt, "1",
              "Context parallelism over heads across slices (nodes); -1: what is left over.",
              "parallel.context.across_slices", "context parallelism over heads")
        .also("-1")
        .at_least(-1),
    described("dcn_context_autoregressive_parallelism", kInt, "1",
              "Context parallelism of inference across slices (nodes); -1: what is left over.",
              "parallel.context.of_inference", "context parallelism of inference")
        .also("-1")
        .at_least(-1),
    described("dcn_tensor_parallelism", kInt, "1", "Tensor parallelism across slices (nodes); -1: what is left over.",
              "parallel.tensor.across_slices", "tensor parallelism")
        .also("-1")
        .at_least(-1),
    described("dcn_tensor_sequence_parallelism", kInt, "1",
              "Tensor parallelism with sequence parallelism across slices (nodes); -1: what is left over.",
              "parallel.tensor.across_slices", "tensor parallelism with sequence parallelism")
        .also("-1")
        .at_least(-1),
    described("dcn_pipeline_parallelism", kInt, "1",
              "Pipeline parallelism across slices (nodes); -1: what is left over.", "parallel.pipeline.across_slices",
              "pipeline parallelism")
        .also("-1")
        .at_least(-1),
    described("dcn_expert_parallelism", kInt, "1", "Expert parallelism across slices (nodes); -1: what is left over.",
              "parallel.expert.across_slices", "expert parallelism")
        .also("-1")
        .at_least(-1),
    described("dcn_autoregressive_parallelism", kInt, "1",
              "Tensor parallelism of inference across slices (nodes); -1: what is left over.",
              "parallel.tensor.of_inference", "tensor parallelism of inference")
        .also("-1")
        .at_least(-1),
    // --------------------------------------------------------------------------------- PipelineParallelism
    no_effect("pipeline_fsdp_ag_per_repeat", kBool, "false",
              "Enable weight prefetching for circular pipeline parallelism.", kPipeSchedule),
    described("num_layers_per_pipeline_stage", kInt, "1", "Neighbouring layers of one stage.",
              "parallel.stages_per_rank", kPipe)
        .at_least(1),
    described("num_pipeline_repeats", kInt, "-1", "Stages of one rank; -1: as many as the layers ask for.",
              "parallel.stages_per_rank", kPipe),
    not_built("pipeline_parallel_layers", kInt, "-1", "Layers inside the pipeline.", "layers outside the pipeline"),
    described("num_pipeline_microbatches", kInt, "-1", "Micro-batches in the pipeline; -1: as many as stages.",
              "batch.micro_batch_size.in_pipeline", kPipe),
    no_effect("pipeline_delay_activation_forwarding", kBool, "false",
              "Delays activation forwarding to aid XLA optimization.", kPipeSchedule),
    no_effect("pipeline_fsdp_ag_once", kBool, "false", "All-gather FSDP weights once per pipeline repeat.",
              kPipeSchedule),
    no_effect("scan_pipeline_iterations", kBool, "true", "Use jax.lax.scan over pipeline iterations.", kPipeSchedule),
    no_effect("scan_pipeline_repeats", kBool, "false", "Use jax.lax.scan over pipeline repeats.", kPipeSchedule),
    no_effect("scan_layers_per_stage", kBool, "false", "Use jax.lax.scan over layers within a stage.", kPipeSchedule),
    no_effect("set_remat_policy_on_pipeline_iterations", kBool, "true", "Set remat policy on the pipeline scan.",
              kPipeSchedule),
    no_effect("set_remat_policy_on_layers_per_stage", kBool, "false", "Set remat policy on the inner layer scan.",
              kPipeSchedule),
    // ------------------------------------------------------------------------------------- HardwareAndMesh
    no_effect("hardware", kText, "tpu", "Kind of device.", "the launcher chooses the device")
        .in("tpu|gpu|gpu_multiprocess|cpu"),
    no_effect("num_slices", kInt, "-1", "Slices; -1: counted.", "counted from the ranks"),
    no_effect("mesh_axes", kMaybeTexts,
              "[diloco, data, stage, fsdp, fsdp_transpose, context, context_usp_ulysses, context_autoregressive, "
              "tensor, tensor_sequence, expert, autoregressive]",
              "The names of the axes in the logical device mesh.", kMesh),
    no_effect("shard_mode", kText, "auto", "Can be either auto or explicit.", kMesh),
    no_effect("inhomogeneous_layer_cycle_interval", kInt, "1", "The interval of repeated inhomogeneous layer patterns.",
              kMesh),
    no_effect("scan_layers", kBool, "true", "One compiled layer for all.", kXla),
    no_effect("param_scan_axis", kInt, "1", "Axis of the stacked layers.", kXla),
    no_effect("context_parallel_load_balance", kBool, "true", "Long and short attention rows are paired.", kComm),
    no_effect("context_parallel_strategy", kMaybeText, "all_gather",
              "Strategy for context parallelism ('all_gather', 'ring', 'ulysses', or 'usp').", kMesh),
    no_effect("context_parallel_reorder_strategy", kText, "auto",
              "Reorder strategy for load-balanced context parallelism.", kMesh),
    no_effect("custom_mesh", kMaybeText, "\"\"", "Available options: ['hybrid_ring_64x4', 'hybrid_ring_32x8'].", kMesh),
    no_effect("custom_mesh_and_rule", kText, "\"\"", "Customized mesh and logical rules for granularity.", kMesh),
    no_effect("custom_mesh_and_rule_for_eval", kText, "\"\"", "Customized mesh and logical rules for evaluation.",
              kMesh),
    no_effect("allow_split_physical_axes", kBool, "false", "Allow splitting physical axes for device mesh creation.",
              kMesh),
    no_effect("optimize_mesh_for_tpu_v6e", kBool, "false", "Apply transformations to the mesh for TPU v6e.", kMesh),
    no_effect("shardy", kBool, "true", "Use shardy XLA backend.", kMesh),
    no_effect("remove_size_one_mesh_axis_from_type", kBool, "true",
              "Remove size one mesh axis from type through jax.config.", kMesh),
    // ----------------------------------------------------------------------------------- LayoutAndSharding
    no_effect("logical_axis_rules", kAny, "null", "Rules for mapping logical axes to physical mesh axes.", kMesh),
    no_effect("logical_axis_rules_for_eval", kAny, "null",
              "Rules for mapping logical axes to physical mesh axes during evaluation.", kMesh),
    no_effect("data_sharding", kAny, "null", "Sharding for input data.", kMesh),
    no_effect("context_sharding", kMaybeText, "context", "Physical axis name for context parallelism.", kMesh),
    no_effect("ulysses_context_sharding", kMaybeText, "context_usp_ulysses",
              "Physical axis name for the Ulysses head exchange under context_parallel_strategy='usp'.", kMesh),
    no_effect("input_data_sharding_logical_axes", kMaybeTexts,
              "[activation_embed_and_logits_batch, activation_norm_length]", "Logical axes for sharding input data.",
              kMesh),
    no_effect("sharding_tolerance", kFloat, "0.02", "Allowed percentage of non-sharded parameters.", kMesh),
    no_effect("check_vma", kBool, "false", "Enabled check_vma flag in shard_map calls.", kMesh),
    honoured("shard_optimizer_over_data", kBool, "false", "Optimizer state over the data-parallel ranks.",
             "optimizer.shard_state"),
    no_effect("dense_fsdp_use_two_stage_all_gather", kBool, "false",
              "Use two separate All-Gather calls for dense MLP weights sharded on both FSDP and FSDP-transpose.",
              kMesh),
    no_effect("internal_compile", kBool, "false", "Use internal_compile to bypass open-source topology mappings.",
              kMesh),
    no_effect("internal_compile_num_devices", kInt, "-1", "Number of devices when using internal_compile.", kMesh),
    no_effect("compile_xla_flags", kMaybeText, "\"\"", "Compiler options for compilation only.", kMesh),
    // ---------------------------------------------------------------------------------------- DilocoParams
    not_built("enable_diloco", kBool, "false", "Rarely synchronised replicas.", "DiLoCo"),
    no_effect("diloco_sync_period", kInt, "36", "Diloco sync period.", kDiloco),
    no_effect("diloco_outer_lr", kFloat, "0.3", "Learning rate for outer optimizer.", kDiloco),
    no_effect("diloco_outer_momentum", kFloat, "0.9", "Momentum for outer optimizer.", kDiloco),
    no_effect("dcn_bandwidth_limit", kMaybeText, "\"\"",
              "Programmatic DCN egress bandwidth limit per VM (such as '28gbit').", kDiloco),
    no_effect("dcn_bandwidth_burst", kMaybeText, "10mb", "Burst size for Token Bucket Filter (TBF) traffic shaping.",
              kDiloco),
    no_effect("dcn_bandwidth_latency", kMaybeText, "50ms",
              "Latency threshold for Token Bucket Filter (TBF) traffic shaping.", kDiloco),
    no_effect("dcn_bandwidth_interface", kMaybeText, "eth0", "Network interface to apply bandwidth limits on.",
              kDiloco),
    not_built("enable_streaming_diloco", kBool, "false", "The same, fragment by fragment.", "DiLoCo"),
    no_effect("num_diloco_fragments", kMaybeInt, "null",
              "Total number of fragments to partition the model layers into.", kDiloco),
    no_effect("use_sequential_layers", kBool, "false", "Sync layers sequentially (or interleaved).", kDiloco),
    no_effect("num_communication_overlapping_steps", kInt, "0", "Steps of communication overlap with computation.",
              kDiloco),
    no_effect("communication_overlapping_alpha", kFloat, "0.0",
              "Interpolation factor between local and global parameters.", kDiloco),
    // ------------------------------------------------------------------------------------- ElasticTraining
    not_built("elastic_enabled", kBool, "false", "Goes on when slices fail.", "elastic training"),
    no_effect("elastic_backup_kind", kMaybeText, "snapshot",
              "The kind of backup to use for elastic training: 'snapshot' or 'checkpoint'.", kElastic),
    no_effect("elastic_timeout_seconds", kInt, "300",
              "The maximum number of seconds to wait for elastic_minimum_slice_count slices to become active.",
              kElastic),
    no_effect("elastic_max_retries", kInt, "10", "Attempts after a slice fails.", kElastic),
    no_effect("elastic_min_slice_count", kInt, "-1",
              "The minimum number of slices to wait for before starting training.", kElastic),
    // ------------------------------------------------------------------------------------------------- AOT
    no_effect("compiled_trainstep_file", kMaybeText, "\"\"", "Name of saved serialized compiled train_step.", kXla),
    no_effect("compile_topology", kMaybeText, "\"\"", "Target hardware version, such as 'v5e-256'.", kXla),
    no_effect("compile_topology_num_slices", kInt, "-1", "Number of target slices.", kXla),
    no_effect("write_estimator_result", kBool, "false", "Write estimator.py results in a separate file.", kXla),
    // ----------------------------------------------------------------------------- DevelopmentAndDebugging
    no_effect("constant_bound_config", kAny, "null", "Legacy configuration for constant bounds.", kXla),
    no_effect("jax_cache_dir", kMaybeText, "~/jax_cache", "Directory for JAX compilation cache.", kXla),
    no_effect("jax_distributed_initialization_timeout", kInt, "300", "Timeout for jax.distributed.initialize.", kXla),
    no_effect("jax_debug_log_modules", kMaybeText, "\"\"", "Set to 'jax' for verbose JAX logging.", kXla),
    no_effect("skip_jax_distributed_system", kBool, "false", "Do not initialize the jax distributed system.", kXla),
    no_effect("enable_single_controller", kBool, "false", "Enable single-controller mode (Pathways).", kXla),
    no_effect("subslice_shape", kMaybeText, "\"\"", "Subslice shape in the form of 'x,y,z' for Pathways.", kXla),
    no_effect("max_checkify", kBool, "false", "Perform extra checks using jax.checkify, affecting performance.", kXla),
};

}  // namespace

std::span<const Parameter> maxtext_parallel_rows() {
  return kParallelRows;
}

}  // namespace primus::dialect
