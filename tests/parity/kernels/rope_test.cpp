#include "primus/kernels/rope.h"

#include <cmath>

#include "parity/kernels/kernel_cases.h"

#include "primus/base/check.h"

namespace primus::kernels {

namespace {

using cases::distance;
using cases::quiet;
using cases::tolerance;

struct RopeCase {
  int64_t head_dim;
  int64_t rotary_dim;
};

TEST(Rope, EqualsTheReferenceOnSlicesOfAFusedQkv) {
  for (const RopeCase& c : {RopeCase{2, 2}, {6, 4}, {64, 64}, {66, 66}, {100, 50}, {128, 32}}) {
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      for (const auto layout : {RopeLayout::HalfRotate, RopeLayout::Interleaved}) {
        for (const auto direction : {RopeDirection::Forward, RopeDirection::Backward}) {
          SCOPED_TRACE(c.head_dim);
          const auto [cos, sin] = rope_table({.num_positions = 40, .rotary_dim = c.rotary_dim});
          const at::Tensor qkv = quiet({2, 11, 7 * c.head_dim}, 1, type);
          const at::Tensor q = qkv.narrow(-1, c.head_dim, 4 * c.head_dim).view({2, 11, 4, c.head_dim});
          const at::Tensor positions = at::randint(0, 40, {2, 11}, at::kInt);
          for (const at::Tensor& p : {at::Tensor(), positions, positions.to(at::kLong)}) {
            at::Tensor y = at::empty({2, 11, 4, c.head_dim}, type);
            at::Tensor expected = at::empty({2, 11, 4, c.head_dim}, at::kDouble);
            rope_apply(y, q, cos, sin, p, 5, layout, direction);
            reference::rope_apply(expected, q.to(at::kDouble), cos, sin, p, 5, layout, direction);
            EXPECT_LT(distance(y, expected), tolerance(type));
          }
        }
      }
    }
  }
}

TEST(Rope, InPlaceRotatesTheSliceAndNothingElse) {
  const auto [cos, sin] = rope_table({.num_positions = 9, .rotary_dim = 10});
  const at::Tensor qkv = quiet({1, 9, 5, 16}, 2);
  const at::Tensor before = qkv.clone();
  const at::Tensor k = qkv.narrow(2, 3, 1);
  at::Tensor expected = at::empty({1, 9, 1, 16});
  reference::rope_apply(expected, k.clone(), cos, sin, {}, 0, RopeLayout::HalfRotate, RopeDirection::Forward);
  rope_apply(k, k, cos, sin, {}, 0, RopeLayout::HalfRotate, RopeDirection::Forward);
  EXPECT_LT(distance(k, expected), 1e-6);
  EXPECT_TRUE(at::equal(qkv.narrow(2, 0, 3), before.narrow(2, 0, 3)));
  EXPECT_TRUE(at::equal(qkv.narrow(2, 4, 1), before.narrow(2, 4, 1)));
  EXPECT_TRUE(at::equal(k.narrow(-1, 10, 6), before.narrow(2, 3, 1).narrow(-1, 10, 6)));
}

TEST(Rope, BackwardUndoesForward) {
  const auto [cos, sin] = rope_table({.num_positions = 2048, .rotary_dim = 64, .base = 500000});
  const at::Tensor x = quiet({1, 2048, 2, 64}, 3);
  for (const auto layout : {RopeLayout::HalfRotate, RopeLayout::Interleaved}) {
    at::Tensor y = x.clone();
    rope_apply(y, y, cos, sin, {}, 0, layout, RopeDirection::Forward);
    EXPECT_GT(distance(y, x), 0.5);
    rope_apply(y, y, cos, sin, {}, 0, layout, RopeDirection::Backward);
    EXPECT_LT(distance(y, x), 1e-5);
  }
}

TEST(Rope, TableHasThePlainAngles) {
  const auto [cos, sin] = rope_table({.num_positions = 1001, .rotary_dim = 8, .base = 10000});
  EXPECT_FLOAT_EQ(cos[1000][1].item<float>(), static_cast<float>(std::cos(100.0)));
  EXPECT_FLOAT_EQ(sin[7][3].item<float>(), static_cast<float>(std::sin(7 * 1e-3)));
  const auto [half_speed, ignored] =
      rope_table({.num_positions = 11, .rotary_dim = 8, .scaling = RopeScaling::Linear, .factor = 2});
  EXPECT_FLOAT_EQ(half_speed[10][0].item<float>(), static_cast<float>(std::cos(5.0)));
}

// transformers' llama3 rule for base 500000, width 128: entries below the short border keep their frequency, those
// beyond the long one are divided by 8, and entry 32 lies on the ramp.
TEST(Rope, Llama3ScalingKeepsShortStretchesLongAndRampsBetween) {
  const auto frequency = [](int64_t i, RopeScaling scaling) {
    const auto [cos, sin] =
        rope_table({.num_positions = 2, .rotary_dim = 128, .base = 500000, .scaling = scaling, .factor = 8});
    return std::asin(static_cast<double>(sin[1][i].item<float>()));
  };
  EXPECT_NEAR(frequency(10, RopeScaling::Llama3) / frequency(10, RopeScaling::None), 1, 1e-6);
  EXPECT_NEAR(frequency(60, RopeScaling::Llama3) / frequency(60, RopeScaling::None), 0.125, 1e-6);
  const double w = std::pow(500000.0, -64.0 / 128);
  const double t = (8192 / (2 * M_PI / w) - 1) / 3;
  EXPECT_NEAR(frequency(32, RopeScaling::Llama3), (1 - t) * w / 8 + t * w, 1e-9);
}

TEST(Rope, RefusesAPositionOutsideTheTable) {
  const auto [cos, sin] = rope_table({.num_positions = 4, .rotary_dim = 4});
  at::Tensor x = at::zeros({1, 5, 1, 4});
  EXPECT_THROW(rope_apply(x, x, cos, sin, {}, 0, RopeLayout::HalfRotate, RopeDirection::Forward), InternalError);
}

TEST(Rope, GivesTheSameBitsWithAnyNumberOfThreads) {
  const auto [cos, sin] = rope_table({.num_positions = 300, .rotary_dim = 48});
  const at::Tensor x = quiet({2, 300, 3, 48}, 4, at::kBFloat16);
  cases::expect_same_with_one_and_two_threads([&, cos = cos, sin = sin] {
    at::Tensor y = at::empty_like(x);
    rope_apply(y, x, cos, sin, {}, 0, RopeLayout::HalfRotate, RopeDirection::Forward);
    return std::vector<at::Tensor>{y};
  });
}

}  // namespace

}  // namespace primus::kernels
