// Table data: job and model, and the arguments of the flavors.
#include "primus/dialect/torchtitan.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kShown = "config show and the run folder hold the resolved configuration";
constexpr std::string_view kUnreadArgument = "upstream's model reads it nowhere";

constexpr Parameter kModelRows[] = {
    // ------------------------------------------------------------------------------------------------ job
    honoured("job.dump_folder", kText, "./outputs",
             "Folder of the outputs: ./outputs is the run's own folder, another relative path a folder below it.",
             "identity.run_folder"),
    no_effect("job.description", kText, "default job", "A sentence about the run.", kLogOnly),
    no_effect("job.config_file", kMaybeText, "null", "TOML file that upstream reads.",
              "the experiment file takes its place"),
    no_effect("job.print_config", kBool, "false", "Prints the configuration at the start.", kShown),
    no_effect("job.save_config_file", kMaybeText, "null", "Writes the configuration.", kShown),
    not_built("job.custom_config_module", kText, "\"\"", "Python module that extends the configuration.",
              "keys declared in Python")
        .also("primus.backends.torchtitan.primus_turbo_extensions.config_extension"),
    // ------------------------------------------------------------------------------------------------ which model
    honoured("model.name", kText, "llama3", "Family of the model; llama3_ft is llama3 with TorchFT.", "model.layers")
        .in("llama3|llama3_ft|llama4|deepseek_v3|qwen3|gpt_oss")
        .not_yet("llama3_ft"),
    honoured("model.flavor", kText, "debugmodel", "Named sizes of the family.",
             "model.layers model.layers.moe model.layers.init model.layers.attention.latent "
             "model.layers.attention.qk_norm model.layers.attention.window_keys model.layers.attention.chunk_size "
             "model.layers.attention.sink model.layers.attention.rope model.layers.attention.rope.yarn "
             "model.layers.mlp.clamp"),
    honoured("model.hf_assets_path", kText, "./tests/assets/tokenizer",
             "Folder with the tokenizer files of a Hugging Face model.", "tokenizer.model tokenizer.type"),
    no_effect("model.tokenizer_path", kMaybeText, "null", "Old name of hf_assets_path.",
              "upstream reads hf_assets_path instead")
        .use("model.hf_assets_path"),
    honoured("model.converters", kTexts, "[]",
             "What is done to the model's layers: the quantize ones ask for products in 8 bits.",
             "precision.low_precision")
        .in("primus_turbo|quantize.linear.float8|quantize.grouped_mm.float8|quantize.linear.mx|quantize.grouped_mm.mx"),
    no_effect("model.print_after_conversion", kBool, "false", "Prints the model.", kLogOnly),
};

