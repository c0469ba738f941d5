// Made by tests/optional/make_megatron_flags.py from megatron-core 0.19.2; do not edit.
// "dest" or "dest=--flag"; a flag that is not given is --dest with dashes, of kOff --no-dest.
#include "primus/dialect/export_megatron_flags.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kOn =
    "account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split "
    "accumulate_allreduce_grads_in_fp32 add_qkv_bias adlr_autoresume apply_query_key_layer_scaling "
    "apply_residual_connection_post_layernorm apply_wd_to_qk_layernorm async_save attention_output_gate "
    "attention_softmax_in_fp32 auto_detect_ckpt_format bf16 biencoder_shared_query_context_model calc_ft_timeouts "
    "calculate_per_token_loss check_for_large_grads check_for_spiky_loss checkpoint_activations "
    "ckpt_assume_constant_structure ckpt_convert_update_legacy_dist_opt_format ckpt_fully_parallel_load "
    "cross_entropy_loss_fusion data_parallel_random_init ddp_average_in_collective "
    "ddp_pad_buckets_for_high_nccl_busbw decrease_batch_size_if_needed defer_embedding_wgrad_compute "
    "delay_wgrad_compute deterministic_mode dino_norm_last_layer disable_straggler_on_startup "
    "dist_ckpt_optim_fully_reshardable dist_ckpt_save_pre_mcore_014 distribute_saved_activations "
    "enable_cuda_graph enable_experimental enable_ft_package eod_mask_loss exit_on_missing_checkpoint "
    "exit_signal_handler external_cuda_graph fim_data finetune first_last_layers_bf16 flash_decode fp16 "
    "fp16_lm_cross_entropy fp32_residual_connection fp8_param_gather full_validation grad_reduce_in_bf16 "
    "group_query_attention grpo_filter_groups_with_same_reward inference_dynamic_batching inference_rng_tracker "
    "init_method_xavier_uniform init_model_with_meta_device inprocess_restart is_hybrid_model "
    "layernorm_zero_centered_gamma=--apply-layernorm-1p lazy_mpu_init load_main_params_from_ckpt "
    "log_memory_to_tensorboard log_num_zeros_in_grad log_params_norm log_progress log_straggler log_throughput "
    "log_timers_to_tensorboard log_validation_ppl_to_tensorboard log_world_size_to_tensorboard manual_gc "
    "mock_data moe_apply_probs_on_input moe_enable_deepep moe_grouped_gemm moe_layer_recompute "
    "moe_pad_expert_input_to_capacity moe_per_layer_logging moe_permute_fusion moe_router_enable_expert_bias "
    "moe_router_force_load_balancing moe_router_fusion moe_router_padding_for_fp8 "
    "moe_router_padding_for_quantization moe_router_pre_softmax moe_shared_expert_gate moe_shared_expert_overlap "
    "moe_use_upcycling multi_latent_attention multiple_validation_sets no_load_optim no_load_rng "
    "no_persist_layer_norm no_save_optim no_save_rng nvtx_ranges one_logger_async openai_gelu "
    "optimizer_cpu_offload output_bert_embeddings overlap_cpu_optimizer_d2h_h2d overlap_grad_reduce "
    "overlap_moe_expert_parallel_comm overlap_param_gather overlap_param_gather_with_optimizer_step "
    "override_opt_param_scheduler perform_rl_step profile pytorch_profiler_collect_callstack "
    "pytorch_profiler_collect_chakra pytorch_profiler_collect_shapes qk_l2_norm qk_layernorm quick_geglu "
    "recompute_activations record_memory_history record_shapes replication reset_attention_mask "
    "reset_position_ids retriever_score_scaling rl_inference_logprobs_is_correction "
    "rl_offload_optimizer_during_inference rl_partial_rollouts rotary_interleaved run_workload_inspector_server "
    "sequence_parallel skip_train squared_relu swiglu te_rng_tracker test_mode tp_comm_overlap "
    "tp_comm_overlap_rs_dgrad trust_remote_code untie_embeddings_and_output_weights use_checkpoint_args "
    "use_checkpoint_opt_param_scheduler use_cpu_initialization use_distributed_optimizer use_flash_attn "
    "use_megatron_fsdp use_mp_args_from_checkpoint_args use_one_sent_docs use_persistent_ckpt_worker "
    "use_precision_aware_optimizer use_pytorch_profiler use_ring_exchange_p2p use_rope_scaling "
    "use_rotary_position_embeddings use_sharp use_te_activation_func use_torch_fsdp2 "
    "use_torch_optimizer_for_cpu_offload use_tp_pp_dp_mapping vision_pretraining";

