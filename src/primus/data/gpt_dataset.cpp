#include "primus/data/gpt_dataset.h"

#include <algorithm>
#include <fmt/format.h>

#include "primus/base/check.h"
#include "primus/base/error.h"

namespace primus::data {

GptDataset::GptDataset(std::shared_ptr<const TokenSource> source, GptIndex index, int64_t sequence_length,
                       MaskRules rules)
    : source_(std::move(source)), index_(std::move(index)), sequence_length_(sequence_length), rules_(rules) {}

void GptDataset::get(int64_t index, Sample& sample) const {
  PRIMUS_CHECK(index >= 0 && index < size(), fmt::format("sample {} of {}", index, size()));
  const auto wanted = static_cast<size_t>(sequence_length_ + 1);
  sample.tokens.assign(wanted, 0);
  sample.documents.assign(wanted, -1);
  sample.file = 0;
  // A cache file that was changed under our feet must not lead outside of the data.
  const auto demand = [&](bool condition) {
    if (condition) return;
    throw RunError(
        fmt::format("the sample index does not fit '{}': the data or its index cache changed during the run; "
                    "delete the index cache and start again",
                    source_->name()));
  };
  const int64_t entry = index_.shuffle[index];
  demand(entry < index_.num_samples());
  int64_t position = index_.samples[2 * entry], offset = index_.samples[2 * entry + 1];
  // A padded last sample ends with the data: one position further, nothing is left to read.
  const int64_t last_position = index_.samples[2 * entry + 2], last_offset = index_.samples[2 * entry + 3];
  demand(last_position < index_.documents.size());
  size_t filled = 0;
  for (; position <= last_position && filled < wanted; ++position, offset = 0) {
    const int64_t document = index_.documents[position];
    demand(document < source_->num_sequences());
    const int64_t length = source_->length(document);
    const int64_t end = position == last_position ? std::min(last_offset + 1, length) : length;
    const int64_t here = std::min(end - offset, static_cast<int64_t>(wanted - filled));
    demand(offset >= 0 && here >= 0);
    source_->read(document, offset, std::span(sample.tokens).subspan(filled, static_cast<size_t>(here)));
    std::fill_n(sample.documents.begin() + static_cast<int64_t>(filled), here, document);
    filled += static_cast<size_t>(here);
  }
  fill_masks(rules_, static_cast<int64_t>(filled), sample);
}

}  // namespace primus::data
