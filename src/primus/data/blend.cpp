#include "primus/data/blend.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "primus/base/check.h"
#include "primus/base/strings.h"
#include "primus/data/numpy_random.h"

namespace primus::data {

const char* to_string(Split split) {
  switch (split) {
    case Split::Train:
      return "train";
    case Split::Valid:
      return "valid";
    case Split::Test:
      return "test";
  }
  PRIMUS_CHECK(false, "unknown split");
}

Result<SplitFractions> parse_split(const std::string& text) {
  const auto wrong = [&](std::string message) {
    Diagnostic diagnostic = error_at({}, std::move(message));
    diagnostic.found = fmt::format("split: '{}'", text);
    diagnostic.expected = "one to three numbers for training, validation and test, e.g. '969, 30, 1'";
    return diagnostic;
  };
  // Megatron takes every run of digits and points; anything between is a separator.
  std::vector<double> numbers;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = text.find_first_of(".0123456789", i);
    if (begin == std::string::npos) break;
    const size_t end = std::min(text.find_first_not_of(".0123456789", begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const std::optional<double> number = parse_double(word);
    if (!number) return wrong(fmt::format("'{}' in the data split is not a number", word));
    if (begin > 0 && text[begin - 1] == '-') return wrong("a part of the data split is negative");
    numbers.push_back(*number);
    i = end;
  }
  if (numbers.empty() || numbers.size() > 3) return wrong(fmt::format("the data split has {} numbers", numbers.size()));
  numbers.resize(3, 0.0);
  if (numbers[0] + numbers[1] + numbers[2] <= 0) return wrong("all parts of the data split are 0");
  const std::vector<double> parts = normalised(numbers);
  SplitFractions fractions;
  double begin = 0;
  for (size_t i = 0; i < 3; ++i) {
    const double end = begin + parts[i];
    if (end > begin) fractions[i] = std::pair(begin, end);
    begin = end;
  }
  return fractions;
}

DocumentRange documents_of(const std::pair<double, double>& part, int64_t num_documents) {
  const auto count = static_cast<double>(num_documents);
  return {static_cast<int64_t>(std::nearbyint(part.first * count)),
          static_cast<int64_t>(std::nearbyint(part.second * count))};
}

std::vector<double> normalised(std::span<const double> weights) {
  const double sum = numpy_sum(weights);
  std::vector<double> parts(weights.begin(), weights.end());
  for (double& part : parts) part /= sum;
  return parts;
}

int64_t blend_target(int64_t size, double normalised_weight) {
  return static_cast<int64_t>(std::ceil(static_cast<double>(size) * normalised_weight));
}

int64_t blend_built(int64_t size, double normalised_weight) {
  return static_cast<int64_t>(std::ceil(static_cast<double>(blend_target(size, normalised_weight)) * (1 + 0.005)));
}

BlendOrder::BlendOrder(std::span<const double> normalised_weights, int64_t size)
    : files_(static_cast<size_t>(size)), totals_(normalised_weights.size(), 0) {
  PRIMUS_CHECK(!normalised_weights.empty() && normalised_weights.size() < 32767, "a blend of 1 to 32,766 files");
  for (int64_t j = 0; j < size; ++j) {
    if (j % kBlock == 0) block_counts_.insert(block_counts_.end(), totals_.begin(), totals_.end());
    const double drawn = std::max(static_cast<double>(j), 1.0);
    size_t best = 0;
    double largest = normalised_weights[0] * drawn - static_cast<double>(totals_[0]);
    for (size_t i = 1; i < totals_.size(); ++i) {
      const double behind = normalised_weights[i] * drawn - static_cast<double>(totals_[i]);
      if (behind > largest) {
        largest = behind;
        best = i;
      }
    }
    files_[static_cast<size_t>(j)] = static_cast<uint16_t>(best);
    ++totals_[best];
  }
}

BlendOrder::Entry BlendOrder::operator[](int64_t i) const {
  PRIMUS_CHECK(i >= 0 && i < size(), "no such sample of the blend");
  const uint16_t file = files_[static_cast<size_t>(i)];
  const int64_t block = i / kBlock;
  const int64_t before = block_counts_[static_cast<size_t>(block) * totals_.size() + file];
  return {file, before + std::count(files_.begin() + block * kBlock, files_.begin() + i, file)};
}

BlendedDataset::BlendedDataset(std::vector<std::unique_ptr<DataSet>> parts, BlendOrder order)
    : parts_(std::move(parts)), order_(std::move(order)) {}

void BlendedDataset::get(int64_t index, Sample& sample) const {
  const BlendOrder::Entry entry = order_[index];
  parts_[static_cast<size_t>(entry.file)]->get(entry.sample, sample);
  sample.file = entry.file;
}

std::vector<std::string> BlendedDataset::files() const {
  std::vector<std::string> names;
  for (const auto& part : parts_) names.push_back(part->files().front());
  return names;
}

}  // namespace primus::data
