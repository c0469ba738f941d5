// Table data: precision, loss, recomputation, low-precision formats.
#include "primus/dialect/megatron.h"
#include "primus/dialect/rows.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kFp8 = "fp8";
constexpr std::string_view kFp4 = "fp4";

constexpr Parameter kPrecisionRows[] = {
    // ------------------------------------------------------------------------------------------------ precision, loss
    honoured("bf16", kBool, "false", "Computes in bfloat16, with fp32 main weights.", "precision.compute"),
    honoured("fp16", kBool, "false", "Computes in float16, with fp32 main weights and loss scaling.",
             "precision.compute"),
    honoured("grad_reduce_in_bf16", kBool, "false", "Gradients are summed in bfloat16.", "precision.grad_reduce"),
    honoured("accumulate_allreduce_grads_in_fp32", kBool, "false", "Gradients are summed in fp32 (with bf16: always).",
             "precision.grad_reduce"),
    honoured("loss_scale", kMaybeFloat, "null", "Fixed loss scale for fp16; null: dynamic.",
             "precision.loss_scale.constant")
        .at_least(0),
    honoured("initial_loss_scale", kFloat, "4294967296", "First dynamic loss scale.", "precision.loss_scale.initial")
        .at_least(1),
    honoured("min_loss_scale", kFloat, "1.0", "Smallest dynamic loss scale.", "precision.loss_scale.minimum")
        .at_least(0),
    honoured("loss_scale_window", kFloat, "1000", "Good steps before the scale doubles.",
             "precision.loss_scale.window_steps")
        .at_least(1)
        .in_unit("steps"),
    honoured("hysteresis", kInt, "2", "Bad steps before the scale halves.", "precision.loss_scale.hysteresis")
        .at_least(1),
    honoured("calculate_per_token_loss", kBool, "false",
             "The loss is the mean over all tokens of the global batch, not over micro-batch means.", "loss"),
    not_built("fp16_lm_cross_entropy", kBool, "false", "Cross entropy in half precision.",
              "cross entropy in half precision"),
    no_effect("cross_entropy_loss_fusion", kBool, "false", "One kernel for the cross entropy.", kKernel),
    no_effect("cross_entropy_fusion_impl", kText, "native", "Which one.", kKernel).in("native|te"),
    no_effect("gradient_accumulation_fusion", kBool, "true", "Weight gradients are added by the product itself.",
              kKernel),
    honoured("bias_gelu_fusion", kBool, "true",
             "One kernel for bias and GELU, which uses the tanh form; without it, or without biases, the erf form.",
             "mlp.activation"),
    no_effect("bias_swiglu_fusion", kBool, "true", "One kernel for bias and SwiGLU.", kKernel),
    no_effect("bias_dropout_fusion", kBool, "true", "One kernel for bias, dropout and residual.", kKernel),
    // ------------------------------------------------------------------------------------------------ recomputation
    honoured("recompute_granularity", kMaybeText, "null", "What is run again in backward instead of kept.",
             "recompute.kind")
        .in("full|selective"),
    honoured("recompute_activations", kBool, "false", "The same as recompute_granularity: selective.",
             "recompute.kind"),
    honoured("recompute_method", kMaybeText, "null", "Which layers with full: uniform chunks, or the first of a stage.",
             "recompute.layer_ids")
        .in("uniform|block"),
    honoured("recompute_num_layers", kMaybeInt, "null", "Layers per chunk, or number of first layers.",
             "recompute.layer_ids recompute.layers_per_block")
        .at_least(0),
    honoured("recompute_modules", kMaybeTexts, "null", "What with selective; null: core_attn.", "recompute.modules")
        .in("core_attn|mlp|layernorm|moe|moe_act|shared_experts|mla_up_proj"),
    honoured("recompute_layer_ids", kMaybeInts, "null", "Exactly these layers (from 0) with full.",
             "recompute.layer_ids"),
    not_built("distribute_saved_activations", kBool, "false", "Saved inputs cut over tensor-parallel ranks.",
              "tensor parallelism"),
    refused("checkpoint_activations", kBool, "false", "Old switch of recomputation.",
            "upstream refuses it since its argument was removed")
        .use("recompute_granularity"),
    no_effect("cpu_offload", kBool, "false", "Activations in host memory.", kMemory),
    // ------------------------------------------------------------------------------------------------ fp8, fp4
    described("fp8", kMaybeText, "null", "Products in fp8.", "precision.low_precision", kFp8).in("e4m3|hybrid"),
    no_effect("fp8_format", kMaybeText, "null", "Looks like the switch of fp8.",
              "upstream reads it nowhere: the switch is fp8")
        .use("fp8"),
    not_built("fp8_recipe", kText, "delayed", "Scaling of fp8.", kFp8)
        .in("delayed|tensorwise|mxfp8|blockwise|custom")
        .under("fp8"),
    not_built("fp8_margin", kInt, "0", "fp8: margin.", kFp8).under("fp8"),
    no_effect("fp8_interval", kInt, "1", "fp8: steps between scales.", kUnread),
    not_built("fp8_amax_history_len", kInt, "1024", "fp8: history.", kFp8).under("fp8"),
    not_built("fp8_amax_compute_algo", kText, "max", "fp8: scale from the history.", kFp8)
        .in("most_recent|max")
        .under("fp8"),
    not_built("fp8_wgrad", kBool, "true", "fp8: weight gradients too.", kFp8).under("fp8"),
    not_built("fp8_param_gather", kBool, "false", "fp8: weights gathered in fp8.", kFp8).under("fp8"),
    not_built("no_fp8_weight_transpose_cache", kBool, "false", "fp8: transposed weights made again.", kFp8)
        .under("fp8"),
    not_built("keep_fp8_transpose_cache_when_using_custom_fsdp", kBool, "false", "fp8: transposed weights kept.", kFp8)
        .under("fp8"),
    no_effect("disable_delayed_scaling_patches", kBool, "false", "fp8: a patch of Primus.", "read with fp8 only"),
    described("enable_turbo_attention_float8", kBool, "false", "Attention in fp8.", "precision.low_precision", kFp8)
        .requires_key("enable_primus_turbo"),
    not_built("first_last_layers_bf16", kBool, "false", "First and last layers stay bf16.", kFp8).under("fp8"),
    not_built("num_layers_at_start_in_bf16", kInt, "1", "How many first layers.", kFp8).under("fp8"),
    not_built("num_layers_at_end_in_bf16", kInt, "1", "How many last layers.", kFp8).under("fp8"),
    described("fp4", kMaybeText, "null", "Products in fp4.", "precision.low_precision", kFp4).in("e2m1"),
    no_effect("fp4_format", kMaybeText, "null", "Looks like the switch of fp4.",
              "upstream reads it nowhere: the switch is fp4")
        .use("fp4"),
    not_built("fp4_recipe", kText, "nvfp4", "Scaling of fp4.", kFp4).in("nvfp4|mxfp4").under("fp4"),
    not_built("fp4_param", kBool, "false", "fp4: weights gathered in fp4.", kFp4).under("fp4"),
    not_built("mxfp4_gradient_stochastic_rounding", kBool, "false", "fp4: gradients rounded at random.", kFp4)
        .under("fp4"),
    no_effect("te_rng_tracker", kBool, "false", "Random streams of Transformer Engine.",
              "random streams never depend on the kernel library here"),
    no_effect("inference_rng_tracker", kBool, "false", "Random streams of inference.", kInference),
    no_effect("enable_experimental", kBool, "false", "Allows experimental kernels.", kKernel),
};

}  // namespace

std::span<const Parameter> megatron_precision_rows() {
  return kPrecisionRows;
}

}  // namespace primus::dialect
