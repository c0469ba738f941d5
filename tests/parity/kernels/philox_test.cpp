#include "primus/kernels/philox.h"

#include <cmath>
#include <string>

#include "parity/kernels/kernel_cases.h"

#include "primus/base/hash.h"
#include "primus/kernels/dropout.h"

namespace primus::kernels {

namespace {

const char* const kName = "decoder.layers.0.mlp.linear_fc1.weight";

// Random123 1.14, tests/kat_vectors, lines "philox4x32 10".
TEST(Philox, GivesTheKnownAnswersOfRandom123) {
  EXPECT_EQ(philox4x32({0, 0}, {0, 0, 0, 0}), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// This and the two fill tests: tests/golden/philox/make_philox.py.
TEST(Philox, KeyIsSeedNameAndStep) {
  const PhiloxKey key = philox_key(1234, kName, 0);
  EXPECT_EQ(key.low, 0x34b6c69eU);
  EXPECT_EQ(key.high, 0x9db2fbd4U);
  EXPECT_NE(philox_key(1235, kName, 0).low, key.low);
  EXPECT_NE(philox_key(1234, kName, 1).low, key.low);
  EXPECT_NE(philox_key(1234, "decoder.layers.1.mlp.linear_fc1.weight", 0).low, key.low);
}

TEST(Philox, NormalsEqualASecondImplementationBitByBit) {
  at::Tensor t = at::empty({10007});
  fill_normal(t, philox_key(1234, kName, 0), 3, 0.25, 0.02);
  const std::string_view bytes(static_cast<const char*>(t.data_ptr()), static_cast<size_t>(t.nbytes()));
  EXPECT_EQ(fnv1a64(bytes), 0xc1a996529579ff8eULL);
}

TEST(Philox, CountersGoBeyond32Bits) {
  at::Tensor t = at::empty({2});
  fill_uniform(t, philox_key(1234, kName, 0), (int64_t{1} << 34) + 5, 0, 1);
  EXPECT_EQ(t[0].item<float>(), uniform_from_word(0xcbf93352U));
}

TEST(Philox, NormalQuantilesAreExactToFifteenDigits) {
  struct Quantile {
    uint32_t word;
    double z;
  };
  for (const Quantile& q : {Quantile{0U, -6.3379577545537892525},
                            {1U, -6.166429517819750247},
                            {12345U, -4.5354227620904280563},
                            {268435456U, -1.5341205434059567292},
                            {322122547U, -1.4395314704450153116},
                            {2147483648U, 2.9180993729166226723e-10},
                            {3000000000U, 0.52006806184887621789},
                            {4000000000U, 1.4857137558957359167},
                            {4294967295U, 6.3379577545537892525}}) {
    EXPECT_NEAR(normal_from_word(q.word) / q.z, 1, 1e-15) << q.word;
  }
  EXPECT_NEAR(inverse_normal(1e-15) / -7.9413453261709967713, 1, 1e-15);
  EXPECT_NEAR(inverse_normal(1e-30) / -11.46402468844361572, 1, 1e-15);
  EXPECT_NEAR(inverse_normal(1e-100) / -21.273453560965324294, 1, 1e-15);
}

TEST(Philox, FastFillEqualsTheReferenceBitByBit) {
  const PhiloxKey key = philox_key(7, "embedding.weight", 0);
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    for (const int64_t n : {int64_t{1}, int64_t{7}, int64_t{64}, int64_t{129}, int64_t{5000}}) {
      for (const int64_t begin : {int64_t{0}, int64_t{1}, int64_t{63}, int64_t{1000}}) {
        at::Tensor fast = at::empty({n}, type);
        at::Tensor plain = at::empty({n}, type);
        fill_normal(fast, key, begin, 0, 0.02);
        reference::fill_normal(plain, key, begin, 0, 0.02);
        EXPECT_TRUE(at::equal(fast, plain)) << n << " from " << begin;
      }
    }
  }
}

TEST(Philox, AnyShardEqualsTheWholeFill) {
  const PhiloxKey key = philox_key(8, kName, 0);
  at::Tensor normal = at::empty({9999});
  at::Tensor truncated = at::empty({9999});
  at::Tensor uniform = at::empty({9999});
  fill_normal(normal, key, 0, 0, 1);
  fill_truncated_normal(truncated, key, 0, 0, 1, -2, 2);
  fill_uniform(uniform, key, 0, -1, 3);
  int64_t begin = 0;
  for (const int64_t end : {1, 66, 4096, 9999}) {
    at::Tensor part = at::empty({end - begin});
    fill_normal(part, key, begin, 0, 1);
    EXPECT_TRUE(at::equal(part, normal.slice(0, begin, end)));
    fill_truncated_normal(part, key, begin, 0, 1, -2, 2);
    EXPECT_TRUE(at::equal(part, truncated.slice(0, begin, end)));
    fill_uniform(part, key, begin, -1, 3);
    EXPECT_TRUE(at::equal(part, uniform.slice(0, begin, end)));
    begin = end;
  }
}

TEST(Philox, MomentsAreThoseOfTheDistributions) {
  const PhiloxKey key = philox_key(9, kName, 0);
  const int64_t n = 1000000;
  at::Tensor t = at::empty({n});
  const auto moment = [&](int power) { return t.to(at::kDouble).pow(power).mean().item<double>(); };
  fill_normal(t, key, 0, 0, 1);
  EXPECT_NEAR(moment(1), 0, 0.005);
  EXPECT_NEAR(moment(2), 1, 0.007);
  EXPECT_NEAR(moment(3), 0, 0.02);
  EXPECT_NEAR(moment(4), 3, 0.05);
  const double lag1 = (t.slice(0, 0, n - 1) * t.slice(0, 1, n)).to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(lag1, 0, 0.005);
  fill_truncated_normal(t, key, 0, 0, 1, -2, 2);
  EXPECT_LE(t.abs().max().item<float>(), 2.0F);
  EXPECT_NEAR(moment(1), 0, 0.005);
  EXPECT_NEAR(moment(2), 0.7737413, 0.005);  // 1 - 4 pdf(2) / (2 cdf(2) - 1)
  fill_uniform(t, key, 0, 0, 1);
  EXPECT_GE(t.min().item<float>(), 0.0F);
  EXPECT_LT(t.max().item<float>(), 1.0F);
  EXPECT_NEAR(moment(1), 0.5, 0.002);
  EXPECT_NEAR(moment(2), 1.0 / 3, 0.002);
}

TEST(Philox, FillsGiveTheSameBitsWithAnyNumberOfThreads) {
  cases::expect_same_with_one_and_two_threads([] {
    at::Tensor t = at::empty({100003});
    fill_normal(t, philox_key(1, "a", 2), 5, 0, 1);
    at::Tensor u = at::empty({100003}, at::kBFloat16);
    fill_uniform(u, philox_key(1, "a", 2), 5, 0, 1);
    return std::vector<at::Tensor>{t, u};
  });
}

struct Rows {
  at::Tensor samples;
  at::Tensor positions;
};

Rows rows_of(int64_t num_samples, int64_t length) {
  const at::Tensor index = at::arange(num_samples * length, at::kLong);
  return {at::floor_divide(index, length) + (int64_t{1} << 33), at::remainder(index, length)};
}

TEST(Dropout, KeepsByTheDocumentedWord) {
  const PhiloxKey key = philox_key(3, "decoder.layers.2.mlp", 17);
  const Rows rows = rows_of(2, 3);
  for (const int64_t width : cases::kWidths) {
    const at::Tensor mask = dropout_mask(width, 0.3, key, rows.samples, rows.positions, 8);
    for (int64_t row = 0; row < 6; ++row) {
      for (int64_t f = 0; f < width; f += 5) {
        const auto feature = static_cast<uint32_t>(f + 8);
        const PhiloxCounter words =
            philox4x32(key, {feature / 4, static_cast<uint32_t>(row % 3), static_cast<uint32_t>(row / 3), 2});
        const bool keep = words[feature % 4] >= static_cast<uint32_t>(0.3 * 4294967296.0);
        ASSERT_EQ(mask[row][f].item<float>(), keep ? 1.0F : 0.0F) << row << " " << f;
      }
    }
  }
}

TEST(Dropout, ScalesWhatItKeepsAndKeepsTheRightShare) {
  const PhiloxKey key = philox_key(3, "x", 1);
  const Rows rows = rows_of(4, 100);
  for (const auto type : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const at::Tensor x = cases::quiet({4, 100, 1001}, 1, type);
    const at::Tensor mask = dropout_mask(1001, 0.1, key, rows.samples, rows.positions, 0).view({4, 100, 1001});
    const at::Tensor y = dropout(x, 0.1, key, rows.samples, rows.positions, 0);
    EXPECT_EQ(y.scalar_type(), type);
    EXPECT_LT(cases::distance(y, x.to(at::kDouble) * mask / 0.9), type == at::kBFloat16 ? 0.004 : 1e-6);
    EXPECT_NEAR(mask.mean().item<float>(), 0.9, 0.002);
  }
}

TEST(Dropout, DoesNotDependOnHowTheBatchIsCut) {
  const PhiloxKey key = philox_key(3, "x", 1);
  const Rows rows = rows_of(3, 50);
  const at::Tensor x = at::ones({150, 96});
  const at::Tensor whole = dropout(x, 0.5, key, rows.samples, rows.positions, 0);
  const at::Tensor part =
      dropout(x.slice(0, 40, 90), 0.5, key, rows.samples.slice(0, 40, 90), rows.positions.slice(0, 40, 90), 0);
  EXPECT_TRUE(at::equal(part, whole.slice(0, 40, 90)));
  const at::Tensor right = dropout(x.slice(1, 48, 96), 0.5, key, rows.samples, rows.positions, 48);
  EXPECT_TRUE(at::equal(right, whole.slice(1, 48, 96)));
  cases::expect_same_with_one_and_two_threads(
      [&] { return std::vector<at::Tensor>{dropout(x, 0.5, key, rows.samples, rows.positions, 0)}; });
}

TEST(Dropout, WithProbabilityZeroIsTheInputItself) {
  const at::Tensor x = at::ones({2, 4});
  const Rows rows = rows_of(1, 2);
  EXPECT_TRUE(dropout(x, 0, {}, rows.samples, rows.positions, 0).is_same(x));
}

}  // namespace

}  // namespace primus::kernels
