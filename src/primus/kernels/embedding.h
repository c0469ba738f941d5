// Embedding look-up and its gradient. Legend: N tokens (all dims of ids), V vocabulary, H width.
#pragma once

#include "primus/tensor/fwd.h"

namespace primus::kernels {

// out[n] = table[ids[n]]. table: [V, H] fp32 or bf16; ids: int32 or int64, any shape; out: ids' shape + [H], given by
// the caller in fp32 or bf16 (a table in fp32 is rounded on the way). An id outside [0, V) is an InternalError: data is
// checked on reading.
void embedding_forward(at::Tensor out, const at::Tensor& table, const at::Tensor& ids);

// main_grad[ids[n]] += dy[n]. main_grad: [V, H] fp32, contiguous; dy: [.., H] fp32 or bf16. Every row is summed by one
// thread in token order: the same bits with any number of threads, and rows that no token names are not touched.
void embedding_backward(at::Tensor main_grad, const at::Tensor& dy, const at::Tensor& ids);

// The plain forms, any type and device.
namespace reference {
void embedding_forward(at::Tensor out, const at::Tensor& table, const at::Tensor& ids);
void embedding_backward(at::Tensor main_grad, const at::Tensor& dy, const at::Tensor& ids);
}  // namespace reference

}  // namespace primus::kernels
