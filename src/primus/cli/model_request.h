// The command line of `model logits | grads | generate`: read by the light program, which answers mistakes and --help,
// and again by primus-train, which does the work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "primus/cli/config_request.h"

namespace primus::cli {

// Where a model comes from: exactly one of three.
struct ModelSource {
  std::string hf;        // --hf DIR: a Hugging Face folder
  std::string run;       // --run DIR: a run folder, its newest checkpoint
  ConfigRequest config;  // --config F and overrides: fresh weights of the experiment
};

struct ModelRequest {
  std::string action;  // "logits", "grads", "generate"
  ModelSource source;
  std::string dtype = "fp32";  // --dtype fp32|bf16
  std::string tokens, output;  // --tokens FILE.json, --output OUT.safetensors
  std::string prompt, tokenizer;
  double temperature = 0.8;  // 0: the most likely token
  int64_t top_k = 50;        // 0: all
  double top_p = 1;          // the least set of likely tokens that holds this much of the probability
  int64_t seed = 0;
  int64_t max_new_tokens = 200;
  bool cache = true;  // --no-cache: the whole text is read again for every token
  bool json = false;  // --format json
};

inline const std::vector<std::string> kModelEngineActions = {"logits", "grads", "generate"};

// context.arguments: the action and its options. Nothing when --help was asked for and printed. Throws InputError.
std::optional<ModelRequest> read_model_request(Context& context);

}  // namespace primus::cli