constexpr std::string_view kOff =
    "add_bias_linear=--disable-bias-linear add_position_embedding=--no-position-embedding align_grad_reduce "
    "align_param_gather apply_rope_fusion=--no-rope-fusion barrier_with_L1_time=--no-barrier-with-level-1-timing "
    "bert_binary_head=--bert-no-binary-head bias_dropout_fusion bias_gelu_fusion bias_swiglu_fusion "
    "check_for_nan_in_loss_and_grad ckpt_fully_parallel_save clone_scatter_output_in_embedding "
    "create_attention_mask_in_dataloader data_sharding enable_one_logger=--no-one-logger fp8_wgrad "
    "gradient_accumulation_fusion gradient_reduce_div_fusion log_loss_scale_to_tensorboard manual_gc_eval "
    "masked_softmax_fusion mmap_bin_files muon_split_qkv=--muon-no-split-qkv "
    "overlap_p2p_comm=--no-overlap-p2p-communication perform_initialization=--no-initialization pin_cpu_grads "
    "pin_cpu_params tp_comm_bulk_dgrad tp_comm_bulk_wgrad tp_comm_overlap_ag tp_comm_overlap_rs tp_comm_split_ag "
    "tp_comm_split_rs use_tokenizer_model_from_checkpoint_args";

constexpr std::string_view kOne =
    "activation_func_clamp_value adam_beta1 adam_beta2 adam_eps adlr_autoresume_interval app_tag_run_name "
    "app_tag_run_version attention_backend attention_dropout batch_size bert_embedder_type bert_load "
    "biencoder_projection_dim block_data_path check_weight_hash_across_dp_replicas_interval ckpt_convert_format "
    "ckpt_convert_save ckpt_format ckpt_step classes_fraction clip_grad context_parallel_size "
    "cross_entropy_fusion_impl cuda_graph_warmup_steps data_args_path data_cache_path "
    "data_parallel_sharding_strategy data_per_class_fraction dataloader_type ddp_bucket_size ddp_num_buckets "
    "decoder_first_pipeline_num_layers decoder_last_pipeline_num_layers decoder_num_layers decoder_seq_length "
    "decoupled_lr decoupled_min_lr dino_bottleneck_size dino_freeze_last_layer dino_head_hidden_size "
    "dino_local_crops_number dino_local_img_size dino_teacher_temp dino_warmup_teacher_temp "
    "dino_warmup_teacher_temp_epochs dist_ckpt_strictness distributed_backend distributed_timeout_minutes "
    "embedding_init_method_std embedding_path empty_unused_memory_level encoder_num_layers encoder_seq_length "
    "end_weight_decay error_injection_rate error_injection_type eval_interval eval_iters evidence_data_path "
    "exit_duration_in_mins exit_interval exp_avg_dtype exp_avg_sq_dtype experimental_attention_variant "
    "expert_model_parallel_size expert_tensor_parallel_size ffn_hidden_size fp4=--fp4-format fp4_recipe "
    "fp8=--fp8-format fp8_amax_compute_algo fp8_amax_history_len fp8_interval fp8_margin fp8_recipe "
    "global_batch_size glu_linear_offset grpo_clamp_eps_lower grpo_clamp_eps_upper grpo_entropy_term_weight "
    "grpo_group_size grpo_iterations grpo_kl_beta grpo_prompts_per_step head_lr_mult "
    "heterogeneous_layers_config_encoded_json heterogeneous_layers_config_path hidden_dropout hidden_size "
    "hybrid_override_pattern hysteresis ict_head_size ict_load img_h img_w indexer_batch_size "
    "indexer_log_interval inference_batch_times_seqlen_threshold inference_dynamic_batching_buffer_size_gb "
    "inference_max_requests inference_max_seq_length init_method_std initial_loss_scale iter_per_epoch "
    "kv_channels kv_lora_rank langrl_env_config layernorm_epsilon=--norm-epsilon linear_attention_freq "
    "linear_conv_kernel_dim linear_key_head_dim linear_num_key_heads linear_num_value_heads linear_value_head_dim "
    "load local_rank log_interval logging_level loss_scale loss_scale_window lr lr_decay_iters lr_decay_samples "
    "lr_decay_style lr_warmup_fraction lr_warmup_init lr_warmup_iters lr_warmup_samples lr_wsd_decay_iters "
    "lr_wsd_decay_samples lr_wsd_decay_style main_grads_dtype main_params_dtype make_vocab_size_divisible_by "
    "mamba_head_dim mamba_num_groups mamba_num_heads mamba_state_dim manual_gc_interval mask_factor mask_prob "
    "mask_type max_position_embeddings max_tokens_to_oom memory_snapshot_path merge_file micro_batch_size "
    "microbatch_group_size_per_vp_stage=--microbatch-group-size-per-virtual-pipeline-stage "
    "mid_level_dataset_surplus min_loss_scale min_lr model_parallel_size moe_deepep_num_sms "
    "moe_expert_capacity_factor moe_ffn_hidden_size moe_flex_dispatcher_backend moe_hybridep_num_sms "
    "moe_input_jitter_eps moe_latent_size moe_layer_freq moe_router_bias_update_rate moe_router_dtype "
    "moe_router_group_topk moe_router_num_groups moe_router_score_function moe_router_topk "
    "moe_router_topk_scaling_factor moe_shared_expert_intermediate_size moe_token_dispatcher_type "
    "moe_token_drop_policy moe_z_loss_coeff mscale mscale_all_dim mtp_loss_scaling_factor mtp_num_layers "
    "muon_extra_scale_factor muon_fp32_matmul_prec muon_momentum muon_num_ns_steps muon_scale_mode muon_tp_mode "
    "nccl_communicator_config_path no_rope_freq non_persistent_ckpt_type non_persistent_global_ckpt_dir "
    "non_persistent_local_ckpt_algo non_persistent_local_ckpt_dir non_persistent_save_interval normalization "
    "num_attention_heads num_channels num_classes num_dataset_builder_threads num_distributed_optimizer_instances "
    "num_experts num_layers num_layers_at_end_in_bf16 num_layers_at_start_in_bf16 "
    "num_layers_per_virtual_pipeline_stage num_query_groups num_virtual_stages_per_pipeline_rank num_workers "
    "one_logger_project one_logger_run_name onnx_safe optimizer optimizer_offload_fraction padded_vocab_size "
    "patch_dim per_split_data_args_path pipeline_model_parallel_comm_backend pipeline_model_parallel_layout "
    "pipeline_model_parallel_size position_embedding_type pretrained_checkpoint profile_step_end "
    "profile_step_start q_lora_rank qk_head_dim qk_pos_emb_head_dim query_in_block_prob recompute_granularity "
    "recompute_method recompute_num_layers replication_factor replication_jump rerun_mode "
    "result_rejected_tracker_filename rl_importance_sampling_truncation_coef rl_prompts_per_eval "
    "rope_scaling_factor rope_type rotary_base rotary_percent rotary_scaling_factor "
    "rotary_seq_len_interpolation_factor sample_rate save save_interval save_retain_interval seed seq_length "
    "sgd_momentum sharp_enabled_group short_seq_prob softmax_type split start_weight_decay straggler_ctrlr_port "
    "straggler_minmax_count suggested_communication_unit_size swin_backbone_type tensor_model_parallel_size "
    "tensorboard_dir tensorboard_log_interval tensorboard_queue_size tiktoken_num_special_tokens tiktoken_pattern "
    "timing_log_level timing_log_option titles_data_path tokenizer_model tokenizer_type tp_comm_bootstrap_backend "
    "tp_comm_overlap_cfg train_iters train_samples train_sync_interval transformer_impl v_head_dim "
    "vision_backbone_type vision_pretraining_type vocab_extra_ids vocab_file vocab_size wandb_entity "
    "wandb_exp_name wandb_project wandb_save_dir warmup weight_decay weight_decay_incr_style wgrad_deferral_limit "
    "window_attn_skip_freq window_size yaml_cfg";

