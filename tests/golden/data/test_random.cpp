// Golden values: make_random.py (numpy, torch).
#include <gtest/gtest.h>
#include <numeric>

#include "golden/data/support.h"

#include "primus/data/numpy_random.h"

namespace primus::data::test {
namespace {

template <class T>
std::vector<int64_t> shuffled(int64_t n, uint32_t seed) {
  std::vector<T> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), T{0});
  std::mt19937 engine(seed);
  numpy_shuffle(engine, std::span(values));
  return {values.begin(), values.end()};
}

TEST(NumpyRandom, ShufflesAsRandomStateDoes) {
  for (const Json& row : golden("random.json")["shuffle"]) {
    const int64_t n = row["n"];
    const uint32_t seed = row["seed"];
    const std::string dtype = row["dtype"];
    const std::vector<int64_t> values = dtype == "int32"    ? shuffled<int32_t>(n, seed)
                                        : dtype == "uint32" ? shuffled<uint32_t>(n, seed)
                                                            : shuffled<int64_t>(n, seed);
    EXPECT_EQ(digest(values), row["sha256"].get<std::string>()) << row.dump();
  }
}

TEST(NumpyRandom, DrawsAbove32BitsFromTwoWords) {
  const Json row = golden("random.json")["interval_above_2_32"];
  std::mt19937 engine(row["seed"].get<uint32_t>());
  for (const Json& value : row["values"]) EXPECT_EQ(numpy_interval(engine, row["max"]), value.get<uint64_t>());
}

TEST(NumpyRandom, GivesTheIntegersOfDefaultRng) {
  for (const Json& row : golden("random.json")["integers"]) {
    const std::vector<int32_t> values = NumpyGenerator(row["seed"]).integers(row["low"], row["high"], row["size"]);
    EXPECT_EQ(std::vector<int32_t>(values.begin(), values.begin() + 16), numbers<int32_t>(row["head"]));
    EXPECT_EQ(digest(values), row["sha256"].get<std::string>()) << row.dump();
  }
}

TEST(NumpyRandom, SumsInPairsToTheLastBit) {
  for (const Json& row : golden("random.json")["sum"]) {
    std::vector<double> values(row["n"].get<size_t>());
    for (size_t i = 0; i < values.size(); ++i) values[i] = 1.0 / (3 + static_cast<double>(i));
    EXPECT_EQ(numpy_sum(values), std::stod(row["sum"].get<std::string>())) << values.size();
  }
}

TEST(TorchRandom, PermutesAsRandpermDoes) {
  for (const Json& row : golden("random.json")["randperm"]) {
    const std::vector<uint32_t> values = torch_randperm(row["n"], row["seed"]);
    EXPECT_EQ(digest(std::vector<int64_t>(values.begin(), values.end())), row["sha256"].get<std::string>())
        << row.dump();
  }
}

}  // namespace
}  // namespace primus::data::test
