// Table data: saving, loading, resuming.
#include "primus/dialect/megatron.h"
#include "primus/dialect/rows.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kOwnForm = "checkpoints are always this project's own safetensors shards";
constexpr std::string_view kSecondTier = "checkpoints that are not kept";

constexpr Parameter kCheckpointRows[] = {
    honoured("save", kMaybeText, "null", "Not null: checkpoints go to <run folder>/checkpoints.", "checkpoint.save"),
    honoured("save_interval", kMaybeInt, "null", "Steps between checkpoints.", "checkpoint.interval_steps")
        .at_least(1)
        .in_unit("steps"),
    not_built("save_retain_interval", kMaybeInt, "null", "Checkpoints kept for ever.", "keeping every n-th checkpoint"),
    honoured("keep_last", kInt, "0", "Newest checkpoints kept; 0: all.", "checkpoint.keep_last").at_least(0).of_ours(),
    honoured("disable_last_saving", kBool, "false", "No checkpoint at the last step.", "checkpoint.save_at_end"),
    honoured("auto_continue_train", kBool, "false", "Continues from the newest complete checkpoint of the run folder.",
             "checkpoint.resume_by_default"),
    not_built("no_save_optim", kMaybeBool, "null", "Leaves the optimizer out.", "checkpoints without optimizer")
        .also("false"),
    no_effect("no_save_rng", kMaybeBool, "null", "Leaves random states out.",
              "random streams are functions of seed and step, so nothing is stored"),
    honoured("load", kMaybeText, "null", "Folder of checkpoints to start from.", "checkpoint.load_folder"),
    honoured("finetune", kBool, "false", "load gives the weights only: step 0, new optimizer, new data position.",
             "checkpoint.load_weights_only"),
    honoured("no_load_optim", kMaybeBool, "null", "load leaves the optimizer new.", "checkpoint.load_optimizer"),
    no_effect("no_load_rng", kMaybeBool, "null", "load leaves random states new.",
              "random streams are functions of seed and step, so nothing is stored"),
    honoured("ckpt_step", kMaybeInt, "null", "Step to load; null: the newest.", "checkpoint.load_step").at_least(0),
    honoured("exit_on_missing_checkpoint", kBool, "false", "Nothing under load is an error.",
             "checkpoint.missing_load_is_error"),
    not_built("load_main_params_from_ckpt", kBool, "false", "fp32 weights from a checkpoint without optimizer.",
              "fp32 weights without optimizer"),
    not_built("use_checkpoint_args", kBool, "false", "Model arguments from the checkpoint.",
              "arguments from a checkpoint"),
    not_built("use_mp_args_from_checkpoint_args", kBool, "false", "Parallel arguments from the checkpoint.",
              "arguments from a checkpoint"),
    not_built("use_tokenizer_model_from_checkpoint_args", kBool, "true", "Tokenizer from the checkpoint.",
              "arguments from a checkpoint")
        .under("use_checkpoint_args"),
    not_built("pretrained_checkpoint", kMaybeText, "null", "Weights to start from.", "a second place to load from"),
    honoured("async_save", kMaybeBool, "null", "Files are written while training goes on; null: yes.",
             "checkpoint.asynchronous"),
    no_effect("use_persistent_ckpt_worker", kBool, "false", "Who writes asynchronously.", kOwnForm),
    no_effect("ckpt_format", kText, "torch_dist", "Form of checkpoints.", kOwnForm)
        .in("torch|torch_dist|torch_dcp|fsdp_dtensor|zarr"),
    no_effect("auto_detect_ckpt_format", kBool, "false", "Form of the one to load.", kOwnForm),
    not_built("ckpt_convert_format", kMaybeText, "null", "Converts a checkpoint.", "conversion by configuration"),
    not_built("ckpt_convert_save", kMaybeText, "null", "Where to.", "conversion by configuration")
        .under("ckpt_convert_format"),
    no_effect("ckpt_convert_update_legacy_dist_opt_format", kBool, "false", "An old form.", kOwnForm),
    no_effect("ckpt_fully_parallel_save", kBool, "true", "Every rank writes a part.", kOwnForm),
    no_effect("fully_parallel_save", kBool, "true", "Looks like ckpt_fully_parallel_save.", kUnread),
    no_effect("ckpt_fully_parallel_save_deprecated", kBool, "false", "Old spelling.", kOwnForm),
    no_effect("ckpt_fully_parallel_load", kBool, "false", "Every rank reads a part.", kOwnForm),
    no_effect("ckpt_assume_constant_structure", kBool, "false", "A plan is made once.", kOwnForm),
    no_effect("use_dist_ckpt_deprecated", kBool, "false", "Old spelling.", kOwnForm),
    no_effect("dist_ckpt_format_deprecated", kMaybeText, "null", "Old spelling.", kOwnForm),
    no_effect("dist_ckpt_save_pre_mcore_014", kMaybeBool, "null", "An old form.", kOwnForm),
    no_effect("dist_ckpt_optim_fully_reshardable", kMaybeBool, "null", "Form of the optimizer's state.",
              "every checkpoint can be read on another number of ranks here"),
    no_effect("dist_ckpt_strictness", kText, "assume_ok_unexpected", "What to do about unexpected tensors.",
              "a checkpoint that does not fit is always refused here"),
    not_built("non_persistent_save_interval", kMaybeInt, "null", "Steps between those.", kSecondTier),
    not_built("non_persistent_ckpt_type", kMaybeText, "null", "Their place.", kSecondTier)
        .under("non_persistent_save_interval"),
    not_built("non_persistent_global_ckpt_dir", kMaybeText, "null", "Their folder.", kSecondTier)
        .under("non_persistent_save_interval"),
    not_built("non_persistent_local_ckpt_dir", kMaybeText, "null", "Their folder.", kSecondTier)
        .under("non_persistent_save_interval"),
    not_built("non_persistent_local_ckpt_algo", kText, "fully_parallel", "Their copies.", kSecondTier)
        .under("non_persistent_save_interval"),
    not_built("replication", kBool, "false", "Local checkpoints are copied to other nodes.", kSecondTier),
    not_built("replication_jump", kMaybeInt, "null", "To which.", kSecondTier).under("replication"),
    not_built("replication_factor", kMaybeInt, "null", "To how many.", kSecondTier).under("replication"),
    no_effect("onnx_safe", kMaybeBool, "null", "For an export that is gone.", kUnread),
    no_effect("adlr_autoresume", kBool, "false", "Restart by NVIDIA's own cluster.",
              "that cluster's library is not there"),
    no_effect("adlr_autoresume_interval", kInt, "1000", "Steps between its checks.",
              "that cluster's library is not there"),
};

}  // namespace

std::span<const Parameter> megatron_checkpoint_rows() {
  return kCheckpointRows;
}

}  // namespace primus::dialect
