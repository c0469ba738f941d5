// The fields of the mixers, and of norms: see visit_model.h.
#pragma once

#include <concepts>
#include <type_traits>

#include "primus/spec/mixers.h"

namespace primus::spec {

template <class S, class T>
concept FieldsOf = std::same_as<std::remove_const_t<S>, T>;

// visit(v, s) calls v("name", s.name) for the fields of s in the order of their declaration; s may be const.
template <class V, FieldsOf<Norm> S>
void visit(V&& v, S& s) {
  v("kind", s.kind), v("eps", s.eps), v("zero_centered_gain", s.zero_centered_gain);
}

template <class V, FieldsOf<ShortConv> S>
void visit(V&& v, S& s) {
  v("kernel_size", s.kernel_size), v("bias", s.bias);
}

template <class V, FieldsOf<GatedDelta> S>
void visit(V&& v, S& s) {
  v("num_key_heads", s.num_key_heads), v("num_value_heads", s.num_value_heads), v("key_head_dim", s.key_head_dim),
      v("value_head_dim", s.value_head_dim), v("kernel_size", s.kernel_size), v("output_norm", s.output_norm);
}

template <class V, FieldsOf<Mamba2> S>
void visit(V&& v, S& s) {
  v("num_heads", s.num_heads), v("head_dim", s.head_dim), v("num_groups", s.num_groups), v("state_dim", s.state_dim),
      v("kernel_size", s.kernel_size), v("bias", s.bias), v("conv_bias", s.conv_bias), v("output_norm", s.output_norm),
      v("least_step", s.least_step), v("longest_step", s.longest_step);
}

}  // namespace primus::spec
