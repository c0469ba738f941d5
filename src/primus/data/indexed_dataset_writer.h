// Writes Megatron's indexed dataset, one document after another. Both files appear only when close() has succeeded.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "primus/base/fs.h"
#include "primus/data/indexed_dataset.h"

namespace primus::data {

class IndexedDatasetWriter {
 public:
  // Opens temporary files beside the target. Errors (disk full, no permission): RunError, as in base/fs.h.
  IndexedDatasetWriter(std::string prefix, TokenType type);

  // One document of one sequence. An id that the type cannot hold: RunError naming id and type.
  void add_document(std::span<const int32_t> tokens);
  // All sequences and documents of another dataset of the same type, document boundaries shifted.
  void add_dataset(const IndexedDataset& other);

  int64_t num_sequences() const { return static_cast<int64_t>(lengths_.size()); }
  int64_t num_tokens() const { return num_tokens_; }

  // Makes both files durable: an old .idx goes first, then .bin, then .idx, so that a pair that exists is whole.
  void close();

 private:
  void flush();
  std::string index_bytes() const;

  std::string prefix_;
  TokenType type_;
  std::unique_ptr<DurableFile> bin_;
  std::vector<std::byte> buffer_;
  std::vector<int32_t> lengths_;
  std::vector<int64_t> boundaries_ = {0};
  int64_t num_tokens_ = 0;
};

}  // namespace primus::data
