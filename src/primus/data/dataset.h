// What training reads: numbered samples of one fixed length.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace primus::data {

// s: sequence length. Position i predicts tokens[i + 1].
struct Sample {
  std::vector<int32_t> tokens;          // s + 1: inputs are the first s, labels the last s
  std::vector<uint8_t> loss_mask;       // s: 1 where the prediction counts
  std::vector<int32_t> position_ids;    // s
  std::vector<int32_t> document_start;  // s: attention of position i goes back to here; all 0 without resets
  std::vector<int64_t> documents;       // s + 1: number of the document in its file (-1: padding)
  int32_t file = 0;                     // which file of the blend
};

// Which positions are cut off from each other. eod_id < 0: no end-of-document token.
struct MaskRules {
  int64_t eod_id = -1;
  bool reset_position_ids = false, reset_attention_mask = false, mask_loss_at_eod = false;
};

// Fills loss_mask, position_ids and document_start from tokens, of which the first num_real are data and the rest
// padding. Padding is known by its place, never by its id, so a true end token is trained on even where the tokenizer
// pads with it. The loss mask looks at the *input* token: the end token predicts across documents.
void fill_masks(const MaskRules& rules, int64_t num_real, Sample& sample);

class DataSet {
 public:
  virtual ~DataSet() = default;
  virtual int64_t size() const = 0;
  virtual int64_t sequence_length() const = 0;
  // 0 <= index < size(). Buffers of `sample` are reused. Threads: safe. Errors: RunError when the index does not fit
  // the data file (changed while training).
  virtual void get(int64_t index, Sample& sample) const = 0;
  // The files behind Sample::file, as the user wrote them.
  virtual std::vector<std::string> files() const = 0;
};

}  // namespace primus::data
