// Table data: mixture of experts. Names, kinds and defaults: MaxText 0.2.5 (base.yml, configs/types.py).
#include "primus/dialect/maxtext.h"
#include "primus/dialect/maxtext_reasons.h"
#include "primus/dialect/rows.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kRagged = "read only with ragged_buffer_factor";

constexpr Parameter kMoeRows[] = {
    // ------------------------------------------------------------------------------------------ MoEGeneral
    honoured("num_experts", kInt, "1", "Experts of an MoE layer; 1: no experts.", "model.layers.moe").at_least(1),
    honoured("num_experts_per_tok", kInt, "1", "Experts per token.", "model.layers.moe.top_k")
        .under("num_experts")
        .at_least(1),
    honoured("capacity_factor", kFloat, "-1.0",
             "Tokens that an expert takes of a sequence, times the even share; not positive: all.",
             "model.layers.moe.capacity")
        .under("num_experts"),
    not_built("ragged_buffer_factor", kFloat, "-1.0", "Size of the receive buffer; what does not fit is dropped.",
              "dropping by buffer size"),
    no_effect("eval_ragged_buffer_factor", kFloat, "-1.0", "Buffer factor of evaluations.", kRagged),
    no_effect("moe_dropless_fallback", kMaybeText, "null", "What to do when the buffer would drop tokens.", kRagged)
        .in("step|layer"),
    no_effect("retry_dropless_first_steps", kInt, "0", "First steps that run without dropping.", kRagged),
    no_effect("first_phase_ragged_buffer_factor", kFloat, "0.0", "Buffer factor of those first steps.", kRagged),
    no_effect("log_required_ragged_buffer_factor", kBool, "false",
              "Logs the smallest buffer that would have dropped nothing.", kLogOnly),
    no_effect("warmup_programs_in_init", kBool, "false", "Runs every compiled program once before training.", kXla),
    no_effect("num_moe_token_chunks", kInt, "1", "Number of token chunks for the ring-of-experts MoE pipeline.", kXla),
    no_effect("moe_chunk_barrier", kBool, "false", "Runs the chunks of the ring of experts one after another.", kXla),
    no_effect("moe_log_max_load_ratio", kBool, "false",
              "Logs how far the fullest shard of experts is above the even load.", kLogOnly),
    not_built("moe_expert_input_dim", kInt, "-1", "Width of the tokens inside the experts.",
              "experts of another width"),
    honoured("base_moe_mlp_dim", kInt, "-1", "Inner width of an expert.", "model.layers.moe.expert.ffn_size")
        .under("num_experts"),
    no_effect("padded_base_moe_mlp_dim", kMaybeInt, "null", "Width to which experts are padded for kernels.", kKernel),
    honoured("load_balance_loss_weight", kFloat, "0.0",
             "Weight of the balancing loss of each sequence, not divided by the experts per token.",
             "model.layers.moe.router.balance_losses")
        .under("num_experts")
        .at_least(0),
    not_built("moe_use_megatron_seq_aux_loss", kBool, "false", "Balancing loss in Megatron's form, summed over layers.",
              "another balancing loss"),
    no_effect("use_custom_sort_vjp", kBool, "true",
              "Use a custom VJP sort for efficient backward pass processing in sparse matmul.", kXla),
    no_effect("router_topk_matmul_vjp", kBool, "false", "Backward of the chosen routing weights as a dense product.",
              kXla),
    no_effect("moe_topk_before_ep_all_gather", kBool, "false",
              "Chooses experts before the router's results are gathered.", kXla),
    no_effect("use_ring_of_experts", kBool, "false", "Use Ring of Experts for sparse matmul expert parallelism.", kXla),
    not_built("te_moe_block", kBool, "false", "Transformer Engine's MoE block.", "that block"),
    no_effect("te_ep_overflow_check_every_n_steps", kInt, "20",
              "Number of training steps buffered between host-side TE EP receive-capacity overflow checks.", kXla),
    no_effect("te_gmm_quantization", kMaybeText, "\"\"", "Quantization mode for TransformerEngine grouped GEMMs.", kXla)
        .in("|te_no_quant|te_mxfp8"),
    no_effect("moe_quantize_token_all_gather", kBool, "false",
              "Quantize token activations before the All-Gather across EP shards in Ring of Experts.", kQuantized),
    no_effect("moe_dispatch_no_expert_sharding", kBool, "false",
              "Leaves the expert axis off the batch in the dense MoE path.", kXla),
    no_effect("use_ragged_sort", kBool, "false",
              "Use ragged kernel for sorting, improve performance when EP is enabled.", kXla),
    no_effect("moe_quantize_combine_bwd_method", kMaybeText, "\"\"",
              "Quantization method for Token Combine backward All-Gather.", kQuantized),
    no_effect("ragged_sort_use_single_sparsecore", kBool, "false",
              "Run ragged sort kernels on 1 SparseCore instead of all SparseCores.", kXla),
    no_effect("moe_use_direct_token_gather", kBool, "false",
              "Gather tokens directly in expert order instead of materializing Top-K copies.", kXla),
    no_effect("use_gather_mosaic_kernel", kBool, "false", "Use a custom mosaic kernel for token gather ops.", kXla),
    no_effect("ragged_gather_fallback", kBool, "false",
              "When true, unconditionally use the JAX reference implementation.", kXla),
    no_effect("ragged_gather_reduce_fallback", kBool, "false",
              "When true, unconditionally use the JAX reference implementation.", kXla),
    no_effect("ragged_gather_cost_estimate_flops", kInt, "-1",
              "Flop cost estimate override for the ragged gather kernel.", kXla),
    no_effect("ragged_gather_reduce_cost_estimate_flops", kInt, "-1",
              "Flop cost estimate override for the ragged gather reduce kernel.", kXla),
    no_effect("ragged_gather_cost_estimate_bytes_accessed", kInt, "-1",
              "Bytes-accessed cost estimate override for the ragged gather kernel.", kXla),
    no_effect("ragged_gather_reduce_cost_estimate_bytes_accessed", kInt, "-1",
              "Bytes-accessed cost estimate override for the ragged gather reduce kernel.", kXla),
    no_effect("moe_pin_sparse_core_all_gathers", kBool, "false",
              "Pin FSDP and EP all-gathers in MoE to dedicated SparseCores using compute_on.", kXla),
    no_effect("moe_pin_sparse_core_ep_all_gathers", kBool, "false",
              "Pin only the ring-of-experts EP all-gathers to a SparseCore.", kXla),
    no_effect("moe_pin_sparse_core_fsdp_all_gathers", kBool, "false",
              "Pins the weight all-gathers of experts to a SparseCore.", kXla),
    no_effect("moe_pin_sparse_core_fsdp_all_gathers_fwd_only", kBool, "false", "Of those, pins the forward ones only.",
              kXla),
    no_effect("moe_fsdp_all_gather_sparse_core_id", kInt, "0",
              "SparseCore ID to pin MoE FSDP all-gathers to when moe_pin_sparse_core_all_gathers is True.", kXla),
    no_effect("moe_ep_all_gather_sparse_core_id", kInt, "1",
              "SparseCore ID to pin MoE EP all-gathers to when moe_pin_sparse_core_all_gathers is True.", kXla),
    honoured("use_random_routing", kBool, "false", "Tokens go to random experts.",
             "model.layers.moe.router.forced_balance")
        .under("num_experts"),
    honoured("interleave_moe_layer_step", kInt, "1", "Each n-th layer has experts (llama4).",
             "model.layers.moe.of_layers")
        .under("num_experts")
        .at_least(1),
    no_effect("moe_fsdp_use_two_stage_all_gather", kBool, "false",
              "Use two separate All-Gather calls for MoE weights sharded on both FSDP and FSDP-transpose.", kXla),
    no_effect("shard_exp_on_fsdp", kBool, "false", "Spreads the experts over the fsdp axis.", kXla),
    no_effect("shard_embed_moe_on_fsdp", kBool, "false", "Keep embed_moe sharded so we can manually QAG it over FSDP.",
              kXla),
    no_effect("use_2d_fsdp_sharding", kBool, "false", "Use fsdp and fsdp_transpose axes for 2D FSDP sharding.", kXla),
    honoured("norm_topk_prob", kBool, "false", "The chosen weights are divided by their sum.",
             "model.layers.moe.router.renormalise")
        .under("num_experts"),
    no_effect("return_routed_experts", kBool, "false",
              "Record each MoE layer's routing as a selected_experts intermediate.", kInference),
    no_effect("float32_weight_sum", kBool, "true", "Expert outputs are added in fp32.", "the engine adds them in fp32"),
    honoured("float32_gate_logits", kBool, "false", "The router computes in fp32.", "model.layers.moe.router.dtype")
        .under("num_experts"),
    no_effect("prefuse_moe_weights", kBool, "false", "Pre-fuse MoE weights (w0 and w1) during initialization.", kXla),
    no_effect("fuse_expert_scales", kBool, "false", "Fuse the expert scaling factors into the expert weights.",
              kInference),
    // ----------------------------------------------------------------------------------------- DeepSeekMoE
    honoured("first_num_dense_layers", kInt, "0", "First layers without experts (deepseek).",
             "model.layers.moe.of_layers")
        .under("num_experts")
        .at_least(0),
    honoured("shared_experts", kInt, "0", "Experts that every token passes.", "model.layers.moe.shared_ffn_size")
        .under("num_experts")
        .at_least(0),
    honoured("routed_scaling_factor", kFloat, "1.0", "Factor on the chosen weights (deepseek).",
             "model.layers.moe.router.scale")
        .under("num_experts"),
    honoured("routed_score_func", kMaybeText, "\"\"", "Score of the router (deepseek): softmax or sigmoid.",
             "model.layers.moe.router.score")
        .under("num_experts")
        .in("|softmax|sigmoid|sqrtsoftplus"),
    honoured("routed_bias", kBool, "false", "Bias of the router: balances (deepseek) or is a plain bias (gpt_oss).",
             "model.layers.moe.router.expert_bias")
        .under("num_experts"),
    honoured("routed_bias_update_rate", kFloat, "0.0", "Rate of the balancing bias.",
             "model.layers.moe.router.expert_bias.update_rate")
        .under("num_experts")
        .at_least(0),
    no_effect("defer_small_all_reduces", kBool, "false", "Ring-of-experts sparse_matmul only.", kXla),
    no_effect("log_moe_bias_norms", kBool, "false", "Log the norms of MoE router biases.", kLogOnly),
    no_effect("log_step_diagnostics", kBool, "false", "Adds norms and largest gradients to every log line.", kLogOnly),
    honoured("mlp_bias", kBool, "false", "Biases in the MLP and in the experts.", "mlp.bias"),
    honoured("n_routing_groups", kInt, "-1", "Groups of experts (model names deepseek3, deepseek4).",
             "model.layers.moe.router.groups")
        .under("num_experts"),
    not_built("first_num_hash_layers", kInt, "0", "First layers routed by a hash (deepseek4).", "hash routing"),
    honoured("topk_routing_group", kInt, "-1", "Groups that a token may choose from.",
             "model.layers.moe.router.groups.top_groups")
        .under("num_experts"),
    no_effect("use_batch_split_schedule", kBool, "false",
              "Split batch into micro-batches to hide communications that yields performance benefits.", kXla),
    no_effect("batch_split_factor", kInt, "1", "Factor by which to split the batch into micro-batches.", kXla),
    no_effect("use_lineage", kBool, "false", "Use Lineage DeepSeek-V3 execution.", kXla),
    // ------------------------------------------------------------------------------------------ MoEKernels
    no_effect("megablox", kBool, "true", "Kernel of the ragged products.", kKernel),
    honoured("sparse_matmul", kBool, "true", "No token is dropped: experts take ragged batches.",
             "model.layers.moe.capacity")
        .under("num_experts"),
    no_effect("wi_tile_fwd_batch_seq", kInt, "512", "Forward pass tiling dimension for batch/sequence in GMM for wi.",
              kXla),
    no_effect("wi_tile_fwd_embed_dim", kInt, "1024", "Forward pass tiling dimension for embedding in GMM for wi.",
              kXla),
    no_effect("wi_tile_fwd_mlp_dim", kInt, "1024", "Forward pass tiling dimension for MLP in GMM for wi.", kXla),
    no_effect("eval_wi_tile_fwd_batch_seq", kInt, "512",
              "Evaluation forward pass tiling dimension for batch/sequence in GMM for wi.", kXla),
    no_effect("eval_wi_tile_fwd_embed_dim", kInt, "1024",
              "Evaluation forward pass tiling dimension for embedding in GMM for wi.", kXla),
    no_effect("eval_wi_tile_fwd_mlp_dim", kInt, "1024",
              "Evaluation forward pass tiling dimension for MLP in GMM for wi.", kXla),
    no_effect("wi_tile_dlhs_batch_seq", kInt, "512", "Bwd pass dlhs tiling dimension for batch/sequence in GMM for wi.",
              kXla),
    no_effect("wi_tile_dlhs_embed_dim", kInt, "1024", "Bwd pass dlhs tiling dimension for embedding in GMM for wi.",
              kXla),
    no_effect("wi_tile_dlhs_mlp_dim", kInt, "1024", "Bwd pass dlhs tiling dimension for MLP in GMM for wi.", kXla),
    no_effect("wi_tile_drhs_batch_seq", kInt, "512", "Bwd pass drhs tiling dimension for batch/sequence in GMM for wi.",
              kXla),
    no_effect("wi_tile_drhs_embed_dim", kInt, "1024", "Bwd pass drhs tiling dimension for embedding in GMM for wi.",
              kXla),
    no_effect("wi_tile_drhs_mlp_dim", kInt, "1024", "Bwd pass drhs tiling dimension for MLP in GMM for wi.", kXla),
    no_effect("wo_tile_fwd_batch_seq", kInt, "512", "Forward pass tiling dimension for batch/sequence in GMM for wo.",
              kXla),
    no_effect("wo_tile_fwd_embed_dim", kInt, "1024", "Forward pass tiling dimension for embedding in GMM for wo.",
              kXla),
    no_effect("wo_tile_fwd_mlp_dim", kInt, "1024", "Forward pass tiling dimension for MLP in GMM for wo.", kXla),
    no_effect("eval_wo_tile_fwd_batch_seq", kInt, "512",
              "Evaluation forward pass tiling dimension for batch/sequence in GMM for wo.", kXla),
    no_effect("eval_wo_tile_fwd_embed_dim", kInt, "1024",
              "Evaluation forward pass tiling dimension for embedding in GMM for wo.", kXla),
    no_effect("eval_wo_tile_fwd_mlp_dim", kInt, "1024",
              "Evaluation forward pass tiling dimension for MLP in GMM for wo.", kXla),
    no_effect("wo_tile_dlhs_batch_seq", kInt, "512", "Bwd pass dlhs tiling dimension for batch/sequence in GMM for wo.",
              kXla),
    no_effect("wo_tile_dlhs_embed_dim", kInt, "1024", "Bwd pass dlhs tiling dimension for embedding in GMM for wo.",
              kXla),
    no_effect("wo_tile_dlhs_mlp_dim", kInt, "1024", "Bwd pass dlhs tiling dimension for MLP in GMM for wo.", kXla),
    no_effect("wo_tile_drhs_batch_seq", kInt, "512", "Bwd pass drhs tiling dimension for batch/sequence in GMM for wo.",
              kXla),
    no_effect("wo_tile_drhs_embed_dim", kInt, "1024", "Bwd pass drhs tiling dimension for embedding in GMM for wo.",
              kXla),
    no_effect("wo_tile_drhs_mlp_dim", kInt, "1024", "Bwd pass drhs tiling dimension for MLP in GMM for wo.", kXla),
    no_effect("merge_gating_gmm", kBool, "false", "Whether to merge the two gating gmm kernels into one.", kXla),
    no_effect("num_moe_emb_chunks", kInt, "0",
              "Number of chunks for overlapping token all-gather and GMM computation along embedding dimension.", kXla),
    no_effect("use_tokamax_gmm", kBool, "false", "Use the Tokamax library for GMM kernel implementation.", kXla),
    no_effect("use_gmm_v2", kBool, "false", "Use Tokamax GMM v2 for MoE kernel.", kXla),
    no_effect("use_gmm_v2_heuristic_tiling", kBool, "false",
              "Use the heuristic tiling from Tokamax GMM v2, when use_gmm_v2=true.", kXla),
};

}  // namespace

std::span<const Parameter> maxtext_moe_rows() {
  return kMoeRows;
}

}  // namespace primus::dialect
