// Made by tests/optional/make_torchtitan_fields.py from torchtitan 0.2.2; do not edit.
#include "primus/dialect/export_torchtitan_fields.h"

namespace primus::dialect {

namespace {

// Every field of JobConfig, in the order of its sections.
constexpr std::string_view kFields =
    "job.config_file job.dump_folder job.description job.print_config job.save_config_file "
    "job.custom_config_module profiling.enable_profiling profiling.save_traces_folder profiling.profile_freq "
    "profiling.profiler_active profiling.profiler_warmup profiling.enable_memory_snapshot "
    "profiling.save_memory_snapshot_folder metrics.log_freq metrics.enable_tensorboard "
    "metrics.disable_color_printing metrics.save_tb_folder metrics.save_for_all_ranks metrics.enable_wandb "
    "model.name model.flavor model.hf_assets_path model.tokenizer_path model.converters "
    "model.print_after_conversion optimizer.name optimizer.lr optimizer.beta1 optimizer.beta2 optimizer.eps "
    "optimizer.weight_decay optimizer.implementation optimizer.early_step_in_backward lr_scheduler.warmup_steps "
    "lr_scheduler.total_steps lr_scheduler.decay_ratio lr_scheduler.decay_type lr_scheduler.min_lr_factor "
    "training.dataset training.dataset_path training.local_batch_size training.global_batch_size training.seq_len "
    "training.max_norm training.steps training.enable_cpu_offload training.dtype training.mixed_precision_param "
    "training.mixed_precision_reduce training.gc_freq training.gc_debug training.dataloader.num_workers "
    "training.dataloader.persistent_workers training.dataloader.pin_memory training.dataloader.prefetch_factor "
    "parallelism.data_parallel_replicate_degree parallelism.data_parallel_shard_degree "
    "parallelism.fsdp_reshard_after_forward parallelism.tensor_parallel_degree parallelism.disable_loss_parallel "
    "parallelism.enable_async_tensor_parallel parallelism.pipeline_parallel_degree "
    "parallelism.module_fqns_per_model_part parallelism.pipeline_parallel_first_stage_less_layers "
    "parallelism.pipeline_parallel_last_stage_less_layers parallelism.pipeline_parallel_layers_per_stage "
    "parallelism.pipeline_parallel_schedule parallelism.pipeline_parallel_schedule_csv "
    "parallelism.pipeline_parallel_microbatch_size parallelism.pipeline_parallel_expert_parallel_overlap "
    "parallelism.context_parallel_degree parallelism.context_parallel_load_balancer "
    "parallelism.context_parallel_rotate_method parallelism.expert_parallel_degree "
    "parallelism.expert_tensor_parallel_degree parallelism.expert_parallel_comm_backend checkpoint.enable "
    "checkpoint.enable_ft_dataloader_checkpoints checkpoint.folder checkpoint.interval "
    "checkpoint.initial_load_path checkpoint.initial_load_model_only checkpoint.initial_load_in_hf "
    "checkpoint.initial_load_in_hf_quantized checkpoint.last_save_model_only checkpoint.last_save_in_hf "
    "checkpoint.export_dtype checkpoint.async_mode checkpoint.keep_latest_k checkpoint.load_step "
    "checkpoint.exclude_from_loading checkpoint.enable_first_step_checkpoint checkpoint.create_seed_checkpoint "
    "checkpoint.load_only activation_checkpoint.mode activation_checkpoint.selective_ac_option "
    "activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns activation_checkpoint.early_stop "
    "activation_checkpoint.memory_budget activation_checkpoint.visualize_memory_budget_pareto "
    "activation_checkpoint.preserve_rng_state activation_checkpoint.determinism_check activation_checkpoint.debug "
    "compile.enable compile.components compile.backend quantize.linear.float8.enable_fsdp_float8_all_gather "
    "quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp quantize.linear.float8.recipe_name "
    "quantize.linear.float8.filter_fqns quantize.linear.float8.emulate "
    "quantize.linear.mx.mxfp8_dim1_cast_kernel_choice quantize.linear.mx.recipe_name "
    "quantize.linear.mx.filter_fqns quantize.grouped_mm.float8.fqns quantize.grouped_mm.mx.recipe_name "
    "quantize.grouped_mm.mx.fqns comm.init_timeout_seconds comm.train_timeout_seconds comm.trace_buf_size "
    "comm.save_traces_folder comm.save_traces_file_prefix comm.mode memory_estimation.enable "
    "memory_estimation.disable_fake_mode fault_tolerance.enable fault_tolerance.process_group "
    "fault_tolerance.process_group_timeout_ms fault_tolerance.replica_id fault_tolerance.group_size "
    "fault_tolerance.min_replica_size fault_tolerance.semi_sync_method experimental.custom_import "
    "experimental.custom_args_module validation.enable validation.dataset validation.dataset_path "
    "validation.local_batch_size validation.seq_len validation.freq validation.steps "
    "validation.dataloader.num_workers validation.dataloader.persistent_workers validation.dataloader.pin_memory "
    "validation.dataloader.prefetch_factor debug.seed debug.deterministic debug.deterministic_warn_only "
    "debug.moe_force_load_balance";

}  // namespace

std::string_view torchtitan_fields() {
  return kFields;
}

}  // namespace primus::dialect