// Null means the flavor's own value; where upstream knows None (n_kv_heads, the groups, ...), a written null is None.
constexpr Parameter kArgumentRows[] = {
    honoured("model.dim", kMaybeInt, "null", "Width of the residual stream.", "model.hidden_size").at_least(1),
    honoured("model.n_layers", kMaybeInt, "null", "Transformer layers.", "model.layers").at_least(1).at_most(10000),
    honoured("model.n_heads", kMaybeInt, "null", "Query heads.", "attention.num_heads attention.head_dim").at_least(1),
    honoured("model.n_kv_heads", kMaybeInt, "null", "Key/value heads; None: one per head.", "attention.num_kv_heads")
        .at_least(1),
    honoured("model.head_dim", kMaybeInt, "null", "Width of a head (qwen3, gpt_oss).", "attention.head_dim")
        .at_least(2),
    honoured("model.vocab_size", kMaybeInt, "null", "Rows of the embedding; never padded.",
             "model.vocab_size model.padded_vocab_size")
        .at_least(1),
    honoured("model.norm_eps", kMaybeFloat, "null", "Added to the mean square inside the norms.", "norm.eps")
        .at_least(0),
    honoured("model.rope_theta", kMaybeFloat, "null", "Base of the rotary frequencies.", "rope.base").at_least(1),
    honoured("model.attn_type", kMaybeText, "null",
             "Attention of upstream; with flex and varlen the mask type and llama4's blocks are read.",
             "data.reset_attention_mask")
        .in("sdpa|flex|varlen"),
    honoured("model.attn_mask_type", kMaybeText, "null",
             "block_causal: no token sees another document (flex and varlen only).", "data.reset_attention_mask")
        .in("causal|block_causal"),
    honoured("model.depth_init", kMaybeBool, "null",
             "First weights shrink with a layer's place; off: with the number of layers.", "layer.init"),
    honoured("model.multiple_of", kMaybeInt, "null", "The llamas' MLP width is rounded up to a multiple of it.",
             "mlp.ffn_size")
        .at_least(1),
    honoured("model.ffn_dim_multiplier", kMaybeFloat, "null", "Multiplies the llamas' MLP width before rounding.",
             "mlp.ffn_size")
        .at_least(0),
    honoured("model.rope_scaling_args.scaling_factor", kMaybeFloat, "null", "Low frequencies are divided by it.",
             "rope.llama3.factor")
        .at_least(0),
    honoured("model.rope_scaling_args.low_freq_factor", kMaybeFloat, "null", "End of the divided band.",
             "rope.llama3.low_freq_factor")
        .at_least(0),
    honoured("model.rope_scaling_args.high_freq_factor", kMaybeFloat, "null", "Start of the kept band.",
             "rope.llama3.high_freq_factor")
        .at_least(0),
    honoured("model.rope_scaling_args.original_max_position_embeddings", kMaybeInt, "null",
             "Length that the model was first trained with.", "rope.llama3.original_max_positions")
        .at_least(1)
        .in_unit("tokens"),
    honoured("model.every_n_layers_nope", kMaybeInt, "null",
             "llama4: layers 0, N, 2N, ... have no positions; None: all have.", "attention.rope"),
    honoured("model.fixed_attn_block_size", kMaybeInt, "null",
             "llama4 with flex: the layers with positions see their own block only.", "attention.chunk_size")
        .at_least(1)
        .in_unit("tokens"),
    honoured("model.interleave_moe_layer_step", kMaybeInt, "null",
             "llama4: layer i has experts when i + 1 divides by it.", "layer.moe")
        .at_least(1),
    honoured("model.auto_scale_hidden_dim", kMaybeBool, "null",
             "llama4: an expert's width is the MLP's over the experts that a token passes.", "moe.expert.ffn_size"),
    honoured("model.hidden_dim", kMaybeInt, "null", "qwen3: width of the MLP.", "mlp.ffn_size").at_least(1),
    honoured("model.qk_norm", kMaybeBool, "null", "qwen3: norms on queries and keys, per head.", "attention.qk_norm"),
    honoured("model.enable_weight_tying", kMaybeBool, "null", "qwen3: the head is the embedding.",
             "model.tied_embeddings"),
    honoured("model.moe_enabled", kMaybeBool, "null", "qwen3: all layers have experts.", "layer.moe"),
    honoured("model.moe_inter_dim", kMaybeInt, "null", "Width of an expert.", "moe.expert.ffn_size").at_least(1),
    honoured("model.inter_dim", kMaybeInt, "null", "deepseek_v3: width of the dense MLP.", "mlp.ffn_size").at_least(1),
    honoured("model.n_dense_layers", kMaybeInt, "null", "deepseek_v3: first layers without experts.", "layer.moe")
        .at_least(0),
    honoured("model.q_lora_rank", kMaybeInt, "null", "deepseek_v3: width of the queries' latent; 0: none.",
             "attention.latent.q_lora_rank")
        .at_least(0),
    honoured("model.kv_lora_rank", kMaybeInt, "null", "deepseek_v3: width of the latent of keys and values.",
             "attention.latent.kv_lora_rank")
        .at_least(1),
    honoured("model.qk_nope_head_dim", kMaybeInt, "null", "deepseek_v3: part of a head without positions.",
             "attention.latent.nope_head_dim")
        .at_least(0),
    honoured("model.qk_rope_head_dim", kMaybeInt, "null", "deepseek_v3: part of a head with positions.",
             "attention.latent.rope_head_dim model.layers.attention.latent.rope_head_dim")
        .at_least(2),
    honoured("model.v_head_dim", kMaybeInt, "null", "deepseek_v3: width of a head's values.",
             "attention.latent.v_head_dim")
        .at_least(1),
    honoured("model.original_seq_len", kMaybeInt, "null",
             "YaRN: first training length; deepseek_v3 scales only sequences longer than it.",
             "rope.yarn.original_max_positions")
        .at_least(1)
        .in_unit("tokens"),
    honoured("model.rope_factor", kMaybeFloat, "null", "YaRN: factor of the longer context; gpt_oss: 1 is off.",
             "rope.yarn.factor")
        .at_least(1),
    honoured("model.beta_fast", kMaybeFloat, "null", "YaRN of deepseek_v3: turns above which a frequency is kept.",
             "rope.yarn.beta_fast")
        .at_least(0),
    honoured("model.beta_slow", kMaybeFloat, "null", "YaRN of deepseek_v3: turns below which it is divided.",
             "rope.yarn.beta_slow")
        .at_least(0),
    honoured("model.mscale", kMaybeFloat, "null",
             "deepseek_v3 with YaRN: attention scores times (0.1 mscale ln(factor) + 1) squared.",
             "attention.softmax_scale"),
    honoured("model.swiglu_limit", kMaybeFloat, "null", "gpt_oss: clamp of gate and up projection.", "mlp.clamp")
        .at_least(0),
    honoured("model.sliding_window_size", kMaybeInt, "null", "gpt_oss: keys that a query of an even layer sees.",
             "attention.window_keys")
        .at_least(1)
        .in_unit("tokens"),
    honoured("model.ntk_alpha", kMaybeFloat, "null", "YaRN of gpt_oss: turns below which a frequency is divided.",
             "rope.yarn.beta_slow")
        .at_least(0),
    honoured("model.ntk_beta", kMaybeFloat, "null", "YaRN of gpt_oss: turns above which it is kept.",
             "rope.yarn.beta_fast")
        .at_least(0),
    // ------------------------------------------------------------------------------------------------ experts
    honoured("model.moe_args.num_experts", kMaybeInt, "null", "Experts of a layer.", "moe.num_experts").at_least(1),
    honoured("model.moe_args.num_shared_experts", kMaybeInt, "null", "Experts that every token passes.",
             "moe.shared_ffn_size")
        .at_least(0),
    honoured("model.moe_args.top_k", kMaybeInt, "null", "Experts that the router chooses for a token.",
             "moe.top_k model.layers.moe.top_k")
        .at_least(1),
    honoured("model.moe_args.score_func", kMaybeText, "null", "From logits to scores; softmax is over all experts.",
             "router.score")
        .in("softmax|sigmoid"),
    honoured("model.moe_args.route_norm", kMaybeBool, "null", "Chosen scores are divided by their sum.",
             "router.renormalise"),
    honoured("model.moe_args.route_scale", kMaybeFloat, "null", "Multiplies the chosen scores.", "router.scale"),
    honoured("model.moe_args.gate_bias", kMaybeBool, "null", "The router is a linear layer with a bias.",
             "router.bias"),
    honoured("model.moe_args.score_before_experts", kMaybeBool, "null",
             "The score multiplies an expert's input, not its output.", "router.weight_on_input"),
    honoured("model.moe_args.num_expert_groups", kMaybeInt, "null",
             "Equal groups of experts, rated by their two best; None: no groups.",
             "router.groups.num_groups model.layers.moe.router.groups")
        .at_least(1),
    honoured("model.moe_args.num_limited_groups", kMaybeInt, "null", "Groups whose experts can be chosen.",
             "router.groups.top_groups model.layers.moe.router.groups")
        .at_least(1),
    honoured("model.moe_args.load_balance_coeff", kMaybeFloat, "null",
             "Step of the bias that balances the experts' load, centred; None: no bias. qwen3's is never moved.",
             "router.expert_bias.update_rate")
        .at_least(1e-30),
    no_effect("model.moe_args.use_grouped_mm", kMaybeBool, "null", "All experts in one grouped product.", kKernel),
    // ------------------------------------------------------------------------------------------------ unread
    no_effect("model.max_seq_len", kMaybeInt, "null", "Longest sequence.",
              "upstream replaces it by training.seq_len at the start"),
    no_effect("model.max_batch_size", kMaybeInt, "null", "Largest batch.", kUnreadArgument),
    no_effect("model.eos_id", kMaybeInt, "null", "Id that ends a document.", kUnreadArgument),
    no_effect("model.dtype", kMaybeText, "null", "gpt_oss: type of the products.", kUnreadArgument),
    no_effect("model.expert_parallel_comm_backend", kMaybeText, "null", "deepseek_v3: exchange of tokens.",
              "upstream takes parallelism.expert_parallel_comm_backend instead")
        .use("parallelism.expert_parallel_comm_backend"),
};

}  // namespace

std::span<const Parameter> titan_model_rows() {
  return kModelRows;
}
std::span<const Parameter> titan_argument_rows() {
  return kArgumentRows;
}

}  // namespace primus::dialect
