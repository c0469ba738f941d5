// The tile kernels in plain C++: any CPU, float words, and the choice of the best table.
#include "primus/kernels/attention_tile.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "primus/kernels/loops.h"
#include "primus/tensor/runtime.h"

namespace primus::kernels::tile {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

const float* as_floats(const Word* words) {
  return reinterpret_cast<const float*>(words);
}
float* as_floats(Word* words) {
  return reinterpret_cast<float*>(words);
}

bool visible(const Mask& mask, int key, int lane) {
  if (mask.low == nullptr) return true;
  const int32_t position = mask.first_key + key;
  return mask.low[lane] <= position && position < mask.high[lane];
}

void product(const Word* a, int64_t a_stride, const Word* b, int64_t b_stride, float* c, int64_t c_stride, int m, int n,
             int depth, bool accumulate) {
  for (int r = 0; r < m; ++r) {
    float* row = c + r * c_stride;
    if (!accumulate) std::fill_n(row, n, 0.0f);
    for (int k = 0; k < depth; ++k) {
      const float left = as_floats(a)[r * a_stride + k];
      const float* right = as_floats(b) + k * b_stride;
      for (int j = 0; j < n; ++j) row[j] += left * right[j];
    }
  }
}

void forward_step(const ForwardStep& s) {
  float* p = as_floats(s.probabilities);
  for (int lane = 0; lane < kQueries; ++lane) {
    float top = kMinusInfinity;
    for (int key = 0; key < s.keys; ++key) {
      float& score = s.scores[key * kQueries + lane];
      score = visible(s.mask, key, lane) ? score * s.scale : kMinusInfinity;
      top = std::max(top, score);
    }
    const float new_max = std::max(s.max[lane], top);
    const float reference = new_max == kMinusInfinity ? 0.0f : new_max;
    const float shrink = std::exp2(s.max[lane] - reference);
    s.max[lane] = new_max;
    float sum = s.sum[lane] * shrink;
    for (int r = 0; r < s.out_rows; ++r) s.out[r * kQueries + lane] *= shrink;
    for (int key = 0; key < s.keys; ++key) {
      const int at = key * kQueries + lane;
      const float value = std::exp2(s.scores[at] - reference);
      sum += value;
      p[at] = s.keep_scale ? value * s.keep_scale[at] : value;
    }
    s.sum[lane] = sum;
  }
}

void backward_step(const BackwardStep& s) {
  for (int key = 0; key < s.keys; ++key) {
    for (int lane = 0; lane < kQueries; ++lane) {
      const int at = key * kQueries + lane;
      const float scale2 = s.scale * 1.44269504f;
      const float p = visible(s.mask, key, lane) ? std::exp2(s.scores[at] * scale2 - s.lse2[lane]) : 0.0f;
      const float keep = s.keep_scale ? s.keep_scale[at] : 1.0f;
      const float ds = p * s.scale * (s.dprobabilities[at] * keep - s.delta[lane]);
      as_floats(s.p_rows)[at] = p * keep;
      as_floats(s.ds_rows)[at] = ds;
      as_floats(s.ds_pairs)[at] = ds;
    }
  }
}

void transpose(const Word* from, int64_t from_stride, Word* to, int64_t to_stride, int rows, int columns) {
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) to[c * to_stride + r] = from[r * from_stride + c];
  }
}

}  // namespace

const Kernels& portable_kernels() {
  static constexpr Kernels table{1, &product, &forward_step, &backward_step, &transpose};
  return table;
}

const Kernels& float_kernels() {
#if defined(__x86_64__)
  if (simd::has_avx512()) return avx512_float_kernels();
#endif
  return portable_kernels();
}

const Kernels* bf16_pair_kernels() {
#if defined(__x86_64__)
  if (simd::has_avx512() && tensor::cpu_features().avx512_bf16) return &avx512_bf16_kernels();
#endif
  return nullptr;
}

}  // namespace primus::kernels::tile
