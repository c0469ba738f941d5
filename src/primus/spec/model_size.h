// Parameter counts and model FLOPs from the architecture alone.
#pragma once

#include <cstdint>

#include "primus/spec/model.h"

namespace primus::spec {

struct ModelSize {
  int64_t embedding = 0;  // token table, and learned positions
  int64_t layers = 0;
  int64_t final_norm = 0;
  int64_t head = 0;  // 0 when tied
  int64_t total() const { return embedding + layers + final_norm + head; }
};

// Parameters as built (padded vocabulary rows count when `padded`; published counts use padded = false).
ModelSize count_parameters(const Model& model, bool padded);

// Model FLOPs per token of a forward and backward pass at this sequence length: a multiply-add is 2, backward twice
// forward, recomputation never counted, the causal half of attention. Megatron's formula, with the padded vocabulary.
double flops_per_token(const Model& model, int64_t sequence_length);

}  // namespace primus::spec
