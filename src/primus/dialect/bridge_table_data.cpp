// Table data: the sections dataset, tokenizer, checkpoint, logger, profiling.
#include "primus/dialect/bridge.h"
#include "primus/dialect/bridge_reasons.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kTokenizer = "this program's tokenizers need no such help";
constexpr std::string_view kLoader = "data are read in the process itself";
constexpr std::string_view kFormat = "checkpoints of this program have one format";
constexpr std::string_view kOwnFolder =
    "the run folder of this program is used: workspace/work_group/user_name/exp_name";
constexpr std::string_view kProfiler = "the profiler";

constexpr Parameter kData[] = {
    // ------------------------------------------------------------------------------------------------ both kinds
    honoured("dataset.seq_length", kMaybeInt, "null", "Length of a sequence; equal to the model's.",
             "data.sequence_length")
        .at_least(1)
        .in_unit("tokens"),
    honoured("dataset.dataloader_type", kMaybeText, "null",
             "Order of the data: single, cyclic, or batch for fine-tuning.", "data.order")
        .in("single|cyclic|batch|external")
        .not_yet("external"),
    no_effect("dataset.num_workers", kInt, "8", "Loader processes.", kLoader),
    honoured("dataset.data_sharding", kBool, "true", "With cyclic, each rank owns a part of a pass.",
             "data.shard_per_rank"),
    no_effect("dataset.pin_memory", kBool, "true", "Host memory for copies.", kMemory),
    no_effect("dataset.persistent_workers", kBool, "false", "Loader processes are kept.", kLoader),
    no_effect("dataset.trust_remote_code", kMaybeBool, "null", "Run code of a tokenizer's folder.", kNull),
    // ------------------------------------------------------------------------------------------------ pre-training
    honoured("dataset.random_seed", kInt, "1234", "Seed of the order of pre-training data.", "data.seed").at_least(0),
    honoured("dataset.split", kMaybeText, "null",
             "Parts for training, validation and test; a recipe writes \"9999,8,2\", or \"1,1,1\" for made-up data.",
             "data.split"),
    honoured("dataset.reset_position_ids", kBool, "false", "Positions restart behind each document.",
             "data.reset_position_ids"),
    honoured("dataset.reset_attention_mask", kBool, "false", "No attention across documents.",
             "data.reset_attention_mask"),
    honoured("dataset.eod_mask_loss", kBool, "false", "No loss on the token that ends a document.",
             "data.mask_loss_at_eod"),
    honoured("dataset.drop_last_partial_validation_sequence", kBool, "true", "Validation drops a last short sequence.",
             "data.drop_last_partial_validation_sample"),
    no_effect("dataset.path_to_cache", kMaybeText, "null", "Folder for indices.", kNull),
    no_effect("dataset.num_dataset_builder_threads", kInt, "1", "Threads that build indices.", kLoader),
    no_effect("dataset.mmap_bin_files", kBool, "true", "Data files are mapped.", kLoader),
    no_effect("dataset.mid_level_dataset_surplus", kFloat, "0.005", "Samples built beyond what is needed.",
              "the same samples are read")
        .at_least(0),
    no_effect("dataset.create_attention_mask", kBool, "true", "Masks come from the loader.", kKernel),
    no_effect("dataset.skip_getting_attention_mask_from_dataset", kBool, "true", "The model makes the mask.", kKernel),
    no_effect("dataset.full_validation", kMaybeBool, "null", "Validate on all data.", kNull),
    no_effect("dataset.mock", kBool, "false", "Made-up data, as one shipped preset writes it.",
              "no field of upstream's fine-tuning data, so that Primus skips it")
        .use("mock: true at the top, with a pretrain recipe"),
    // ------------------------------------------------------------------------------------------------ fine-tuning
    described("dataset.dataset_name", kMaybeText, "null", "Hugging Face data.", "finetune.dataset", kSft)
        .also("squad|rajpurkar/squad"),
    no_effect("dataset.dataset_subset", kMaybeText, "null", "Part of the data.", kNull),
    no_effect("dataset.dataset_root", kMaybeText, "null", "Folder of the data.", kNull),
    honoured("dataset.seed", kInt, "1234", "Seed of fine-tuning data.", "data.seed").at_least(0),
    not_built("dataset.do_validation", kBool, "true", "Make validation data.", kSft),
    not_built("dataset.do_test", kBool, "true", "Make test data.", kSft).also("false"),
    not_built("dataset.val_proportion", kMaybeFloat, "0.05", "Part for validation; the recipes write 0.1.", kSft)
        .also("0.1"),
    not_built("dataset.split_val_from_train", kBool, "true", "Validation data are cut from training data.", kSft),
    no_effect("dataset.delete_raw", kBool, "false", "Delete what was downloaded.", "nothing is downloaded here"),
    no_effect("dataset.rewrite", kBool, "true", "Make the files again.", "nothing is downloaded here"),
    no_effect("dataset.max_train_samples", kMaybeInt, "null", "Most samples of a pass.", kNull),
    no_effect("dataset.memmap_workers", kInt, "1", "Threads that map files.", kLoader),
    not_built("dataset.dataset_kwargs", kMaybeMap, "null", "Further arguments of the data.", kSft),
    not_built("dataset.packed_sequence_specs", kMaybeMap, "null", "How samples are packed.", kSft),
    // ------------------------------------------------------------------------------------------------ tokenizer
    honoured("tokenizer.tokenizer_type", kMaybeText, "null", "Kind of tokenizer.", "tokenizer.type")
        .in("NullTokenizer|HuggingFaceTokenizer|GPT2BPETokenizer|SentencePieceTokenizer|GPTSentencePieceTokenizer|"
            "Llama2Tokenizer|TikTokenizer|BertWordPieceLowerCase|BertWordPieceCase|MultimodalTokenizer")
        .not_yet("BertWordPieceLowerCase|BertWordPieceCase|MultimodalTokenizer"),
    honoured("tokenizer.tokenizer_model", kMaybeText, "null", "Its folder, file or Hugging Face id.",
             "tokenizer.model"),
    honoured("tokenizer.vocab_size", kMaybeInt, "null", "Ids of NullTokenizer, the one that ends documents included.",
             "tokenizer.vocab_size")
        .at_least(2),
    no_effect("tokenizer.vocab_file", kMaybeText, "null", "Vocabulary of an old tokenizer.", kNull),
    no_effect("tokenizer.merge_file", kMaybeText, "null", "Merges of an old tokenizer.", kNull),
    no_effect("tokenizer.vocab_extra_ids", kInt, "0", "Ids for masked text.", kOtherProgram),
    no_effect("tokenizer.legacy_tokenizer", kMaybeBool, "false", "Upstream's old code.", kTokenizer),
    no_effect("tokenizer.metadata_path", kMaybeText, "null", "Description of a tokenizer.", kTokenizer),
    no_effect("tokenizer.special_tokens", kMaybeTexts, "null", "More special tokens.", kNull),
    no_effect("tokenizer.chat_template", kMaybeText, "null", "Template of conversations.", kNull),
    no_effect("tokenizer.tiktoken_pattern", kMaybeText, "null", "Pattern of TikTokenizer.", kNull),
    no_effect("tokenizer.tiktoken_num_special_tokens", kInt, "1000", "Its special tokens.",
              "no recipe has that tokenizer"),
    no_effect("tokenizer.tiktoken_special_tokens", kMaybeTexts, "null", "Their names.", kNull),
    no_effect("tokenizer.hf_tokenizer_kwargs", kMaybeMap, "null", "Arguments of a Hugging Face tokenizer.", kTokenizer),
    no_effect("tokenizer.sp_tokenizer_kwargs", kMaybeMap, "null", "Arguments of SentencePiece.", kTokenizer),
};

