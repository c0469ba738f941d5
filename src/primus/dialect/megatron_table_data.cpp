// Table data: data sets, loaders, tokenizers.
#include "primus/dialect/megatron.h"
#include "primus/dialect/rows.h"

namespace primus::dialect {

namespace {

constexpr std::string_view kFim = "fill-in-the-middle data";

constexpr Parameter kDataRows[] = {
    // ------------------------------------------------------------------------------------------------ data sets
    honoured("mock_data", kBool, "false", "Made-up token sequences; no data and no tokenizer are needed.", "data.mock"),
    no_effect("mock_dataset", kMaybeMap, "null", "Mock data of the image models.", kOtherProgram),
    honoured("data_path", kMaybeTexts, "null", "[weight prefix ...] or [prefix ...], cut by split.", "data.blend"),
    honoured("train_data_path", kMaybeTexts, "null", "The same, for training only.", "data.train"),
    honoured("valid_data_path", kMaybeTexts, "null", "The same, for validation only.", "data.valid"),
    honoured("test_data_path", kMaybeTexts, "null", "The same, for the test only.", "data.test"),
    not_built("data_args_path", kMaybeText, "null", "File that holds data_path.", "data paths in a file of their own"),
    not_built("per_split_data_args_path", kMaybeText, "null", "File that holds the three paths.",
              "data paths in a file of their own"),
    honoured("split", kMaybeText, "null", "Parts for training, validation and test; null: 969, 30, 1.", "data.split"),
    honoured("data_cache_path", kMaybeText, "null", "Folder of index files; null: beside the data.",
             "data.index_cache_folder"),
    no_effect("mmap_bin_files", kBool, "true", "Data files are mapped.", "data files are always mapped here"),
    honoured("seq_length", kMaybeInt, "null", "Tokens of a sequence.", "data.sequence_length")
        .at_least(1)
        .in_unit("tokens"),
    not_built("encoder_seq_length", kMaybeInt, "null", "Sequence of an encoder.", "encoder-decoder models"),
    not_built("decoder_seq_length", kMaybeInt, "null", "Sequence of a decoder.", "encoder-decoder models"),
    honoured("dataloader_type", kMaybeText, "null", "Order of the sequences: single pass, or shuffled passes.",
             "data.order")
        .in("single|cyclic|external")
        .not_yet("external"),
    honoured("data_sharding", kBool, "true", "cyclic: each rank owns a part of a pass.", "data.shard_per_rank"),
    no_effect("num_workers", kInt, "2", "Loader processes.", "batches are prefetched by threads of the trainer"),
    no_effect("dataloader_mp_context", kMaybeText, "null", "How loader processes start.",
              "batches are prefetched by threads of the trainer, so nothing is forked")
        .in("fork|spawn|forkserver"),
    honoured("reset_position_ids", kBool, "false", "Positions start again behind an end-of-document token.",
             "data.reset_position_ids"),
    honoured("reset_attention_mask", kBool, "false", "Attention stops at document borders.",
             "data.reset_attention_mask"),
    honoured("eod_mask_loss", kBool, "false", "No loss where the input is an end-of-document token.",
             "data.mask_loss_at_eod"),
    no_effect("create_attention_mask_in_dataloader", kBool, "true", "Who builds the attention mask.",
              "masks are never materialised here"),
    no_effect("num_dataset_builder_threads", kInt, "1", "Threads that build index files.",
              "the index files are the same"),
    not_built("mid_level_dataset_surplus", kFloat, "0.005", "Sequences built beyond need in a blend.",
              "another surplus than 0.005"),
    not_built("fim_data", kBool, "false", "Fill-in-the-middle samples.", kFim),
    no_effect("sample_rate", kFloat, "1.0", "Part of the samples used.", kOtherProgram),
    honoured("prepare_data", kMaybeMap, "null",
             "Text to make missing data files from: input, valid_fraction, json_key, document, "
             "train_tokenizer_vocab_size.",
             "data.prepare")
        .of_ours(),
    // ------------------------------------------------------------------------------------------------ tokenizer
    honoured("tokenizer_type", kMaybeText, "null", "Kind of tokenizer.", "tokenizer.type")
        .in("NullTokenizer|HuggingFaceTokenizer|Llama2Tokenizer|Llama3Tokenizer|Llama4Tokenizer|MixtralTokenizer|"
            "DeepSeekV2Tokenizer|DeepSeekV3Tokenizer|DeepSeekV4Tokenizer|KimiK2Tokenizer|Lfm2Tokenizer|"
            "GPT2BPETokenizer|SentencePieceTokenizer|GPTSentencePieceTokenizer|TikTokenizer|ByteTokenizer|"
            "CharTokenizer|BertWordPieceLowerCase|BertWordPieceCase|MultimodalTokenizer|NullMultimodalTokenizer|"
            "SFTTokenizer")
        .not_yet("BertWordPieceLowerCase|BertWordPieceCase|MultimodalTokenizer|NullMultimodalTokenizer|SFTTokenizer"),
    honoured("tokenizer_model", kMaybeText, "null", "Name, folder or file of the tokenizer.", "tokenizer.model"),
    honoured("vocab_file", kMaybeText, "null", "Vocabulary of GPT2BPETokenizer.", "tokenizer.vocab_file"),
    honoured("merge_file", kMaybeText, "null", "Merges of GPT2BPETokenizer.", "tokenizer.merge_file"),
    honoured("vocab_size", kMaybeInt, "null",
             "Ids of NullTokenizer; with another tokenizer its size decides and may not be larger.",
             "tokenizer.vocab_size")
        .at_least(1),
    not_built("vocab_extra_ids", kInt, "0", "Extra ids behind the vocabulary.", "extra ids"),
    not_built("tiktoken_pattern", kMaybeText, "null", "Splitting pattern of TikTokenizer.",
              "another splitting pattern than v2")
        .also("v2"),
    not_built("tiktoken_num_special_tokens", kInt, "1000", "Special ids of TikTokenizer.",
              "another number of special ids than 1000"),
    not_built("tiktoken_special_tokens", kMaybeTexts, "null", "Special tokens of TikTokenizer.",
              "other special tokens than the usual ones"),
    no_effect("legacy_tokenizer", kBool, "false", "Older tokenizer classes.", kUnread),
    no_effect("trust_remote_code", kBool, "false", "Runs Python code that comes with a tokenizer.",
              "no Python code is ever run here"),
};

}  // namespace

std::span<const Parameter> megatron_data_rows() {
  return kDataRows;
}

}  // namespace primus::dialect
