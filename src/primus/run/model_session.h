// A model that computes without training: weights from a Hugging Face folder, a run, or fresh.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "primus/cli/model_request.h"
#include "primus/hub/hf_weights.h"
#include "primus/models/decoder.h"
#include "primus/tokenizer/tokenizer.h"

namespace primus::run {

struct ModelSession {
  std::string family;                  // of Hugging Face; empty: no family can hold the model
  std::vector<hub::HfTensor> tensors;  // as the model's checkpoint spells them, or its family; empty without a family
  std::unique_ptr<models::Decoder> decoder;
  nn::Routes routes;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;  // null where none was asked for
  std::vector<int64_t> end_tokens;                  // each ends a text

  nn::Context context() const { return {.routes = &routes}; }
};

// Throws InputError for everything that is wrong with the request's source. with_tokenizer: text is to be read or
// written, and a missing tokenizer is an error.
ModelSession open_model(const cli::ModelRequest& request, cli::Context& context, bool with_tokenizer);

// {"input_ids": [[...], ...]}: i64 [b, t], checked against the vocabulary and the positions. Throws InputError.
at::Tensor read_token_rows(const std::string& file, const spec::Model& model);

// A mean over the rows' next tokens: labels are the tokens one place on, the last place counts nothing. tokens [b, t].
models::MicroBatch next_token_batch(const at::Tensor& tokens);

}  // namespace primus::run
