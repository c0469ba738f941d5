// Weights, batches and contexts of the decoder tests.
#pragma once

#include <gtest/gtest.h>
#include <vector>

#include "gradcheck/models/decoder_cases.h"
#include "gradcheck/models/reference_layers.h"

#include "primus/models/decoder.h"
#include "primus/tensor/runtime.h"

namespace primus::test {

// Weights that shout (also gains, biases and what routers add to scores), the same in the decoder and as double leaves.
Weights random_weights(models::Decoder& decoder, spec::Dtype dtype);

models::MicroBatch random_batch(const Case& c);

// In training. With documents: three rows cut differently.
nn::Context make_context(const nn::Routes& routes, bool documents);

double relative_error(const at::Tensor& found, const at::Tensor& wanted);

// Of dense_cases() and all others.
std::vector<Case> all_cases();

// One thread: handing work this small to another takes twenty times as long.
class DecoderCases : public testing::TestWithParam<Case> {
 protected:
  DecoderCases() : num_threads_before_(tensor::num_threads()) { tensor::set_num_threads(1); }
  ~DecoderCases() override { tensor::set_num_threads(num_threads_before_); }

 private:
  int num_threads_before_;
};

inline std::string name_of(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

}  // namespace primus::test
