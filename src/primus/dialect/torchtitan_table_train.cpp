// Table data: training, optimizer, schedules, recomputation, validation, and ranks.
#include "primus/dialect/torchtitan.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kLoader = "tunes Python's data loader processes; the samples are the same";
constexpr std::string_view kGarbage = "Python's garbage collector; there is none here";
constexpr std::string_view kPipeline = "pipeline parallelism";
constexpr std::string_view kDegree = "parallelism.pipeline_parallel_degree";
constexpr std::string_view kOperations = "tunes which operations upstream recomputes; the numbers do not change";

constexpr Parameter kTrainRows[] = {
    // ------------------------------------------------------------------------------------------------ data and batch
    honoured("training.mock_data", kBool, "false",
             "Primus's mock texts (256 texts of 8192 random numbers) take the place of every data set.", "data.texts"),
    honoured("training.dataset", kText, "c4_test", "Data set: c4, c4_test or c4_validation.", "data.texts"),
    honoured("training.dataset_path", kMaybeText, "null", "Local copy of the data set's texts.", "data.texts"),
    honoured("training.seq_len", kInt, "2048", "Length of a sequence.", "data.sequence_length")
        .at_least(1)
        .in_unit("tokens"),
    honoured("training.local_batch_size", kInt, "8", "Sequences per data-parallel rank and micro-batch.",
             "batch.micro_batch_size")
        .at_least(1)
        .in_unit("sequences"),
    honoured("training.global_batch_size", kInt, "-1",
             "Sequences per step over all ranks; negative: local batch x data-parallel ranks.",
             "batch.global_batch_size")
        .in_unit("sequences"),
    honoured("training.steps", kInt, "10000", "Length of training.", "exit.train_steps").at_least(1).in_unit("steps"),
    honoured("training.max_norm", kFloat, "1.0", "Gradients are scaled down to this norm.", "optimizer.clip_grad_norm")
        .at_least(0),
    no_effect("training.enable_cpu_offload", kBool, "false", "Weights and optimizer live on the host.", kMemory),
    // ------------------------------------------------------------------------------------------------ precision
    honoured("training.dtype", kText, "float32", "Type in which weights and optimizer state are stored.",
             "precision.stored")
        .in("float32|bfloat16"),
    honoured(
        "training.mixed_precision_param", kText, "bfloat16",
        "Type of weights and activations inside a step (upstream's sharded form; its one-device form is autocast).",
        "precision.compute")
        .in("float32|bfloat16"),
    honoured("training.mixed_precision_reduce", kText, "float32", "Type in which gradients are summed over ranks.",
             "precision.grad_reduce")
        .in("float32"),
    // ------------------------------------------------------------------------------------------------ loader
    no_effect("training.gc_freq", kInt, "50", "Steps between collections.", kGarbage).in_unit("steps"),
    no_effect("training.gc_debug", kBool, "false", "Collects at every step.", kGarbage),
    no_effect("training.dataloader.num_workers", kInt, "0", "Processes that load.", kLoader),
    no_effect("training.dataloader.persistent_workers", kBool, "false", "They outlive a pass.", kLoader),
    no_effect("training.dataloader.pin_memory", kBool, "false", "Pinned memory.", kLoader),
    no_effect("training.dataloader.prefetch_factor", kMaybeInt, "null", "Batches ahead.", kLoader),
    // ------------------------------------------------------------------------------------------------ optimizer
    honoured("optimizer.name", kText, "AdamW", "AdamW decays weights apart from the gradient, Adam adds to it.",
             "optimizer.decoupled_weight_decay")
        .in("AdamW|Adam"),
    honoured("optimizer.lr", kFloat, "0.0008", "Highest learning rate.", "lr.max_lr").at_least(0),
    honoured("optimizer.beta1", kFloat, "0.9", "Memory of the gradient's mean.", "optimizer.beta1")
        .at_least(0)
        .at_most(1),
    honoured("optimizer.beta2", kFloat, "0.95", "Memory of its square.", "optimizer.beta2").at_least(0).at_most(1),
    honoured("optimizer.eps", kFloat, "1e-08", "Added to the root of the square.", "optimizer.eps").at_least(0),
    honoured("optimizer.weight_decay", kFloat, "0.1", "Decay of all weights, norms too.",
             "weight_decay.start weight_decay.end")
        .at_least(0),
    no_effect("optimizer.implementation", kText, "fused", "Kernel of the optimizer.", kKernel)
        .in("for-loop|foreach|fused"),
    not_built("optimizer.early_step_in_backward", kBool, "false", "Each weight steps as soon as its gradient is there.",
              "optimizer steps inside backward"),
    // ------------------------------------------------------------------------------------------------ schedule
    honoured("lr_scheduler.warmup_steps", kInt, "200",
             "Steps of linear warm-up: the first has peak / warmup_steps, the last the peak; cut to the schedule.",
             "lr.warmup_samples")
        .at_least(0)
        .in_unit("steps"),
    honoured("lr_scheduler.total_steps", kMaybeInt, "null", "Length of the schedule; null: training.steps.",
             "lr.decay_samples")
        .at_least(1)
        .in_unit("steps"),
    honoured("lr_scheduler.decay_ratio", kMaybeFloat, "null",
             "Last part of the schedule that decays, the peak is held before it; null: all behind the warm-up.",
             "lr.wsd_samples")
        .at_least(0)
        .at_most(1),
    honoured("lr_scheduler.decay_type", kText, "linear", "Shape of the decay.", "lr.wsd_decay")
        .in("linear|sqrt|cosine"),
    honoured("lr_scheduler.min_lr_factor", kFloat, "0.0", "Lowest rate as a part of the highest.", "lr.min_lr")
        .at_least(0)
        .at_most(1),
    // ------------------------------------------------------------------------------------------------ recompute
    honoured("activation_checkpoint.mode", kText, "selective",
             "What is computed again in backward; memory_budget and selective 'op' pick operations, and none is here.",
             "recompute.kind")
        .in("selective|full|memory_budget|none"),
    honoured("activation_checkpoint.selective_ac_option", kText, "2",
             "With mode selective: every how many layers one is computed again, or 'op'.", "recompute.layer_ids"),
    no_effect("activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns", kTexts, "[moe.router.gate]",
              "Products that 'op' always recomputes.", kOperations),
    no_effect("activation_checkpoint.early_stop", kBool, "false", "Recomputation ends with the last needed value.",
              kOperations),
    no_effect("activation_checkpoint.memory_budget", kFloat, "0.5", "Part of the memory that memory_budget keeps.",
              kOperations),
    no_effect("activation_checkpoint.visualize_memory_budget_pareto", kBool, "false", "Draws the choice.", kLogOnly),
    no_effect("activation_checkpoint.preserve_rng_state", kBool, "true", "Keeps the random state.",
              "random numbers here have no state"),
    no_effect("activation_checkpoint.determinism_check", kText, "default", "Compares shapes of both passes.",
              kOperations),
    no_effect("activation_checkpoint.debug", kBool, "false", "Traces the recomputation.", kLogOnly),
    // ------------------------------------------------------------------------------------------------ validation
    honoured("validation.enable", kBool, "false", "Validates after the first step and every freq steps.",
             "evaluation.num_batches evaluation"),
    honoured("validation.dataset", kText, "c4_validation", "Data set of it.", "data.texts"),
    honoured("validation.dataset_path", kMaybeText, "null", "Local copy of its texts.", "data.texts"),
    honoured("validation.local_batch_size", kInt, "8", "Sequences per rank and batch.", "evaluation.micro_batch_size")
        .at_least(1)
        .in_unit("sequences"),
    honoured("validation.seq_len", kInt, "2048", "Length of a sequence.", "evaluation.sequence_length")
        .at_least(1)
        .in_unit("tokens"),
    honoured("validation.freq", kInt, "10", "Steps between validations.", "evaluation.interval_steps")
        .at_least(1)
        .in_unit("steps"),
    honoured("validation.steps", kInt, "-1", "Batches of one validation; -1: all data.", "evaluation.num_batches"),
    no_effect("validation.dataloader.num_workers", kInt, "0", "Processes that load.", kLoader),
    no_effect("validation.dataloader.persistent_workers", kBool, "false", "They outlive a pass.", kLoader),
    no_effect("validation.dataloader.pin_memory", kBool, "false", "Pinned memory.", kLoader),
    no_effect("validation.dataloader.prefetch_factor", kMaybeInt, "null", "Batches ahead.", kLoader),
    // ------------------------------------------------------------------------------------------------ debug
    honoured("debug.seed", kMaybeInt, "null", "Seed of the first weights; null: torch's own start value.", "seed")
        .at_least(0),
    honoured("debug.deterministic", kBool, "false",
             "One summation order over micro-batches and ranks: any number of ranks gives the same bits.",
             "parallel.deterministic"),
    no_effect("debug.deterministic_warn_only", kBool, "false", "Warns instead of refusing.",
              "every operation here has a deterministic form"),
    honoured("debug.moe_force_load_balance", kBool, "false",
             "Tokens go to the experts in turn, whatever the router says; the loss means nothing then.",
             "router.forced_balance"),
};

