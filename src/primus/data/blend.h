// Mixtures of data files by weight, and the split of one file into training, validation and test documents.
// Source: megatron/core/datasets/blended_megatron_dataset_builder.py, blended_dataset.py, helpers.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "primus/base/result.h"
#include "primus/data/dataset.h"

namespace primus::data {

enum class Split { Train = 0, Valid = 1, Test = 2 };
const char* to_string(Split split);

struct DocumentRange {
  int64_t begin = 0, end = 0;
  bool empty() const { return end <= begin; }
};
using SplitFractions = std::array<std::optional<std::pair<double, double>>, 3>;

// "969, 30, 1" -> parts of [0, 1]; nothing for a part of weight 0. Errors: no number, more than three, a number that
// does not parse, sum 0.
Result<SplitFractions> parse_split(const std::string& text);
// Documents of a part: both ends rounded half to even, as Python's round().
DocumentRange documents_of(const std::pair<double, double>& part, int64_t num_documents);

// weights / numpy.sum(weights), to the last bit.
std::vector<double> normalised(std::span<const double> weights);

// Of one file of a blend: the samples that the blend takes from it, and how many are built (0.5 % more).
int64_t blend_target(int64_t size, double normalised_weight);
int64_t blend_built(int64_t size, double normalised_weight);

// Sample j comes from the file that is farthest behind its share: the largest w_i * max(j, 1) - taken_i, the first of
// equals. At most 32,767 files.
class BlendOrder {
 public:
  BlendOrder(std::span<const double> normalised_weights, int64_t size);
  int64_t size() const { return static_cast<int64_t>(files_.size()); }
  struct Entry {
    int32_t file = 0;
    int64_t sample = 0;  // number of this sample within its file
  };
  Entry operator[](int64_t i) const;
  int64_t taken(int32_t file) const { return totals_[static_cast<size_t>(file)]; }

 private:
  static constexpr int64_t kBlock = 256;  // counts are stored once a block, the rest is counted on reading
  std::vector<uint16_t> files_;
  std::vector<int64_t> block_counts_;  // [blocks, num_files]
  std::vector<int64_t> totals_;
};

class BlendedDataset final : public DataSet {
 public:
  BlendedDataset(std::vector<std::unique_ptr<DataSet>> parts, BlendOrder order);
  int64_t size() const override { return order_.size(); }
  int64_t sequence_length() const override { return parts_.front()->sequence_length(); }
  void get(int64_t index, Sample& sample) const override;
  std::vector<std::string> files() const override;

 private:
  std::vector<std::unique_ptr<DataSet>> parts_;
  BlendOrder order_;
};

}  // namespace primus::data
