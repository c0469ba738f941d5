#include "primus/kernels/embedding.h"

namespace primus::kernels::reference {

void embedding_forward(at::Tensor out, const at::Tensor& table, const at::Tensor& ids) {
  out.copy_(table.index_select(0, ids.reshape(-1).to(at::kLong)).reshape(out.sizes()));
}

void embedding_backward(at::Tensor main_grad, const at::Tensor& dy, const at::Tensor& ids) {
  const at::Tensor rows = ids.reshape(-1).to(at::kLong);
  main_grad.index_add_(0, rows, dy.reshape({rows.numel(), main_grad.size(1)}).to(main_grad.scalar_type()));
}

}  // namespace primus::kernels::reference
