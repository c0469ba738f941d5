#include "primus/train/generate.h"

#include <algorithm>
#include <numeric>

#include "primus/kernels/philox.h"

namespace primus::train {

namespace {

// Draws from softmax(logits / temperature) over the top_k most likely tokens, by the inverse of the cumulative sum.
int64_t draw(const at::Tensor& logits_v, const GenerateOptions& options, kernels::PhiloxKey key, int64_t index) {
  if (options.temperature <= 0) return logits_v.argmax().item<int64_t>();
  const int64_t vocab = logits_v.numel();
  const int64_t k = options.top_k > 0 ? std::min(options.top_k, vocab) : vocab;
  const auto [values, ids] = logits_v.topk(k);
  const at::Tensor cumulative = (values.to(at::kDouble) / options.temperature).softmax(0).cumsum(0);
  const auto word = kernels::philox4x32(key, {static_cast<uint32_t>(index), 0, 0, 0})[0];
  const at::Tensor place = at::searchsorted(cumulative, static_cast<double>(kernels::uniform_from_word(word)));
  return ids[std::min(place.item<int64_t>(), k - 1)].item<int64_t>();
}

}  // namespace

std::string generate(Trainer& trainer, const GenerateOptions& options) {
  const tokenizer::Tokenizer& tokenizer = *trainer.tokenizer;
  std::vector<int32_t> ids = tokenizer.encode(options.prompt.empty() ? "\n" : options.prompt);
  if (options.prompt.empty() && tokenizer.special().eod) ids = {*tokenizer.special().eod};
  const kernels::PhiloxKey key = kernels::philox_key(options.seed, "generate", 0);
  const nn::Context context = trainer.context(/*training=*/false);
  for (int64_t i = 0; i < options.num_tokens; ++i) {
    const auto window = std::min<int64_t>(static_cast<int64_t>(ids.size()), trainer.spec.data.sequence_length);
    const std::vector<int64_t> recent(ids.end() - window, ids.end());
    const at::Tensor tokens = at::tensor(recent, at::kLong).unsqueeze(0);
    const at::Tensor all = trainer.model.last_logits(tokens, context)[0];
    // The model may have more rows than the tokenizer has tokens.
    const at::Tensor logits = all.narrow(0, 0, std::min(all.numel(), tokenizer.vocab_size()));
    const auto next = static_cast<int32_t>(draw(logits, options, key, i));
    if (tokenizer.special().eod == next) break;
    ids.push_back(next);
  }
  return tokenizer.decode(ids, {.skip_special = true});
}

}  // namespace primus::train