constexpr Parameter kParallelRows[] = {
    honoured("parallelism.data_parallel_replicate_degree", kInt, "1", "Copies of the sharded weights.",
             "parallel.weight_shards")
        .at_least(1)
        .in_unit("ranks"),
    described("parallelism.data_parallel_shard_degree", kInt, "-1",
              "Ranks that share one copy of the weights; -1: all that are left, and one rank is not sharded.",
              "parallel.weight_shards parallel", "fully sharded data parallelism")
        .also("1")
        .in_unit("ranks"),
    no_effect("parallelism.fsdp_reshard_after_forward", kText, "default", "When gathered weights are dropped.", kMemory)
        .in("default|always|never"),
    described("parallelism.tensor_parallel_degree", kInt, "1", "Ranks that share each layer.", "parallel.tensor",
              "tensor parallelism")
        .at_least(1)
        .in_unit("ranks"),
    no_effect("parallelism.disable_loss_parallel", kBool, "false", "Logits whole on every tensor rank.", kComm),
    no_effect("parallelism.enable_async_tensor_parallel", kBool, "false", "Products overlap their communication.",
              kComm),
    described(kDegree, kInt, "1", "Ranks that share the layers one after the other.", "parallel.pipeline", kPipeline)
        .at_least(1)
        .in_unit("ranks"),
    described("parallelism.pipeline_parallel_schedule", kText, "1F1B", "Order of the micro-batches.",
              "parallel.stages_per_rank", "pipeline schedules")
        .in("1F1B|GPipe|Interleaved1F1B|LoopedBFS|InterleavedZeroBubble|ZBVZeroBubble|DualPipeV|PipelineScheduleSingle|"
            "PipelineScheduleMulti|_PipelineScheduleRuntime")
        .under(kDegree),
    not_built("parallelism.pipeline_parallel_schedule_csv", kMaybeText, "\"\"", "File with such an order.", kPipeline)
        .also("null")
        .under(kDegree),
    described("parallelism.pipeline_parallel_microbatch_size", kInt, "1", "Sequences of one micro-batch of a pipeline.",
              "batch.micro_batch_size", kPipeline)
        .at_least(1)
        .in_unit("sequences")
        .under(kDegree),
    not_built("parallelism.module_fqns_per_model_part", kAny, "null", "Modules of each stage.", kPipeline)
        .under(kDegree),
    not_built("parallelism.pipeline_parallel_first_stage_less_layers", kInt, "1",
              "Layers that the embedding stands for.", kPipeline)
        .under(kDegree),
    not_built("parallelism.pipeline_parallel_last_stage_less_layers", kInt, "1", "Layers that the head stands for.",
              kPipeline)
        .under(kDegree),
    not_built("parallelism.pipeline_parallel_layers_per_stage", kMaybeInt, "null", "Layers of a stage.", kPipeline)
        .under(kDegree),
    no_effect("parallelism.pipeline_parallel_expert_parallel_overlap", kBool, "true",
              "DualPipeV overlaps the exchange of tokens.", kComm),
    described("parallelism.context_parallel_degree", kInt, "1", "Ranks that share each sequence.", "parallel.context",
              "context parallelism")
        .at_least(1)
        .in_unit("ranks"),
    no_effect("parallelism.context_parallel_load_balancer", kMaybeText, "headtail",
              "Which tokens a context rank holds.", kComm)
        .in("headtail|ptrr"),
    no_effect("parallelism.context_parallel_rotate_method", kText, "allgather", "How they exchange keys and values.",
              kComm)
        .in("allgather|alltoall"),
    described("parallelism.expert_parallel_degree", kInt, "1", "Ranks that share the experts.", "parallel.expert",
              "expert parallelism")
        .at_least(1)
        .in_unit("ranks"),
    described("parallelism.expert_tensor_parallel_degree", kInt, "1", "Ranks that share one expert.",
              "parallel.expert_tensor", "tensor-parallel experts")
        .at_least(1)
        .in_unit("ranks")
        .under("parallelism.expert_parallel_degree"),
    no_effect("parallelism.expert_parallel_comm_backend", kText, "standard", "Exchange of tokens.", kComm)
        .in("standard|deepep"),
};

}  // namespace

std::span<const Parameter> titan_train_rows() {
  return kTrainRows;
}
std::span<const Parameter> titan_parallel_rows() {
  return kParallelRows;
}

}  // namespace primus::dialect
