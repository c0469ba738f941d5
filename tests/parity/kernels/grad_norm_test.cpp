#include "primus/kernels/grad_norm.h"

#include <cmath>
#include <limits>

#include "parity/kernels/kernel_cases.h"

namespace primus::kernels {

namespace {

std::vector<double> sums_of(const at::Tensor& t) {
  std::vector<double> sums;
  append_block_square_sums(t, sums);
  return sums;
}

TEST(GradNorm, EqualsTheDoubleSumOfSquares) {
  for (const int64_t n :
       {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{4095}, int64_t{4096}, int64_t{4097}, int64_t{100003}}) {
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      const at::Tensor t = cases::shouting({n}, 1, type);
      const std::vector<double> sums = sums_of(t);
      EXPECT_EQ(static_cast<int64_t>(sums.size()), num_norm_blocks(n));
      const double expected = t.to(at::kDouble).square().sum().item<double>();
      EXPECT_NEAR(combine_square_sums(sums), expected, 1e-12 * expected);
      EXPECT_TRUE(all_blocks_finite(sums));
    }
  }
}

TEST(GradNorm, ShardsCutOnBlockBordersGiveTheBitsOfTheWhole) {
  const at::Tensor t = cases::shouting({50000}, 2);
  std::vector<double> cut;
  int64_t begin = 0;
  for (const int64_t end : {4096, 12288, 45056, 50000}) {
    append_block_square_sums(t.slice(0, begin, end), cut);
    begin = end;
  }
  EXPECT_EQ(cut, sums_of(t));
  EXPECT_EQ(combine_square_sums(cut), combine_square_sums(sums_of(t)));
}

TEST(GradNorm, DoesNotOverflowAndSeesEveryNonFiniteValue) {
  at::Tensor t = at::full({10000}, 3e38F);
  EXPECT_TRUE(all_blocks_finite(sums_of(t)));
  EXPECT_NEAR(std::sqrt(combine_square_sums(sums_of(t))) / 3e40, 1, 1e-6);
  for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    for (const int64_t at_index : {0, 4095, 4096, 9999}) {
      at::Tensor broken = t.clone();
      broken[at_index] = bad;
      EXPECT_FALSE(all_blocks_finite(sums_of(broken)));
    }
  }
}

TEST(GradNorm, GivesTheSameBitsWithAnyNumberOfThreads) {
  const at::Tensor t = cases::shouting({300001}, 3);
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const std::vector<double> one = sums_of(t);
  at::set_num_threads(2);
  EXPECT_EQ(one, sums_of(t));
  at::set_num_threads(before);
}

}  // namespace

}  // namespace primus::kernels
