// Finds and loads the tokenizer that an experiment names. Nothing is ever downloaded.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "primus/base/env.h"
#include "primus/base/fs.h"
#include "primus/tokenizer/load.h"

namespace primus::tokenizer {

struct FindOptions {
  std::string tokenizer_type;         // megatron's names, and ByteTokenizer, CharTokenizer
  std::string tokenizer_model;        // file, folder, or a Hugging Face name such as TinyLlama/TinyLlama-1.1B-Chat-v1.0
  std::string vocab_file;             // GPT2BPETokenizer
  std::string merge_file;             // GPT2BPETokenizer
  std::optional<int64_t> vocab_size;  // NullTokenizer, TikTokenizer
  std::string tiktoken_pattern;       // TikTokenizer: v1, v2; else the kind of a rank file
  std::optional<int64_t> tiktoken_num_special_tokens;
  std::vector<std::string> tiktoken_special_tokens;
  Environment environment;  // HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, HOME
  fs::path base_folder;     // relative paths start here; empty: the working folder
};

// Every tokenizer_type that find_tokenizer knows.
std::vector<std::string> tokenizer_types();

// Errors: an unknown type (nearest name), a missing argument, a file that is not found (every place looked at is
// named), and whatever the reader of the file finds.
TokenizerResult find_tokenizer(const FindOptions& options);

// Loads a file or a folder, told apart by its content: tokenizer.json, .model, rank file, tekken.json, characters;
// a folder may hold any of these or GPT-2's pair. rank_kind: see read_rank_file.
TokenizerResult load_tokenizer(const fs::path& path, const std::string& rank_kind = "");

}  // namespace primus::tokenizer
