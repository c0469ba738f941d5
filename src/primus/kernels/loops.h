// Internal: the innermost loops of the element-wise kernels, on plain pointers. Each is written once (`*_body.h`, on
// the vectors of simd.h) and compiled once per instruction set, in a source of its own with that set's compiler options
// (loops_portable.cpp, loops_avx512.cpp): g++ turns vector code into narrow instructions before it inlines it into a
// function with a target attribute, so an attribute is not enough. The table to use is chosen at run time.
// Legend: X is float or Bf16. Absent pointers are null.
#pragma once

#include <cstdint>
#include <type_traits>

#include "primus/kernels/loop_arguments.h"

namespace primus::kernels {

struct PhiloxKey;

namespace simd {

inline constexpr int kNumActivations = 6;  // in the order of enum Activation

template <class X>
struct Loops {
  // Rows begin..end.
  using NormForward = void (*)(const NormForwardRows<X>& rows, int64_t begin, int64_t end);
  using NormBackward = void (*)(const NormBackwardRows<X>& rows, int64_t begin, int64_t end, float* d_gain,
                                float* d_bias);
  using Activate = void (*)(const X* dy, const X* x, const float* bias, X* out, int64_t width, int64_t begin,
                            int64_t end);
  // sign: +1 forward, -1 backward.
  using Rotate = void (*)(const RopeHeads<X>& heads, const float* cos, const float* sin, float sign);

  NormForward rms_forward;
  NormForward layer_forward;
  NormBackward rms_backward;
  NormBackward layer_backward;
  Activate plain_forward[kNumActivations];
  Activate plain_backward[kNumActivations];
  Activate gated_forward[kNumActivations];
  Activate gated_backward[kNumActivations];
  Rotate half_rotate;
  Rotate interleaved;
  void (*short_conv)(const ShortConvRow<X>& row, X* y);
  // dz: gradient of the activation's input.
  void (*short_conv_slope)(const ShortConvRow<X>& row, const X* dy, float* dz);
  void (*short_conv_input)(const ShortConvReaders& readers, X* dx);
  // Rows begin..end; [0]: the norm first, [1]: the gate first.
  void (*gated_norm_forward[2])(const GatedNormRows<X>& rows, int64_t begin, int64_t end);
  void (*gated_norm_backward[2])(const GatedNormRows<X>& rows, int64_t begin, int64_t end, float* d_gain);
  // Elements begin..end.
  void (*adamw)(const StepSpans<X>& spans, const AdamWFactors& factors, int64_t begin, int64_t end);
  void (*sgd)(const StepSpans<X>& spans, const SgdFactors& factors, int64_t begin, int64_t end);
  void (*to_float)(float* target, const X* source, int64_t count);
  void (*to_bf16)(Bf16* target, const X* source, int64_t count);
  void (*add_to_float)(float* target, const X* source, int64_t count);
  void (*scale)(X* target, float factor, int64_t count);
  float (*dot)(const X* a, const X* b, int64_t n);
  // One row of logits x[0..n), n..columns padding: loss = log sum exp - x[label], 0 where label < 0; with a gradient,
  // x becomes weight * (softmax - one_hot(label)), padding 0.
  void (*softmax_row)(X* x, int64_t n, int64_t columns, int64_t label, float weight, bool wants_gradient, float* loss);
  // sum[w] += x[row][w] for rows begin..end.
  void (*column_sum)(const X* x, int64_t width, int64_t begin, int64_t end, float* sum);
  // sum += the rows of dy that tokens[0..count) name, in that order.
  void (*add_rows)(float* sum, const X* dy, const int64_t* tokens, int64_t count, int64_t width);
  // out[block]: sum of squares of block `first` .. `last` - 1 of `block_size` (a multiple of 32) elements.
  void (*square_sums)(const X* x, int64_t numel, int64_t block_size, double* out, int64_t first, int64_t last);
  // One row: y[f] = x[f] * scale where word(f) >= threshold, else 0. start: the four counter words of feature 0.
  void (*dropout_row)(const X* x, X* y, int64_t width, PhiloxKey key, const uint32_t* start, uint32_t threshold,
                      float scale);
};

struct LoopTables {
  Loops<float> of_float;
  Loops<Bf16> of_bf16;
  // to[i]: low[i] in the low half, high[i] (null: 0) in the high half; whole vectors of sixteen words are written.
  void (*pair_rows)(const Bf16* low, const Bf16* high, uint32_t* to, int64_t n);
  // One group of 64 stream elements: the words; mean + std * normal; low + width * uniform.
  void (*philox_group)(PhiloxKey key, uint64_t group, uint32_t* words);
  void (*normal_group)(PhiloxKey key, uint64_t group, double mean, double std, float* out);
  void (*uniform_group)(PhiloxKey key, uint64_t group, double low, double width, float* out);
};

extern const LoopTables kPortableLoops;
extern const LoopTables kAvx512Loops;  // only for CPUs that has_avx512() is true of

// True where AVX-512 F, BW, VL and DQ are there and PRIMUS_PORTABLE_KERNELS (set to test the portable loops, or to rule
// the others out) is not.
bool has_avx512();
const LoopTables& best_loops();

template <class X>
const Loops<X>& loops() {
  if constexpr (std::is_same_v<X, float>) {
    return best_loops().of_float;
  } else {
    return best_loops().of_bf16;
  }
}

}  // namespace simd

}  // namespace primus::kernels
