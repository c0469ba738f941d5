#include "primus/dist/tree_reduce.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "primus/dist/network_address.h"
#include "primus/dist/transport.h"
#include "primus/tensor/prelude.h"

namespace primus::dist {
namespace {

template <typename T>
std::vector<T> values(size_t rank, size_t n) {
  std::vector<T> result(n);
  for (size_t i = 0; i < n; ++i) {
    result[i] = static_cast<T>(std::sin(static_cast<double>(i * 31 + rank * 7 + 1)) *
                               std::pow(10.0, static_cast<double>((i + rank) % 4)));
  }
  return result;
}

// The documented tree, written as recursion over halves cut at the largest power of two.
template <typename T>
T tree(const std::vector<T>& x, size_t begin, size_t end) {
  if (end - begin == 1) return x[begin];
  size_t half = 1;
  while (2 * half < end - begin) half *= 2;
  return static_cast<T>(tree(x, begin, begin + half) + tree(x, begin + half, end));
}

template <typename T>
void expect_tree(ElementType type) {
  for (const size_t num_ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9}) {
    for (const size_t n : {1, 7, 1024, 5003}) {
      std::vector<std::vector<T>> inputs;
      std::vector<const std::byte*> pointers;
      for (size_t rank = 0; rank < num_ranks; ++rank) inputs.push_back(values<T>(rank, n));
      for (const auto& input : inputs) pointers.push_back(reinterpret_cast<const std::byte*>(input.data()));
      std::vector<T> expected(n);
      for (size_t i = 0; i < n; ++i) {
        std::vector<T> column;
        for (const auto& input : inputs) column.push_back(input[i]);
        expected[i] = tree(column, 0, num_ranks);
      }
      // Into the last input: the output may be one of them.
      auto* const output = reinterpret_cast<std::byte*>(inputs.back().data());
      tree_reduce(Reduction::Sum, type, pointers, output, static_cast<int64_t>(n));
      ASSERT_EQ(std::memcmp(inputs.back().data(), expected.data(), n * sizeof(T)), 0)
          << num_ranks << " ranks, " << n << " elements";
    }
  }
}

TEST(TreeReduce, AddsEveryTypeInTheDocumentedTree) {
  expect_tree<float>(ElementType::Float32);
  expect_tree<double>(ElementType::Float64);
  expect_tree<at::BFloat16>(ElementType::BFloat16);
  expect_tree<at::Half>(ElementType::Float16);
  expect_tree<int32_t>(ElementType::Int32);
  expect_tree<int64_t>(ElementType::Int64);
}

TEST(TreeReduce, TheOrderMattersInItsTests) {
  const std::vector<float> x = {1e8f, 1.0f, -1e8f, 1.0f};
  EXPECT_EQ(tree(x, 0, 4), 0.0f);
  EXPECT_EQ(((x[0] + x[1]) + x[2]) + x[3], 1.0f);
}

TEST(TreeReduce, RoundsBFloat16ToNearestEvenAndKeepsNan) {
  const std::vector<at::BFloat16> a(9, at::BFloat16(1.0f));
  std::vector<at::BFloat16> b(9, at::BFloat16(0.00390625f));  // half a unit in the last place of 1: a tie, goes to even
  b[2] = at::BFloat16(std::numeric_limits<float>::quiet_NaN());
  b[3] = at::BFloat16(std::numeric_limits<float>::infinity());
  b[4] = at::BFloat16(0.00396f);
  std::vector<at::BFloat16> out(9);
  tree_reduce(Reduction::Sum, ElementType::BFloat16,
              {reinterpret_cast<const std::byte*>(a.data()), reinterpret_cast<const std::byte*>(b.data())},
              reinterpret_cast<std::byte*>(out.data()), 9);
  EXPECT_EQ(static_cast<float>(out[0]), 1.0f);
  EXPECT_TRUE(std::isnan(static_cast<float>(out[2])));
  EXPECT_TRUE(std::isinf(static_cast<float>(out[3])));
  EXPECT_EQ(static_cast<float>(out[4]), 1.0078125f);
}

TEST(TreeReduce, OneNanMakesTheMaximumNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> a = {1, nan, 3, -5}, b = {2, 9, nan, -6};
  std::vector<float> out(4);
  tree_reduce(Reduction::Max, ElementType::Float32,
              {reinterpret_cast<const std::byte*>(a.data()), reinterpret_cast<const std::byte*>(b.data())},
              reinterpret_cast<std::byte*>(out.data()), 4);
  EXPECT_EQ(out[0], 2);
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_TRUE(std::isnan(out[2]));
  EXPECT_EQ(out[3], -5);
}

TEST(RankStatus, SaysWhereARankIs) {
  EXPECT_EQ(describe({}), "before the first step, no operation yet");
  EXPECT_EQ(describe({.step = 12, .sequence = 40, .waiting = true, .operation = "barrier"}),
            "step 12, in barrier (operation 40)");
  EXPECT_EQ(describe({.step = 12, .sequence = 40, .operation = "barrier"}),
            "step 12, computing since barrier (operation 40)");
  EXPECT_EQ(describe({.step = 3, .sequence = 9, .left = true}), "step 3, it has left");
}

TEST(NetworkAddress, IsTheLoopbackForALoopbackMaster) {
  EXPECT_EQ(own_address("127.0.0.1"), "127.0.0.1");
}

}  // namespace
}  // namespace primus::dist
