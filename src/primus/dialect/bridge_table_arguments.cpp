// Table data: the flat keys, which the recipe takes as keyword arguments. Null: the recipe's own value.
#include "primus/dialect/bridge.h"
#include "primus/dialect/bridge_reasons.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kFolder = "the run folder of this program is used: workspace/work_group/user_name/exp_name";
constexpr std::string_view kWandb = "Weights & Biases";

constexpr Parameter kArgumentsRows[] = {
    // ------------------------------------------------------------------------------------------------ which recipe
    honoured("recipe", kMaybeText, "null", "Module of the recipe: qwen.qwen3.", "model.layers"),
    honoured("flavor", kMaybeText, "null", "Function of that module: qwen3_8b_finetune_config.", "model.layers"),
    honoured("hf_path", kMaybeText, "null", "Hugging Face model whose architecture, tokenizer and weights are taken.",
             "model.layers tokenizer.model finetune.pretrained_folder"),
    no_effect("dir", kMaybeText, "null", "Folder for checkpoints and logs.", kFolder),
    no_effect("name", kMaybeText, "null", "Name of the run below that folder.", kFolder),
    no_effect("load_weights", kMaybeBool, "null", "Start pre-training from the Hugging Face weights.",
              "the recipes' callers leave it off")
        .also("false"),
    // ------------------------------------------------------------------------------------------------ data
    honoured("mock", kMaybeBool, "null", "Made-up data; a path of data switches it off.", "data.mock"),
    honoured("mock_data", kMaybeBool, "null", "Another name of mock.", "data.mock"),
    honoured("data_paths", kMaybeTexts, "null", "Data to cut: [p1, p2, ...] or [w1, p1, w2, p2, ...].", "data.blend"),
    honoured("train_data_path", kMaybeTexts, "null", "Training data.", "data.train"),
    honoured("valid_data_path", kMaybeTexts, "null", "Validation data.", "data.valid"),
    honoured("test_data_path", kMaybeTexts, "null", "Test data.", "data.test"),
    not_built("data_args_path", kMaybeText, "null", "File that lists the data.", "lists of data in a file"),
    not_built("per_split_data_args_path", kMaybeText, "null", "The same per split.", "lists of data in a file"),
    no_effect("dataset_name", kMaybeText, "null", "Fine-tuning data.", "no recipe has such an argument")
        .use("dataset.dataset_name"),
    described("dataset_type", kMaybeText, "null", "Fine-tuning data of the MLPerf recipe.", "finetune.dataset", kSft)
        .in("squad|mlperf_dataset"),
    described("packed_sequence", kMaybeBool, "null", "Several samples in one sequence.", "finetune.packed_sequences",
              kSft)
        .also("false"),
    described("packed_train_data_path", kMaybeText, "null", "Packed training data.", "finetune.dataset", kSft),
    not_built("packed_val_data_path", kMaybeText, "null", "Packed validation data.", kSft),
    not_built("packed_metadata_path", kMaybeText, "null", "Description of the packed data.", kSft),
    honoured("use_null_tokenizer", kMaybeBool, "null", "Data of numbers instead of a tokenizer's.", "tokenizer.type"),
    honoured("tokenizer_model", kMaybeText, "null", "Tokenizer of the mamba recipes.", "tokenizer.model"),
    // ------------------------------------------------------------------------------------------------ layout
    honoured("tensor_model_parallel_size", kMaybeInt, "null", "Ranks that share a layer.", "parallel.tensor")
        .at_least(1),
    honoured("pipeline_model_parallel_size", kMaybeInt, "null", "Stages of layers.", "parallel.pipeline").at_least(1),
    honoured("virtual_pipeline_model_parallel_size", kMaybeInt, "null", "Stages per pipeline rank.",
             "parallel.stages_per_rank")
        .at_least(1),
    honoured("context_parallel_size", kMaybeInt, "null", "Ranks that share a sequence.", "parallel.context")
        .at_least(1),
    honoured("expert_model_parallel_size", kMaybeInt, "null", "Ranks that share the experts.", "parallel.expert")
        .at_least(1),
    honoured("expert_tensor_parallel_size", kMaybeInt, "null", "Ranks that share one expert.", "parallel.expert_tensor")
        .at_least(1),
    no_effect("sequence_parallel", kMaybeBool, "null", "Norms and dropouts cut along the sequence.",
              "the numbers do not change, and it needs tensor parallelism")
        .also("false"),
    described("use_megatron_fsdp", kMaybeBool, "null", "Weights sharded over the data-parallel ranks.",
              "parallel.weight_shards", "sharded weights")
        .also("false"),
    no_effect("pipeline_dtype", kMaybeText, "null", "Precision of what goes from stage to stage.",
              "the precision of the run decides"),
    not_built("account_for_embedding_in_pipeline_split", kMaybeBool, "null", "The embedding counts as a layer.", kPp)
        .also("false"),
    not_built("account_for_loss_in_pipeline_split", kMaybeBool, "null", "The head counts as a layer.", kPp)
        .also("false"),
    no_effect("comm_overlap_config", kAny, "null", "Overlap of communication and products.", kComm),
    no_effect("moe_flex_dispatcher_backend", kMaybeText, "null", "Library of the expert dispatcher.", kComm),
    honoured("enable_recompute", kMaybeBool, "null", "All layers are run again in backward.", "recompute.kind"),
    honoured("recompute_granularity", kMaybeText, "null", "What is run again in backward.", "recompute.kind")
        .in("full|selective"),
    honoured("recompute_method", kMaybeText, "null", "Which layers, with full.", "recompute.layer_ids")
        .in("uniform|block"),
    honoured("recompute_num_layers", kMaybeInt, "null", "How many layers, with full.", "recompute.layer_ids")
        .at_least(0),
    no_effect("attention_backend", kMaybeText, "null", "Attention kernel.", kKernel),
    no_effect("cross_entropy_loss_fusion", kMaybeBool, "null", "Loss in one kernel.", kKernel),
    no_effect("use_distributed_optimizer", kMaybeBool, "null", "Optimizer state sharded over the ranks.",
              "no recipe has such an argument, and the numbers do not change"),
    // ------------------------------------------------------------------------------------------------ length and batch
    honoured("train_iters", kMaybeInt, "null", "Steps.", "exit.train_steps").at_least(1).in_unit("steps"),
    honoured("global_batch_size", kMaybeInt, "null", "Sequences of a step.", "batch.global_batch_size")
        .at_least(1)
        .in_unit("sequences"),
    honoured("micro_batch_size", kMaybeInt, "null", "Sequences at once on a rank.", "batch.micro_batch_size")
        .at_least(1)
        .in_unit("sequences"),
    honoured("seq_length", kMaybeInt, "null", "Length of a sequence.", "data.sequence_length model.max_positions")
        .at_least(1)
        .in_unit("tokens"),
    honoured("seed", kMaybeInt, "null", "Seed of weights, dropout and data.", "seed data.seed").at_least(0),
    // ------------------------------------------------------------------------------------------------ optimizer
    honoured("lr", kMaybeFloat, "null", "Highest learning rate of pre-training recipes.", "lr.max_lr").at_least(0),
    honoured("finetune_lr", kMaybeFloat, "null", "Highest learning rate of fine-tuning recipes.", "lr.max_lr")
        .at_least(0),
    honoured("min_lr", kMaybeFloat, "null", "Lowest learning rate.", "lr.min_lr").at_least(0),
    honoured("lr_warmup_iters", kMaybeInt, "null", "Warm-up.", "lr.warmup_samples").at_least(0).in_unit("steps"),
    honoured("lr_decay_iters", kMaybeInt, "null", "Length of the schedule; null: train_iters.", "lr.decay_samples")
        .at_least(1)
        .in_unit("steps"),
    honoured("adam_beta1", kMaybeFloat, "null", "Adam's first decay.", "optimizer.beta1").at_least(0).at_most(1),
    honoured("adam_beta2", kMaybeFloat, "null", "Adam's second decay.", "optimizer.beta2").at_least(0).at_most(1),
    honoured("adam_eps", kMaybeFloat, "null", "Adam's epsilon.", "optimizer.eps").at_least(0),
    honoured("weight_decay", kMaybeFloat, "null", "Weight decay of the MLPerf recipe.",
             "weight_decay.start weight_decay.end")
        .at_least(0),
    honoured("clip_grad", kMaybeFloat, "null", "Most that the norm of the gradients may be.",
             "optimizer.clip_grad_norm")
        .at_least(0),
    honoured("precision_config", kMaybeText, "null", "Named precision; hyphens are underscores.",
             "precision.compute precision.grad_reduce precision.low_precision"),
    no_effect("mixed_precision_recipe", kMaybeText, "null", "First argument of one recipe of low precision.",
              "no recipe of the table has such an argument")
        .use("precision_config"),
    honoured("check_for_nan_in_loss", kMaybeBool, "null", "A loss that is no number ends the run.", "exit.fail_on_nan"),
    // ------------------------------------------------------------------------------------------------ fine-tuning
    described("pretrained_checkpoint", kMaybeText, "null", "Checkpoint that fine-tuning starts from.",
              "finetune.pretrained_folder", kSft),
    described("peft", kAny, "null", "Adapters: lora, dora, or none for all weights.", "finetune.adapter", kSft)
        .also("none"),
    no_effect("peft_dim", kMaybeInt, "null", "Rank of the adapters.", "no recipe has such an argument")
        .use("peft: lora, and take the recipe's own rank"),
    no_effect("peft_alpha", kMaybeInt, "null", "Strength of the adapters.", "no recipe has such an argument")
        .use("peft: lora, and take the recipe's own strength"),
    no_effect("te_fused_lora_include_modules", kMaybeTexts, "null", "Adapters in one kernel.", kKernel),
    no_effect("te_fused_lora_exclude_modules", kMaybeTexts, "null", "Adapters not in one kernel.", kKernel),
    // ------------------------------------------------------------------------------------------------ every so often
    honoured("eval_interval", kMaybeInt, "null", "Steps between evaluations.", "evaluation.interval_steps")
        .at_least(0)
        .in_unit("steps"),
    honoured("eval_iters", kMaybeInt, "null", "Global batches of an evaluation; 0: never.", "evaluation.num_batches")
        .at_least(0),
    honoured("save_interval", kMaybeInt, "null", "Steps between checkpoints.", "checkpoint.interval_steps")
        .at_least(0)
        .in_unit("steps"),
    honoured("skip_save", kMaybeBool, "null", "No checkpoints.", "checkpoint.save"),
    honoured("log_interval", kMaybeInt, "null", "Steps between log lines.", "logging.interval_steps")
        .at_least(1)
        .in_unit("steps"),
    not_built("wandb_project", kMaybeText, "null", "Project.", kWandb),
    not_built("wandb_entity", kMaybeText, "null", "Team.", kWandb).under("wandb_project"),
    not_built("wandb_exp_name", kMaybeText, "null", "Run name.", kWandb).under("wandb_project"),
};

