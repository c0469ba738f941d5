// Table data: the sections train, scheduler, optimizer, ddp, mixed_precision, rng, peft. Defaults are the container's
// own; a recipe replaces many (bridge_recipes.cpp).
#include "primus/dialect/bridge.h"
#include "primus/dialect/bridge_reasons.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kFsdp = "sharded weights";
constexpr std::string_view kMuon = "the Muon optimizer";
constexpr std::string_view kPeft =
    "a map under peft reaches the recipe as an argument that it cannot use, and upstream stops; the recipe decides";
constexpr std::string_view kPrecisionDecides = "mixed_precision sets it before training";

constexpr Parameter kTrainRows[] = {
    // ------------------------------------------------------------------------------------------------ train
    honoured("train.micro_batch_size", kMaybeInt, "null", "Sequences at once on a rank.", "batch.micro_batch_size")
        .at_least(1)
        .in_unit("sequences"),
    honoured("train.global_batch_size", kMaybeInt, "null", "Sequences of a step.", "batch.global_batch_size")
        .at_least(1)
        .in_unit("sequences"),
    no_effect("train.rampup_batch_size", kMaybeInts, "null", "Start, increment and length of a growing batch.", kNull),
    honoured("train.decrease_batch_size_if_needed", kBool, "false", "Round the batch down to what divides.",
             "batch.decrease_if_needed"),
    honoured("train.train_iters", kMaybeInt, "null", "Steps.", "exit.train_steps").at_least(1).in_unit("steps"),
    no_effect("train.train_samples", kMaybeInt, "null", "Length of training in sequences.", kNull),
    no_effect("train.exit_interval", kMaybeInt, "null", "End at a multiple of it.", kNull),
    no_effect("train.exit_duration_in_mins", kMaybeInt, "null", "End after so many minutes.", kNull),
    no_effect("train.exit_signal_handler", kBool, "false", "Save and end on a signal.",
              "a run of this program always does"),
    no_effect("train.exit_signal", kInt, "15", "Which signal.", "a run of this program ends on SIGTERM and SIGINT"),
    no_effect("train.exit_signal_handler_for_dataloader", kBool, "false", "The same in loader processes.",
              "data are read without processes of their own"),
    no_effect("train.manual_gc", kBool, "false", "Python's garbage collection by hand.", "there is no Python here"),
    no_effect("train.manual_gc_interval", kInt, "0", "Steps between collections.", "there is no Python here"),
    no_effect("train.manual_gc_eval", kBool, "true", "Collections around evaluation.", "there is no Python here"),
    no_effect("train.empty_unused_memory_level", kInt, "0", "Free GPU memory each step.", kMemory),
    no_effect("train.check_weight_hash_across_dp_replicas_interval", kMaybeInt, "null", "Compare weights of ranks.",
              kNull),
    no_effect("train.train_sync_interval", kMaybeInt, "null", "Wait for the GPU every so often.", kNull),
    honoured("train.iterations_to_skip", kInts, "[]", "Steps without an update.", "exit.steps_to_skip"),
    honoured("train.eval_iters", kInt, "100", "Global batches of an evaluation; 0: never.", "evaluation.num_batches")
        .at_least(0),
    honoured("train.eval_interval", kMaybeInt, "1000", "Steps between evaluations.", "evaluation.interval_steps")
        .at_least(0)
        .in_unit("steps"),
    not_built("train.skip_train", kBool, "false", "Evaluate only.", "evaluation without training"),
    // ------------------------------------------------------------------------------------------------ scheduler
    honoured("scheduler.lr_decay_style", kText, "linear", "Shape of the decay.", "lr.decay")
        .in("constant|linear|cosine|inverse-square-root|WSD"),
    honoured("scheduler.lr_decay_iters", kMaybeInt, "null", "Length of the schedule; null: train_iters.",
             "lr.decay_samples")
        .at_least(1)
        .in_unit("steps"),
    no_effect("scheduler.lr_decay_samples", kMaybeInt, "null", "The same in sequences.", kNull),
    honoured("scheduler.lr_wsd_decay_style", kText, "exponential", "Shape of the last phase of WSD.", "lr.wsd_decay")
        .in("exponential|linear|cosine"),
    no_effect("scheduler.lr_wsd_decay_iters", kMaybeInt, "null", "Length of that phase.", kNull),
    no_effect("scheduler.lr_wsd_decay_samples", kMaybeInt, "null", "The same in sequences.", kNull),
    no_effect("scheduler.lr_warmup_fraction", kMaybeFloat, "null", "Warm-up as a part of the schedule.", kNull),
    honoured("scheduler.lr_warmup_iters", kInt, "0", "Warm-up.", "lr.warmup_samples").at_least(0).in_unit("steps"),
    no_effect("scheduler.lr_warmup_samples", kInt, "0", "The same in sequences.",
              "recipes train for a number of steps, where upstream does not read it"),
    honoured("scheduler.lr_warmup_init", kFloat, "0.0", "Rate at the start of the warm-up.", "lr.warmup_init_lr")
        .at_least(0),
    honoured("scheduler.override_opt_param_scheduler", kBool, "false",
             "On resume the schedule of this file replaces the checkpoint's.", "checkpoint.override_schedule"),
    honoured("scheduler.use_checkpoint_opt_param_scheduler", kBool, "false",
             "On resume the checkpoint's schedule is used.", "checkpoint.use_checkpoint_schedule"),
    honoured("scheduler.start_weight_decay", kMaybeFloat, "null",
             "Weight decay at the start; null: optimizer.weight_decay. The recipes write 0.033.", "weight_decay.start")
        .at_least(0),
    honoured("scheduler.end_weight_decay", kMaybeFloat, "null", "Weight decay at the end.", "weight_decay.end")
        .at_least(0),
    honoured("scheduler.weight_decay_incr_style", kText, "constant", "How it grows.", "weight_decay.ramp")
        .in("constant|linear|cosine"),
    no_effect("scheduler.no_weight_decay_cond_type", kMaybeText, "null", "Which weights never decay.", kNull),
    // ------------------------------------------------------------------------------------------------ optimizer
    honoured("optimizer.optimizer", kText, "adam", "Optimizer.", "optimizer.kind")
        .in("adam|sgd|muon|dist_muon")
        .not_yet("muon|dist_muon"),
    honoured("optimizer.lr", kMaybeFloat, "null", "Highest learning rate.", "lr.max_lr").at_least(0),
    honoured("optimizer.min_lr", kMaybeFloat, "null", "Lowest learning rate; null: a tenth of the highest.",
             "lr.min_lr")
        .at_least(0),
    no_effect("optimizer.decoupled_lr", kMaybeFloat, "null", "Rate of embedding and head.", kNull),
    no_effect("optimizer.decoupled_min_lr", kMaybeFloat, "null", "Its end.", kNull),
    honoured("optimizer.weight_decay", kFloat, "0.01",
             "Weight decay; the scheduler's start and end replace it where they are set.",
             "weight_decay.start weight_decay.end")
        .at_least(0),
    not_built("optimizer.apply_wd_to_qk_layernorm", kBool, "false", "Norms of queries and keys decay.",
              "decay of single norms"),
    honoured("optimizer.adam_beta1", kFloat, "0.9", "Adam's first decay.", "optimizer.beta1").at_least(0).at_most(1),
    honoured("optimizer.adam_beta2", kFloat, "0.999", "Adam's second decay.", "optimizer.beta2").at_least(0).at_most(1),
    honoured("optimizer.adam_eps", kFloat, "1e-08", "Adam's epsilon.", "optimizer.eps").at_least(0),
    honoured("optimizer.decoupled_weight_decay", kBool, "true", "Decay beside the gradient (AdamW).",
             "optimizer.decoupled_weight_decay"),
    honoured("optimizer.sgd_momentum", kFloat, "0.9", "Momentum of sgd.", "optimizer.momentum").at_least(0),
    honoured("optimizer.clip_grad", kFloat, "1.0", "Most that the norm of the gradients may be.",
             "optimizer.clip_grad_norm")
        .at_least(0),
    honoured("optimizer.use_distributed_optimizer", kBool, "false", "Optimizer state sharded over the ranks.",
             "optimizer.shard_state"),
    no_effect("optimizer.bf16", kBool, "false", "Weights are bf16.", kPrecisionDecides),
    no_effect("optimizer.fp16", kBool, "false", "Weights are fp16.", kPrecisionDecides),
    no_effect("optimizer.params_dtype", kText, "float32", "Precision of the weights.", kPrecisionDecides),
    not_built("optimizer.use_precision_aware_optimizer", kBool, "false", "Optimizer state in fewer bits.",
              "optimizer state in fewer bits"),
    no_effect("optimizer.main_grads_dtype", kText, "float32", "Gradients of that optimizer.",
              "only read with use_precision_aware_optimizer"),
    no_effect("optimizer.main_params_dtype", kText, "float32", "Weights of that optimizer.",
              "only read with use_precision_aware_optimizer"),
    no_effect("optimizer.exp_avg_dtype", kText, "float32", "First moment of that optimizer.",
              "only read with use_precision_aware_optimizer"),
    no_effect("optimizer.exp_avg_sq_dtype", kText, "float32", "Second moment of that optimizer.",
              "only read with use_precision_aware_optimizer"),
    no_effect("optimizer.loss_scale", kMaybeFloat, "null", "Constant loss scale.", kPrecisionDecides),
    no_effect("optimizer.initial_loss_scale", kFloat, "4294967296.0", "First loss scale.", kPrecisionDecides),
    no_effect("optimizer.min_loss_scale", kFloat, "1.0", "Least loss scale.", kPrecisionDecides),
    no_effect("optimizer.loss_scale_window", kFloat, "1000.0", "Steps before it grows.", kPrecisionDecides),
    no_effect("optimizer.hysteresis", kInt, "2", "Overflows before it shrinks.", kPrecisionDecides),
    not_built("optimizer.muon_momentum", kFloat, "0.95", "Muon's momentum.", kMuon).under("optimizer.optimizer"),
    not_built("optimizer.muon_split_qkv", kBool, "true", "Muon on q, k and v apart.", kMuon)
        .under("optimizer.optimizer"),
    not_built("optimizer.muon_use_nesterov", kBool, "false", "Muon looks ahead.", kMuon).under("optimizer.optimizer"),
    not_built("optimizer.muon_scale_mode", kText, "spectral", "Muon's scale.", kMuon).under("optimizer.optimizer"),
    not_built("optimizer.muon_fp32_matmul_prec", kText, "medium", "Muon's products.", kMuon)
        .under("optimizer.optimizer"),
    not_built("optimizer.muon_num_ns_steps", kInt, "5", "Muon's iterations.", kMuon).under("optimizer.optimizer"),
    not_built("optimizer.muon_tp_mode", kText, "blockwise", "Muon with tensor parallelism.", kMuon)
        .under("optimizer.optimizer"),
    not_built("optimizer.muon_extra_scale_factor", kFloat, "1.0", "Factor on Muon's update.", kMuon)
        .under("optimizer.optimizer"),
    no_effect("optimizer.overlap_param_gather", kBool, "false", "Weights gathered beside the forward.", kComm),
    no_effect("optimizer.overlap_param_gather_with_optimizer_step", kBool, "false", "The same beside the step.", kComm),
    no_effect("optimizer.optimizer_cpu_offload", kBool, "false", "Optimizer state in host memory.", kMemory),
    no_effect("optimizer.optimizer_offload_fraction", kFloat, "0.0", "How much of it.", kMemory),
    no_effect("optimizer.log_num_zeros_in_grad", kBool, "false", "Count zeros of the gradients.", kLogOnly),
    no_effect("optimizer.barrier_with_L1_time", kBool, "false", "Ranks wait for each other at timers.", kComm),
    // ------------------------------------------------------------------------------------------------ ddp
    no_effect("ddp.grad_reduce_in_fp32", kBool, "false", "Gradients are summed in fp32.", kPrecisionDecides),
    honoured("ddp.overlap_grad_reduce", kBool, "false", "Gradients are summed beside the backward pass.",
             "parallel.overlap_grad_reduce"),
    no_effect("ddp.overlap_param_gather", kBool, "false", "Weights gathered beside the forward.", kComm),
    no_effect("ddp.align_param_gather", kBool, "false", "All stages gather at once.", kComm),
    honoured("ddp.use_distributed_optimizer", kBool, "false", "Optimizer state sharded over the ranks.",
             "optimizer.shard_state"),
    no_effect("ddp.num_distributed_optimizer_instances", kInt, "1", "Groups of ranks that share that state.", kComm),
    no_effect("ddp.check_for_nan_in_grad", kBool, "false", "A gradient that is no number ends the run.",
              "the loss is checked, see rerun_state_machine.check_for_nan_in_loss"),
    no_effect("ddp.check_for_large_grads", kBool, "false", "A large gradient ends the run.", kComm),
    no_effect("ddp.bucket_size", kMaybeInt, "null", "Elements that are sent at once.", kNull),
    no_effect("ddp.average_in_collective", kBool, "false", "The sum itself divides.", "rounding only"),
    no_effect("ddp.fp8_param_gather", kBool, "false", "Weights gathered in fp8.", kComm),
    described("ddp.use_megatron_fsdp", kBool, "false", "Weights sharded over the data-parallel ranks.",
              "parallel.weight_shards", kFsdp),
    not_built("ddp.data_parallel_sharding_strategy", kText, "no_shard", "What is sharded.", kFsdp)
        .under("ddp.use_megatron_fsdp"),
    no_effect("ddp.gradient_reduce_div_fusion", kBool, "true", "Division in the sum.", kComm),
    no_effect("ddp.delay_wgrad_compute", kBool, "false", "Weight gradients later.", kComm),
    // ------------------------------------------------------------------------------------------------ precision
    honoured("mixed_precision.bf16", kBool, "false", "Compute in bf16.", "precision.compute"),
    honoured("mixed_precision.fp16", kBool, "false", "Compute in fp16.", "precision.compute"),
    no_effect("mixed_precision.fp32", kBool, "false", "Compute in fp32.", "upstream reads bf16 and fp16 only"),
    honoured("mixed_precision.grad_reduce_in_fp32", kBool, "true", "Gradients are summed in fp32.",
             "precision.grad_reduce"),
    honoured("mixed_precision.fp8", kMaybeText, "null", "Products in fp8.", "precision.low_precision"),
    honoured("mixed_precision.fp4", kMaybeText, "null", "Products in fp4.", "precision.low_precision"),
    not_built("mixed_precision.fp8_recipe", kText, "tensorwise", "Scaling of fp8.", kFp8).under("mixed_precision.fp8"),
    not_built("mixed_precision.fp4_recipe", kText, "nvfp4", "Scaling of fp4.", "fp4").under("mixed_precision.fp4"),
    not_built("mixed_precision.fp8_param_gather", kBool, "false", "Weights gathered in fp8.", kFp8)
        .under("mixed_precision.fp8"),
    not_built("mixed_precision.first_last_layers_bf16", kBool, "false", "First and last layers stay bf16.", kFp8)
        .under("mixed_precision.fp8"),
    honoured("mixed_precision.loss_scale", kMaybeFloat, "null", "Constant loss scale of fp16; null: it adapts.",
             "precision.loss_scale.constant"),
    honoured("mixed_precision.initial_loss_scale", kFloat, "4294967296.0", "First loss scale.",
             "precision.loss_scale.initial"),
    honoured("mixed_precision.min_loss_scale", kFloat, "1.0", "Least loss scale.", "precision.loss_scale.minimum"),
    honoured("mixed_precision.loss_scale_window", kFloat, "1000.0", "Good steps before it doubles.",
             "precision.loss_scale.window_steps"),
    honoured("mixed_precision.hysteresis", kInt, "2", "Overflows before it halves.", "precision.loss_scale.hysteresis"),
    // ------------------------------------------------------------------------------------------------ rng
    honoured("rng.seed", kInt, "1234", "Seed of weights and dropout.", "seed").at_least(0),
    no_effect("rng.te_rng_tracker", kBool, "false", "Random streams of a library.", kKernel),
    no_effect("rng.inference_rng_tracker", kBool, "false", "Random streams of inference.", kInference),
    not_built("rng.data_parallel_random_init", kBool, "false", "Other weights on each replica.",
              "replicas that start apart"),
    // ------------------------------------------------------------------------------------------------ adapters
    refused("peft.dim", kInt, "32", "Rank of the adapters.", kPeft),
    refused("peft.alpha", kInt, "32", "Strength of the adapters.", kPeft),
    refused("peft.dropout", kFloat, "0.0", "Dropout of the adapters.", kPeft),
    refused("peft.dropout_position", kText, "pre", "Where that dropout is.", kPeft).in("pre|post"),
    refused("peft.lora_A_init_method", kText, "xavier", "Start of the inner half.", kPeft),
    refused("peft.lora_B_init_method", kText, "zero", "Start of the outer half.", kPeft),
    refused("peft.target_modules", kTexts, "[linear_qkv, linear_proj, linear_fc1, linear_fc2]",
            "Layers that get an adapter.", kPeft),
    refused("peft.exclude_modules", kTexts, "[]", "Layers that get none.", kPeft),
};

}  // namespace

std::span<const Parameter> bridge_train_rows() {
  return kTrainRows;
}

}  // namespace primus::dialect
