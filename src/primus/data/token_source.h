// Where a GPT dataset takes the tokens of its documents from: an indexed dataset, or the mock data.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "primus/data/indexed_dataset.h"

namespace primus::data {

class TokenSource {
 public:
  virtual ~TokenSource() = default;
  virtual std::string name() const = 0;
  virtual int64_t num_sequences() const = 0;
  virtual int32_t length(int64_t sequence) const = 0;
  virtual std::vector<int32_t> lengths() const = 0;
  virtual void read(int64_t sequence, int64_t offset, std::span<int32_t> out) const = 0;
};

class FileSource final : public TokenSource {
 public:
  explicit FileSource(IndexedDataset dataset) : dataset_(std::move(dataset)) {}
  std::string name() const override { return dataset_.prefix(); }
  int64_t num_sequences() const override { return dataset_.num_sequences(); }
  int32_t length(int64_t sequence) const override { return dataset_.length(sequence); }
  std::vector<int32_t> lengths() const override { return dataset_.lengths(); }
  void read(int64_t sequence, int64_t offset, std::span<int32_t> out) const override {
    dataset_.read(sequence, offset, out);
  }
  const IndexedDataset& dataset() const { return dataset_; }

 private:
  IndexedDataset dataset_;
};

// Megatron's mock documents: 100,000 of 1 to 4,095 tokens, each 1, 2, 3, ... (modulo vocab_size), then the end token.
// Source: megatron/core/datasets/gpt_dataset.py, MockGPTLowLevelDataset.
class MockSource final : public TokenSource {
 public:
  MockSource(int64_t vocab_size, int64_t eod_id);
  std::string name() const override { return "mock data"; }
  int64_t num_sequences() const override { return static_cast<int64_t>(lengths_.size()); }
  int32_t length(int64_t sequence) const override { return lengths_[static_cast<size_t>(sequence)]; }
  std::vector<int32_t> lengths() const override { return lengths_; }
  void read(int64_t sequence, int64_t offset, std::span<int32_t> out) const override;

 private:
  int64_t vocab_size_, eod_id_;
  std::vector<int32_t> lengths_;
};

}  // namespace primus::data
