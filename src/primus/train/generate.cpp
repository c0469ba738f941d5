#include "primus/train/generate.h"

#include "primus/base/strings.h"
#include "primus/models/generate.h"

namespace primus::train {

std::string sample_text(Trainer& trainer) {
  const tokenizer::Tokenizer& tokenizer = *trainer.tokenizer;
  std::vector<int32_t> ids = tokenizer.encode("\n");
  models::GenerateOptions options{.vocab_size = tokenizer.vocab_size(), .window = trainer.spec.data.sequence_length};
  if (const auto eod = tokenizer.special().eod) {
    ids = {*eod};
    options.end_tokens = {*eod};
  }
  const std::vector<int64_t> prompt(ids.begin(), ids.end());
  for (const int64_t token : models::generate(trainer.model, prompt, options, trainer.context(/*training=*/false)))
    ids.push_back(static_cast<int32_t>(token));
  tokenizer::StreamDecoder decoder(tokenizer, {.skip_special = true});
  std::string text;
  for (const int32_t id : ids) text += decoder.push(id);
  return without_controls(text + decoder.finish());
}

}  // namespace primus::train
