#include "primus/kernels/gemm.h"

namespace primus::kernels {
namespace {

at::Tensor wide_rows(const at::Tensor& t) {
  return t.reshape({-1, t.size(-1)}).to(at::kDouble).contiguous();
}

// c[i][j] = sum over k of a[i][k] b[k][j], in the order of k.
at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  const int64_t m = a.size(0), n = b.size(1), depth = a.size(1);
  at::Tensor c = at::zeros({m, n}, at::kDouble);
  const double* pa = a.const_data_ptr<double>();
  const double* pb = b.const_data_ptr<double>();
  double* pc = c.mutable_data_ptr<double>();
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t j = 0; j < n; ++j) pc[i * n + j] += pa[i * depth + k] * pb[k * n + j];
    }
  }
  return c;
}

at::Tensor with_leading_dims(const at::Tensor& rows, const at::Tensor& like) {
  std::vector<int64_t> shape(like.sizes().begin(), like.sizes().end() - 1);
  shape.push_back(rows.size(1));
  return rows.view(shape);
}

}  // namespace

at::Tensor linear_forward_reference(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias) {
  const at::Tensor y = product(wide_rows(x), wide_rows(w).t().contiguous());
  return with_leading_dims(bias.defined() ? y + bias.to(at::kDouble) : y, x);
}

at::Tensor linear_dgrad_reference(const at::Tensor& dy, const at::Tensor& w) {
  return with_leading_dims(product(wide_rows(dy), wide_rows(w)), dy);
}

at::Tensor linear_wgrad_reference(const at::Tensor& dy, const at::Tensor& x) {
  return product(wide_rows(dy).t().contiguous(), wide_rows(x));
}

}  // namespace primus::kernels
