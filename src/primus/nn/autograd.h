// What the autograd functions of this room share.
#pragma once

#include "primus/kernels/norm.h"
#include "primus/nn/parameter.h"
#include "primus/spec/norm.h"

namespace primus::nn {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Handles travel through the graph as integers: a Parameter, a spec and a Context's routes outlive the backward pass of
// their micro-batch.
template <class T>
int64_t to_handle(const T* object) {
  return reinterpret_cast<int64_t>(object);
}
template <class T>
T* from_handle(AutogradContext* ctx, const char* key) {
  return reinterpret_cast<T*>(ctx->saved_data[key].toInt());
}

inline at::Tensor compute_of(const Parameter* parameter) {
  return parameter ? parameter->compute : at::Tensor();
}

inline kernels::NormOptions options_of(const spec::Norm& kind) {
  return {.eps = kind.eps, .zero_centered = kind.zero_centered_gain};
}

}  // namespace primus::nn
