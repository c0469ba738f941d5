// Published configurations of every family, as large as they are: the decoder's weights, never allocated, and the
// checkpoint's tensors speak of the same pieces in the same shapes. tests/golden/hub compares the tensors with
// transformers.
#include <gtest/gtest.h>

#include "support/hf_golden.h"

#include "primus/hub/hf_config.h"
#include "primus/hub/hf_weights.h"
#include "primus/models/decoder.h"

namespace primus::train {
namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;

Shapes pieces_of(models::Decoder& decoder) {
  Shapes shapes;
  for (const nn::Parameter* parameter : decoder.parameters()) {
    for (const nn::Piece& piece : parameter->pieces()) {
      std::vector<int64_t> shape = parameter->shape();
      shape.front() = piece.num_rows;
      shapes[piece.name] = shape;
    }
  }
  for (const models::Buffer& buffer : decoder.buffers()) shapes[buffer.name] = buffer.values.sizes().vec();
  return shapes;
}

TEST(HfNames, EveryPublishedModelHasTheWeightsOfItsCheckpoint) {
  int num_cases = 0;
  for (const Json& one : test::golden_cases()) {
    const std::string name = one.at("name").get<std::string>();
    const hub::HfModel described = value_or_throw(hub::read_hf_config(one.at("config"), name));
    Shapes stored;
    for (const hub::HfTensor& tensor : value_or_throw(hub::hf_weights(described.model, described.family)))
      for (const hub::WeightPart& part : tensor.parts) stored[part.piece] = part.shape;
    models::Decoder decoder(described.model, spec::Dtype::BFloat16, {});
    EXPECT_EQ(pieces_of(decoder), stored) << name;
    ++num_cases;
  }
  EXPECT_GT(num_cases, 100);
}

}  // namespace
}  // namespace primus::train
