// Internal to the kernels' sources (which have libtorch by the precompiled prelude): raw pointers of CPU tensors,
// element types, and the rule that says where the fast path applies.
#pragma once

#include <algorithm>

#include "primus/base/check.h"
#include "primus/kernels/loops.h"

namespace primus::kernels {

inline bool is_float_or_bf16(const at::Tensor& t) {
  return t.scalar_type() == at::kFloat || t.scalar_type() == at::kBFloat16;
}

// The fast kernels are for CPU tensors in fp32 or bf16; everything else (fp64, fp16, other devices) takes the
// reference.
inline bool is_fast(const at::Tensor& t) {
  return t.is_cpu() && is_float_or_bf16(t);
}

template <class T>
inline T* pointer(const at::Tensor& t) {
  constexpr auto kType = std::is_same_v<T, float>        ? at::kFloat
                         : std::is_same_v<T, simd::Bf16> ? at::kBFloat16
                         : std::is_same_v<T, int32_t>    ? at::kInt
                                                         : at::kLong;
  PRIMUS_CHECK(t.is_cpu() && t.scalar_type() == kType, "a kernel got a tensor of another type or device");
  return static_cast<T*>(t.data_ptr());
}

// Calls f(float{}) or f(Bf16{}).
template <class F>
inline void with_element(at::ScalarType type, const F& f) {
  if (type == at::kFloat) {
    f(float{});
  } else {
    PRIMUS_CHECK(type == at::kBFloat16, "fp32 or bf16 expected");
    f(simd::Bf16{});
  }
}

// An undefined tensor means "not given".
inline at::Tensor as_float_row(const at::Tensor& t) {
  return t.defined() ? t.to(at::kFloat).contiguous() : t;
}

// Fixed cut of num_rows into blocks for sums over rows: a function of the number of rows only.
struct RowBlocks {
  explicit RowBlocks(int64_t num_rows) : rows(num_rows), per_block(std::max<int64_t>(32, (num_rows + 127) / 128)) {}
  int64_t count() const { return (rows + per_block - 1) / per_block; }
  int64_t begin(int64_t block) const { return block * per_block; }
  int64_t end(int64_t block) const { return std::min(rows, (block + 1) * per_block); }
  int64_t rows;
  int64_t per_block;
};

// Rows that make a thread's share worth its start.
inline int64_t min_rows(int64_t width) {
  return std::max<int64_t>(1, 8192 / std::max<int64_t>(1, width));
}

}  // namespace primus::kernels
