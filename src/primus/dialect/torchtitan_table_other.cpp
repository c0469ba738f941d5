// Table data: checkpoints, logging, profiling, communication, Primus's own keys.
#include "primus/dialect/torchtitan.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kSeedCheckpoint = "a checkpoint of the first weights";
constexpr std::string_view kHfLoad = "loading Hugging Face weights at the start of a run";
constexpr std::string_view kProfile = "profiling", kTorchFt = "TorchFT", kWandb = "Weights & Biases";
constexpr std::string_view kEstimate = "this estimate";
constexpr std::string_view kFp8 = "tunes products in 8 bits, which model.converters asks for and train refuses for now";
constexpr std::string_view kCompile = "the layers here are compiled already";
constexpr std::string_view kOwnFolder = "every run has one layout of its folder";
constexpr std::string_view kSave = "checkpoint.enable";

constexpr Parameter kCheckpointRows[] = {
    honoured("checkpoint.enable", kBool, "false",
             "Saves every interval and at the end, and goes on from the newest checkpoint of the run.",
             "checkpoint.save checkpoint.resume_by_default"),
    honoured("checkpoint.interval", kInt, "500", "Steps between checkpoints.", "checkpoint.interval_steps")
        .at_least(1)
        .in_unit("steps"),
    honoured("checkpoint.keep_latest_k", kInt, "10", "Checkpoints that are kept; 0: all.", "checkpoint.keep_last")
        .at_least(0),
    honoured("checkpoint.async_mode", kText, "disabled", "Training goes on while a checkpoint is written.",
             "checkpoint.asynchronous")
        .in("disabled|async|async_with_pinned_mem"),
    honoured("checkpoint.initial_load_path", kMaybeText, "null",
             "Checkpoint to start from; ignored when the run has checkpoints of its own.", "checkpoint.load_folder"),
    honoured("checkpoint.initial_load_model_only", kBool, "true", "Only the weights of it.",
             "checkpoint.load_weights_only"),
    honoured("checkpoint.exclude_from_loading", kTexts, "[]", "Parts that are not loaded.",
             "checkpoint.load_optimizer"),
    honoured("checkpoint.load_only", kBool, "false", "Loads, and never saves.", "checkpoint.save"),
    no_effect("checkpoint.folder", kText, "checkpoint", "Name of the folder.", kOwnFolder),
    no_effect("checkpoint.last_save_model_only", kBool, "true", "The last checkpoint holds weights only.",
              "the last checkpoint here holds everything, like the others"),
    no_effect("checkpoint.export_dtype", kText, "float32", "Type of the weights in the last checkpoint.",
              "checkpoints hold the weights as they are trained; checkpoint export-hf converts")
        .in("float16|bfloat16|float32"),
    no_effect("checkpoint.enable_ft_dataloader_checkpoints", kBool, "true", "TorchFT: the data position is saved.",
              "read with TorchFT only; the data position is always saved here"),
    not_built("checkpoint.load_step", kInt, "-1", "Step of the run's own checkpoints to go on from; -1: the newest.",
              "going on from a chosen step")
        .under(kSave),
    not_built("checkpoint.initial_load_in_hf", kBool, "false", "The first checkpoint is a Hugging Face folder.",
              kHfLoad)
        .under(kSave),
    not_built("checkpoint.initial_load_in_hf_quantized", kBool, "false", "With quantized weights.", kHfLoad)
        .under(kSave),
    not_built("checkpoint.last_save_in_hf", kBool, "false", "The last checkpoint is a Hugging Face folder.",
              "saving a Hugging Face folder at the end; checkpoint export-hf makes one")
        .under(kSave),
    not_built("checkpoint.enable_first_step_checkpoint", kBool, "false", "Saves after the first step too.",
              "a checkpoint after the first step")
        .under(kSave),
    not_built("checkpoint.create_seed_checkpoint", kBool, "false", "Saves the first weights and ends.",
              kSeedCheckpoint),
};

