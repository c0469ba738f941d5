// One file's part of a split as samples of sequence_length + 1 tokens, in Megatron's order.
#pragma once

#include <memory>

#include "primus/data/dataset.h"
#include "primus/data/gpt_index.h"
#include "primus/data/token_source.h"

namespace primus::data {

class GptDataset final : public DataSet {
 public:
  GptDataset(std::shared_ptr<const TokenSource> source, GptIndex index, int64_t sequence_length, MaskRules rules);

  int64_t size() const override { return index_.num_samples(); }
  int64_t sequence_length() const override { return sequence_length_; }
  void get(int64_t index, Sample& sample) const override;
  std::vector<std::string> files() const override { return {source_->name()}; }

 private:
  std::shared_ptr<const TokenSource> source_;
  GptIndex index_;
  int64_t sequence_length_;
  MaskRules rules_;
};

}  // namespace primus::data
