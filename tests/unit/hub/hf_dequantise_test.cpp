// Numbers: every bit pattern of the short formats, and the two block formats by hand.
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

#include "primus/hub/dequantise.h"

namespace primus::hub {
namespace {

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

TEST(Dequantise, Fp8HasTheValuesOfE4m3fn) {
  EXPECT_EQ(e4m3_to_float(0x00), 0.0F);
  EXPECT_TRUE(std::signbit(e4m3_to_float(0x80)));
  EXPECT_EQ(e4m3_to_float(0x38), 1.0F);
  EXPECT_EQ(e4m3_to_float(0x01), 0x1p-9F);
  EXPECT_EQ(e4m3_to_float(0x07), 7 * 0x1p-9F);
  EXPECT_EQ(e4m3_to_float(0x08), 0x1p-6F);
  EXPECT_EQ(e4m3_to_float(0x7e), 448.0F);
  EXPECT_EQ(e4m3_to_float(0xfe), -448.0F);
  EXPECT_EQ(e4m3_to_float(0xc5), -3.25F);
  EXPECT_TRUE(std::isnan(e4m3_to_float(0x7f)));
  EXPECT_TRUE(std::isnan(e4m3_to_float(0xff)));
}

TEST(Dequantise, EveryHalfComesBackFromFloat) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = f16_to_float(half), brain = bf16_to_float(half);
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(f16_to_float(float_to_f16(value))));
    else
      ASSERT_EQ(float_to_f16(value), half);
    if (std::isnan(brain))
      EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(brain))));
    else
      ASSERT_EQ(float_to_bf16(brain), half);
  }
}

TEST(Dequantise, RoundingIsToTheNearestAndTiesGoToEven) {
  EXPECT_EQ(float_to_bf16(1.0F + 0x1p-8F), 0x3f80);      // tie: down to even
  EXPECT_EQ(float_to_bf16(1.0F + 3 * 0x1p-8F), 0x3f82);  // tie: up to even
  EXPECT_EQ(float_to_bf16(1.0F + 0x1p-8F + 0x1p-20F), 0x3f81);
  EXPECT_EQ(float_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(float_to_f16(1.0F + 0x1p-11F), 0x3c00);
  EXPECT_EQ(float_to_f16(1.0F + 3 * 0x1p-11F), 0x3c02);
  EXPECT_EQ(float_to_f16(65519.0F), 0x7bff);
  EXPECT_EQ(float_to_f16(-65520.0F), 0xfc00);
  EXPECT_EQ(float_to_f16(0x1p-25F), 0x0000);
  EXPECT_EQ(float_to_f16(0x1.8p-25F), 0x0001);
  EXPECT_EQ(float_to_f16(3 * 0x1p-25F), 0x0002);
}

TEST(Dequantise, BlocksOfFp8MultiplyByTheirOwnScaleWherePartialToo) {
  // 5 x 7 in blocks of 2 x 3: 3 x 3 scales.
  std::vector<uint8_t> q(35, 0x38);
  q[4 * 7 + 6] = 0x40;  // 2 in the last corner
  std::vector<float> scales(9);
  std::iota(scales.begin(), scales.end(), 1.0F);
  const StoredNumbers numbers{.form = StoredNumbers::Form::BlockFp8,
                              .bytes = bytes_of(q),
                              .scales = bytes_of(scales),
                              .cols = 7,
                              .block_rows = 2,
                              .block_cols = 3};
  std::vector<float> all(35);
  numbers.read(0, std::span<float>(all));
  const auto at = [&](size_t r, size_t c) { return all[r * 7 + c]; };
  EXPECT_EQ(at(0, 2), 1.0F);
  EXPECT_EQ(at(0, 3), 2.0F);
  EXPECT_EQ(at(1, 6), 3.0F);
  EXPECT_EQ(at(2, 0), 4.0F);
  EXPECT_EQ(at(4, 5), 8.0F);
  EXPECT_EQ(at(4, 6), 18.0F);
  for (int64_t begin = 0; begin < 35; ++begin)
    for (int64_t count = 1; begin + count <= 35; count += 3) {
      std::vector<float> some(static_cast<size_t>(count));
      numbers.read(begin, std::span<float>(some));
      EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + begin)) << begin << " " << count;
    }
}

TEST(Dequantise, Mxfp4HasItsLowNibbleFirst) {
  std::vector<uint8_t> packed(32, 0), scales = {127, 130};
  packed[0] = 0x72;   // elements 0 and 1: codes 2 and 7
  packed[15] = 0xF0;  // elements 30 and 31: codes 0 and 15
  packed[16] = 0x1A;  // elements 32 and 33, of the second block: codes 10 and 1
  const StoredNumbers numbers{
      .form = StoredNumbers::Form::Mxfp4, .bytes = bytes_of(packed), .scales = bytes_of(scales)};
  std::vector<float> all(64);
  numbers.read(0, std::span<float>(all));
  EXPECT_EQ(all[0], 1.0F);
  EXPECT_EQ(all[1], 6.0F);
  EXPECT_EQ(all[2], 0.0F);
  EXPECT_EQ(all[30], 0.0F);
  EXPECT_EQ(all[31], -6.0F);
  EXPECT_EQ(all[32], -8.0F);
  EXPECT_EQ(all[33], 4.0F);
  std::vector<float> odd(2);
  numbers.read(31, std::span<float>(odd));
  EXPECT_EQ(odd, (std::vector<float>{-6.0F, -8.0F}));
}

TEST(Dequantise, Bf16IsCopiedAndOtherTypesAreRounded) {
  const std::vector<uint16_t> stored = {0x3f80, 0x7fc1, 0xc049};
  std::vector<uint16_t> out(3);
  StoredNumbers{.dtype = Dtype::BF16, .bytes = bytes_of(stored)}.read(0, std::span<uint16_t>(out));
  EXPECT_EQ(out, stored);
  const std::vector<double> wide = {1.0 + 0x1p-8, -3.0};
  std::vector<uint16_t> two(2);
  StoredNumbers{.dtype = Dtype::F64, .bytes = bytes_of(wide)}.read(0, std::span<uint16_t>(two));
  EXPECT_EQ(two, (std::vector<uint16_t>{0x3f80, 0xc040}));
}

TEST(Dequantise, EncodingSaysWhenF16OverflowsAndOnlyThen) {
  std::vector<std::byte> out(4);
  EXPECT_FALSE(encode(std::vector<float>{1.0F, 70000.0F}, Dtype::F16, out));
  EXPECT_TRUE(encode(std::vector<float>{1.0F, 65504.0F}, Dtype::F16, out));
  EXPECT_TRUE(encode(std::vector<float>{1.0F, std::numeric_limits<float>::infinity()}, Dtype::F16, out));
}

}  // namespace
}  // namespace primus::hub
