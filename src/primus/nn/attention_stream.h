// Dropout of attention probabilities: the decision for (sample, head, query, key), from a counter-based stream.
#pragma once

#include <string>

#include "primus/kernels/attention.h"
#include "primus/kernels/philox.h"
#include "primus/nn/context.h"

namespace primus::nn {

class AttentionStream {
 public:
  // name: of the attention module; samples and step come from the context.
  AttentionStream(const std::string& name, const Context& context);

  // Valid while this object lives and stays where it is. p in (0, 1).
  kernels::AttentionDropout dropout(double p);

 private:
  static void keep(const void* self, int64_t b, int64_t h, int64_t query, int64_t first_key, int64_t count,
                   uint8_t* keep);

  kernels::PhiloxKey key_;
  at::Tensor samples_;      // [b] i64
  uint32_t threshold_ = 0;  // words below it drop
};

}  // namespace primus::nn
