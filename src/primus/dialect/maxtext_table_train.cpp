// Table data: the run, optimizer, precision, recomputation. Names, kinds and defaults: MaxText 0.2.5 (base.yml,
// configs/types.py).
#include "primus/dialect/maxtext.h"
#include "primus/dialect/maxtext_reasons.h"
#include "primus/dialect/rows.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kMuon = "read only with opt_type muon";
constexpr std::string_view kDiffusion = "read only by training_objective block_diffusion";
constexpr std::string_view kMlperf = "read only with enable_mllog";
constexpr std::string_view kRunFolder = "the run's folder is workspace/work_group/user_name/exp_name";
constexpr std::string_view kQuantizations =
    "|fp4|int4|int8|intmp|fp8_e5m2|fp8_e4m3|fp8|nanoo_fp8|fp8_nanoo|fp8_gpu|fp8_full|te_no_quant|te_fp8_delayedscaling|"
    "te_fp8_currentscaling|te_mxfp8|te_nvfp4|te_nvfp4_no_rht|serve_fp8_weight";
constexpr std::string_view kRematPolicies =
    "full|none|minimal|minimal_with_context|minimal_flash|minimal_with_quantization|minimal_with_context_and_"
    "quantization|"
    "save_dot_with_context_except_mlp|save_dot_except_mlpwi|save_dot_except_mlp|save_qkv_proj|qkv_proj_offloaded|"
    "custom|"
    "minimal_offloaded|save_out_proj";

