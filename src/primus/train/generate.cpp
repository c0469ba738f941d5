#include "primus/train/generate.h"

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

std::string without_controls(std::string_view text) {
  constexpr std::string_view kUnknown = "\xEF\xBF\xBD";
  std::string shown;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {  // U+0080 to U+009F
      shown += kUnknown;
      ++i;
    } else if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F) {
      shown += kUnknown;
    } else {
      shown += text[i];
    }
  }
  return shown;
}

}  // namespace primus::train
