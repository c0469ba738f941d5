// Sums over rows: gradients of biases and gains.
#pragma once

#include "primus/tensor/fwd.h"

namespace primus::kernels {

// [.., W] fp32 or bf16 -> fp32 [W] (fp64 -> fp64): the sum over all leading dims, in fixed blocks of rows, so that the
// bits do not depend on the number of threads.
at::Tensor column_sum(const at::Tensor& x);

// fp32 [B, W] -> [W]: rows added in index order.
at::Tensor sum_block_rows(const at::Tensor& partials);

}  // namespace primus::kernels
