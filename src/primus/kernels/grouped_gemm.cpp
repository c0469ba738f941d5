#include "primus/kernels/grouped_gemm.h"

#include <algorithm>

#include "primus/base/check.h"
#include "primus/kernels/column_sum.h"
#include "primus/kernels/gemm_tiled.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

namespace {

// f(expert, first row, number of rows) for every expert that has rows.
template <class F>
void for_each_group(const std::vector<int64_t>& starts, const F& f) {
  for (size_t e = 0; e + 1 < starts.size(); ++e) {
    const int64_t count = starts[e + 1] - starts[e];
    if (count > 0) f(static_cast<int64_t>(e), starts[e], count);
  }
}

int64_t rows_of_expert(const at::Tensor& stacked, const std::vector<int64_t>& starts) {
  const auto num_experts = static_cast<int64_t>(starts.size()) - 1;
  PRIMUS_CHECK(num_experts > 0 && stacked.size(0) % num_experts == 0, "grouped product: experts of equal shape");
  return stacked.size(0) / num_experts;
}

void check_rows(const at::Tensor& x, const std::vector<int64_t>& starts) {
  PRIMUS_CHECK(x.dim() == 2 && !starts.empty() && x.size(0) == starts.back(),
               "grouped product: rows [P, ..] with the starts of their experts");
}

bool is_tiled(const GemmRoute& route, const at::Tensor& rows) {
  return rows.scalar_type() == at::kFloat ? route.f32 == GemmMethod::Tiled
                                          : rows.scalar_type() == at::kBFloat16 && route.bf16 == GemmMethod::Tiled;
}

// oneDNN makes code for every new shape (0.2 ms and more), and loads change with every step: there, a product takes
// some rows of the next experts along, up to a round number, and these are written again in their turn.
int64_t rounded_rows(const GemmRoute& route, const at::Tensor& rows, int64_t first, int64_t count) {
  constexpr int64_t kStep = 16;
  const at::ScalarType type = rows.scalar_type();
  if (type == at::kDouble || (type == at::kFloat && route.f32 == GemmMethod::Aten)) return count;
  return std::min((count + kStep - 1) / kStep * kStep, rows.size(0) - first);
}

}  // namespace

at::Tensor grouped_forward(const GemmRoute& route, const at::Tensor& x, const std::vector<int64_t>& starts,
                           const at::Tensor& w, const at::Tensor& bias) {
  check_rows(x, starts);
  const int64_t m = rows_of_expert(w, starts);
  at::Tensor y = at::empty({x.size(0), m}, x.options());
  if (is_tiled(route, x)) {
    const at::Tensor wide_bias = as_float_row(bias);
    std::vector<TiledProduct> products;
    for_each_group(starts, [&](int64_t e, int64_t first, int64_t count) {
      products.push_back({x.narrow(0, first, count), w.narrow(0, e * m, m).t(), y.narrow(0, first, count), false,
                          bias.defined() ? wide_bias.narrow(0, e * m, m) : bias});
    });
    tiled_products(products);
    return y;
  }
  for_each_group(starts, [&](int64_t e, int64_t first, int64_t count) {
    const int64_t rows = rounded_rows(route, x, first, count);
    linear_forward_out(route, x.narrow(0, first, rows), w.narrow(0, e * m, m), y.narrow(0, first, rows));
    if (bias.defined()) y.narrow(0, first, count).add_(bias.narrow(0, e * m, m));
  });
  return y;
}

at::Tensor grouped_dgrad(const GemmRoute& route, const at::Tensor& dy, const std::vector<int64_t>& starts,
                         const at::Tensor& w) {
  check_rows(dy, starts);
  const int64_t m = rows_of_expert(w, starts);
  at::Tensor dx = at::empty({dy.size(0), w.size(1)}, dy.options());
  if (is_tiled(route, dy)) {
    std::vector<TiledProduct> products;
    for_each_group(starts, [&](int64_t e, int64_t first, int64_t count) {
      products.push_back({dy.narrow(0, first, count), w.narrow(0, e * m, m), dx.narrow(0, first, count)});
    });
    tiled_products(products);
    return dx;
  }
  for_each_group(starts, [&](int64_t e, int64_t first, int64_t count) {
    const int64_t rows = rounded_rows(route, dy, first, count);
    linear_dgrad_out(route, dy.narrow(0, first, rows), w.narrow(0, e * m, m), dx.narrow(0, first, rows));
  });
  return dx;
}

void grouped_wgrad(const GemmRoute& route, const at::Tensor& dy, const at::Tensor& x,
                   const std::vector<int64_t>& starts, at::Tensor main_grad) {
  check_rows(dy, starts);
  check_rows(x, starts);
  const int64_t m = rows_of_expert(main_grad, starts);
  if (is_tiled(route, dy)) {
    std::vector<TiledProduct> products;
    for_each_group(starts, [&](int64_t e, int64_t first, int64_t count) {
      products.push_back({dy.narrow(0, first, count).t(), x.narrow(0, first, count), main_grad.narrow(0, e * m, m),
                          /*accumulate=*/true});
    });
    return tiled_products(products);
  }
  for_each_group(starts, [&](int64_t e, int64_t first, int64_t count) {
    linear_wgrad(route, dy.narrow(0, first, count), x.narrow(0, first, count), main_grad.narrow(0, e * m, m),
                 /*accumulate=*/true);
  });
}

void grouped_bias_grad(const at::Tensor& dy, const std::vector<int64_t>& starts, at::Tensor bias_grad) {
  check_rows(dy, starts);
  const int64_t m = rows_of_expert(bias_grad, starts);
  for_each_group(starts, [&](int64_t e, int64_t first, int64_t count) {
    bias_grad.narrow(0, e * m, m).add_(column_sum(dy.narrow(0, first, count)));
  });
}

namespace reference {

at::Tensor grouped_forward(const at::Tensor& x, const std::vector<int64_t>& starts, const at::Tensor& w,
                           const at::Tensor& bias) {
  const int64_t m = rows_of_expert(w, starts);
  std::vector<at::Tensor> parts;
  for (size_t e = 0; e + 1 < starts.size(); ++e) {
    const int64_t from = static_cast<int64_t>(e) * m;
    parts.push_back(linear_forward_reference(x.slice(0, starts[e], starts[e + 1]), w.narrow(0, from, m),
                                             bias.defined() ? bias.narrow(0, from, m) : bias));
  }
  return at::cat(parts);
}

}  // namespace reference

}  // namespace primus::kernels
