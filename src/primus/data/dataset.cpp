#include "primus/data/dataset.h"

#include <algorithm>
#include <numeric>

namespace primus::data {

void fill_masks(const MaskRules& rules, int64_t num_real, Sample& sample) {
  const size_t length = sample.tokens.size() - 1;
  const auto real = static_cast<size_t>(num_real);
  sample.loss_mask.assign(length, 0);
  // The label of position i is token i + 1: the last real token has no label of its own.
  std::fill_n(sample.loss_mask.begin(), std::min(length, real > 0 ? real - 1 : 0), uint8_t{1});
  sample.position_ids.resize(length);
  std::iota(sample.position_ids.begin(), sample.position_ids.end(), 0);
  sample.document_start.assign(length, 0);
  if (rules.eod_id < 0 || !(rules.reset_position_ids || rules.reset_attention_mask || rules.mask_loss_at_eod)) return;

  int32_t start = 0;
  for (size_t i = 0; i < length; ++i) {
    if (rules.reset_position_ids) sample.position_ids[i] = static_cast<int32_t>(i) - start;
    if (rules.reset_attention_mask) sample.document_start[i] = start;
    if (i >= real || sample.tokens[i] != rules.eod_id) continue;
    if (rules.mask_loss_at_eod) sample.loss_mask[i] = 0;
    start = static_cast<int32_t>(i) + 1;
  }
}

}  // namespace primus::data
