// The order in which a GPT dataset reads its documents: three arrays, built exactly as Megatron builds them.
//   documents  the documents of every epoch, shuffled
//   samples    where each sample starts: (position in `documents`, offset in that document)
//   shuffle    sample i of the dataset is entry shuffle[i] of `samples`
// Source: megatron/core/datasets/gpt_dataset.py and helpers.cpp (build_sample_idx); docs/formats/gpt-dataset.md.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "primus/base/result.h"

namespace primus::data {

// Integers of 4 or 8 bytes, seen as int64. A view: its memory belongs to a GptIndex.
class IndexArray {
 public:
  IndexArray() = default;
  IndexArray(const std::byte* data, int64_t size, int width_bytes)
      : data_(data), size_(size), wide_(width_bytes == 8) {}
  int64_t size() const { return size_; }
  int64_t operator[](int64_t i) const {
    if (wide_) return load<int64_t>(data_ + 8 * i);
    return load<uint32_t>(data_ + 4 * i);
  }

 private:
  template <class T>
  static T load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
  }
  const std::byte* data_ = nullptr;
  int64_t size_ = 0;
  bool wide_ = false;
};

struct GptIndexRequest {
  int64_t first_document = 0, end_document = 0;  // the split's part of the file's sequences
  std::optional<int64_t> num_samples;            // at least so many; nothing: exactly one epoch
  int64_t sequence_length = 0;                   // a sample takes one token more
  uint32_t seed = 0;
  bool keep_last_partial = false;  // a last, shorter sample is kept and padded
};

// How many epochs and samples the request comes to, before anything is built.
struct GptIndexPlan {
  int64_t tokens_per_epoch = 0;
  int64_t num_epochs = 1;
  int64_t num_samples = 0;
  int64_t samples_before_last_epoch = 0;  // read when separate_last_epoch
  bool separate_last_epoch = false;       // the last epoch is shuffled apart from the others
};

// tokens_per_epoch: sum of the lengths of the split's documents; at least 1.
GptIndexPlan plan_gpt_index(const GptIndexRequest& request, int64_t tokens_per_epoch);

class GptIndex {
 public:
  // lengths: of all sequences of the file. Cost: one pass over the documents of all epochs; 4 or 8 bytes for each
  // document and shuffled sample, twice that for each sample start. Threads: none of its own.
  static GptIndex build(std::span<const int32_t> lengths, const GptIndexRequest& request);

  // The cache file: `key` is a text that says what the index was built from. Errors: not there, another key, wrong
  // size.
  static Result<GptIndex> load(const std::string& file, std::string_view key);
  void save(const std::string& file, std::string_view key) const;  // atomic; throws RunError

  int64_t num_samples() const { return shuffle.size(); }

  IndexArray documents, samples, shuffle;

 private:
  GptIndex() = default;
  bool set_views(std::span<const std::byte> image);

  std::shared_ptr<const void> storage_;  // a buffer or a memory map
  std::span<const std::byte> image_;     // header and arrays, as in the cache file
};

}  // namespace primus::data
