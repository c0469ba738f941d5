// Table data: console, TensorBoard, MLflow, W&B, profiling.
#include "primus/dialect/megatron.h"
#include "primus/dialect/rows.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kTags = "every curve is always written when TensorBoard is on";
constexpr std::string_view kMlflow = "MLflow";
constexpr std::string_view kWandb = "Weights & Biases";
constexpr std::string_view kProfile = "profiling";

constexpr Parameter kLoggingRows[] = {
    // ------------------------------------------------------------------------------------------------ console
    honoured("log_interval", kInt, "100", "Steps between console lines.", "logging.interval_steps")
        .at_least(1)
        .in_unit("steps"),
    no_effect("log_throughput", kBool, "false", "Throughput on the console.", "throughput is always shown here"),
    no_effect("log_avg_skip_iterations", kInt, "2", "First steps left out of console averages.", kLogOnly),
    no_effect("log_avg_reset_interval", kInt, "10", "Steps of console averages.", kLogOnly),
    no_effect("wall_clock_step_timer", kBool, "false", "Another step timer.", kLogOnly),
    honoured("log_params_norm", kBool, "false", "Norm of the weights.", "logging.log_params_norm"),
    honoured("log_num_zeros_in_grad", kBool, "false", "Zeros in the gradient.", "logging.log_num_zeros"),
    no_effect("log_progress", kBool, "false", "A progress file beside the checkpoints.",
              "metrics.jsonl holds every step"),
    no_effect("timing_log_level", kInt, "0", "Timers on the console.", kLogOnly).at_least(0).at_most(2),
    no_effect("timing_log_option", kText, "minmax", "Which ranks they show.", kLogOnly).in("max|minmax|all"),
    no_effect("barrier_with_L1_time", kBool, "true", "Ranks wait before level-1 timers.", kLogOnly),
    no_effect("logging_level", kMaybeInt, "null", "Level of Python's logging.", kLogOnly),
    no_effect("config_logger_dir", kText, "\"\"", "Folder of upstream's own configuration dump.",
              "the resolved configuration is always in the run folder"),
    honoured("use_rocm_mem_info", kBool, "false", "Device memory at every step (on a CPU: memory of the process).",
             "logging.device_memory_every_step"),
    honoured("use_rocm_mem_info_iters", kMaybeInts, "[1, 2]", "The same at these steps.",
             "logging.device_memory_steps"),
    no_effect("log_straggler", kBool, "false", "Slow ranks on the console.", kLogOnly),
    no_effect("disable_straggler_on_startup", kBool, "false", "When that starts.", kLogOnly),
    no_effect("straggler_ctrlr_port", kInt, "65535", "Its port.", kLogOnly),
    no_effect("straggler_minmax_count", kInt, "1", "Its length.", kLogOnly),
    // ------------------------------------------------------------------------------------------------ TensorBoard
    honoured("disable_tensorboard", kBool, "true", "No TensorBoard event files.", "logging.tensorboard"),
    no_effect("tensorboard_dir", kMaybeText, "null", "Folder of event files.",
              "they always go to <run folder>/tensorboard, as upstream's launcher does"),
    not_built("tensorboard_log_interval", kInt, "1", "Steps between points of a curve.", "thinner curves")
        .under("disable_tensorboard"),
    no_effect("tensorboard_queue_size", kInt, "1000", "Points held back.", kTags),
    no_effect("log_timers_to_tensorboard", kBool, "false", "Timer curves.", kTags),
    no_effect("log_batch_size_to_tensorboard", kBool, "false", "Batch size curve.", kTags),
    no_effect("log_learning_rate_to_tensorboard", kBool, "true", "Learning rate curve.", kTags),
    no_effect("log_validation_ppl_to_tensorboard", kBool, "false", "Perplexity curve.", kTags),
    no_effect("log_memory_to_tensorboard", kBool, "false", "Memory curve.", kTags),
    no_effect("log_world_size_to_tensorboard", kBool, "false", "World size curve.", kTags),
    no_effect("log_loss_scale_to_tensorboard", kBool, "true", "Loss scale curve.", kTags),
    // ------------------------------------------------------------------------------------------------ MLflow
    not_built("disable_mlflow", kBool, "true", "No MLflow tracking.", kMlflow),
    not_built("mlflow_run_name", kMaybeText, "null", "Name of the run.", kMlflow).under("disable_mlflow"),
    not_built("mlflow_experiment_name", kMaybeText, "null", "Name of the experiment.", kMlflow).under("disable_mlflow"),
    not_built("mlflow_upload_traces", kBool, "false", "Uploads traces.", kMlflow).under("disable_mlflow"),
    not_built("mlflow_upload_logs", kBool, "false", "Uploads logs.", kMlflow).under("disable_mlflow"),
    not_built("mlflow_upload_performance_metrics", kBool, "false", "Uploads throughput.", kMlflow)
        .under("disable_mlflow"),
    not_built("generate_tracelens_report", kBool, "false", "Report over traces.", kProfile).under("profile"),
    not_built("mlflow_upload_tracelens_report", kBool, "false", "Uploads it.", kMlflow).under("disable_mlflow"),
    not_built("mlflow_tracelens_ranks", kMaybeInts, "null", "Its ranks.", kMlflow).under("disable_mlflow"),
    not_built("mlflow_tracelens_output_format", kText, "xlsx", "Its form.", kMlflow).under("disable_mlflow"),
    not_built("mlflow_tracelens_cleanup_after_upload", kBool, "false", "Deletes it then.", kMlflow)
        .under("disable_mlflow"),
    not_built("mlflow_tracelens_auto_install", kBool, "true", "Installs its maker.", kMlflow).under("disable_mlflow"),
    // ------------------------------------------------------------------------------------------------ W&B, one-logger
    not_built("disable_wandb", kBool, "true", "No Weights & Biases.", kWandb),
    not_built("wandb_project", kMaybeText, "null", "Project.", kWandb).under("disable_wandb"),
    not_built("wandb_exp_name", kMaybeText, "null", "Run name.", kWandb).under("disable_wandb"),
    not_built("wandb_save_dir", kMaybeText, "null", "Folder.", kWandb).under("disable_wandb"),
    not_built("wandb_entity", kMaybeText, "null", "Team.", kWandb).under("disable_wandb"),
    no_effect("enable_one_logger", kBool, "true", "NVIDIA's own run registry.", "that registry's library is not there"),
    no_effect("one_logger_project", kText, "megatron-lm", "Its project.", "that registry's library is not there"),
    no_effect("one_logger_run_name", kMaybeText, "null", "Its run.", "that registry's library is not there"),
    no_effect("one_logger_async", kBool, "false", "Its mode.", "that registry's library is not there"),
    no_effect("app_tag_run_name", kMaybeText, "null", "Its tag.", "that registry's library is not there"),
    no_effect("app_tag_run_version", kText, "0.0.0", "Its tag.", "that registry's library is not there"),
    // ------------------------------------------------------------------------------------------------ profiling
    not_built("profile", kBool, "false", "Profiles some steps.", kProfile),
    not_built("use_pytorch_profiler", kBool, "false", "By PyTorch's profiler.", kProfile).under("profile"),
    not_built("profile_ranks", kInts, "[]", "On these ranks.", kProfile).under("profile"),
    not_built("profile_step_start", kInt, "10", "From this step.", kProfile).under("profile"),
    not_built("profile_step_end", kInt, "12", "To this step.", kProfile).under("profile"),
    not_built("disable_profiler_activity_cpu", kBool, "false", "Device activity only.", kProfile).under("profile"),
    not_built("torch_profiler_record_shapes", kBool, "true", "Shapes in the trace.", kProfile).under("profile"),
    not_built("torch_profiler_with_stack", kBool, "true", "Call stacks in the trace.", kProfile).under("profile"),
    not_built("torch_profiler_use_gzip", kBool, "true", "Compressed trace.", kProfile).under("profile"),
    no_effect("use_nsys_profiler", kBool, "false", "Looks like a profiler switch.",
              "upstream reads it nowhere: the switch is profile")
        .use("profile"),
    no_effect("pytorch_profiler_collect_shapes", kBool, "false", "Looks like shapes in the trace.", kUnread),
    no_effect("pytorch_profiler_collect_callstack", kBool, "false", "Looks like stacks in the trace.", kUnread),
    no_effect("pytorch_profiler_collect_chakra", kBool, "false", "Looks like another trace.", kUnread),
    no_effect("record_shapes", kBool, "false", "Looks like shapes in the trace.", kUnread),
    no_effect("nvtx_ranges", kBool, "false", "Looks like ranges in the trace.", kUnread),
    not_built("record_memory_history", kBool, "false", "History of allocations.", kProfile),
    not_built("memory_snapshot_path", kText, "snapshot.pickle", "Its file.", kProfile).under("record_memory_history"),
    not_built("profile_memory_iter", kInt, "-1", "Memory of one step.", kProfile),
};

}  // namespace

std::span<const Parameter> megatron_logging_rows() {
  return kLoggingRows;
}

}  // namespace primus::dialect