constexpr Parameter kOtherRows[] = {
    // ------------------------------------------------------------------------------------------------ metrics
    honoured("metrics.log_freq", kInt, "10", "Steps between console lines.", "logging.interval_steps")
        .at_least(1)
        .in_unit("steps"),
    honoured("metrics.enable_tensorboard", kBool, "false", "Writes TensorBoard files.", "logging.tensorboard"),
    not_built("metrics.enable_wandb", kBool, "false", "Sends to Weights & Biases.", kWandb),
    no_effect("metrics.disable_color_printing", kBool, "false", "No colours on the console.",
              "colours follow the terminal"),
    no_effect("metrics.save_tb_folder", kText, "tb", "Folder of the TensorBoard files.", kOwnFolder),
    no_effect("metrics.save_for_all_ranks", kBool, "false", "Every rank writes them.",
              "all ranks have the same values"),
    // ------------------------------------------------------------------------------------------------ profiling
    not_built("profiling.enable_profiling", kBool, "false", "Traces some steps.", kProfile),
    not_built("profiling.enable_memory_snapshot", kBool, "false", "Writes what GPU memory holds.", kProfile),
    not_built("profiling.save_traces_folder", kText, "profile_traces", "Folder of the traces.", kProfile)
        .under("profiling.enable_profiling"),
    not_built("profiling.save_memory_snapshot_folder", kText, "memory_snapshot", "Folder of the snapshots.", kProfile)
        .under("profiling.enable_memory_snapshot"),
    not_built("profiling.profile_freq", kInt, "10", "Every how many steps.", kProfile)
        .under("profiling.enable_profiling"),
    not_built("profiling.profiler_active", kInt, "1", "Traced steps.", kProfile).under("profiling.enable_profiling"),
    not_built("profiling.profiler_warmup", kInt, "3", "Steps before them.", kProfile)
        .under("profiling.enable_profiling"),
    // ------------------------------------------------------------------------------------------------ compilation
    no_effect("compile.enable", kBool, "false", "Compiles the model.", kCompile),
    no_effect("compile.components", kTexts, "[model, loss]", "What is compiled.", kCompile),
    no_effect("compile.backend", kText, "inductor", "By which compiler.", kCompile),
    // ------------------------------------------------------------------------------------------------ communication
    honoured("comm.init_timeout_seconds", kFloat, "300", "Longest wait for another rank.", "parallel.timeout_minutes")
        .at_least(1)
        .in_unit("seconds"),
    no_effect("comm.train_timeout_seconds", kFloat, "100", "The same after the first step.",
              "one limit holds for the whole run: comm.init_timeout_seconds")
        .in_unit("seconds"),
    no_effect("comm.trace_buf_size", kInt, "20000", "Records of NCCL's flight recorder.", kComm),
    no_effect("comm.save_traces_folder", kText, "comm_traces", "Their folder.", kComm),
    no_effect("comm.save_traces_file_prefix", kText, "rank_", "Their names.", kComm),
    not_built("comm.mode", kText, "default", "Stand-ins for communication.", "stand-ins for communication")
        .in("default|fake_backend|local_tensor"),
    // ------------------------------------------------------------------------------------------------ estimates,
    // TorchFT
    not_built("memory_estimation.enable", kBool, "false", "Estimates memory instead of training.", kEstimate),
    not_built("memory_estimation.disable_fake_mode", kBool, "false", "With real tensors.", kEstimate)
        .under("memory_estimation.enable"),
    not_built("fault_tolerance.enable", kBool, "false", "Replica groups that come and go.", kTorchFt),
    not_built("fault_tolerance.process_group", kText, "gloo", "Their communication.", kTorchFt)
        .under("fault_tolerance.enable"),
    not_built("fault_tolerance.process_group_timeout_ms", kInt, "10000", "Its longest wait.", kTorchFt)
        .in_unit("milliseconds")
        .under("fault_tolerance.enable"),
    not_built("fault_tolerance.replica_id", kInt, "0", "Which group this is.", kTorchFt)
        .under("fault_tolerance.enable"),
    not_built("fault_tolerance.group_size", kInt, "0", "Groups.", kTorchFt).under("fault_tolerance.enable"),
    not_built("fault_tolerance.min_replica_size", kInt, "1", "Fewest groups of a step.", kTorchFt)
        .under("fault_tolerance.enable"),
    not_built("fault_tolerance.semi_sync_method", kMaybeText, "null", "local_sgd or diloco.", kTorchFt)
        .under("fault_tolerance.enable"),
    // ------------------------------------------------------------------------------------------------ Python
    not_built("experimental.custom_import", kText, "\"\"", "Python module to import.", "Python modules"),
    not_built("experimental.custom_args_module", kText, "\"\"", "Old place of job.custom_config_module.",
              "keys declared in Python")
        .also("primus.backends.torchtitan.primus_turbo_extensions.config_extension"),
    // ------------------------------------------------------------------------------------------------ Primus-Turbo
    honoured("primus_turbo.enable_primus_turbo", kBool, "false", "AMD's kernels, as the keys below say.",
             "precision.low_precision"),
    honoured("primus_turbo.use_turbo_attention", kBool, "false", "Its attention.", "precision.low_precision"),
    honoured("primus_turbo.enable_attention_float8", kBool, "false", "That attention in 8 bits.",
             "precision.low_precision"),
    not_built("primus_turbo.use_classic_attention", kBool, "false",
              "deepseek_v3: latent attention is replaced by grouped queries with sizes of Primus's own.",
              "Primus's replacement of latent attention"),
    no_effect("primus_turbo.use_turbo_async_tp", kBool, "false", "Its tensor-parallel products.", kComm),
    no_effect("primus_turbo.use_turbo_mx_linear", kBool, "false", "Its products for the mx converter.",
              "read with a quantize converter only"),
    no_effect("primus_turbo.use_turbo_float8_linear", kBool, "false", "Its products for the float8 converter.",
              "read with a quantize converter only"),
    honoured("primus_turbo.use_turbo_grouped_mm", kBool, "false", "Its grouped products of the experts.",
             "precision.low_precision"),
    honoured("primus_turbo.use_moe_fp8", kBool, "true", "Those grouped products in 8 bits.", "precision.low_precision"),
    honoured("primus_turbo.enable_embedding_autocast", kBool, "true",
             "Embeddings are cast to the compute type; off: the residual stream stays in 32 bits.",
             "model.fp32_residual"),
};

