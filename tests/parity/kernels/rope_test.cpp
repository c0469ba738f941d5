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

// B044: rows of one order are those of the other after a permutation within each head, and back again.
TEST(Rope, AdjacentPairsAreHalvesInAnotherOrderOfEachHeadsRows) {
  const at::Tensor to_halves = at::tensor({0, 2, 1, 3, 4, 6, 5, 7}, at::kLong);  // two heads of four
  EXPECT_TRUE(at::equal(to_halves.index_select(0, to_halves), at::arange(8, at::kLong)));
  const auto [cos, sin] = rope_table({.num_positions = 6, .rotary_dim = 4});
  const auto rotated = [&cos = cos, &sin = sin](const at::Tensor& rows, RopeLayout layout) {
    const at::Tensor y = at::empty({1, 6, 2, 4});
    rope_apply(y, rows.view({1, 6, 2, 4}), cos, sin, {}, 0, layout, RopeDirection::Forward);
    return y.view({1, 6, 8});
  };
  const at::Tensor x = quiet({1, 6, 8}, 3);
  const at::Tensor halves = rotated(x.index_select(-1, to_halves), RopeLayout::HalfRotate);
  EXPECT_LT(distance(halves, rotated(x, RopeLayout::Interleaved).index_select(-1, to_halves)), 1e-6);
  EXPECT_GT(distance(halves, rotated(x, RopeLayout::Interleaved)), 0.1);
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
  const auto [half_speed, ignored] = rope_table({.num_positions = 11, .rotary_dim = 8, .position_divisor = 2});
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

double frequency_of(const RopeOptions& options, int64_t pair) {
  RopeOptions two = options;
  two.num_positions = 2;
  const auto [cos, sin] = rope_table(two);
  return std::atan2(static_cast<double>(sin[1][pair].item<float>()), static_cast<double>(cos[1][pair].item<float>()));
}

// B040: ratios to the unscaled frequencies of Llama 3.2, computed by transformers 5.24.
TEST(Rope, Llama3RatiosAreThoseOfThePublishedCode) {
  const RopeOptions plain = {.rotary_dim = 64, .base = 500000};
  RopeOptions scaled = plain;
  scaled.scaling = RopeScaling::Llama3;
  scaled.factor = 32;
  const auto ratio = [&](int64_t pair) { return frequency_of(scaled, pair) / frequency_of(plain, pair); };
  for (int64_t pair = 0; pair < 15; ++pair) EXPECT_NEAR(ratio(pair), 1, 1e-6);
  EXPECT_NEAR(ratio(15), 0.60557, 1e-5);
  EXPECT_NEAR(ratio(16), 0.30374, 1e-5);
  EXPECT_NEAR(ratio(17), 0.10345, 1e-5);
  for (int64_t pair = 18; pair < 32; ++pair) EXPECT_NEAR(ratio(pair), 1.0 / 32, 1e-6);
}

// B041: factor 40 over 4096 positions, width 64. Frequencies of transformers 5.24.
TEST(Rope, YarnFrequenciesAreThoseOfThePublishedCode) {
  const RopeOptions yarn = {
      .rotary_dim = 64, .base = 10000, .scaling = RopeScaling::Yarn, .factor = 40, .original_positions = 4096};
  const std::vector<double> wanted = {
      1.0,          0.7498942,    0.56234133,   0.42169651,   0.31622776,   0.23713736,   0.17782794,   0.13335215,
      0.1,          0.074989416,  0.056234129,  0.039006926,  0.026879361,  0.018378144,  0.012447956,  0.0083345091,
      0.0055000004, 0.0035619973, 0.0022493652, 0.0013705135, 7.9056941e-4, 4.1499041e-4, 1.7782794e-4, 3.3338034e-5,
      2.4999999e-5, 1.8747354e-5, 1.4058533e-5, 1.0542412e-5, 7.9056945e-6, 5.9284343e-6, 4.4456983e-6, 3.3338035e-6};
  for (int64_t pair = 0; pair < 32; ++pair) {
    const double w = wanted[static_cast<size_t>(pair)];
    EXPECT_NEAR(frequency_of(yarn, pair), w, 1e-6 * w) << pair;
  }
}

// The ends of the ramp as they are (gpt-oss): base 150000, factor 32. Frequencies of transformers 5.24.
TEST(Rope, YarnWithExactBoundsIsThatOfThePublishedCode) {
  const RopeOptions yarn = {.rotary_dim = 64,
                            .base = 150000,
                            .scaling = RopeScaling::Yarn,
                            .factor = 32,
                            .original_positions = 4096,
                            .whole_bounds = false};
  const std::vector<double> wanted = {
      1.0,          0.6890443,    0.47478205,   0.32714587,   0.225418,     0.15532298,   0.10702442,   0.073744565,
      0.050813273,  0.031705696,  0.019335,     0.011592049,  0.0067949593, 0.0038603591, 0.0020937927, 0.0010526022,
      4.5648392e-4, 1.2931869e-4, 3.8308812e-5, 2.6396468e-5, 1.8188337e-5, 1.253257e-5,  8.6354958e-6, 5.9502395e-6,
      4.0999785e-6, 2.8250668e-6, 1.9465963e-6, 1.341291e-6,  9.2420896e-7, 6.3682091e-7, 4.3879785e-7, 3.0235114e-7};
  for (int64_t pair = 0; pair < 32; ++pair) {
    const double w = wanted[static_cast<size_t>(pair)];
    EXPECT_NEAR(frequency_of(yarn, pair), w, 2e-6 * w) << pair;
  }
}

TEST(Rope, AmplitudeMultipliesTheTableAndRotationsScaleByIt) {  // B041: 0.1 ln 40 + 1
  const double amplitude = 0.1 * std::log(40.0) + 1;
  EXPECT_NEAR(amplitude, 1.3688879, 1e-7);
  const auto [cos, sin] = rope_table({.num_positions = 9, .rotary_dim = 6, .amplitude = amplitude});
  const auto [plain_cos, plain_sin] = rope_table({.num_positions = 9, .rotary_dim = 6});
  EXPECT_LT(distance(cos, amplitude * plain_cos), 1e-6);
  EXPECT_LT(distance(sin, amplitude * plain_sin), 1e-6);
  const at::Tensor x = quiet({1, 9, 2, 6}, 5);
  at::Tensor y = at::empty_like(x);
  rope_apply(y, x, cos, sin, {}, 0, RopeLayout::HalfRotate, RopeDirection::Forward);
  EXPECT_LT(distance(y.norm(2, -1), amplitude * x.norm(2, -1)), 1e-5);
}

TEST(Rope, FarPositionsStayApart) {  // B092: bf16 turns both positions into 9984
  const auto [cos, sin] = rope_table({.num_positions = 10001, .rotary_dim = 8});
  const auto angle = [&, cos = cos, sin = sin](int64_t position) {
    return std::atan2(static_cast<double>(sin[position][0].item<float>()),
                      static_cast<double>(cos[position][0].item<float>()));
  };
  EXPECT_NEAR(std::remainder(angle(10000) - angle(9999), 2 * M_PI), 1, 1e-6);
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
