// fp8: DeepSeek-V3 checkpoints, X.weight F8_E4M3 [o, i] and X.weight_scale_inv F32 [ceil(o/128), ceil(i/128)]; the
// number is the product, despite the name (arXiv 2412.19437 section 3.3). MXFP4: OCP Microscaling Formats 1.0; GPT-OSS
// stores blocks U8 [..., n/32, 16] and scales U8 [..., n/32].
#include "primus/hub/dequantise.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "primus/base/check.h"

namespace primus::hub {

namespace {

template <class T>
T load(std::span<const std::byte> bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

float decode_e4m3(int bits) {
  const int exponent = (bits >> 3) & 15, mantissa = bits & 7;
  const float sign = (bits & 0x80) != 0 ? -1.0F : 1.0F;
  if (exponent == 15 && mantissa == 7) return std::nanf("");
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -9);
  return sign * std::ldexp(1.0F + static_cast<float>(mantissa) / 8, exponent - 7);
}

const std::array<float, 256>& e4m3_table() {
  static const std::array<float, 256> table = [] {
    std::array<float, 256> values{};
    for (int bits = 0; bits < 256; ++bits) values[static_cast<size_t>(bits)] = decode_e4m3(bits);
    return values;
  }();
  return table;
}

constexpr std::array<double, 16> kFp4 = {0, .5, 1, 1.5, 2, 3, 4, 6, -0.0, -.5, -1, -1.5, -2, -3, -4, -6};

void read_plain(const StoredNumbers& n, int64_t begin, std::span<float> out) {
  const auto count = static_cast<int64_t>(out.size());
  float* const to = out.data();
  switch (n.dtype) {
    case Dtype::F32:
      std::memcpy(to, n.bytes.data() + begin * 4, out.size_bytes());
      return;
    case Dtype::BF16:
      for (int64_t i = 0; i < count; ++i) to[i] = bf16_to_float(load<uint16_t>(n.bytes, begin + i));
      return;
    case Dtype::F16:
      for (int64_t i = 0; i < count; ++i) to[i] = f16_to_float(load<uint16_t>(n.bytes, begin + i));
      return;
    case Dtype::F64:
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(load<double>(n.bytes, begin + i));
      return;
    default:
      PRIMUS_CHECK(false, "no plain float");
  }
}

void read_block_fp8(const StoredNumbers& n, int64_t begin, std::span<float> out) {
  const std::array<float, 256>& table = e4m3_table();
  const int64_t blocks_across = (n.cols + n.block_cols - 1) / n.block_cols;
  const int64_t end = begin + static_cast<int64_t>(out.size());
  for (int64_t at = begin; at < end;) {
    const int64_t row = at / n.cols, col = at % n.cols;
    const int64_t block_end = std::min((col / n.block_cols + 1) * n.block_cols, n.cols);
    const int64_t stop = std::min(end, at + block_end - col);
    const auto scale = load<float>(n.scales, row / n.block_rows * blocks_across + col / n.block_cols);
    for (; at < stop; ++at)
      out[static_cast<size_t>(at - begin)] = table[static_cast<size_t>(n.bytes[static_cast<size_t>(at)])] * scale;
  }
}

void read_mxfp4(const StoredNumbers& n, int64_t begin, std::span<float> out) {
  const int64_t end = begin + static_cast<int64_t>(out.size());
  for (int64_t at = begin; at < end;) {
    const int64_t block = at / 32, stop = std::min(end, (block + 1) * 32);
    const double scale = std::ldexp(1.0, static_cast<int>(n.scales[static_cast<size_t>(block)]) - 127);
    for (; at < stop; ++at) {
      const auto pair = static_cast<unsigned>(n.bytes[static_cast<size_t>(at / 2)]);
      const unsigned nibble = at % 2 == 0 ? pair & 15U : pair >> 4;
      out[static_cast<size_t>(at - begin)] = static_cast<float>(kFp4[nibble] * scale);
    }
  }
}

}  // namespace

float bf16_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return static_cast<uint16_t>(is_nan ? (bits >> 16) | 0x40U : rounded);
}

float f16_to_float(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000U) << 16, exponent = (bits >> 10) & 31U, mantissa = bits & 0x3ffU;
  if (exponent == 0) {
    const float small = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -small : small;
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

uint16_t float_to_f16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
  uint32_t size = bits & 0x7fffffffU;
  if (size > 0x7f800000U) return sign | 0x7e00U;
  if (size >= 0x477ff000U) return sign | 0x7c00U;
  if (size < 0x38800000U) {
    // Below 2^-14: adding 0.5 leaves the wanted bits, rounded, at the end of the mantissa.
    const float shifted = std::bit_cast<float>(size) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000U));
  }
  size += 0xfffU + ((size >> 13) & 1U);
  return static_cast<uint16_t>(sign | ((size - 0x38000000U) >> 13));
}

float e4m3_to_float(uint8_t bits) {
  return e4m3_table()[bits];
}

bool is_plain_float(Dtype dtype) {
  return is_export_dtype(dtype) || dtype == Dtype::F64;
}

bool is_export_dtype(Dtype dtype) {
  return dtype == Dtype::F32 || dtype == Dtype::BF16 || dtype == Dtype::F16;
}

void StoredNumbers::read(int64_t begin, std::span<float> out) const {
  switch (form) {
    case Form::Plain:
      return read_plain(*this, begin, out);
    case Form::BlockFp8:
      return read_block_fp8(*this, begin, out);
    case Form::Mxfp4:
      return read_mxfp4(*this, begin, out);
  }
}

void StoredNumbers::read(int64_t begin, std::span<uint16_t> out) const {
  if (form == Form::Plain && dtype == Dtype::BF16) {
    std::memcpy(out.data(), bytes.data() + begin * 2, out.size_bytes());
    return;
  }
  std::array<float, 1024> values;
  for (size_t done = 0; done < out.size();) {
    const std::span<float> some(values.data(), std::min(values.size(), out.size() - done));
    read(begin + static_cast<int64_t>(done), some);
    for (const float value : some) out[done++] = float_to_bf16(value);
  }
}

bool encode(std::span<const float> values, Dtype dtype, std::span<std::byte> out) {
  PRIMUS_CHECK(is_export_dtype(dtype), "weights are written as F32, BF16 or F16");
  PRIMUS_CHECK(out.size() * 8 == values.size() * static_cast<size_t>(bits_of(dtype)), "a buffer of another size");
  if (dtype == Dtype::F32) {
    std::memcpy(out.data(), values.data(), out.size());
    return true;
  }
  std::byte* const to = out.data();
  if (dtype == Dtype::BF16) {
    for (size_t i = 0; i < values.size(); ++i) {
      const uint16_t bits = float_to_bf16(values[i]);
      std::memcpy(to + i * 2, &bits, 2);
    }
    return true;
  }
  bool kept = true;
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t bits = float_to_f16(values[i]);
    kept &= (bits & 0x7fffU) != 0x7c00U || std::isinf(values[i]);
    std::memcpy(to + i * 2, &bits, 2);
  }
  return kept;
}

}  // namespace primus::hub