constexpr std::string_view kMany =
    "cp_comm_type data_path hierarchical_context_parallel_sizes high_priority_stream_groups iterations_to_skip "
    "moe_aux_loss_coeff moe_router_load_balancing_type profile_ranks rampup_batch_size recompute_modules "
    "retriever_report_topk_accuracies spec test_data_path train_data_path valid_data_path";

// Their default moved since the pinned revision: written even where the value is the old default.
constexpr std::string_view kAlways =
    "data_parallel_sharding_strategy fp8_amax_compute_algo fp8_amax_history_len linear_conv_kernel_dim "
    "linear_key_head_dim linear_num_key_heads linear_num_value_heads linear_value_head_dim local_rank "
    "moe_deepep_num_sms moe_hybridep_num_sms replication_factor suggested_communication_unit_size";

// Numbers in our table, whole numbers for the parser.
constexpr std::string_view kWhole =
    "distributed_timeout_minutes exit_duration_in_mins rotary_base rotary_seq_len_interpolation_factor warmup";

// The only words that the parser takes.
constexpr std::string_view kChoices =
    "attention_backend=flash|fused|unfused|local|auto bert_embedder_type=megatron|huggingface "
    "ckpt_convert_format=torch|torch_dist ckpt_format=torch|torch_dist|torch_dcp|fsdp_dtensor "
    "cross_entropy_fusion_impl=native|te "
    "data_parallel_sharding_strategy=no_shard|optim|optim_grads|optim_grads_params "
    "dataloader_type=single|cyclic|external "
    "dist_ckpt_strictness=assume_ok_unexpected|log_unexpected|log_all|raise_unexpected|raise_all|return_unexpected|"
    "return_all|ignore_all "
    "distributed_backend=nccl|gloo empty_unused_memory_level=0|1|2 "
    "error_injection_type=correct_result|transient_error|persistent_error exp_avg_dtype=fp32|fp16|bf16|fp8 "
    "exp_avg_sq_dtype=fp32|fp16|bf16|fp8 experimental_attention_variant=gated_delta_net|dsa fp4=e2m1 "
    "fp4_recipe=nvfp4|custom fp8=e4m3|hybrid fp8_amax_compute_algo=most_recent|max "
    "fp8_recipe=tensorwise|delayed|mxfp8|blockwise|custom "
    "lr_decay_style=constant|linear|cosine|inverse-square-root|WSD "
    "lr_wsd_decay_style=exponential|linear|cosine|minus_sqrt main_grads_dtype=fp32|bf16 "
    "main_params_dtype=fp32|fp16 mask_type=random|row moe_flex_dispatcher_backend=deepep|hybridep|ncclep "
    "moe_router_dtype=fp32|fp64 "
    "moe_router_load_balancing_type=aux_loss|seq_aux_loss|global_aux_loss|sinkhorn|quantile_balancing|none "
    "moe_router_score_function=softmax|sigmoid|sqrtsoftplus moe_token_dispatcher_type=allgather|alltoall|flex "
    "moe_token_drop_policy=probs|position muon_fp32_matmul_prec=low|medium|high "
    "muon_scale_mode=spectral|unit_rms_norm|shape_scaling muon_tp_mode=blockwise|duplicated|distributed "
    "non_persistent_ckpt_type=global|local|in_memory non_persistent_local_ckpt_algo=fully_parallel|atomic "
    "normalization=LayerNorm|RMSNorm optimizer=adam|sgd|muon|dist_muon|lion|soap|adaptive_muon "
    "pipeline_model_parallel_comm_backend=nccl|ucc "
    "position_embedding_type=learned_absolute|rope|yarn|mrope|relative|none recompute_granularity=full|selective "
    "recompute_method=uniform|block rerun_mode=disabled|validate_results|report_stats rope_type=rope|yarn "
    "sharp_enabled_group=dp|dp_replica softmax_type=vanilla|off-by-one|learnable swin_backbone_type=tiny|base|h3 "
    "tiktoken_pattern=v1|v2 timing_log_level=0|1|2 timing_log_option=max|minmax|all "
    "tokenizer_type=BertWordPieceLowerCase|BertWordPieceCase|GPT2BPETokenizer|SentencePieceTokenizer|"
    "GPTSentencePieceTokenizer|HuggingFaceTokenizer|Llama2Tokenizer|TikTokenizer|MultimodalTokenizer|NullTokenizer|"
    "NullMultimodalTokenizer|SFTTokenizer "
    "tp_comm_bootstrap_backend=nccl|mpi|gloo transformer_impl=local|transformer_engine|inference_optimized "
    "vision_backbone_type=vit|mit|swin vision_pretraining_type=classify|inpaint|dino "
    "weight_decay_incr_style=constant|linear|cosine";

