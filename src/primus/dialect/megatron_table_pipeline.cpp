// Table data: pipeline parallelism, zero-bubble and Primus-pipeline schedules.
#include "primus/dialect/megatron.h"
#include "primus/dialect/rows.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kPp = "pipeline parallelism";
constexpr std::string_view kZb = "zero-bubble schedules";
constexpr std::string_view kPipelineKey = "pipeline_model_parallel_size";
constexpr std::string_view kPrimus = "patch_primus_pipeline";
constexpr std::string_view kZero = "patch_zero_bubble";

constexpr Parameter kPipelineRows[] = {
    described("pipeline_model_parallel_size", kInt, "1", "Stages of the pipeline.", "parallel.pipeline", kPp)
        .at_least(1),
    not_built("encoder_pipeline_model_parallel_size", kInt, "0", "The same for an encoder.", "encoder-decoder models"),
    no_effect("pipeline_model_parallel_split_rank", kMaybeInt, "null", "Where an encoder ends.", kUnread),
    described("pipeline_model_parallel_layout", kMaybeText, "null", "Layers of each stage, written out.",
              "parallel.stages_per_rank", kPp)
        .under(kPipelineKey),
    not_built("pipeline_model_parallel_comm_backend", kMaybeText, "null", "Communication library.", kPp)
        .under(kPipelineKey),
    described("decoder_first_pipeline_num_layers", kMaybeInt, "null", "Layers of the first stage.",
              "recompute.layer_ids", kPp)
        .under(kPipelineKey)
        .at_least(1),
    described("decoder_last_pipeline_num_layers", kMaybeInt, "null", "Layers of the last stage.", "recompute.layer_ids",
              kPp)
        .under(kPipelineKey)
        .at_least(1),
    described("decoder_pipeline_manual_split_list", kMaybeInts, "null", "Layers of each stage (deprecated).",
              "parallel.stages_per_rank", kPp)
        .under(kPipelineKey)
        .use("pipeline_model_parallel_layout"),
    no_effect(
        "virtual_pipeline_model_parallel_size", kMaybeInt, "null", "Looks like stages per rank.",
        "upstream computes it from num_layers_per_virtual_pipeline_stage or num_virtual_stages_per_pipeline_rank"),
    described("num_layers_per_virtual_pipeline_stage", kMaybeInt, "null", "Layers of a virtual stage.",
              "parallel.stages_per_rank", kPp)
        .under(kPipelineKey)
        .at_least(1),
    described("num_virtual_stages_per_pipeline_rank", kMaybeInt, "null", "Virtual stages per rank.",
              "parallel.stages_per_rank", kPp)
        .under(kPipelineKey)
        .at_least(1),
    not_built("microbatch_group_size_per_vp_stage", kMaybeInt, "null", "Micro-batches in a row.", kPp)
        .under(kPipelineKey),
    described("account_for_embedding_in_pipeline_split", kBool, "false", "The embedding counts as a layer.",
              "recompute.layer_ids", kPp)
        .under(kPipelineKey),
    described("account_for_loss_in_pipeline_split", kBool, "false", "The loss counts as a layer.",
              "recompute.layer_ids", kPp)
        .under(kPipelineKey),
    not_built("standalone_embedding_stage", kBool, "false", "The embedding is a stage.", kPp).under(kPipelineKey),
    no_effect("allow_padding_num_layers", kBool, "true", "Looks like padding of uneven stages.", kUnread),
    no_effect("overlap_p2p_comm", kBool, "true", "Exchange beside computation.", kComm),
    no_effect("scatter_gather_tensors_in_pipeline", kBool, "true", "Exchange in parts.", kComm),
    no_effect("use_ring_exchange_p2p", kBool, "false", "A kind of exchange.", kComm),
    no_effect("defer_embedding_wgrad_compute", kBool, "false", "Embedding gradients are computed late.",
              "the numbers do not change"),
    no_effect("wgrad_deferral_limit", kInt, "0", "How late.", "the numbers do not change"),
    no_effect("delay_wgrad_compute", kBool, "false", "Weight gradients are computed late.",
              "the numbers do not change"),
    not_built("pp_warmup", kBool, "false", "One untimed step before the first.", kPp).under(kPipelineKey),
    not_built("dump_pp_data", kBool, "false", "Times of every stage in files.", kPp).under(kPipelineKey),
    no_effect("num_seq_splits", kInt, "1", "Parts of a sequence in the pipeline.",
              "with one stage there is no pipeline"),
    no_effect("debug_scheduler_table", kBool, "false", "Prints the schedule.", kLogOnly),
    // ------------------------------------------------------------------------------------------------ Primus pipeline
    not_built("patch_primus_pipeline", kBool, "false", "Schedules of Primus.", kPp).under(kPipelineKey),
    not_built("pp_algorithm", kText, "1f1b-interleaved", "Which one.", kPp).under(kPrimus),
    not_built("communication_method", kText, "async_p2p", "Its exchange.", kPp).under(kPrimus),
    not_built("offload", kBool, "false", "Activations in host memory.", kPp).under(kPrimus),
    not_built("offload_ops", kText, "\"\"", "Which ones.", kPp).under(kPrimus),
    not_built("pp_max_mem", kMaybeFloat, "null", "Its memory limit.", kPp).under(kPrimus),
    not_built("pp_cost_f", kMaybeFloat, "null", "Its cost of forward.", kPp).under(kPrimus),
    not_built("pp_cost_b", kMaybeFloat, "null", "Its cost of backward.", kPp).under(kPrimus),
    not_built("pp_cost_w", kMaybeFloat, "null", "Its cost of weight gradients.", kPp).under(kPrimus),
    // ------------------------------------------------------------------------------------------------ zero bubble
    not_built("patch_zero_bubble", kBool, "false", "Zero-bubble schedules.", kZb).under(kPipelineKey),
    not_built("enable_zb_runtime", kBool, "true", "Their runtime.", kZb).under(kZero),
    not_built("pre_communication_optimization", kBool, "false", "Early exchange.", kZb).under(kZero),
    not_built("zero_bubble_pipeline_timers_start_iter", kInt, "100", "First timed step.", kZb).under(kZero),
    not_built("zero_bubble_pipeline_timers_end_iter", kInt, "110", "Last timed step.", kZb).under(kZero),
    not_built("zero_bubble_max_pending_backward", kAny, "auto", "Memory limit.", kZb).under(kZero),
    not_built("zero_bubble_adaptive_memory_limit_percentile", kInt, "85", "Memory limit.", kZb).under(kZero),
    not_built("enable_optimizer_post_validation", kBool, "false", "Optimizer before the check of the norm.", kZb)
        .under(kZero),
    not_built("enable_exactly_numeric_match", kBool, "true", "Same numbers as without.", kZb).under(kZero),
    not_built("enable_zero_bubble", kBool, "true", "The schedule itself.", kZb).under(kZero),
    not_built("zero_bubble_v_schedule", kBool, "false", "Stages in the form of a V.", kZb).under(kZero),
    not_built("zero_bubble_v_schedule_mem_setup", kText, "half", "Its memory.", kZb).in("min|half|zb").under(kZero),
    not_built("enable_1f1b_v", kBool, "false", "1F1B in the form of a V.", kZb).under(kZero),
    not_built("interleave_group_size", kInt, "0", "Micro-batches in a row.", kZb).under(kZero),
    not_built("offload_chunk_num", kInt, "0", "Activations in host memory.", kZb).under(kZero),
    not_built("offload_time", kFloat, "1.0", "Its time.", kZb).under(kZero),
    not_built("auto_offload_time", kBool, "true", "Its time, measured.", kZb).under(kZero),
    not_built("offload_overlap_sr", kBool, "true", "Beside the exchange.", kZb).under(kZero),
};

}  // namespace

std::span<const Parameter> megatron_pipeline_rows() {
  return kPipelineRows;
}

}  // namespace primus::dialect