constexpr Parameter kQuantizeRows[] = {
    no_effect("quantize.linear.float8.enable_fsdp_float8_all_gather", kBool, "false", "Weights are gathered in 8 bits.",
              kFp8),
    no_effect("quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp", kBool, "false",
              "Their scales are computed before.", kFp8),
    no_effect("quantize.linear.float8.recipe_name", kMaybeText, "null", "How scales are shared.", kFp8)
        .in("tensorwise|rowwise|rowwise_with_gw_hp"),
    no_effect("quantize.linear.float8.filter_fqns", kTexts, "[]", "Layers that stay as they are.", kFp8),
    no_effect("quantize.linear.float8.emulate", kBool, "false", "Without hardware for it.", kFp8),
    no_effect("quantize.linear.mx.mxfp8_dim1_cast_kernel_choice", kText, "triton", "Kernel of the casts.", kFp8)
        .in("triton|cuda|torch"),
    no_effect("quantize.linear.mx.recipe_name", kText, "mxfp8_cublas", "How scales are shared.", kFp8),
    no_effect("quantize.linear.mx.filter_fqns", kTexts, "[output]", "Layers that stay as they are.", kFp8),
    no_effect("quantize.grouped_mm.float8.fqns", kTexts, "[]", "Expert layers that are quantized.", kFp8),
    no_effect("quantize.grouped_mm.mx.recipe_name", kText, "mxfp8", "How scales are shared.", kFp8).in("mxfp8"),
    no_effect("quantize.grouped_mm.mx.fqns", kTexts, "[]", "Expert layers that are quantized.", kFp8),
};

constexpr std::string_view kMoved = "TorchTitan v0.2.2 has it under another name";
constexpr Parameter old_name(std::string_view name, std::string_view now, std::string_view doc) {
  return refused(name, kAny, "null", doc, kMoved).use(now);
}

// Names of earlier versions, so that an old file is answered with the new name.
constexpr Parameter kOldRows[] = {
    old_name("training.batch_size", "training.local_batch_size", "Old name."),
    old_name("training.warmup_steps", "lr_scheduler.warmup_steps", "Old place."),
    old_name("training.compile", "compile.enable", "Old place."),
    old_name("training.seed", "debug.seed", "Old place."),
    old_name("training.deterministic", "debug.deterministic", "Old place."),
    old_name("training.data_parallel_shard_degree", "parallelism.data_parallel_shard_degree", "Old place."),
    old_name("training.data_parallel_replicate_degree", "parallelism.data_parallel_replicate_degree", "Old place."),
    old_name("training.tensor_parallel_degree", "parallelism.tensor_parallel_degree", "Old place."),
    old_name("experimental.pipeline_parallel_degree", "parallelism.pipeline_parallel_degree", "Old place."),
    old_name("experimental.pipeline_parallel_schedule", "parallelism.pipeline_parallel_schedule", "Old place."),
    old_name("experimental.context_parallel_degree", "parallelism.context_parallel_degree", "Old place."),
    old_name("experimental.custom_model_path", "experimental.custom_import", "Old name."),
    old_name("lr_scheduler.lr_min", "lr_scheduler.min_lr_factor", "Old name."),
    old_name("checkpoint.enable_checkpoint", "checkpoint.enable", "Old name."),
    old_name("checkpoint.model_weights_only", "checkpoint.last_save_model_only", "Old name."),
    old_name("optimizer.fused", "optimizer.implementation", "Old name."),
    old_name("optimizer.foreach", "optimizer.implementation", "Old name."),
    old_name("metrics.rank_0_only", "metrics.save_for_all_ranks", "Old name, with the opposite meaning."),
    old_name("float8.enable_float8_linear", "model.converters", "Old place."),
    old_name("float8.recipe_name", "quantize.linear.float8.recipe_name", "Old place."),
    old_name("float8.filter_fqns", "quantize.linear.float8.filter_fqns", "Old place."),
    old_name("mx.recipe_name", "quantize.linear.mx.recipe_name", "Old place."),
};

}  // namespace

std::span<const Parameter> titan_checkpoint_rows() {
  return kCheckpointRows;
}
std::span<const Parameter> titan_other_rows() {
  return kOtherRows;
}
std::span<const Parameter> titan_quantize_rows() {
  return kQuantizeRows;
}
std::span<const Parameter> titan_old_rows() {
  return kOldRows;
}

}  // namespace primus::dialect
