// Table data: batch, steps, learning rate, weight decay, optimizer, evaluation, exit.
#include "primus/dialect/megatron.h"
#include "primus/dialect/rows.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kMuon = "the Muon optimizer";

constexpr Parameter kTrainRows[] = {
    // ------------------------------------------------------------------------------------------------ batch
    honoured("micro_batch_size", kMaybeInt, "null", "Sequences per forward pass of one data-parallel rank.",
             "batch.micro_batch_size")
        .at_least(1)
        .in_unit("sequences"),
    honoured("global_batch_size", kMaybeInt, "null",
             "Sequences per step over all ranks; null: micro batch x data-parallel ranks.", "batch.global_batch_size")
        .at_least(1)
        .in_unit("sequences"),
    honoured("rampup_batch_size", kMaybeInts, "null",
             "[start, increment, samples]: the batch grows during the first samples (with train_samples).",
             "batch.rampup")
        .in_unit("sequences"),
    honoured("decrease_batch_size_if_needed", kBool, "false", "Rounds the batch down to what divides over the ranks.",
             "batch.decrease_if_needed"),
    refused("batch_size", kMaybeInt, "null", "Batch of a rank.", "upstream refuses it since its argument was removed")
        .use("micro_batch_size"),
    honoured("train_iters", kMaybeInt, "null", "Steps.", "exit.train_steps").at_least(0).in_unit("steps"),
    honoured("train_samples", kMaybeInt, "null", "Length of the training in sequences, instead of train_iters.",
             "exit.train_steps")
        .at_least(1)
        .in_unit("sequences"),
    no_effect("train_sync_interval", kMaybeInt, "null", "Device synchronised every so many steps.", kMemory),
    honoured("seed", kInt, "1234", "Seed of weights, dropout and data order.", "seed data.seed"),
    // ------------------------------------------------------------------------------------------------ learning rate
    honoured("lr", kMaybeFloat, "null", "Highest learning rate.", "lr.max_lr").at_least(0),
    honoured("min_lr", kFloat, "0.0", "Learning rate at the end of the decay.", "lr.min_lr").at_least(0),
    honoured("lr_decay_style", kText, "linear", "Shape of the decay.", "lr.decay")
        .in("constant|linear|cosine|inverse-square-root|WSD"),
    honoured("lr_decay_iters", kMaybeInt, "null", "Length of the decay; null: train_iters.", "lr.decay_samples")
        .at_least(1)
        .in_unit("steps"),
    honoured("lr_decay_samples", kMaybeInt, "null", "The same in sequences, with train_samples.", "lr.decay_samples")
        .at_least(1)
        .in_unit("sequences"),
    honoured("lr_warmup_fraction", kMaybeFloat, "null", "Warm-up as a part of the decay length.", "lr.warmup_samples")
        .at_least(0)
        .at_most(1),
    honoured("lr_warmup_iters", kInt, "0", "Warm-up.", "lr.warmup_samples").at_least(0).in_unit("steps"),
    honoured("lr_warmup_samples", kInt, "0", "The same in sequences, with train_samples.", "lr.warmup_samples")
        .at_least(0)
        .in_unit("sequences"),
    honoured("lr_warmup_init", kFloat, "0.0", "Learning rate at the start of the warm-up.", "lr.warmup_init_lr")
        .at_least(0),
    honoured("lr_wsd_decay_style", kText, "exponential", "Shape of the last phase of WSD.", "lr.wsd_decay")
        .in("exponential|linear|cosine|minus_sqrt"),
    honoured("lr_wsd_decay_iters", kMaybeInt, "null", "Length of that phase.", "lr.wsd_samples")
        .at_least(1)
        .in_unit("steps"),
    honoured("lr_wsd_decay_samples", kMaybeInt, "null", "The same in sequences, with train_samples.", "lr.wsd_samples")
        .at_least(1)
        .in_unit("sequences"),
    honoured("nemo_aligned_lr_warmup", kBool, "false", "The warm-up counts the batch of the step itself.",
             "lr.warmup_counts_this_step"),
    honoured("override_opt_param_scheduler", kBool, "false",
             "On resume the schedule of this file replaces the checkpoint's.", "checkpoint.override_schedule"),
    honoured("use_checkpoint_opt_param_scheduler", kBool, "false", "On resume the checkpoint's schedule is used.",
             "checkpoint.use_checkpoint_schedule"),
    refused("warmup", kMaybeFloat, "null", "Warm-up in percent.", "upstream refuses it since its argument was removed")
        .use("lr_warmup_fraction"),
    no_effect("head_lr_mult", kFloat, "1.0", "Factor on the learning rate of a task's head.", kOtherProgram),
    honoured("decoupled_lr", kMaybeFloat, "null", "Learning rate of embedding and output head.",
             "optimizer.embedding_and_head_lr")
        .at_least(0),
    honoured("decoupled_min_lr", kMaybeFloat, "null", "Its end.", "optimizer.embedding_and_head_min_lr").at_least(0),
    // ------------------------------------------------------------------------------------------------ optimizer
    honoured("optimizer", kText, "adam", "Optimizer.", "optimizer.kind")
        .in("adam|sgd|muon|dist_muon")
        .also("sgd")
        .not_yet("muon|dist_muon"),
    honoured("adam_beta1", kFloat, "0.9", "Decay of the first moment.", "optimizer.beta1").at_least(0).at_most(1),
    honoured("adam_beta2", kFloat, "0.999", "Decay of the second moment.", "optimizer.beta2").at_least(0).at_most(1),
    honoured("adam_eps", kFloat, "1e-08", "Added to the root of the second moment.", "optimizer.eps").at_least(0),
    honoured("sgd_momentum", kFloat, "0.9", "Momentum of sgd.", "optimizer.momentum").at_least(0).at_most(1),
    honoured("decoupled_weight_decay", kBool, "true", "AdamW; otherwise the decay is added to the gradient.",
             "optimizer.decoupled_weight_decay"),
    honoured("weight_decay", kFloat, "0.01", "Weight decay.", "weight_decay.start weight_decay.end").at_least(0),
    honoured("start_weight_decay", kMaybeFloat, "null", "Its start, with a growing decay.", "weight_decay.start")
        .at_least(0),
    honoured("end_weight_decay", kMaybeFloat, "null", "Its end, with a growing decay.", "weight_decay.end").at_least(0),
    honoured("weight_decay_incr_style", kText, "constant", "How it grows.", "weight_decay.ramp")
        .in("constant|linear|cosine"),
    honoured("apply_wd_to_qk_layernorm", kBool, "false", "Query and key norms decay too.",
             "optimizer.decay_query_key_norms")
        .under("qk_layernorm"),
    honoured("clip_grad", kFloat, "1.0", "Largest global norm of the gradient; 0: no clipping.",
             "optimizer.clip_grad_norm")
        .at_least(0),
    not_built("muon_extra_scale_factor", kFloat, "1.0", "Muon: factor.", kMuon).under("optimizer"),
    not_built("muon_scale_mode", kText, "spectral", "Muon: scaling of the update.", kMuon).under("optimizer"),
    not_built("muon_fp32_matmul_prec", kText, "medium", "Muon: precision of its products.", kMuon).under("optimizer"),
    not_built("muon_num_ns_steps", kInt, "5", "Muon: Newton-Schulz steps.", kMuon).under("optimizer"),
    not_built("muon_tp_mode", kText, "blockwise", "Muon: what a rank does with its part.", kMuon).under("optimizer"),
    not_built("muon_use_nesterov", kBool, "false", "Muon: Nesterov.", kMuon).under("optimizer"),
    not_built("muon_split_qkv", kBool, "true", "Muon: q, k and v apart.", kMuon).under("optimizer"),
    not_built("muon_momentum", kFloat, "0.9", "Muon: momentum.", kMuon).under("optimizer"),
    no_effect("optimizer_cpu_offload", kBool, "false", "Optimizer state in host memory.", kMemory),
    no_effect("optimizer_offload_fraction", kFloat, "1.0", "How much of it.", kMemory),
    no_effect("use_torch_optimizer_for_cpu_offload", kBool, "false", "Which Adam does it.", kMemory),
    no_effect("overlap_cpu_optimizer_d2h_h2d", kBool, "false", "Copies beside computation.", kMemory),
    no_effect("pin_cpu_grads", kBool, "true", "Pinned host memory.", kMemory),
    no_effect("pin_cpu_params", kBool, "true", "Pinned host memory.", kMemory),
    honoured("use_precision_aware_optimizer", kBool, "false", "Optimizer state in chosen precisions.",
             "optimizer.first_moment optimizer.second_moment optimizer.gradients"),
    honoured("main_grads_dtype", kText, "fp32", "What summed gradients are rounded to before a step.",
             "optimizer.gradients")
        .in("fp32|bf16")
        .under("use_precision_aware_optimizer"),
    not_built("main_params_dtype", kText, "fp32", "Precision of main weights.", "optimizer state in other precisions")
        .under("use_precision_aware_optimizer"),
    honoured("exp_avg_dtype", kText, "fp32", "Precision of the first moment.", "optimizer.first_moment")
        .in("fp32|fp16|bf16|fp8")
        .not_yet("fp16|fp8")
        .under("use_precision_aware_optimizer"),
    honoured("exp_avg_sq_dtype", kText, "fp32", "Precision of the second moment.", "optimizer.second_moment")
        .in("fp32|fp16|bf16|fp8")
        .not_yet("fp16|fp8")
        .under("use_precision_aware_optimizer"),
    not_built("weight_deosc", kBool, "false", "Damps oscillating weights.", "weight de-oscillation"),
    not_built("weight_deosc_period", kInt, "200", "Its period.", "weight de-oscillation").under("weight_deosc"),
    not_built("weight_deosc_ratio", kFloat, "4.0", "Its threshold.", "weight de-oscillation").under("weight_deosc"),
    not_built("weight_deosc_start_step", kInt, "0", "Its first step.", "weight de-oscillation").under("weight_deosc"),
    not_built("weight_deosc_log_freq", kInt, "0", "Its log lines.", "weight de-oscillation").under("weight_deosc"),
    // ------------------------------------------------------------------------------------------------ evaluation
    honoured("eval_iters", kInt, "100", "Global batches per evaluation; 0: none.", "evaluation.num_batches")
        .at_least(0)
        .in_unit("steps"),
    honoured("eval_interval", kMaybeInt, "null", "Steps between evaluations.", "evaluation.interval_steps")
        .at_least(1)
        .in_unit("steps"),
    not_built("full_validation", kBool, "false", "Evaluates the whole validation set.", "evaluation of the whole set"),
    not_built("multiple_validation_sets", kBool, "false", "One evaluation per validation file.",
              "several validation sets"),
    not_built("skip_train", kBool, "false", "Evaluates only.", "runs without training"),
    no_effect("test_mode", kBool, "false", "For upstream's own tests.", kOtherProgram),
    // ------------------------------------------------------------------------------------------------ exit
    no_effect("exit_signal_handler", kBool, "false", "A signal saves and exits.",
              "SIGTERM always saves and exits here"),
    honoured("exit_duration_in_mins", kMaybeFloat, "null", "Saves and exits after so long.", "exit.duration_minutes")
        .at_least(0)
        .in_unit("minutes"),
    honoured("exit_interval", kMaybeInt, "null", "Saves and exits at a step that divides by it.", "exit.interval_steps")
        .at_least(1)
        .in_unit("steps"),
    honoured("iterations_to_skip", kMaybeInts, "null", "Steps whose data are consumed without an update.",
             "exit.steps_to_skip"),
    honoured("check_for_nan_in_loss_and_grad", kBool, "true", "A loss or gradient that is not finite ends the run.",
             "exit.fail_on_nan"),
    no_effect("check_for_nan_in_loss", kBool, "true", "Looks like the check for NaN.",
              "upstream reads it nowhere: the switch is check_for_nan_in_loss_and_grad")
        .use("check_for_nan_in_loss_and_grad"),
    not_built("check_for_spiky_loss", kBool, "false", "A jump of the loss ends the run.", "the check for loss spikes"),
    not_built("check_for_large_grads", kBool, "false", "A jump of the gradient ends the run.",
              "the check for gradient spikes"),
    no_effect("rerun_mode", kText, "validate_results", "Suspicious steps are run twice to find bad hardware.",
              "does not change losses or files")
        .in("disabled|validate_results|report_stats|report_determinism_stats"),
    not_built("error_injection_rate", kInt, "0", "Faults injected on purpose.", "fault injection by configuration"),
    not_built("error_injection_type", kText, "transient_error", "Their kind.", "fault injection by configuration")
        .under("error_injection_rate"),
    no_effect("result_rejected_tracker_filename", kMaybeText, "null", "File of rejected steps.", kLogOnly),
    // ------------------------------------------------------------------------------------------------ after training
    described("stage", kMaybeText, "null", "Training stage.", "finetune", "stages other than pretrain")
        .also("pretrain"),
    described("sft_dataset_name", kMaybeText, "null", "Fine-tuning data.", "finetune.dataset", "post-training")
        .under("stage"),
    not_built("sft_conversation_format", kMaybeText, "null", "Fine-tuning template.", "post-training").under("stage"),
    not_built("sft_dataset_split", kMaybeText, "null", "Fine-tuning split.", "post-training").under("stage"),
    not_built("sft_bridge_compat_inline_bos", kBool, "false", "Fine-tuning template detail.", "post-training")
        .under("stage"),
    not_built("sft_sanitize_nan_grads", kBool, "false", "Fine-tuning gradients.", "post-training").under("stage"),
    described("enable_packed_sequences", kBool, "false", "Fine-tuning packing.", "finetune.packed_sequences",
              "post-training")
        .under("stage"),
    not_built("use_packed_attention", kBool, "false", "Fine-tuning packing.", "post-training").under("stage"),
    not_built("enable_odc_lb_mini", kBool, "false", "Fine-tuning load balance.", "post-training").under("stage"),
    not_built("lb_mini_max_token_len", kInt, "0", "Fine-tuning load balance.", "post-training").under("stage"),
    not_built("lb_mini_cost_model", kText, "linear", "Fine-tuning load balance.", "post-training").under("stage"),
    no_effect("enable_fused_linear_ce", kBool, "false", "Head and cross entropy in one kernel.", kKernel),
    described("lora", kMaybeMap, "null", "Low-rank adapters.", "finetune.adapter", "post-training").under("stage"),
    described("hf_path", kMaybeText, "null", "Hugging Face weights to start from.", "finetune.pretrained_folder",
              "starting from Hugging Face weights"),
};

}  // namespace

std::span<const Parameter> megatron_train_rows() {
  return kTrainRows;
}

}  // namespace primus::dialect
