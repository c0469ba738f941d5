// Text from the model in training, shown at the end of a run.
#pragma once

#include <string>

#include "primus/train/trainer.h"

namespace primus::train {

struct GenerateOptions {
  std::string prompt;  // empty: the end-of-document token, else a newline
  int64_t num_tokens = 200;
  double temperature = 0.8;  // 0: the most likely token
  int64_t top_k = 50;        // 0: all
  uint64_t seed = 0;
};

// Prompt and continuation. Every new token sees at most the last sequence_length ones. Equal for equal seeds.
std::string generate(Trainer& trainer, const GenerateOptions& options);

}  // namespace primus::train
