#include "primus/hub/box.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

namespace primus::hub {
namespace {

using ::testing::HasSubstr;

TEST(Box, MeetsInTheCommonPartOnly) {
  const Box a{{2, 0}, {3, 7}};
  EXPECT_EQ(intersect(a, {{4, 5}, {9, 9}}), (Box{{4, 5}, {1, 2}}));
  EXPECT_EQ(intersect(a, {{5, 0}, {1, 7}}), std::nullopt);
  EXPECT_EQ(intersect(a, {{2, 0}, {0, 7}}), std::nullopt);
  EXPECT_EQ(intersect(Box{}, Box{}), Box{});
}

TEST(Box, KnowsWhetherBoxesFillATensorOnce) {
  EXPECT_EQ(tiling_fault({5, 3}, {{{0, 0}, {2, 3}}, {{2, 0}, {3, 3}}}), "");
  EXPECT_EQ(tiling_fault({5, 3}, {{{0, 1}, {5, 2}}, {{2, 0}, {3, 1}}, {{0, 0}, {2, 1}}}), "");
  EXPECT_EQ(tiling_fault({}, {{{}, {}}}), "");
  EXPECT_EQ(tiling_fault({0, 4}, {}), "");
  EXPECT_EQ(tiling_fault({5}, {{{0}, {5}}, {{5}, {0}}}), "");
  EXPECT_THAT(tiling_fault({5, 3}, {{{0, 0}, {2, 3}}}), HasSubstr("cover 6 of 15"));
  EXPECT_THAT(tiling_fault({5, 3}, {{{0, 0}, {3, 3}}, {{2, 0}, {3, 3}}}), HasSubstr("overlap"));
  EXPECT_THAT(tiling_fault({4, 4}, {{{0, 0}, {4, 2}}, {{0, 1}, {4, 2}}}), HasSubstr("overlap"));
  EXPECT_THAT(tiling_fault({}, {{{}, {}}, {{}, {}}}), HasSubstr("overlap"));
  EXPECT_THAT(tiling_fault({5}, {{{3}, {3}}}), HasSubstr("does not fit"));
  EXPECT_THAT(tiling_fault({5}, {{{INT64_MAX}, {INT64_MAX}}}), HasSubstr("does not fit"));
  EXPECT_THAT(tiling_fault({5}, {{{-1}, {2}}}), HasSubstr("does not fit"));
  EXPECT_THAT(tiling_fault({5}, {{{0, 0}, {5, 1}}}), HasSubstr("dims"));
  EXPECT_THAT(tiling_fault({3}, {}), HasSubstr("cover 0 of 3"));
}

// Copies by the definition, one element after another.
std::vector<int> copied(const std::vector<int64_t>& shape, const Box& source, const Box& destination) {
  const auto flat = [&](const Box& box, int64_t i, int64_t j, int64_t k) {
    return static_cast<size_t>(((i - box.offset[0]) * box.size[1] + j - box.offset[1]) * box.size[2] + k -
                               box.offset[2]);
  };
  const auto inside = [](const Box& box, int64_t i, int64_t j, int64_t k) {
    const int64_t at[] = {i, j, k};
    for (size_t d = 0; d < 3; ++d) {
      if (at[d] < box.offset[d] || at[d] >= box.offset[d] + box.size[d]) return false;
    }
    return true;
  };
  std::vector<int> result(static_cast<size_t>(num_elements(destination)), -1);
  for (int64_t i = 0; i < shape[0]; ++i) {
    for (int64_t j = 0; j < shape[1]; ++j) {
      for (int64_t k = 0; k < shape[2]; ++k) {
        if (inside(source, i, j, k) && inside(destination, i, j, k)) {
          result[flat(destination, i, j, k)] = static_cast<int>(flat(source, i, j, k)) + 100;
        }
      }
    }
  }
  return result;
}

TEST(Box, CopiesExactlyTheCommonElements) {
  const std::vector<int64_t> shape = {3, 4, 5};
  std::vector<Box> boxes;
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 4; j += 2) {
      for (int64_t k = 0; k < 5; k += 2) {
        boxes.push_back({{0, 0, 0}, {i + 1, j + 1, k + 1}});
        boxes.push_back({{i, j, k}, {3 - i, 4 - j, 5 - k}});
      }
    }
  }
  for (const Box& source : boxes) {
    std::vector<int> data(static_cast<size_t>(num_elements(source)));
    std::iota(data.begin(), data.end(), 100);
    for (const Box& destination : boxes) {
      const std::optional<Box> part = intersect(source, destination);
      std::vector<int> result(static_cast<size_t>(num_elements(destination)), -1);
      if (part) {
        copy_box(*part, source, reinterpret_cast<const std::byte*>(data.data()), destination,
                 reinterpret_cast<std::byte*>(result.data()), sizeof(int));
      }
      ASSERT_EQ(result, copied(shape, source, destination)) << to_string(source) << " -> " << to_string(destination);
    }
  }
}

}  // namespace
}  // namespace primus::hub
