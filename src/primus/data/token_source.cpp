#include "primus/data/token_source.h"

#include "primus/base/check.h"
#include "primus/data/numpy_random.h"

namespace primus::data {

MockSource::MockSource(int64_t vocab_size, int64_t eod_id)
    : vocab_size_(vocab_size), eod_id_(eod_id), lengths_(NumpyGenerator(0).integers(1, 4096, 100'000)) {
  PRIMUS_CHECK(vocab_size > 0 && eod_id >= 0, "mock data needs a vocabulary and an end token");
}

void MockSource::read(int64_t sequence, int64_t offset, std::span<int32_t> out) const {
  const int64_t last = length(sequence) - 1;
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t place = offset + static_cast<int64_t>(i);
    out[i] = static_cast<int32_t>(place == last ? eod_id_ : (place + 1) % vocab_size_);
  }
}

}  // namespace primus::data
