// The number formats that a safetensors file can hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "primus/base/result.h"

namespace primus::hub {

// In the order of the reference writer, which stores later ones first.
enum class Dtype {
  Bool,
  F4,
  F6E2M3,
  F6E3M2,
  U8,
  I8,
  F8E5M2,
  F8E4M3,
  F8E8M0,
  F8E4M3Fnuz,
  F8E5M2Fnuz,
  I16,
  U16,
  F16,
  BF16,
  I32,
  U32,
  F32,
  C64,
  F64,
  I64,
  U64
};

std::string_view to_string(Dtype dtype);                  // "BF16", as written in the file
std::optional<Dtype> parse_dtype(std::string_view name);  // exact spelling
std::vector<std::string> dtype_names();
int bits_of(Dtype dtype);

// Number of elements; nothing when a size is negative or the product exceeds 2^63 - 1. A rank 0 tensor has one element.
std::optional<int64_t> num_elements(const std::vector<int64_t>& shape);
// Bytes of a tensor; nothing where num_elements is nothing, on overflow, or when the bits are no whole number of bytes.
std::optional<int64_t> num_bytes(Dtype dtype, const std::vector<int64_t>& shape);

std::string format_shape(const std::vector<int64_t>& shape);  // "[3, 4]"

}  // namespace primus::hub
