// Megatron's indexed dataset: <prefix>.bin holds token ids back to back, <prefix>.idx says where each sequence lies.
// Layout: docs/formats/indexed-dataset.md. Everything in the .idx is checked at open, so reading never leaves the file.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "primus/base/fs.h"
#include "primus/base/result.h"

namespace primus::data {

// Codes as in the file. Floating-point files (6, 7) are refused: they hold no token ids.
enum class TokenType : uint8_t { U8 = 1, I8 = 2, I16 = 3, I32 = 4, I64 = 5, U16 = 8 };

int64_t size_bytes(TokenType type);
std::string to_string(TokenType type);  // "uint16"
// What a writer chooses: u16 below 65,500 ids, else i32. vocab_size <= 0: not known, i32.
TokenType token_type_for_vocab(int64_t vocab_size);

fs::path idx_path(const std::string& prefix);
fs::path bin_path(const std::string& prefix);

// The smallest and largest id of a file.
struct IdRange {
  int64_t min = 0, max = -1;  // max < min: no tokens
};

// An id that a vocabulary does not have, and where it stands.
struct ForeignId {
  int64_t sequence = 0, offset = 0, id = 0;
};

// A read-only, memory-mapped dataset. Copyable views are not offered; share it with a shared_ptr. Threads: const is
// safe.
class IndexedDataset {
 public:
  // Errors: a missing or unreadable file; an .idx whose length, magic, version, type code, lengths, offsets or document
  // boundaries are wrong, or that points past the end of the .bin. Each names the file and what is wrong.
  static Result<IndexedDataset> open(const std::string& prefix);

  const std::string& prefix() const { return prefix_; }
  TokenType token_type() const { return type_; }
  int64_t num_sequences() const { return num_sequences_; }
  int64_t num_documents() const { return num_boundaries_ - 1; }
  int64_t num_tokens() const { return num_tokens_; }

  int32_t length(int64_t sequence) const { return load<int32_t>(lengths_ + 4 * sequence); }
  // First sequence of a document; document == num_documents() gives num_sequences().
  int64_t document_begin(int64_t document) const { return load<int64_t>(boundaries_ + 8 * document); }
  std::vector<int32_t> lengths() const;

  // Tokens [offset, offset + out.size()) of a sequence, widened or narrowed to 32 bits. The range must lie inside it.
  void read(int64_t sequence, int64_t offset, std::span<int32_t> out) const;
  std::span<const std::byte> sequence_bytes(int64_t sequence) const;

  // Reads every token once (memory speed). Cost: the whole .bin.
  IdRange id_range() const;
  // The first id outside [0, limit), if there is one.
  std::optional<ForeignId> first_foreign_id(int64_t limit) const;

 private:
  IndexedDataset(MappedFile idx, MappedFile bin) : idx_(std::move(idx)), bin_(std::move(bin)) {}
  Status check();
  Status check_header();
  Status check_sequences();
  Status check_documents();
  Diagnostic broken(std::string message) const;

  // The arrays of the .idx start at byte 34 and are not aligned.
  template <class T>
  static T load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
  }
  int64_t pointer(int64_t sequence) const { return load<int64_t>(pointers_ + 8 * sequence); }

  MappedFile idx_, bin_;
  std::string prefix_;
  TokenType type_ = TokenType::I32;
  int64_t num_sequences_ = 0, num_boundaries_ = 0, num_tokens_ = 0;
  const std::byte* lengths_ = nullptr;
  const std::byte* pointers_ = nullptr;
  const std::byte* boundaries_ = nullptr;
};

}  // namespace primus::data
