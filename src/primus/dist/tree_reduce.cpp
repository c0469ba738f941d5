#include "primus/dist/tree_reduce.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "primus/tensor/prelude.h"

namespace primus::dist {

namespace {

constexpr int64_t kBlockElements = 1024;  // intermediate sums of a block stay in the first cache
constexpr int64_t kVectorBytes = 32;

// Explicit vectors, because one of our compilers vectorises no loop of unknown length at -O2.
template <typename T>
void add(const T* a, const T* b, T* out, int64_t n) {
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  constexpr int64_t kLanes = kVectorBytes / static_cast<int64_t>(sizeof(T));
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Vector x, y;
    std::memcpy(&x, a + i, kVectorBytes);
    std::memcpy(&y, b + i, kVectorBytes);
    x += y;
    std::memcpy(out + i, &x, kVectorBytes);
  }
  for (; i < n; ++i) out[i] = static_cast<T>(a[i] + b[i]);
}

void add(const at::BFloat16* a, const at::BFloat16* b, at::BFloat16* out, int64_t n) {
  constexpr int64_t kLanes = 8;
  typedef uint16_t Half __attribute__((vector_size(2 * kLanes)));
  typedef uint32_t Bits __attribute__((vector_size(4 * kLanes)));
  typedef float Float __attribute__((vector_size(4 * kLanes)));
  const auto widen = [](const at::BFloat16* from) {
    Half half;
    std::memcpy(&half, from, sizeof half);
    return std::bit_cast<Float>(__builtin_convertvector(half, Bits) << 16);
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Float sum = widen(a + i) + widen(b + i);
    const Bits bits = std::bit_cast<Bits>(sum);
    const Bits is_nan = std::bit_cast<Bits>(sum != sum);
    const Bits rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const Half half = __builtin_convertvector((is_nan & 0x7fc0u) | (~is_nan & rounded), Half);
    std::memcpy(out + i, &half, sizeof half);
  }
  for (; i < n; ++i) out[i] = a[i] + b[i];
}

void add(const at::Half* a, const at::Half* b, at::Half* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

template <typename T>
void take_max(const T* a, const T* b, T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const bool left = a[i] > b[i] || a[i] != a[i];
    out[i] = left ? a[i] : b[i];
  }
}

template <typename T>
void combine(Reduction reduction, const T* a, const T* b, T* out, int64_t n) {
  if (reduction == Reduction::Sum) {
    add(a, b, out, n);
  } else {
    take_max(a, b, out, n);
  }
}

template <typename T>
void reduce(Reduction reduction, const std::vector<const std::byte*>& inputs, std::byte* output, int64_t num_elements) {
  auto* const out = reinterpret_cast<T*>(output);
  const size_t num_inputs = inputs.size();
  std::vector<T> scratch(num_inputs > 2 ? (num_inputs / 2) * kBlockElements : 0);
  std::vector<const T*> level(num_inputs);
  for (int64_t begin = 0; begin < num_elements; begin += kBlockElements) {
    const int64_t n = std::min(kBlockElements, num_elements - begin);
    for (size_t i = 0; i < num_inputs; ++i) level[i] = reinterpret_cast<const T*>(inputs[i]) + begin;
    size_t width = num_inputs;
    while (width > 1) {
      for (size_t i = 0; 2 * i + 1 < width; ++i) {
        T* const to = width == 2 ? out + begin : scratch.data() + i * kBlockElements;
        combine(reduction, level[2 * i], level[2 * i + 1], to, n);
        level[i] = to;
      }
      if (width % 2 == 1) level[width / 2] = level[width - 1];
      width = (width + 1) / 2;
    }
    if (num_inputs == 1 && level[0] != out + begin) std::copy(level[0], level[0] + n, out + begin);
  }
}

}  // namespace

int64_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::Float64:
    case ElementType::Int64:
      return 8;
    case ElementType::Float32:
    case ElementType::Int32:
      return 4;
    case ElementType::BFloat16:
    case ElementType::Float16:
      return 2;
  }
  return 0;
}

void tree_reduce(Reduction reduction, ElementType type, const std::vector<const std::byte*>& inputs, std::byte* output,
                 int64_t num_elements) {
  switch (type) {
    case ElementType::Float32:
      return reduce<float>(reduction, inputs, output, num_elements);
    case ElementType::Float64:
      return reduce<double>(reduction, inputs, output, num_elements);
    case ElementType::BFloat16:
      return reduce<at::BFloat16>(reduction, inputs, output, num_elements);
    case ElementType::Float16:
      return reduce<at::Half>(reduction, inputs, output, num_elements);
    case ElementType::Int32:
      return reduce<int32_t>(reduction, inputs, output, num_elements);
    case ElementType::Int64:
      return reduce<int64_t>(reduction, inputs, output, num_elements);
  }
}

}  // namespace primus::dist
