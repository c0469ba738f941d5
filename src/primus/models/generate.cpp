#include "primus/models/generate.h"

#include <algorithm>

#include "primus/base/check.h"
#include "primus/kernels/philox.h"
#include "primus/nn/cache.h"

namespace primus::models {

namespace {

// Draws from softmax(logits / temperature) over the likeliest tokens, by the inverse of the cumulative sum.
int64_t draw(const at::Tensor& logits_v, const GenerateOptions& options, kernels::PhiloxKey key, int64_t index) {
  if (options.temperature <= 0) return logits_v.argmax().item<int64_t>();
  const int64_t vocab = logits_v.numel();
  const int64_t k = options.top_k > 0 ? std::min(options.top_k, vocab) : vocab;
  const auto [values, ids] = logits_v.topk(k);
  at::Tensor probabilities = (values.to(at::kDouble) / options.temperature).softmax(0);
  if (options.top_p < 1) {
    // A token stays while those before it hold less than top_p; the first always stays.
    const at::Tensor before = probabilities.cumsum(0) - probabilities;
    probabilities = probabilities.masked_fill(before >= options.top_p, 0);
    probabilities = probabilities / probabilities.sum();
  }
  const auto word = kernels::philox4x32(key, {static_cast<uint32_t>(index), 0, 0, 0})[0];
  const double place = static_cast<double>(kernels::uniform_from_word(word));
  const int64_t chosen = at::searchsorted(probabilities.cumsum(0), place).item<int64_t>();
  return ids[std::min(chosen, k - 1)].item<int64_t>();
}

// Logits behind the last token, reading as little as possible.
class Reader {
 public:
  Reader(Decoder& decoder, const nn::Context& context, int64_t window, bool cache)
      : decoder_(decoder), context_(context), window_(window), cached_(cache) {}

  at::Tensor read(const std::vector<int64_t>& ids) {
    const auto length = static_cast<int64_t>(ids.size());
    if (!cached_ || length > window_) return read_from(ids, std::max<int64_t>(0, length - window_));
    context_.cache = &cache_;
    context_.start_position = num_read_;
    at::Tensor logits;
    // The cache takes the prompt at once and then one token at a time.
    if (num_read_ == 0) {
      logits = read_from(ids, 0);
    } else {
      for (int64_t i = num_read_; i < length; ++i) {
        context_.start_position = i;
        logits = decoder_.last_logits(at::full({1, 1}, ids[static_cast<size_t>(i)], at::kLong), context_)[0];
      }
    }
    num_read_ = length;
    context_.cache = nullptr;
    context_.start_position = 0;
    return logits;
  }

 private:
  at::Tensor read_from(const std::vector<int64_t>& ids, int64_t first) {
    const std::vector<int64_t> part(ids.begin() + first, ids.end());
    return decoder_.last_logits(at::tensor(part, at::kLong).unsqueeze(0), context_)[0];
  }

  Decoder& decoder_;
  nn::Context context_;
  int64_t window_;
  bool cached_;
  nn::KeyValueCache cache_;
  int64_t num_read_ = 0;
};

}  // namespace

std::vector<int64_t> generate(Decoder& decoder, const std::vector<int64_t>& prompt, const GenerateOptions& options,
                              const nn::Context& context, const std::function<void(int64_t)>& emit) {
  PRIMUS_CHECK(!prompt.empty(), "generation needs a token to begin with");
  const int64_t positions = decoder.spec().max_positions;
  const int64_t window = options.window > 0 ? std::min(options.window, positions) : positions;
  const kernels::PhiloxKey key = kernels::philox_key(options.seed, "generate", 0);
  Reader reader(decoder, context, window, options.cache);
  std::vector<int64_t> ids = prompt, written;
  for (int64_t i = 0; i < options.max_new_tokens; ++i) {
    const at::Tensor all = reader.read(ids);
    const int64_t rows = options.vocab_size > 0 ? std::min(options.vocab_size, all.numel()) : all.numel();
    const int64_t next = draw(all.narrow(0, 0, rows), options, key, i);
    if (std::ranges::find(options.end_tokens, next) != options.end_tokens.end()) break;
    ids.push_back(next);
    written.push_back(next);
    if (emit) emit(next);
  }
  return written;
}

}  // namespace primus::models
