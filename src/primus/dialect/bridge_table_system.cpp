// Table data: the sections of upstream's process handling: dist, rerun_state_machine, comm_overlap, fault tolerance.
#include "primus/dialect/bridge.h"
#include "primus/dialect/bridge_reasons.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kNoObject =
    "null in every recipe, and Primus skips a map for a section that is null, so that upstream never sees it";
constexpr std::string_view kWatchdog = "this program's own watchdog ends a run that hangs";
constexpr std::string_view kRerun = "this program has no machine that repeats a step";

constexpr Parameter kSystemRows[] = {
    // ------------------------------------------------------------------------------------------------ dist
    no_effect("dist.distributed_backend", kText, "nccl", "Library of collectives.", kComm).in("nccl|gloo"),
    honoured("dist.distributed_timeout_minutes", kInt, "10", "Longest wait of a collective.",
             "parallel.timeout_minutes")
        .at_least(1)
        .in_unit("minutes"),
    no_effect("dist.distributed_timeout_seconds_after_init", kMaybeInt, "null", "The same after the start.", kNull),
    no_effect("dist.align_grad_reduce", kBool, "true", "All stages sum at once.", kComm),
    no_effect("dist.local_rank", kInt, "0", "Rank on the node.", "the launcher says it"),
    no_effect("dist.lazy_init", kBool, "false", "Start collectives later.", kComm),
    described("dist.use_megatron_fsdp", kBool, "false", "Weights sharded over the data-parallel ranks.",
              "parallel.weight_shards", "sharded weights"),
    not_built("dist.use_torch_fsdp2", kBool, "false", "The same with torch's code.", "sharded weights"),
    no_effect("dist.nccl_communicator_config_path", kMaybeText, "null", "Settings of collectives.", kNull),
    no_effect("dist.use_tp_pp_dp_mapping", kBool, "false", "Order of the ranks.",
              "where a rank lies does not change the numbers"),
    no_effect("dist.use_gloo_process_groups", kBool, "true", "Groups on the CPU too.", kComm),
    no_effect("dist.use_sharp", kBool, "false", "Sums in the network.", kComm),
    no_effect("dist.sharp_enabled_group", kMaybeText, "null", "Which groups.", kNull),
    no_effect("dist.high_priority_stream_groups", kMaybeTexts, "null", "Which groups go first.", kNull),
    no_effect("dist.external_gpu_device_mapping", kBool, "false", "The launcher chose the GPU.", kComm),
    no_effect("dist.enable_megatron_core_experimental", kBool, "false", "Upstream's unfinished code.", kKernel),
    no_effect("dist.disable_jit_fuser", kBool, "false", "No compiled kernels.", kKernel),
    no_effect("dist.use_decentralized_pg", kBool, "false", "Groups made in another way.", kComm),
    // ------------------------------------------------------------------------------------------------ checks
    honoured("rerun_state_machine.check_for_nan_in_loss", kBool, "true", "A loss that is no number ends the run.",
             "exit.fail_on_nan"),
    no_effect("rerun_state_machine.check_for_spiky_loss", kBool, "false", "A sudden loss repeats the step.", kRerun),
    no_effect("rerun_state_machine.spiky_loss_factor", kFloat, "10.0", "How sudden.", kRerun),
    no_effect("rerun_state_machine.rerun_mode", kText, "disabled", "What is repeated.", kRerun)
        .in("disabled|validate_results|report_determinism_stats"),
    no_effect("rerun_state_machine.error_injection_rate", kInt, "0", "Errors on purpose.", kRerun),
    no_effect("rerun_state_machine.error_injection_type", kText, "transient_error", "Their kind.", kRerun),
    // ------------------------------------------------------------------------------------------------ overlap
    no_effect("comm_overlap.tp_comm_overlap", kBool, "false", "Overlap of tensor parallelism.", kNoObject),
    no_effect("comm_overlap.tp_comm_overlap_cfg", kAny, "null", "Its details.", kNoObject),
    no_effect("comm_overlap.tp_comm_bootstrap_backend", kMaybeText, "nccl", "Its start.", kNoObject),
    no_effect("comm_overlap.overlap_p2p_comm", kMaybeBool, "null", "Overlap of pipelines.", kNoObject),
    no_effect("comm_overlap.batch_p2p_comm", kMaybeBool, "null", "Sends together.", kNoObject),
    no_effect("comm_overlap.overlap_grad_reduce", kMaybeBool, "null", "Overlap of gradient sums.", kNoObject),
    no_effect("comm_overlap.overlap_param_gather", kMaybeBool, "null", "Overlap of weight gathers.", kNoObject),
    no_effect("comm_overlap.overlap_param_gather_with_optimizer_step", kMaybeBool, "null", "The same in the step.",
              kNoObject),
    no_effect("comm_overlap.align_param_gather", kMaybeBool, "null", "All stages at once.", kNoObject),
    no_effect("comm_overlap.bucket_size", kMaybeInt, "null", "Elements sent at once.", kNoObject),
    no_effect("comm_overlap.defer_embedding_wgrad_compute", kMaybeBool, "null", "Gradient of the head later.",
              kNoObject),
    no_effect("comm_overlap.wgrad_deferral_limit", kMaybeInt, "null", "How much later.", kNoObject),
    no_effect("comm_overlap.overlap_moe_expert_parallel_comm", kMaybeBool, "null", "Overlap of experts.", kNoObject),
    no_effect("comm_overlap.delay_wgrad_compute", kMaybeBool, "null", "Weight gradients later.", kNoObject),
    // ------------------------------------------------------------------------------------------------ fault tolerance
    no_effect("ft.enable_ft_package", kBool, "false", "NVIDIA's restart package.", kNoObject),
    no_effect("ft.calc_ft_timeouts", kBool, "false", "It learns its limits.", kNoObject),
    no_effect("ft.simulate_fault", kBool, "false", "A fault on purpose.", kNoObject),
    no_effect("ft.simulated_fault_type", kText, "random", "Its kind.", kNoObject),
    no_effect("ft.simulated_fault_rank", kMaybeInt, "null", "Its rank.", kNoObject),
    no_effect("ft.simulated_fault_base_delay", kInt, "0", "Its time.", kNoObject),
    no_effect("straggler.log_straggler", kBool, "false", "Report slow GPUs.", kWatchdog),
    no_effect("straggler.enable_straggler_on_startup", kBool, "true", "From the start.", kWatchdog),
    no_effect("straggler.disable_straggler_on_startup", kBool, "false", "Not from the start.", kWatchdog),
    no_effect("straggler.straggler_ctrlr_port", kInt, "65535", "Port of its switch.", kWatchdog),
    no_effect("straggler.straggler_minmax_count", kInt, "1", "How many are shown.", kWatchdog),
    no_effect("nvrx_straggler.enabled", kBool, "false", "NVIDIA's report of slow ranks.", kNoObject),
    no_effect("nvrx_straggler.report_time_interval", kFloat, "300.0", "How often.", kNoObject),
    no_effect("nvrx_straggler.stop_if_detected", kBool, "false", "End the run.", kNoObject),
    no_effect("tensor_inspect.enabled", kBool, "false", "Look into tensors.", kNoObject),
    no_effect("tensor_inspect.features", kAny, "null", "What is looked at.", kNoObject),
    no_effect("tensor_inspect.feature_dirs", kMaybeTexts, "null", "Where features are.", kNoObject),
    no_effect("tensor_inspect.log_dir", kMaybeText, "null", "Folder of the result.", kNoObject),
    no_effect("tensor_inspect.init_training_step", kInt, "0", "First step.", kNoObject),
    no_effect("inprocess_restart.enabled", kBool, "false", "Restart without new processes.", kNoObject),
    no_effect("inprocess_restart.max_iterations", kMaybeInt, "null", "How often.", kNoObject),
    no_effect("inprocess_restart.granularity", kText, "node", "What restarts.", kNoObject).in("node|rank"),
    no_effect("inprocess_restart.active_world_size", kMaybeInt, "null", "Ranks that train.", kNoObject),
    no_effect("inprocess_restart.soft_timeout", kFloat, "60.0", "Wait before it.", kNoObject),
    no_effect("inprocess_restart.hard_timeout", kFloat, "90.0", "Wait before the end.", kNoObject),
};

}  // namespace

std::span<const Parameter> bridge_system_rows() {
  return kSystemRows;
}

}  // namespace primus::dialect
