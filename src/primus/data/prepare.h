// From text to indexed datasets: in parallel, interruptible, and restartable. Work in progress lies in <prefix>.work,
// one finished shard after another; the datasets themselves appear only when they are complete.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "primus/base/result.h"
#include "primus/data/corpus.h"
#include "primus/tokenizer/tokenizer.h"

namespace primus::data {

struct PrepareOptions {
  CorpusOptions corpus;
  std::string output_prefix;
  // > 0: the last part of the characters goes to valid_prefix. Text files taken whole are cut at the character; smaller
  // documents go as a whole to the side where they start.
  double valid_fraction = 0;
  std::string valid_prefix;
  bool append_eod = false;       // the end-of-document token behind each complete document
  bool special_as_text = false;  // the spelling of a special token in a document stays plain text
  int num_threads = 0;           // 0: one a core
  int64_t shard_text_bytes = 16 << 20;
  std::function<bool()> stop_requested;         // looked at between documents
  std::function<bool()> already_done;           // asked once no other process works on the same files
  std::function<void(const std::string&)> say;  // one line for people: waiting, shards reused
};

struct PreparedFile {
  std::string prefix;
  int64_t documents = 0, tokens = 0;
};

struct PrepareReport {
  std::vector<PreparedFile> files;
  int64_t empty_documents = 0;         // no tokens: left out
  int64_t documents_without_text = 0;  // JSON lines without the key: left out
  int64_t documents_with_special = 0;  // hold the spelling of a special token
  int64_t invalid_utf8_documents = 0;
  int64_t shards = 0, shards_reused = 0;
  bool stopped = false;   // asked to stop: nothing was written but the shards
  bool was_done = false;  // already_done said so: nothing was written
};

// Tokens are what the tokenizer's own files say (begin and end tokens included), then the end token if asked for. Ids
// are uint16 below a vocabulary of 65,500, else int32. Errors: inputs that are missing or damaged, with file and line;
// no end token in the tokenizer; no document with tokens for a file. Disk errors: RunError.
Result<PrepareReport> prepare(const PrepareOptions& options, const tokenizer::Tokenizer& tokenizer);

// One or two lines for people.
std::string describe(const PrepareReport& report);

// Calls `use` with every document and the output it belongs to (0: training, 1: validation); `complete` is false for a
// part of a document that was cut. Stops when `use` returns false. Errors: as CorpusReader.
CorpusCounts for_each_document(const CorpusOptions& corpus, double valid_fraction,
                               const std::function<bool(const Document& document, int output, bool complete)>& use);

}  // namespace primus::data
