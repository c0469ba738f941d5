// Table data: data and tokenizers. Names, kinds and defaults: MaxText 0.2.5 (base.yml, configs/types.py).
#include "primus/dialect/maxtext.h"
#include "primus/dialect/maxtext_reasons.h"
#include "primus/dialect/rows.h"

namespace primus::dialect {

namespace {

constexpr Parameter kDataRows[] = {
    // -------------------------------------------------------------------------------------- DatasetGeneral
    honoured("dataset_type", kText, "synthetic",
             "Where the data come from; synthetic: one random batch, the same every step.",
             "data.mock data.one_batch data.train")
        .in("synthetic|hf|grain|tfds|c4_mlperf|olmo_grain"),
    honoured("per_device_batch_size", kFloat, "12.0",
             "Sequences per device and micro-batch; below 1: several devices share one.",
             "batch.micro_batch_size batch.global_batch_size")
        .at_least(0),
    no_effect("eval_per_device_batch_size", kFloat, "0.0",
              "Sequences per device in an evaluation; 0: per_device_batch_size.",
              "the mean over the evaluation is taken per token"),
    no_effect("max_corpus_chars", kInt, "10000000", "Maximum number of characters to use from the corpus.", kRealData),
    no_effect("train_data_columns", kMaybeTexts, "[text]", "Column(s) to use from the training data.", kRealData),
    no_effect("train_image_column", kAny, "null", "Column name(s) for images in the training data.", kRealData),
    no_effect("eval_data_columns", kMaybeTexts, "[text]", "Column(s) to use from the evaluation data.", kRealData),
    no_effect("eval_image_column", kAny, "null", "Column name(s) for images in evaluation data.", kRealData),
    no_effect("default_prompt", kMaybeText, "\"\"",
              "Default prompt injected into the dataset when the prompt column is missing.", kRealData),
    no_effect("packing", kBool, "true", "Several documents in one row.", kRealData),
    no_effect("grain_packing_type", kText, "first_fit", "Packing type when using Grain pipeline.", kRealData)
        .in("first_fit|best_fit|concat_then_split"),
    no_effect("max_segments_per_seq", kInt, "-1",
              "Maximum number of segments that can be packed into a single sequence.", kRealData),
    no_effect("use_stream_chunking", kMaybeBool, "null", "Use continuous stream chunking for c4_mlperf datasets.",
              kRealData),
    not_built("num_epoch", kInt, "1", "Passes over the data.", "counting in passes"),
    no_effect("expansion_factor_real_data", kFloat, "-1.0", "Hosts that read the data.", kRealData),
    no_effect("reuse_example_batch", kInt, "0", "Trains on the first batch again and again.", kRealData),
    no_effect("generate_padding_batch_train", kBool, "false",
              "Generate a padding batch for training to ensure divisibility.", kRealData),
    no_effect("generate_padding_batch_eval", kBool, "false",
              "Generate a padding batch for evaluation to ensure divisibility.", kRealData),
    not_built("enable_rampup_batch_size", kBool, "false", "The batch grows at the start.", "MaxText's batch ramp-up"),
    no_effect("per_device_batch_size_start", kFloat, "4.0", "First batch of the ramp.",
              "read only with enable_rampup_batch_size"),
    no_effect("per_device_batch_size_increment", kFloat, "2.0", "Step of the ramp.",
              "read only with enable_rampup_batch_size"),
    no_effect("global_rampup_samples", kInt, "500", "Sequences of the ramp.",
              "read only with enable_rampup_batch_size"),
    no_effect("colocated_python_data_input", kBool, "false", "Experimental feature for Pathways.", kRealData),
    // ----------------------------------------------------------------------------------------- TfdsDataset
    no_effect("dataset_path", kMaybeText, "\"\"", "Path to the TFDS dataset.", kRealData),
    no_effect("dataset_name", kMaybeText, "c4/en:3.1.0", "Name of the TFDS dataset.", kRealData),
    no_effect("eval_dataset_name", kMaybeText, "c4/en:3.1.0", "Name of the TFDS eval dataset.", kRealData),
    no_effect("train_split", kMaybeText, "train", "Dataset split for training.", kRealData),
    no_effect("eval_split", kMaybeText, "validation", "Dataset split for evaluation.", kRealData),
    // ------------------------------------------------------------------------------------------- HfDataset
    no_effect("hf_path", kMaybeText, "\"\"", "Path of the Hugging Face dataset.", kRealData),
    no_effect("hf_name", kMaybeText, "\"\"", "Name of the Hugging Face dataset.", kRealData),
    no_effect("hf_data_dir", kMaybeText, "\"\"", "Data directory for the HF dataset.", kRealData),
    no_effect("hf_train_files", kMaybeText, "\"\"", "Files for the HF training split.", kRealData),
    no_effect("hf_eval_split", kMaybeText, "\"\"", "Name of the HF evaluation split.", kRealData),
    no_effect("hf_eval_files", kMaybeText, "\"\"", "Files for the HF evaluation split.", kRealData),
    no_effect("hf_access_token", kMaybeText, "\"\"", "Hugging Face API access token.", kRealData),
    // ---------------------------------------------------------------------------------------- GrainDataset
    no_effect("grain_train_files", kMaybeText, "\"\"",
              "Training source specification for the selected Grain file type.", kRealData),
    no_effect("grain_eval_files", kMaybeText, "\"\"",
              "Evaluation source specification for the selected Grain file type.", kRealData),
    no_effect("grain_train_mixture_config_path", kMaybeText, "\"\"",
              "Path to an ArrayRecord JSON file specifying Grain training mixture weights.", kRealData),
    no_effect("grain_file_type", kMaybeText, "arrayrecord", "File type for Grain data.", kRealData),
    no_effect("grain_use_elastic_iterator", kBool, "false", "Use grain's ElasticIterator for data loading.", kRealData),
    no_effect("grain_worker_count", kInt, "1", "Number of workers for Grain data loading.", kRealData),
    no_effect("grain_per_worker_buffer_size", kInt, "1", "Per-worker buffer size for Grain train data loading.",
              kRealData),
    no_effect("grain_worker_count_eval", kInt, "1", "Number of workers for Grain eval data loading.", kRealData),
    no_effect("grain_per_worker_buffer_size_eval", kInt, "1", "Per-worker buffer size for Grain eval data loading.",
              kRealData),
    no_effect("grain_ram_budget_mb", kInt, "1024", "RAM budget (MB) for auto-tuning worker count.", kRealData),
    no_effect("grain_num_threads", kInt, "16", "Number of threads for Grain ReadOptions during training.", kRealData),
    no_effect("grain_prefetch_buffer_size", kInt, "500", "Prefetch buffer size for Grain ReadOptions during training.",
              kRealData),
    no_effect("grain_num_threads_eval", kInt, "16", "Number of threads for Grain ReadOptions during evaluation.",
              kRealData),
    no_effect("grain_prefetch_buffer_size_eval", kInt, "500",
              "Prefetch buffer size for Grain ReadOptions during evaluation.", kRealData),
    no_effect("grain_data_source_max_workers", kInt, "16",
              "Max workers for ThreadPoolExecutor when mixing multiple Grain data sources.", kRealData),
    no_effect("grain_index_storage_option", kMaybeText, "null", "ArrayRecord reader index storage.", kRealData)
        .in("in_memory|offloaded"),
    no_effect("grain_shuffle_buffer_size", kInt, "100", "Shuffle buffer size when using Parquet or TFRecord.",
              kRealData),
    // ----------------------------------------------------------------------------------------- MMapDataset
    no_effect("mmap_eod_id", kInt, "0", "EOD token ID already present in the preprocessed Megatron data.", kRealData),
    no_effect("blend_cache_dir", kMaybeText, "\"\"",
              "Optional runtime cache for multi-dataset mmap_npy global blend dispatch indices.", kRealData),
    no_effect("blend_index_dir", kMaybeText, "\"\"",
              "Optional directory containing pre-generated dataset_index.npy and dataset_sample_index.npy.", kRealData),
    no_effect("reset_attention_mask", kBool, "true",
              "Start a new attention segment and reset positions after every retained EOD boundary.", kRealData),
    no_effect("eod_mask_loss", kBool, "false", "Exclude positions whose input token is EOD from the loss.", kRealData),
    no_effect("packing_max_segments_per_sample", kInt, "25", "Short-segment merge divisor: max_target_length // value.",
              kRealData),
    no_effect("mmap_split_sentences", kBool, "false", "Preprocessing used --split-sentences.", kRealData),
    no_effect("mmap_npy_split", kMaybeText, "\"\"", "Mmap_npy split ratio, such as '99,1'.", kRealData),
    // ------------------------------------------------------------------------------------ OlmoGrainDataset
    no_effect("olmo_index_path", kMaybeText, "\"\"",
              "Path or gs:// URI to the JSON index from build_olmo_npy_index.py.", kRealData),
    no_effect("olmo_path_remap_from", kMaybeText, "\"\"",
              "If set, rewrite index file paths starting with this prefix to olmo_path_remap_to.", kRealData),
    no_effect("olmo_path_remap_to", kMaybeText, "\"\"",
              "Replacement prefix used together with olmo_path_remap_from (such as /mnt/disks/.../).", kRealData),
    no_effect("olmo_apply_ngram_filter", kBool, "true", "Mask repetitive instances per OLMo-core's repetition filter.",
              kRealData),
    // ------------------------------------------------------------------------------------------- Tokenizer
    honoured("vocab_size", kInt, "32000", "Ids that data may hold.", "model.vocab_size model.padded_vocab_size")
        .at_least(1),
    honoured("tokenizer_path", kMaybeText, "\"\"", "Tokenizer: a file or a Hugging Face name.", "tokenizer.model"),
    honoured("tokenizer_type", kText, "sentencepiece", "Kind of tokenizer.", "tokenizer.type")
        .in("sentencepiece|huggingface|tiktoken"),
    no_effect("use_chat_template", kBool, "false", "Use the chat template for tokenization.", kRealData),
    no_effect("chat_template_path", kMaybeText, "\"\"", "Path to chat template json file.", kRealData),
    no_effect("chat_template", kMaybeText, "\"\"", "Chat template to use with HF tokenizers.", kRealData),
    no_effect("data_template_path", kMaybeText, "\"\"",
              "Path to a chat template file to be used when tokenizing the dataset.", kRealData),
    no_effect("tokenize_train_data", kBool, "true", "If False, assumes the training dataset is pre-tokenized.",
              kRealData),
    no_effect("tokenize_eval_data", kBool, "true", "If False, assumes the evaluation dataset is pre-tokenized.",
              kRealData),
    no_effect("add_bos", kBool, "true", "Add a beginning-of-sentence token.", kRealData),
    no_effect("add_eos", kBool, "true", "Add an end-of-sentence token.", kRealData),
    no_effect("use_truncation", kBool, "true", "If False, use chunking for long sequences instead of truncation.",
              kRealData),
};

}  // namespace

std::span<const Parameter> maxtext_data_rows() {
  return kDataRows;
}

}  // namespace primus::dialect
