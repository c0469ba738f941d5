#include "primus/nn/attention_stream.h"

#include "primus/base/check.h"

namespace primus::nn {

AttentionStream::AttentionStream(const std::string& name, const Context& context)
    : key_(kernels::philox_key(context.seed, name + ".dropout", static_cast<uint64_t>(context.step))),
      samples_(context.sample_index) {}

kernels::AttentionDropout AttentionStream::dropout(double p) {
  PRIMUS_CHECK(samples_.defined(), "attention dropout needs the samples of its rows");
  threshold_ = static_cast<uint32_t>(p * 4294967296.0);
  return {.p = p, .keep = &AttentionStream::keep, .context = this};
}

// Word key % 4 of the block {key / 4, query, sample, sample's upper half and head}.
void AttentionStream::keep(const void* self, int64_t b, int64_t h, int64_t query, int64_t first_key, int64_t count,
                           uint8_t* keep) {
  const auto& stream = *static_cast<const AttentionStream*>(self);
  const auto sample = static_cast<uint64_t>(stream.samples_.const_data_ptr<int64_t>()[b]);
  const auto upper = static_cast<uint32_t>(sample >> 32) << 16 | static_cast<uint32_t>(h);
  kernels::PhiloxCounter words{};
  int64_t block = -1;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t key = first_key + i;
    if (key / 4 != block) {
      block = key / 4;
      words = kernels::philox4x32(stream.key_, {static_cast<uint32_t>(block), static_cast<uint32_t>(query),
                                                static_cast<uint32_t>(sample), upper});
    }
    keep[i] = words[static_cast<size_t>(key % 4)] >= stream.threshold_;
  }
}

}  // namespace primus::nn
