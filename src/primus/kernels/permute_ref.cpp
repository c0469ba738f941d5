#include "primus/kernels/permute.h"

namespace primus::kernels::reference {

namespace {

at::Tensor pairs_of(const Dispatch& d) {
  return at::tensor(d.pair_of_row, at::kLong);
}

// Weights in row order, [P, 1], in the type sums are made in.
at::Tensor row_factors(const at::Tensor& weights, const Dispatch& d, at::ScalarType wide) {
  return weights.reshape({-1}).index_select(0, pairs_of(d)).unsqueeze(1).to(wide);
}

at::ScalarType sum_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

}  // namespace

at::Tensor permute(const at::Tensor& x, const Dispatch& d, const at::Tensor& weights) {
  const at::Tensor rows = x.index_select(0, at::floor_divide(pairs_of(d), d.top_k));
  if (!weights.defined()) return rows;
  return (rows.to(sum_type(x)) * row_factors(weights, d, sum_type(x))).to(x.scalar_type());
}

at::Tensor unpermute(const at::Tensor& rows, const Dispatch& d, const at::Tensor& weights) {
  at::Tensor wide = rows.to(sum_type(rows));
  if (weights.defined()) wide = wide * row_factors(weights, d, sum_type(rows));
  const at::Tensor of_pair = at::zeros({d.num_tokens * d.top_k, rows.size(1)}, wide.options());
  of_pair.index_copy_(0, pairs_of(d), wide);
  return of_pair.view({d.num_tokens, d.top_k, -1}).sum(1).to(rows.scalar_type());
}

at::Tensor pair_dots(const at::Tensor& a, const at::Tensor& b, bool b_by_token, const Dispatch& d) {
  const at::Tensor pairs = pairs_of(d);
  const at::Tensor other = b_by_token ? b.index_select(0, at::floor_divide(pairs, d.top_k)) : b;
  const at::Tensor dots = (a.to(sum_type(a)) * other.to(sum_type(a))).sum(-1);
  return at::zeros({d.num_tokens * d.top_k}, dots.options()).index_copy(0, pairs, dots).view({d.num_tokens, d.top_k});
}

}  // namespace primus::kernels::reference
