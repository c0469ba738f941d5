// Readers of the vocabulary files, one a format. Each gives the ids of the format's reference library. Errors: every
// finding with the file and the key; a component kind that is not supported is refused by its name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "primus/base/fs.h"
#include "primus/base/result.h"
#include "primus/tokenizer/tokenizer.h"

namespace primus::tokenizer {

using TokenizerResult = Result<std::unique_ptr<Tokenizer>>;

// Hugging Face tokenizer.json with a BPE model (byte-level or characters with byte fallback). Reference: tokenizers.
TokenizerResult read_tokenizer_json(std::string_view text, const Place& place);

// GPT-2's pair: encoder.json (or vocab.json) and vocab.bpe (or merges.txt).
TokenizerResult read_gpt2_files(std::string_view vocab, const Place& vocab_place, std::string_view merges,
                                const Place& merges_place);

// tiktoken rank file, lines of "base64 rank". The file holds neither pattern nor special tokens: kind names them (one
// of rank_kinds()); empty: known by the number of ranks. Reference: tiktoken.
TokenizerResult read_rank_file(std::string_view text, const std::string& kind, const Place& place);
std::vector<std::string> rank_kinds();

// Mistral's tekken.json. Reference: mistral-common (special tokens are never read from the text).
TokenizerResult read_tekken(std::string_view text, const Place& place);

// The file of megatron's TikTokenizer: a JSON list of {rank, token_bytes, token_str}. pattern: "v1" or "v2".
struct MegatronTikOptions {
  std::string pattern = "v2";
  int64_t num_special_tokens = 1000;
  std::vector<std::string> special_tokens;  // empty: megatron's seven
  std::optional<int64_t> vocab_size;        // with the special tokens; nothing: all of the file
};
TokenizerResult read_megatron_tik(std::string_view text, const MegatronTikOptions& options, const Place& place);

// SentencePiece .model: BPE and unigram, byte fallback, precompiled normalisation. Reference: sentencepiece.
TokenizerResult read_sentencepiece(std::string_view bytes, const Place& place);

// Kinds without a vocabulary file of others.
std::unique_ptr<Tokenizer> make_byte_tokenizer();                    // ids 0-255 are bytes, 256 is <|endoftext|>
std::unique_ptr<Tokenizer> make_null_tokenizer(int64_t vocab_size);  // "1 2 3" <-> ids; vocab_size + 1 ids, eod last
TokenizerResult read_characters(std::string_view json, const Place& place);  // a JSON list of code points, in id order
std::string characters_json(std::string_view text);                          // that file for every character of a text

// tokenizer_config.json, special_tokens_map.json of the folder, applied to what was read from it. Precedence for what
// stands around a text: add_bos_token/add_eos_token of tokenizer_config.json (either one present: both count, the
// absent one as false), then the template of tokenizer.json, then nothing. Errors: a named token that is not in the
// vocabulary.
Status apply_config_files(const fs::path& folder, Tokenizer& tokenizer);

}  // namespace primus::tokenizer