constexpr Parameter kCheckpoint[] = {
    // ------------------------------------------------------------------------------------------------ checkpoint
    honoured("checkpoint.save", kMaybeText, "null", "Folder to save in; what is said switches saving on.",
             "checkpoint.save"),
    honoured("checkpoint.save_interval", kMaybeInt, "null", "Steps between checkpoints.", "checkpoint.interval_steps")
        .at_least(0)
        .in_unit("steps"),
    honoured("checkpoint.most_recent_k", kMaybeInt, "-1", "Checkpoints that are kept; -1: all.",
             "checkpoint.keep_last"),
    no_effect("checkpoint.save_optim", kBool, "true", "Save the optimizer.", "a checkpoint here always resumes"),
    no_effect("checkpoint.save_rng", kBool, "true", "Save random states.", "a seed and a step are all of it here"),
    honoured("checkpoint.load", kMaybeText, "null", "Folder to continue from; the recipes write the one of save.",
             "checkpoint.resume_by_default"),
    honoured("checkpoint.load_optim", kBool, "true", "Load the optimizer.", "checkpoint.load_optimizer"),
    no_effect("checkpoint.load_rng", kBool, "true", "Load random states.", "a seed and a step are all of it here"),
    no_effect("checkpoint.load_main_params_from_ckpt", kBool, "false", "Load fp32 weights.",
              "always loaded where a checkpoint has them"),
    no_effect("checkpoint.non_persistent_save_interval", kMaybeInt, "null", "Quick checkpoints.", kNull),
    no_effect("checkpoint.non_persistent_ckpt_type", kMaybeText, "null", "Their kind.", kNull),
    no_effect("checkpoint.non_persistent_global_ckpt_dir", kMaybeText, "null", "Their folder.", kNull),
    no_effect("checkpoint.non_persistent_local_ckpt_dir", kMaybeText, "null", "Their folder on a node.", kNull),
    no_effect("checkpoint.non_persistent_local_ckpt_algo", kText, "fully_parallel", "How they are written.", kFormat),
    honoured("checkpoint.finetune", kBool, "false", "Load weights only, from step 0.", "checkpoint.load_weights_only"),
    described("checkpoint.pretrained_checkpoint", kMaybeText, "null", "Checkpoint that fine-tuning starts from.",
              "finetune.pretrained_folder", kSft),
    no_effect("checkpoint.ckpt_step", kMaybeInt, "null", "Step to load.", kNull),
    no_effect("checkpoint.use_checkpoint_args", kBool, "false", "Take arguments from a checkpoint.", kOtherProgram),
    honoured("checkpoint.exit_on_missing_checkpoint", kBool, "false", "End when there is nothing to load.",
             "checkpoint.missing_load_is_error"),
    no_effect("checkpoint.ckpt_format", kText, "torch_dist", "Format.", kFormat)
        .in("torch_dist|zarr|fsdp_dtensor|torch"),
    no_effect("checkpoint.ckpt_convert_format", kMaybeText, "null", "Convert to that format and end.", kNull),
    no_effect("checkpoint.ckpt_convert_save", kMaybeText, "null", "Folder for it.", kNull),
    no_effect("checkpoint.fully_parallel_save", kBool, "true", "All ranks write.", kFormat),
    honoured("checkpoint.async_save", kBool, "false", "Write while training goes on.", "checkpoint.asynchronous"),
    no_effect("checkpoint.use_persistent_ckpt_worker", kBool, "true", "A process that writes.", kFormat),
    no_effect("checkpoint.fully_parallel_load", kBool, "false", "All ranks read.", kFormat),
    no_effect("checkpoint.ckpt_assume_constant_structure", kBool, "false", "Reuse the plan of a save.", kFormat),
    no_effect("checkpoint.strict_fsdp_dtensor_load", kBool, "false", "Complain about missing keys.", kFormat),
    no_effect("checkpoint.dist_ckpt_strictness", kText, "assume_ok_unexpected", "Complain about unexpected keys.",
              kFormat),
    no_effect("checkpoint.dist_ckpt_optim_fully_reshardable", kBool, "false", "Optimizer state for any layout.",
              kFormat),
    no_effect("checkpoint.distrib_optim_fully_reshardable_mem_efficient", kBool, "false", "The same, slower.", kFormat),
    no_effect("checkpoint.save_tokenizer_assets", kBool, "true", "Copy the tokenizer.", kFormat),
    no_effect("checkpoint.replication", kBool, "false", "Copies on other nodes.", kFormat),
    no_effect("checkpoint.replication_jump", kMaybeInt, "null", "Which nodes.", kNull),
    no_effect("checkpoint.replication_factor", kInt, "2", "How many.", kFormat),
    // ------------------------------------------------------------------------------------------------ logger
    honoured("logger.log_interval", kInt, "100", "Steps between log lines.", "logging.interval_steps")
        .at_least(1)
        .in_unit("steps"),
    honoured("logger.log_params_norm", kBool, "false", "Norm of the weights.", "logging.log_params_norm"),
    no_effect("logger.log_throughput", kBool, "false", "Speed in the log line.", "always logged here"),
    no_effect("logger.log_throughput_to_tensorboard", kBool, "false", "Speed in TensorBoard.", "always written here"),
    no_effect("logger.throughput_window_size", kInt, "100", "Steps of its mean.", kLogOnly),
    no_effect("logger.log_progress", kBool, "false", "A file progress.txt.", "metrics.jsonl tells it"),
    no_effect("logger.timing_log_level", kInt, "0", "How much is timed.", kLogOnly),
    no_effect("logger.timing_log_option", kText, "minmax", "How times of ranks are shown.", kLogOnly),
    honoured("logger.tensorboard_dir", kMaybeText, "null",
             "Folder of TensorBoard; what is said switches it on, the run folder has it.", "logging.tensorboard"),
    no_effect("logger.tensorboard_log_interval", kInt, "1", "Steps between points.", kLogOnly),
    no_effect("logger.tensorboard_queue_size", kInt, "1000", "Points that wait.", kLogOnly),
    no_effect("logger.log_timers_to_tensorboard", kBool, "false", "Times in TensorBoard.", kLogOnly),
    no_effect("logger.log_loss_scale_to_tensorboard", kBool, "true", "Loss scale in TensorBoard.", kLogOnly),
    no_effect("logger.log_validation_ppl_to_tensorboard", kBool, "false", "Perplexity in TensorBoard.", kLogOnly),
    no_effect("logger.log_memory_to_tensorboard", kBool, "false", "Memory in TensorBoard.", kLogOnly),
    no_effect("logger.memory_keys", kMaybeMap, "null", "Which numbers of memory.", kLogOnly),
    no_effect("logger.log_l2_norm_grad_to_tensorboard", kBool, "false", "Norm of gradients per layer.", kLogOnly),
    no_effect("logger.log_runtime_to_tensorboard", kBool, "false", "Time left.", kLogOnly),
    no_effect("logger.runtime_time_unit", kText, "hours", "Its unit.", kLogOnly),
    no_effect("logger.log_world_size_to_tensorboard", kBool, "false", "Ranks in TensorBoard.", kLogOnly),
    no_effect("logger.wandb_project", kMaybeText, "null", "Project of Weights & Biases.", kNull).use("wandb_project"),
    no_effect("logger.wandb_exp_name", kMaybeText, "null", "Its run name.", kNull).use("wandb_exp_name"),
    no_effect("logger.wandb_save_dir", kMaybeText, "null", "Its folder.", kNull),
    no_effect("logger.wandb_entity", kMaybeText, "null", "Its team.", kNull).use("wandb_entity"),
    no_effect("logger.mlflow_experiment", kMaybeText, "null", "Experiment of MLflow.", kNull),
    no_effect("logger.mlflow_run_name", kMaybeText, "null", "Its run name.", kNull),
    no_effect("logger.mlflow_tracking_uri", kMaybeText, "null", "Its server.", kNull),
    no_effect("logger.mlflow_tags", kMaybeMap, "null", "Its tags.", kNull),
    no_effect("logger.logging_level", kInt, "20", "Level of upstream's own log.", kLogOnly),
    no_effect("logger.filter_warnings", kBool, "true", "Hide warnings.", kLogOnly),
    no_effect("logger.modules_to_filter", kMaybeTexts, "null", "Hide modules.", kLogOnly),
    no_effect("logger.set_level_for_all_loggers", kBool, "false", "The level holds for all.", kLogOnly),
    no_effect("logger.log_energy", kBool, "false", "Energy in the log line.", kLogOnly),
    no_effect("logger.save_config_filepath", kMaybeText, "null", "File for the configuration.", kOwnFolder),
    // ------------------------------------------------------------------------------------------------ profiling
    not_built("profiling.use_pytorch_profiler", kBool, "false", "Write a trace.", kProfiler),
    no_effect("profiling.use_nsys_profiler", kBool, "false", "Marks for a GPU profiler.", kLogOnly),
    not_built("profiling.profile_step_start", kInt, "10", "First step of the trace.", kProfiler)
        .under("profiling.use_pytorch_profiler"),
    not_built("profiling.profile_step_end", kInt, "12", "Step behind the last.", kProfiler)
        .under("profiling.use_pytorch_profiler"),
    not_built("profiling.profile_ranks", kInts, "[0]", "Ranks that write.", kProfiler)
        .under("profiling.use_pytorch_profiler"),
    not_built("profiling.record_memory_history", kBool, "false", "Write where memory goes.", kProfiler),
    not_built("profiling.memory_snapshot_path", kText, "snapshot.pickle", "File for it.", kProfiler)
        .under("profiling.record_memory_history"),
    not_built("profiling.record_shapes", kBool, "false", "Sizes in the trace.", kProfiler)
        .under("profiling.use_pytorch_profiler"),
    no_effect("profiling.nvtx_ranges", kBool, "false", "Marks for a GPU profiler.", kLogOnly),
};

}  // namespace

std::span<const Parameter> bridge_data_rows() {
  return kData;
}

std::span<const Parameter> bridge_checkpoint_rows() {
  return kCheckpoint;
}

}  // namespace primus::dialect
