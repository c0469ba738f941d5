// Text from a model, token by token.
#pragma once

#include <functional>
#include <vector>

#include "primus/models/decoder.h"

namespace primus::models {

struct GenerateOptions {
  int64_t max_new_tokens = 200;
  double temperature = 0.8;  // logits are divided by it; 0: the most likely token
  int64_t top_k = 50;        // 0: all
  double top_p = 1;          // the least set of likely tokens that holds this much of the probability
  uint64_t seed = 0;
  int64_t vocab_size = 0;           // the model may have more rows than the tokenizer has tokens; 0: all rows
  int64_t window = 0;               // what the model sees at most, the last tokens; 0: all its positions
  std::vector<int64_t> end_tokens;  // each ends the text, and is not part of it
  bool cache = true;                // keep keys and values; false: read everything again for every token
};

// New tokens after `prompt` (at least one token); `emit` hears of each as it is drawn. Equal for equal seeds, with and
// without the cache but for rounding. A text longer than the window is read again in part for every token.
std::vector<int64_t> generate(Decoder& decoder, const std::vector<int64_t>& prompt, const GenerateOptions& options,
                              const nn::Context& context, const std::function<void(int64_t)>& emit = {});

}  // namespace primus::models
