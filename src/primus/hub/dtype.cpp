#include "primus/hub/dtype.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace primus::hub {

namespace {

struct Row {
  Dtype dtype;
  std::string_view name;
  int bits;
};

constexpr std::array kRows = {
    Row{Dtype::Bool, "BOOL", 8},
    Row{Dtype::F4, "F4", 4},
    Row{Dtype::F6E2M3, "F6_E2M3", 6},
    Row{Dtype::F6E3M2, "F6_E3M2", 6},
    Row{Dtype::U8, "U8", 8},
    Row{Dtype::I8, "I8", 8},
    Row{Dtype::F8E5M2, "F8_E5M2", 8},
    Row{Dtype::F8E4M3, "F8_E4M3", 8},
    Row{Dtype::F8E8M0, "F8_E8M0", 8},
    Row{Dtype::F8E4M3Fnuz, "F8_E4M3FNUZ", 8},
    Row{Dtype::F8E5M2Fnuz, "F8_E5M2FNUZ", 8},
    Row{Dtype::I16, "I16", 16},
    Row{Dtype::U16, "U16", 16},
    Row{Dtype::F16, "F16", 16},
    Row{Dtype::BF16, "BF16", 16},
    Row{Dtype::I32, "I32", 32},
    Row{Dtype::U32, "U32", 32},
    Row{Dtype::F32, "F32", 32},
    Row{Dtype::C64, "C64", 64},
    Row{Dtype::F64, "F64", 64},
    Row{Dtype::I64, "I64", 64},
    Row{Dtype::U64, "U64", 64},
};

constexpr bool rows_are_in_order() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<size_t>(kRows[i].dtype) != i) return false;
  }
  return true;
}
static_assert(rows_are_in_order());

}  // namespace

std::string_view to_string(Dtype dtype) {
  return kRows.at(static_cast<size_t>(dtype)).name;
}

std::optional<Dtype> parse_dtype(std::string_view name) {
  const auto* row = std::ranges::find(kRows, name, &Row::name);
  if (row == kRows.end()) return std::nullopt;
  return row->dtype;
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}

int bits_of(Dtype dtype) {
  return kRows.at(static_cast<size_t>(dtype)).bits;
}

std::optional<int64_t> num_elements(const std::vector<int64_t>& shape) {
  int64_t product = 1;
  bool overflow = false;
  for (const int64_t size : shape) {
    if (size < 0) return std::nullopt;
    // A later zero would hide an overflow: the reference reader refuses such shapes too.
    overflow = overflow || __builtin_mul_overflow(product, size, &product);
  }
  if (overflow) return std::nullopt;
  return product;
}

std::optional<int64_t> num_bytes(Dtype dtype, const std::vector<int64_t>& shape) {
  const std::optional<int64_t> count = num_elements(shape);
  int64_t bits = 0;
  if (!count || __builtin_mul_overflow(*count, int64_t{bits_of(dtype)}, &bits) || bits % 8 != 0) return std::nullopt;
  return bits / 8;
}

std::string format_shape(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace primus::hub