// Of the pinned revision; the package's parser has them no more.
constexpr std::string_view kOldOn = "fp4_param=--fp4-param-gather log_batch_size_to_tensorboard muon_use_nesterov";

constexpr std::string_view kOldOff =
    "enable_gloo_process_groups=--disable-gloo-process-groups scatter_gather_tensors_in_pipeline";

constexpr std::string_view kOldOne = "hybrid_attention_ratio hybrid_mlp_ratio";

constexpr std::string_view kOldMany = "cuda_graph_scope";

}  // namespace

std::vector<MegatronFlagList> megatron_flag_lists() {
  return {{MegatronFlag::Form::On, kOn, true},       {MegatronFlag::Form::Off, kOff, true},
          {MegatronFlag::Form::One, kOne, true},     {MegatronFlag::Form::Many, kMany, true},
          {MegatronFlag::Form::On, kOldOn, false},   {MegatronFlag::Form::Off, kOldOff, false},
          {MegatronFlag::Form::One, kOldOne, false}, {MegatronFlag::Form::Many, kOldMany, false}};
}

std::string_view megatron_always_written() {
  return kAlways;
}

std::string_view megatron_whole_numbers() {
  return kWhole;
}

std::string_view megatron_choices() {
  return kChoices;
}

}  // namespace primus::dialect
