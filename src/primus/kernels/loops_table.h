// Internal, compiled once per instruction set (see loops.h): the table of all loops.
#pragma once

#include "primus/kernels/activation_body.h"
#include "primus/kernels/gated_norm_body.h"
#include "primus/kernels/norm_body.h"
#include "primus/kernels/optimizer_step_body.h"
#include "primus/kernels/random_body.h"
#include "primus/kernels/rope_body.h"
#include "primus/kernels/row_body.h"
#include "primus/kernels/short_conv_body.h"
#include "primus/kernels/softmax_body.h"
#include "primus/kernels/span_body.h"

namespace primus::kernels::simd {

namespace {

template <template <Activation, class, bool> class Body, class X, bool kBackward>
constexpr void set_activations(typename Loops<X>::Activate (&loops)[kNumActivations]) {
  const auto set = [&](Activation activation, auto* run) { loops[static_cast<int>(activation)] = run; };
  set(Activation::Silu, &Body<Activation::Silu, X, kBackward>::run);
  set(Activation::Gelu, &Body<Activation::Gelu, X, kBackward>::run);
  set(Activation::GeluTanh, &Body<Activation::GeluTanh, X, kBackward>::run);
  set(Activation::QuickGelu, &Body<Activation::QuickGelu, X, kBackward>::run);
  set(Activation::SquaredRelu, &Body<Activation::SquaredRelu, X, kBackward>::run);
  set(Activation::Relu, &Body<Activation::Relu, X, kBackward>::run);
}

template <class X>
constexpr Loops<X> make_loops() {
  Loops<X> loops{};
  loops.rms_forward = &NormForwardBody<NormKind::Rms, X>::run;
  loops.layer_forward = &NormForwardBody<NormKind::Layer, X>::run;
  loops.rms_backward = &NormBackwardBody<NormKind::Rms, X>::run;
  loops.layer_backward = &NormBackwardBody<NormKind::Layer, X>::run;
  set_activations<PlainBody, X, false>(loops.plain_forward);
  set_activations<PlainBody, X, true>(loops.plain_backward);
  set_activations<GatedBody, X, false>(loops.gated_forward);
  set_activations<GatedBody, X, true>(loops.gated_backward);
  loops.half_rotate = &HalfRotateBody<X>::run;
  loops.interleaved = &InterleavedBody<X>::run;
  loops.short_conv = &ShortConvBody<X>::forward;
  loops.short_conv_slope = &ShortConvBody<X>::slope;
  loops.short_conv_input = &ShortConvBody<X>::input;
  loops.gated_norm_forward[0] = &GatedNormBody<false, X>::forward;
  loops.gated_norm_forward[1] = &GatedNormBody<true, X>::forward;
  loops.gated_norm_backward[0] = &GatedNormBody<false, X>::backward;
  loops.gated_norm_backward[1] = &GatedNormBody<true, X>::backward;
  loops.adamw = &StepBody<AdamWFactors, X>::run;
  loops.sgd = &StepBody<SgdFactors, X>::run;
  loops.to_float = &convert<float, X>;
  loops.to_bf16 = &convert<Bf16, X>;
  loops.add_to_float = &add_to_float<X>;
  loops.scale = &scale<X>;
  loops.dot = &dot<X>;
  loops.softmax_row = &SoftmaxRowBody<X>::run;
  loops.column_sum = &ColumnSumBody<X>::run;
  loops.add_rows = &AddRowsBody<X>::run;
  loops.square_sums = &SquareSumBody<X>::run;
  loops.dropout_row = &DropoutRowBody<X>::run;
  return loops;
}

constexpr LoopTables make_tables() {
  return {make_loops<float>(), make_loops<Bf16>(),    &pair_rows,
          &GroupBody::run,     &NormalGroupBody::run, &UniformGroupBody::run};
}

}  // namespace

}  // namespace primus::kernels::simd