constexpr Parameter kPrimus[] = {
    no_effect("stage", kMaybeText, "null", "Kind of training: pretrain or sft.",
              "the recipe decides: its name says pretrain or finetune"),
    no_effect("enable_primus_turbo", kBool, "false", "AMD's kernel library.", kKernel),
    no_effect("use_turbo_attention", kBool, "false", "Attention kernel.", kKernel).requires_key("enable_primus_turbo"),
    no_effect("use_turbo_gemm", kBool, "false", "Product kernel.", kKernel).requires_key("enable_primus_turbo"),
    no_effect("use_turbo_grouped_gemm", kBool, "false", "Grouped product of experts.", kKernel)
        .requires_key("enable_primus_turbo"),
    no_effect("use_turbo_rms_norm", kBool, "false", "Norm kernel.", kKernel).requires_key("enable_primus_turbo"),
    not_built("enable_turbo_attention_float8", kBool, "false", "Attention in fp8.", "fp8")
        .requires_key("enable_primus_turbo"),
    no_effect("use_turbo_deepep", kBool, "false", "The fused dispatcher of experts.", kComm)
        .requires_key("enable_primus_turbo"),
    no_effect("turbo_deepep_num_cu", kInt, "32", "Compute units of that dispatcher.", kComm).at_least(1),
    no_effect("turbo_deepep_use_comm_stream", kBool, "false", "Dispatch beside the shared expert.", kComm),
    no_effect("turbo_sync_free_moe_stage", kInt, "0", "How far an MoE layer avoids synchronising.", kComm),
    not_built("use_turbo_fused_act_with_probs", kBool, "false", "Activation and scores in one kernel.", kMoe)
        .requires_key("enable_primus_turbo"),
    no_effect("moe_use_fused_router_with_aux_score", kBool, "false", "Choice and balancing score in one kernel.",
              kKernel),
};

}  // namespace

std::span<const Parameter> bridge_argument_rows() {
  return kArgumentsRows;
}

std::span<const Parameter> bridge_primus_rows() {
  return kPrimus;
}

}  // namespace primus::dialect