constexpr Parameter kTrainRows[] = {
    // --------------------------------------------------------------------------------------------- RunInfo
    refused("base_config", kText, "base.yml", "File that this one builds on.",
            "only MaxText's own base.yml is known here"),
    no_effect("run_name", kMaybeText, "\"\"", "Name of the run.", kRunFolder),
    honoured("model_name", kText, "default",
             "Architecture: a file of MaxText's configs/models; default: the keys here decide.",
             "model model.layers.init model.layers.other_parameters"),
    not_built("use_m3_model", kBool, "false", "Another model library.", "m3 models"),
    honoured("override_model_config", kBool, "false", "override_model may change what model_name decides.", "model"),
    no_effect("override_logical_axis_rules", kBool, "false", "Logical_axis_rules will be overridden instead of merged.",
              kLogOnly),
    no_effect("log_config", kBool, "true", "Prints the final configuration after initialization.", kLogOnly),
    no_effect("debug_sharding", kBool, "false", "Print model weight sharding details.", kLogOnly),
    no_effect("base_output_directory", kMaybeText, "\"\"", "Folder of all outputs.", kRunFolder),
    not_built("enable_mllog", kBool, "false", "Logs in MLPerf's form.", "MLPerf logs"),
    no_effect("mllog_file", kMaybeText, "\"\"", "Optional filename or path for mllog export in base_output_directory.",
              kMlperf),
    no_effect("sharding_strategy", kMaybeText, "null",
              "Experimental sharding strategy used for some inference configs.", kInference)
        .in("experimental"),
    // ---------------------------------------------------------------------------------------------- Primus
    honoured("override_model", kMaybeMap, "null",
             "Keys that win over model_name's; flat; only M_<KEY> variables come after them.", "model"),
    no_effect("pure_nnx_decoder", kBool, "false", "Decoder written in another library.", kXla),
    // ---------------------------------------------------------------------------------------- TrainingLoop
    not_built("training_objective", kText, "causal_lm", "What is predicted.", "block diffusion")
        .in("causal_lm|block_diffusion"),
    no_effect("block_diffusion_mask_id", kInt, "-1",
              "The tokenizer mask-token id required by the block-diffusion training objective.", kDiffusion),
    no_effect("block_diffusion_min_noise", kFloat, "0.001",
              "The minimum corruption probability sampled independently for each block.", kDiffusion),
    no_effect("block_diffusion_logit_alignment", kText, "same_position",
              "How model logits align to clean target-token positions.", kDiffusion)
        .in("same_position|shifted"),
    no_effect("block_diffusion_canvas_policy", kText, "all_masked",
              "Every block is fully maskable or begins with a clean anchor token.", kDiffusion)
        .in("all_masked|seed_and_mask"),
    honoured("steps", kInt, "150001", "Updates; -1: learning_rate_schedule_steps.", "exit.train_steps").at_least(-1),
    no_effect("log_period", kInt, "100", "Steps between flushes of TensorBoard.", "every line is flushed here"),
    not_built("eval_start_step", kInt, "0", "First step that may evaluate.", "a late first evaluation")
        .under("eval_interval"),
    honoured("eval_interval", kInt, "-1", "Steps between evaluations; not positive: never.",
             "evaluation.interval_steps"),
    honoured("eval_steps", kInt, "-1", "Batches of an evaluation.", "evaluation.num_batches"),
    not_built("target_eval_loss", kFloat, "0.0", "Stops at this evaluation loss.", "stopping at a loss"),
    honoured("abort_on_nan_loss", kBool, "true", "Stops when the loss is no number.", "exit.fail_on_nan"),
    honoured("abort_on_inf_loss", kBool, "true", "Stops when the loss is infinite.", "exit.fail_on_nan"),
    no_effect("enable_dropout", kBool, "true", "Switches dropout_rate.", "dropout_rate is 0"),
    not_built("dropout_rate", kFloat, "0.0", "Dropout in attention, MLP and behind each layer.", "MaxText's dropout")
        .at_least(0)
        .at_most(1),
    no_effect("enable_data_shuffling", kBool, "true", "Shuffles the data.",
              "read only by a dataset_type other than synthetic"),
    honoured("data_shuffle_seed", kInt, "0", "Seed of the data's order.", "data.seed").at_least(0),
    honoured("init_weights_seed", kInt, "0", "Seed of the weights.", "seed").at_least(0),
    no_effect("max_inflight_computations", kInt, "2", "Steps that may be queued on the device.", kKernel),
    no_effect("block_state_before_run_start", kBool, "false",
              "Waits for the state and all hosts before the first step.", kXla),
    no_effect("warm_input_reshard_before_run_start", kBool, "false",
              "Compiles the spreading of a batch over devices before the first step.", kXla),
    no_effect("train_shard_in_read", kBool, "false", "Each host reads its own files (c4_mlperf).", kRealData),
    no_effect("train_interleave_cycle_length", kInt, "-1", "Files that each host reads at a time (c4_mlperf).",
              kRealData),
    // ------------------------------------------------------------------------------------------- Optimizer
    honoured("opt_type", kText, "adamw", "Optimizer; adam_pax is adamw with corrected decays.", "optimizer.kind")
        .in("adamw|adam_pax|sgd|muon")
        .not_yet("muon"),
    not_built("skip_step_on_spikes", kBool, "false", "Skips updates whose loss or gradient is far off.",
              "skipping spikes"),
    no_effect("skip_step_interval", kInt, "128", "Steps that judge a spike.", "read only with skip_step_on_spikes"),
    no_effect("skip_step_scaling_factor", kFloat, "6.0", "Deviations that make a spike.",
              "read only with skip_step_on_spikes"),
    honoured("gradient_accumulation_steps", kInt, "1", "Micro-batches per update.", "batch.global_batch_size")
        .at_least(1),
    no_effect("use_tunix_gradient_accumulation", kBool, "false",
              "Use the Tunix implementation for gradient accumulation.", kOtherProgram),
    honoured("gradient_clipping_threshold", kFloat, "1.0", "Largest norm of all gradients; 0: no clipping.",
             "optimizer.clip_grad_norm optimizer.clip_exactly")
        .at_least(0),
    honoured("learning_rate", kFloat, "3e-05", "Highest learning rate.", "lr.max_lr").at_least(0),
    honoured("lr_schedule_type", kText, "cosine", "Shape behind the warm-up.", "lr.decay").in("cosine|wsd"),
    honoured("learning_rate_final_fraction", kFloat, "0.1", "Last rate as a part of the highest.", "lr.min_lr")
        .at_least(0),
    honoured("wsd_decay_steps_fraction", kFloat, "0.1", "Part of the schedule in which wsd falls.", "lr.wsd_samples")
        .at_least(0)
        .at_most(1),
    honoured("wsd_decay_style", kText, "linear", "How wsd falls.", "lr.wsd_decay").in("linear|cosine"),
    honoured("warmup_steps_fraction", kFloat, "0.1", "Part of the schedule that warms up, from 0.", "lr.warmup_samples")
        .at_least(0)
        .at_most(1),
    honoured("learning_rate_schedule_steps", kInt, "-1", "Length of the schedule; -1: steps. Behind it the rate is 0.",
             "lr.decay_samples")
        .at_least(-1),
    not_built("trainable_parameters_mask", kTexts, "[]", "Names of the weights that are trained.",
              "training a part of the weights"),
    // ----------------------------------------------------------------------------------------------- AdamW
    honoured("adam_b1", kFloat, "0.9", "Decay of the first moment.", "optimizer.beta1").at_least(0),
    honoured("adam_b2", kFloat, "0.95", "Decay of the second moment.", "optimizer.beta2").at_least(0),
    honoured("adam_eps", kFloat, "1e-08", "Added behind the root.", "optimizer.eps").at_least(0),
    honoured("adam_eps_root", kFloat, "0.0", "Added under the root.", "optimizer.eps_root").at_least(0),
    honoured("adam_weight_decay", kFloat, "0.1", "Weight decay of every weight, times the learning rate.",
             "weight_decay.end")
        .at_least(0),
    not_built("adamw_mask", kTexts, "[]", "Names whose weights do not decay.", "decay by name"),
    not_built("mu_dtype", kMaybeText, "\"\"", "Type of the first moment; empty: weight_dtype.",
              "moments in another type")
        .also("float32"),
    // ------------------------------------------------------------------------------------------------ Muon
    no_effect("muon_type", kMaybeText, "optax_muon",
              "Type of Muon optimizer: 'optax_muon' (or 'optax') vs 'maxtext_muon' (or 'maxtext').", kMuon),
    no_effect("muon_beta", kFloat, "0.95", "Decay rate for the exponentially weighted average of grads.", kMuon),
    no_effect("muon_weight_decay", kFloat, "0.0", "Strength of the weight decay regularization.", kMuon),
    no_effect("muon_consistent_rms", kMaybeFloat, "null", "If None, apply width scaling to updates.", kMuon),
    no_effect("muon_include_routers", kBool, "true", "Apply Muon updates to MoE router matrices.", kMuon),
    no_effect("muon_use_all_to_all", kBool, "false",
              "Use all-to-all communication during Newton-Schulz iterations in the maxtext_muon optimizer.", kMuon),
    // ------------------------------------------------------------------------------------------- DataTypes
    honoured("dtype", kText, "bfloat16", "Type in which products are computed.", "precision.compute")
        .in("bfloat16|float32|float16|float8_e4m3fn|float8_e5m2")
        .not_yet("float8_e4m3fn|float8_e5m2"),
    honoured("grad_dtype", kText, "float32", "Type in which gradients are summed.", "precision.grad_reduce")
        .in("bfloat16|float32|float16|float8_e4m3fn|float8_e5m2")
        .not_yet("float8_e4m3fn|float8_e5m2"),
    honoured("weight_dtype", kText, "float32", "Type in which weights are kept and updated.", "precision.stored")
        .in("bfloat16|float32|float16|float8_e4m3fn|float8_e5m2")
        .not_yet("float8_e4m3fn|float8_e5m2"),
    no_effect("matmul_precision", kText, "default", "Precision of fp32 products on TPUs.", kKernel),
    not_built("activations_in_float32", kBool, "false", "Activations in fp32.", "activations in another type"),
    no_effect("dtype_mm", kMaybeText, "float32", "Data type for multimodal model's vision encoder.", kMultimodal),
    // ---------------------------------------------------------------------------------------- Quantization
    honoured("quantization", kMaybeText, "\"\"", "Products in fewer bits: fp8, nanoo_fp8, int8, ...",
             "precision.low_precision")
        .in(kQuantizations),
    no_effect("unquantized_modules", kMaybeTexts, "null",
              "List of submodule names or name patterns to keep unquantized even when weight_dtype is FP8.",
              kQuantized),
    no_effect("weight_block_size", kAny, "null", "Block size for block-scaled quantized weights.", kQuantized),
    no_effect("replicate_quant_scale", kBool, "false", "Replicates quantization scale to avoid inefficient XLA fusion.",
              kQuantized),
    no_effect("quant_cfg_path", kMaybeText, "\"\"", "Path to the configuration file for 'intmp' quantization.",
              kQuantized),
    no_effect("quantize_kvcache", kBool, "false", "Quantizes the Key-Value cache.", kInference),
    no_effect("quantize_mtp", kBool, "false", "Quantizes the Multi-Token Prediction (MTP) block.", kQuantized),
    no_effect("quantize_router_proj", kBool, "true",
              "Quantizes the MoE router (gate) projection matmul when quantization is enabled.", kQuantized),
    no_effect("quantize_logits_proj", kBool, "false",
              "Quantizes the output logits (logits_dense) projection when quantization is enabled.", kQuantized),
    no_effect("logits_proj_quant_calibration_method", kMaybeText, "\"\"", "Calibration of the quantized output layer.",
              kQuantized),
    no_effect("kv_quant_axis", kText, "heads_and_dkv", "Axes to quantize over for the KV cache.", kInference)
        .in("|dkv|heads_and_dkv"),
    no_effect("kv_quant_dtype", kText, "int8", "Data type for KV cache quantization.", kInference).in("int8|int4"),
    no_effect("quantization_local_shard_count", kInt, "-1", "Shards the range finding operation for quantization.",
              kQuantized),
    no_effect("use_qwix_quantization", kBool, "false", "Use qwix for quantization.", kQuantized),
    no_effect("use_manual_quantization", kBool, "false", "Quantizes the batch-split schedule by hand.", kQuantized),
    no_effect("weight_quantization_calibration_method", kMaybeText, "absmax",
              "Quantization calibration method used for weights.", kQuantized),
    no_effect("act_quantization_calibration_method", kMaybeText, "absmax",
              "Quantization calibration method used for activations.", kQuantized),
    no_effect("bwd_quantization_calibration_method", kMaybeText, "absmax",
              "Quantization calibration method used for gradients.", kQuantized),
    no_effect("drhs_grad_quantization_calibration_method", kMaybeText, "null",
              "Calibration of gradients in the weight-gradient product.", kQuantized),
    not_built("weight_sparsity_n", kMaybeInt, "null", "Weights that stay of each block.", "sparse weights"),
    not_built("weight_sparsity_m", kMaybeInt, "null", "Size of a block.", "sparse weights"),
    no_effect("weight_sparsity_update_step", kInt, "10", "The step size for updating weight sparsity masks.",
              kQuantized),
    no_effect("weight_sparsity_start_step", kInt, "50", "The first number of steps before updating the sparsity masks.",
              kQuantized),
    no_effect("te_comm_gemm_overlap", kMaybeText, "disabled", "Transformer Engine collective GEMM overlap policy.",
              kQuantized),
    // ------------------------------------------------------------------------------------- RematAndOffload
    honoured("remat_policy", kText, "full", "What backward computes again.", "recompute.kind").in(kRematPolicies),
    no_effect("remat_policy_for_vit", kMaybeText, "minimal", "Remat policy for multimodal model's vision encoder.",
              kMultimodal),
    honoured("decoder_layer_input", kText, "device", "With remat_policy custom: where the input of a layer stays.",
             "recompute.modules")
        .in("remat|device|offload"),
    no_effect("indexer_cutoff_threshold", kText, "remat",
              "Remat policy for the indexer cutoff threshold (shape: [batch, seq_len]).", kIndexer)
        .in("remat|device|offload"),
    honoured("context", kText, "remat", "With remat_policy custom: where the output of the attention core stays.",
             "recompute.modules")
        .in("remat|device|offload"),
    honoured("mlpwi", kText, "remat", "With remat_policy custom: where the fused gate and up stays.",
             "recompute.modules")
        .in("remat|device|offload"),
    honoured("mlpwi_0", kText, "remat", "With remat_policy custom: where the gate stays.", "recompute.modules")
        .in("remat|device|offload"),
    honoured("mlpwi_1", kText, "remat", "With remat_policy custom: where the up stays.", "recompute.modules")
        .in("remat|device|offload"),
    no_effect("moe_x_sorted", kText, "remat",
              "Remat policy for the routed MoE input plus its small routing/metadata bundle.", kXla)
        .in("remat|device|offload"),
    no_effect("moe_routing_maps", kText, "remat", "Remat policy for the MoE routing index maps only.", kXla)
        .in("remat|device|offload"),
    honoured("mlpwo", kText, "remat", "With remat_policy custom: where the output of the MLP stays.",
             "recompute.modules")
        .in("remat|device|offload"),
    honoured("moe_mlpwi_0", kText, "remat", "With remat_policy custom: where the experts' gate stays.",
             "recompute.modules")
        .in("remat|device|offload"),
    honoured("moe_mlpwi_1", kText, "remat", "With remat_policy custom: where the experts' up stays.",
             "recompute.modules")
        .in("remat|device|offload"),
    honoured("moe_mlpwo", kText, "remat", "With remat_policy custom: where the experts' output stays.",
             "recompute.modules")
        .in("remat|device|offload"),
    honoured("query_proj", kText, "remat", "With remat_policy custom: where the queries stays.", "recompute.modules")
        .in("remat|device|offload"),
    honoured("key_proj", kText, "remat", "With remat_policy custom: where the keys stays.", "recompute.modules")
        .in("remat|device|offload"),
    honoured("value_proj", kText, "remat", "With remat_policy custom: where the values stays.", "recompute.modules")
        .in("remat|device|offload"),
    honoured("kv_proj", kText, "remat", "With remat_policy custom: where the keys and values stays.",
             "recompute.modules")
        .in("remat|device|offload"),
    honoured("query_wa_proj", kText, "remat", "With remat_policy custom: where the latent queries stays.",
             "recompute.modules")
        .in("remat|device|offload"),
    honoured("kv_wa_proj", kText, "remat", "With remat_policy custom: where the latent keys and values stays.",
             "recompute.modules")
        .in("remat|device|offload"),
    honoured("qkv_proj", kText, "remat", "With remat_policy custom: where the fused queries, keys and values stays.",
             "recompute.modules")
        .in("remat|device|offload"),
    honoured("out_proj", kText, "remat", "With remat_policy custom: where the output of attention stays.",
             "recompute.modules")
        .in("remat|device|offload"),
    honoured("mla_q", kText, "remat", "With remat_policy custom: where the latent attention's queries stays.",
             "recompute.modules")
        .in("remat|device|offload"),
    honoured("mla_kv", kText, "remat", "With remat_policy custom: where the latent attention's keys and values stays.",
             "recompute.modules")
        .in("remat|device|offload"),
    honoured("attention_out", kText, "remat",
             "With remat_policy custom: where the output of attention before its projection stays.",
             "recompute.modules")
        .in("remat|device|offload"),
    no_effect("engram", kText, "remat", "Remat policy for the engram output.", kEngram).in("remat|device|offload"),
    no_effect("optimizer_memory_host_offload", kBool, "false", "Optimizer state in host memory.", kMemory),
    no_effect("parameter_memory_host_offload", kBool, "false", "Weights in host memory.", kMemory),
};

}  // namespace

std::span<const Parameter> maxtext_train_rows() {
  return kTrainRows;
}

}  // namespace primus::dialect
