// Numbers of weight files as f32 or bf16, a stretch at a time: plain floats, DeepSeek's fp8 with a scale for each
// block, MXFP4. The formats stand at the head of dequantise.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "primus/hub/dtype.h"

namespace primus::hub {

float bf16_to_float(uint16_t bits);
uint16_t float_to_bf16(float value);  // to the nearest, ties to even; NaN stays NaN
float f16_to_float(uint16_t bits);
uint16_t float_to_f16(float value);  // to the nearest, ties to even; beyond 65519 infinity
float e4m3_to_float(uint8_t bits);   // e4m3fn: bias 7, no infinities, 0x7f and 0xff are NaN

// Decodable as they are: F64, F32, BF16, F16.
bool is_plain_float(Dtype dtype);
// Those that an export can have: F32, BF16, F16.
bool is_export_dtype(Dtype dtype);

// Row-major numbers in a mapped file. Copies nothing; the bytes must outlive it. Bytes need no alignment.
struct StoredNumbers {
  enum class Form {
    Plain,
    BlockFp8,  // e4m3 [rows, cols]; number = q * scales[row / block_rows, col / block_cols], scales f32
    Mxfp4      // 32 numbers in 16 bytes, low nibble first; number = lut[nibble] * 2^(scale - 127), one scale for the 32
  };
  Form form = Form::Plain;
  Dtype dtype = Dtype::F32;  // of Plain
  std::span<const std::byte> bytes = {}, scales = {};
  int64_t cols = 0, block_rows = 0, block_cols = 0;  // of BlockFp8

  // Elements [begin, begin + out.size()) in row-major order. The caller checked the bounds.
  void read(int64_t begin, std::span<float> out) const;
  void read(int64_t begin, std::span<uint16_t> out) const;  // bf16; exact where bf16 is stored
};

// Values in an export dtype, into a buffer of exactly their bytes. Returns false when a finite value became infinite
// (F16).
bool encode(std::span<const float> values, Dtype dtype, std::span<std::byte> out);

}  // namespace primus::hub
