// Table data: keys that GPT pre-training never reads, CUDA graphs, reinforcement learning.
#include "primus/dialect/megatron.h"
#include "primus/dialect/rows.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kRl = "reinforcement learning";
constexpr std::string_view kStep = "perform_rl_step";

constexpr Parameter kOtherRows[] = {
    // ------------------------------------------------------------------------------------------------ BERT, T5 and
    // retrieval
    no_effect("bert_binary_head", kBool, "true", "Retrieval and BERT models.", kOtherProgram),
    no_effect("bert_load", kAny, "null", "Retrieval and BERT models.", kOtherProgram),
    no_effect("bert_embedder_type", kText, "megatron", "Retrieval and BERT models.", kOtherProgram),
    no_effect("output_bert_embeddings", kBool, "false", "Retrieval and BERT models.", kOtherProgram),
    no_effect("mask_prob", kFloat, "0.15", "Retrieval and BERT models.", kOtherProgram),
    no_effect("mask_type", kText, "random", "Retrieval and BERT models.", kOtherProgram),
    no_effect("mask_factor", kFloat, "1.0", "Retrieval and BERT models.", kOtherProgram),
    no_effect("short_seq_prob", kFloat, "0.1", "Retrieval and BERT models.", kOtherProgram),
    no_effect("retriever_seq_length", kInt, "256", "Retrieval and BERT models.", kOtherProgram),
    no_effect("ict_head_size", kAny, "null", "Retrieval and BERT models.", kOtherProgram),
    no_effect("ict_load", kAny, "null", "Retrieval and BERT models.", kOtherProgram),
    no_effect("biencoder_projection_dim", kInt, "0", "Retrieval and BERT models.", kOtherProgram),
    no_effect("biencoder_shared_query_context_model", kBool, "false", "Retrieval and BERT models.", kOtherProgram),
    no_effect("titles_data_path", kAny, "null", "Retrieval and BERT models.", kOtherProgram),
    no_effect("query_in_block_prob", kFloat, "0.1", "Retrieval and BERT models.", kOtherProgram),
    no_effect("use_one_sent_docs", kBool, "false", "Retrieval and BERT models.", kOtherProgram),
    no_effect("evidence_data_path", kAny, "null", "Retrieval and BERT models.", kOtherProgram),
    no_effect("retriever_report_topk_accuracies", kInts, "[]", "Retrieval and BERT models.", kOtherProgram),
    no_effect("retriever_score_scaling", kBool, "false", "Retrieval and BERT models.", kOtherProgram),
    no_effect("block_data_path", kAny, "null", "Retrieval and BERT models.", kOtherProgram),
    no_effect("embedding_path", kAny, "null", "Retrieval and BERT models.", kOtherProgram),
    no_effect("indexer_batch_size", kInt, "128", "Retrieval and BERT models.", kOtherProgram),
    no_effect("indexer_log_interval", kInt, "1000", "Retrieval and BERT models.", kOtherProgram),
    no_effect("retro_project_dir", kAny, "null", "Retrieval and BERT models.", kOtherProgram),
    no_effect("retro_add_retriever", kBool, "false", "Retrieval and BERT models.", kOtherProgram),
    no_effect("retro_cyclic_train_iters", kAny, "null", "Retrieval and BERT models.", kOtherProgram),
    no_effect("retro_encoder_layers", kInt, "2", "Retrieval and BERT models.", kOtherProgram),
    no_effect("retro_encoder_hidden_dropout", kFloat, "0.1", "Retrieval and BERT models.", kOtherProgram),
    no_effect("retro_encoder_attention_dropout", kFloat, "0.1", "Retrieval and BERT models.", kOtherProgram),
    no_effect("retro_num_neighbors", kInt, "2", "Retrieval and BERT models.", kOtherProgram),
    no_effect("retro_num_retrieved_chunks", kInt, "2", "Retrieval and BERT models.", kOtherProgram),
    no_effect("retro_attention_gate", kInt, "1", "Retrieval and BERT models.", kOtherProgram),
    no_effect("retro_verify_neighbor_count", kBool, "true", "Retrieval and BERT models.", kOtherProgram),
    // ------------------------------------------------------------------------------------------------ images
    no_effect("vision_pretraining", kBool, "false", "Image models.", kOtherProgram),
    no_effect("vision_pretraining_type", kText, "classify", "Image models.", kOtherProgram),
    no_effect("vision_backbone_type", kText, "vit", "Image models.", kOtherProgram),
    no_effect("swin_backbone_type", kText, "tiny", "Image models.", kOtherProgram),
    no_effect("num_classes", kInt, "1000", "Image models.", kOtherProgram),
    no_effect("img_h", kInt, "224", "Image models.", kOtherProgram),
    no_effect("img_w", kInt, "224", "Image models.", kOtherProgram),
    no_effect("num_channels", kInt, "3", "Image models.", kOtherProgram),
    no_effect("patch_dim", kInt, "16", "Image models.", kOtherProgram),
    no_effect("classes_fraction", kFloat, "1.0", "Image models.", kOtherProgram),
    no_effect("data_per_class_fraction", kFloat, "1.0", "Image models.", kOtherProgram),
    no_effect("iter_per_epoch", kInt, "1250", "Image models.", kOtherProgram),
    no_effect("dino_local_img_size", kInt, "96", "Image models.", kOtherProgram),
    no_effect("dino_local_crops_number", kInt, "10", "Image models.", kOtherProgram),
    no_effect("dino_head_hidden_size", kInt, "2048", "Image models.", kOtherProgram),
    no_effect("dino_bottleneck_size", kInt, "256", "Image models.", kOtherProgram),
    no_effect("dino_freeze_last_layer", kInt, "1", "Image models.", kOtherProgram),
    no_effect("dino_norm_last_layer", kBool, "false", "Image models.", kOtherProgram),
    no_effect("dino_warmup_teacher_temp", kFloat, "0.04", "Image models.", kOtherProgram),
    no_effect("dino_teacher_temp", kFloat, "0.07", "Image models.", kOtherProgram),
    no_effect("dino_warmup_teacher_temp_epochs", kInt, "30", "Image models.", kOtherProgram),
    // ------------------------------------------------------------------------------------------------ inference
    no_effect("inference_batch_times_seqlen_threshold", kInt, "-1", "Inference.", kInference),
    no_effect("inference_dynamic_batching", kBool, "false", "Inference.", kInference),
    no_effect("inference_dynamic_batching_buffer_size_gb", kFloat, "40.0", "Inference.", kInference),
    no_effect("inference_dynamic_batching_buffer_guaranteed_fraction", kFloat, "0.2", "Inference.", kInference),
    no_effect("inference_dynamic_batching_buffer_overflow_factor", kAny, "null", "Inference.", kInference),
    no_effect("inference_dynamic_batching_max_requests_override", kAny, "null", "Inference.", kInference),
    no_effect("inference_dynamic_batching_max_tokens_override", kAny, "null", "Inference.", kInference),
    no_effect("inference_max_requests", kInt, "8", "Inference.", kInference),
    no_effect("inference_max_seq_length", kInt, "2560", "Inference.", kInference),
    no_effect("max_tokens_to_oom", kInt, "12000", "Inference.", kInference),
    no_effect("flash_decode", kBool, "false", "Inference.", kInference),
    // ------------------------------------------------------------------------------------------------ CUDA graphs
    no_effect("enable_cuda_graph", kBool, "false", "CUDA graphs.", kKernel),
    no_effect("cuda_graph_warmup_steps", kInt, "3", "CUDA graphs.", kKernel),
    no_effect("external_cuda_graph", kBool, "false", "CUDA graphs.", kKernel),
    no_effect("cuda_graph_scope", kAny, "full", "CUDA graphs.", kKernel),
    no_effect("torch_compile", kMaybeMap, "null", "torch.compile of the model.", kKernel),
    // ------------------------------------------------------------------------------------------------ reinforcement
    // learning
    not_built("perform_rl_step", kBool, "false", "Reinforcement learning.", kRl),
    not_built("rl_prompts_per_eval", kInt, "32", "Reinforcement learning.", kRl).under(kStep),
    not_built("grpo_prompts_per_step", kInt, "32", "Reinforcement learning.", kRl).under(kStep),
    not_built("grpo_group_size", kInt, "2", "Reinforcement learning.", kRl).under(kStep),
    not_built("grpo_iterations", kInt, "2", "Reinforcement learning.", kRl).under(kStep),
    not_built("grpo_clamp_eps_lower", kFloat, "0.01", "Reinforcement learning.", kRl).under(kStep),
    not_built("grpo_clamp_eps_upper", kFloat, "0.01", "Reinforcement learning.", kRl).under(kStep),
    not_built("grpo_kl_beta", kFloat, "0.001", "Reinforcement learning.", kRl).under(kStep),
    not_built("grpo_entropy_term_weight", kFloat, "0.0", "Reinforcement learning.", kRl).under(kStep),
    not_built("grpo_filter_groups_with_same_reward", kBool, "false", "Reinforcement learning.", kRl).under(kStep),
    not_built("grpo_default_temperature", kFloat, "1.0", "Reinforcement learning.", kRl).under(kStep),
    not_built("grpo_default_top_p", kInt, "0", "Reinforcement learning.", kRl).under(kStep),
    not_built("langrl_inference_server_type", kText, "inplace_megatron", "Reinforcement learning.", kRl).under(kStep),
    not_built("langrl_inference_server_conversation_template", kAny, "null", "Reinforcement learning.", kRl)
        .under(kStep),
    not_built("langrl_env_config", kAny, "null", "Reinforcement learning.", kRl).under(kStep),
    not_built("rl_offload_optimizer_during_inference", kBool, "false", "Reinforcement learning.", kRl).under(kStep),
    not_built("rl_offload_kv_cache_during_training", kBool, "false", "Reinforcement learning.", kRl).under(kStep),
    not_built("rl_remove_kv_cache_during_training", kBool, "false", "Reinforcement learning.", kRl).under(kStep),
    not_built("rl_reset_cuda_graphs", kBool, "false", "Reinforcement learning.", kRl).under(kStep),
    not_built("rl_partial_rollouts", kBool, "false", "Reinforcement learning.", kRl).under(kStep),
    not_built("rl_inference_logprobs_is_correction", kBool, "false", "Reinforcement learning.", kRl).under(kStep),
    not_built("rl_importance_sampling_truncation_coef", kAny, "null", "Reinforcement learning.", kRl).under(kStep),
    not_built("rl_calculate_intra_group_similarity", kBool, "false", "Reinforcement learning.", kRl).under(kStep),
    // ------------------------------------------------------------------------------------------------ plain data
    no_effect("bases", kAny, "null", "Looks like extends.", "only extends is read: nothing is inherited by bases")
        .use("extends"),
};

}  // namespace

std::span<const Parameter> megatron_other_rows() {
  return kOtherRows;
}

}  // namespace primus::dialect
