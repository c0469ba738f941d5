#include "primus/kernels/gemm.h"

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "primus/base/check.h"
#include "primus/base/strings.h"
#include "primus/kernels/gemm_tiled.h"
#include "primus/kernels/loops.h"
#include "primus/kernels/mkl_sum.h"
#include "primus/kernels/parallel.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {
namespace {

// Rows of a 16-bit weight-gradient block: 2 MiB, so that the product is still in the cache when it is added.
constexpr int64_t kWgradBlockElements = int64_t{1} << 20;

// Sends f32 products to oneDNN while it lives.
class OneDnnScope {
 public:
  explicit OneDnnScope(bool on) : on_(on) {
    if (!on_) return;
    before_ = at::globalContext().float32Precision(at::Float32Backend::MKLDNN, at::Float32Op::MATMUL);
    set(at::Float32Precision::BF16);
  }
  ~OneDnnScope() {
    if (on_) set(before_);
  }
  OneDnnScope(const OneDnnScope&) = delete;
  OneDnnScope& operator=(const OneDnnScope&) = delete;

 private:
  static void set(at::Float32Precision precision) {
    at::globalContext().setFloat32Precision(at::Float32Backend::MKLDNN, at::Float32Op::MATMUL, precision);
  }
  bool on_;
  at::Float32Precision before_ = at::Float32Precision::NONE;
};

GemmMethod method_for(const GemmRoute& route, at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
      return route.f32;
    case at::kBFloat16:
      return route.bf16;
    case at::kHalf:
      return route.f16;
    case at::kDouble:
      return GemmMethod::Aten;
    default:
      PRIMUS_CHECK(false, std::string("no product for dtype ") + at::toString(dtype));
  }
}

at::Tensor rows_of(const at::Tensor& t) {
  return t.dim() == 2 ? t : t.reshape({-1, t.size(-1)});
}

at::Tensor with_leading_dims(const at::Tensor& rows, const at::Tensor& like) {
  if (like.dim() == 2) return rows;
  std::vector<int64_t> shape(like.sizes().begin(), like.sizes().end() - 1);
  shape.push_back(rows.size(1));
  return rows.view(shape);
}

at::Tensor linear_pointwise(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias) {
  using Op = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, std::string_view,
                        c10::List<std::optional<at::Scalar>>, std::optional<std::string_view>);
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_linear_pointwise", "").typed<Op>();
  return op.call(x, w, bias.defined() ? std::optional<at::Tensor>(bias) : std::nullopt, "none",
                 c10::List<std::optional<at::Scalar>>(), "");
}

bool can_use(std::string_view dtype, GemmMethod method) {
  switch (method) {
    case GemmMethod::Aten:
    case GemmMethod::LinearPointwise:
      return true;
    case GemmMethod::OneDnn:
      return dtype == "f32";
    case GemmMethod::MklSum:
      return dtype == "bf16" && has_mkl_sum();
    case GemmMethod::Tiled:
      return (dtype == "f32" || dtype == "bf16") && has_tiled_products(dtype == "bf16");
    case GemmMethod::ViaFloat32:
      return dtype != "f32";
  }
  return false;
}

// Whether a product of that many rows is one of our own. With fewer rows, the copy of the other operand costs more than
// the product.
bool is_tiled(GemmMethod method, int64_t rows) {
  constexpr int64_t kLeastRows = 16;
  return method == GemmMethod::Tiled && rows >= kLeastRows;
}

void check_operands(const at::Tensor& a, const at::Tensor& b, const char* what) {
  PRIMUS_CHECK(a.scalar_type() == b.scalar_type(), std::string(what) + ": operands of different dtypes");
}

// main (+)= product, both [rows, K] with contiguous rows.
void add_block(const at::Tensor& product, at::Tensor main, bool accumulate) {
  if (product.scalar_type() != at::kBFloat16) {
    accumulate ? main.add_(product) : main.copy_(product);
    return;
  }
  const auto* source = reinterpret_cast<const simd::Bf16*>(product.const_data_ptr<at::BFloat16>());
  float* target = main.mutable_data_ptr<float>();
  const int64_t columns = product.size(1), stride = main.stride(0);
  const auto add = accumulate ? simd::loops<simd::Bf16>().add_to_float : simd::loops<simd::Bf16>().to_float;
  parallel_ranges(product.size(0), std::max<int64_t>(1, 16384 / columns), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) add(target + r * stride, source + r * columns, columns);
  });
}

void wgrad_16_bit(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& main, bool accumulate) {
  const int64_t rows = dy.size(1);
  const int64_t columns = x.size(1);
  const int64_t block = std::max<int64_t>(64, kWgradBlockElements / std::max<int64_t>(1, columns));
  const at::Tensor scratch = at::empty({std::min(rows, block), columns}, dy.options());
  for (int64_t begin = 0; begin < rows; begin += block) {
    const int64_t count = std::min(block, rows - begin);
    at::Tensor product = scratch.narrow(0, 0, count);
    at::mm_out(product, dy.narrow(1, begin, count).t(), x);
    add_block(product, main.narrow(0, begin, count), accumulate);
  }
}

}  // namespace

std::string_view to_string(GemmMethod method) {
  switch (method) {
    case GemmMethod::Aten:
      return "aten";
    case GemmMethod::OneDnn:
      return "onednn";
    case GemmMethod::LinearPointwise:
      return "linear_pointwise";
    case GemmMethod::MklSum:
      return "mkl_sum";
    case GemmMethod::Tiled:
      return "tiled";
    case GemmMethod::ViaFloat32:
      return "via_float32";
  }
  return "?";
}

std::string GemmRoute::to_string() const {
  return "f32=" + std::string(kernels::to_string(f32)) + ",bf16=" + std::string(kernels::to_string(bf16)) +
         ",f16=" + std::string(kernels::to_string(f16));
}

Result<GemmRoute> GemmRoute::parse(std::string_view text) {
  static constexpr GemmMethod kMethods[] = {GemmMethod::Aten,   GemmMethod::OneDnn, GemmMethod::LinearPointwise,
                                            GemmMethod::MklSum, GemmMethod::Tiled,  GemmMethod::ViaFloat32};
  GemmRoute route;
  int num_read = 0;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> sides = split(part, '=');
    GemmMethod* target = nullptr;
    if (sides.size() == 2 && sides[0] == "f32") target = &route.f32;
    if (sides.size() == 2 && sides[0] == "bf16") target = &route.bf16;
    if (sides.size() == 2 && sides[0] == "f16") target = &route.f16;
    for (const GemmMethod method : kMethods) {
      if (target != nullptr && can_use(sides[0], method) && sides[1] == kernels::to_string(method)) {
        *target = method;
        ++num_read;
      }
    }
  }
  if (num_read == 3) return route;
  Diagnostic error = error_at({}, "not a matrix product route");
  error.found = std::string(text);
  error.expected = "a line such as 'f32=aten,bf16=aten,f16=via_float32'";
  return error;
}

at::Tensor matmul(const GemmRoute& route, const at::Tensor& a, const at::Tensor& b) {
  check_operands(a, b, "matmul");
  const GemmMethod method = method_for(route, a.scalar_type());
  const OneDnnScope scope(method == GemmMethod::OneDnn);
  if (method == GemmMethod::ViaFloat32) {
    return matmul(route, a.to(at::kFloat), b.to(at::kFloat)).to(a.scalar_type());
  }
  if (is_tiled(method, a.size(0))) {
    at::Tensor product = at::empty({a.size(0), b.size(1)}, a.options());
    tiled_products({{a, b, product}});
    return product;
  }
  return at::mm(a, b);
}

at::Tensor linear_forward(const GemmRoute& route, const at::Tensor& x, const at::Tensor& w) {
  return linear_forward(route, x, w, at::Tensor());
}

at::Tensor linear_forward(const GemmRoute& route, const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias) {
  check_operands(x, w, "linear_forward");
  PRIMUS_CHECK(w.dim() == 2 && x.size(-1) == w.size(1), "linear_forward: x [..., K] and w [M, K] do not fit");
  const at::Tensor rows = rows_of(x);
  const GemmMethod method = method_for(route, x.scalar_type());
  at::Tensor y;
  if (method == GemmMethod::ViaFloat32) {
    const at::Tensor wide_bias = bias.defined() ? bias.to(at::kFloat) : bias;
    y = linear_forward(route, rows.to(at::kFloat), w.to(at::kFloat), wide_bias).to(x.scalar_type());
  } else if (method == GemmMethod::LinearPointwise && rows.numel() > 0) {
    y = linear_pointwise(rows, w, bias);
  } else if (is_tiled(method, rows.size(0))) {
    y = at::empty({rows.size(0), w.size(0)}, x.options());
    tiled_products({{rows, w.t(), y, false, as_float_row(bias)}});
  } else {
    const OneDnnScope scope(method == GemmMethod::OneDnn);
    y = bias.defined() ? at::addmm(bias, rows, w.t()) : at::mm(rows, w.t());
  }
  return with_leading_dims(y, x);
}

void linear_forward_out(const GemmRoute& route, const at::Tensor& x, const at::Tensor& w, at::Tensor y) {
  check_operands(x, w, "linear_forward_out");
  const GemmMethod method = method_for(route, x.scalar_type());
  if (method == GemmMethod::ViaFloat32 || method == GemmMethod::LinearPointwise) {
    y.copy_(linear_forward(route, x, w));
    return;
  }
  if (is_tiled(method, x.size(0))) return tiled_products({{x, w.t(), y}});
  const OneDnnScope scope(method == GemmMethod::OneDnn);
  at::mm_out(y, x, w.t());
}

at::Tensor linear_dgrad(const GemmRoute& route, const at::Tensor& dy, const at::Tensor& w) {
  PRIMUS_CHECK(w.dim() == 2 && dy.size(-1) == w.size(0), "linear_dgrad: dy [..., M] and w [M, K] do not fit");
  return with_leading_dims(matmul(route, rows_of(dy), w), dy);
}

void linear_dgrad_out(const GemmRoute& route, const at::Tensor& dy, const at::Tensor& w, at::Tensor dx) {
  check_operands(dy, w, "linear_dgrad_out");
  const GemmMethod method = method_for(route, dy.scalar_type());
  if (method == GemmMethod::ViaFloat32) {
    dx.copy_(matmul(route, dy, w));
    return;
  }
  if (is_tiled(method, dy.size(0))) return tiled_products({{dy, w, dx}});
  const OneDnnScope scope(method == GemmMethod::OneDnn);
  at::mm_out(dx, dy, w);
}

void linear_wgrad(const GemmRoute& route, const at::Tensor& dy, const at::Tensor& x, at::Tensor main_grad,
                  bool accumulate) {
  check_operands(dy, x, "linear_wgrad");
  const at::Tensor dy_rows = rows_of(dy);
  const at::Tensor x_rows = rows_of(x);
  PRIMUS_CHECK(dy_rows.size(0) == x_rows.size(0) && main_grad.dim() == 2 && main_grad.size(0) == dy_rows.size(1) &&
                   main_grad.size(1) == x_rows.size(1) && main_grad.stride(1) == 1,
               "linear_wgrad: dy [N, M], x [N, K] and main_grad [M, K] do not fit");
  const at::ScalarType wide = dy.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  PRIMUS_CHECK(main_grad.scalar_type() == wide, "linear_wgrad: main_grad must be f32");
  const GemmMethod method = method_for(route, dy.scalar_type());
  if (method == GemmMethod::Tiled) {
    tiled_products({{dy_rows.t(), x_rows, main_grad, accumulate}});
  } else if (dy.scalar_type() == wide) {
    const OneDnnScope scope(method == GemmMethod::OneDnn);
    if (accumulate) {
      main_grad.addmm_(dy_rows.t(), x_rows);
    } else {
      at::mm_out(main_grad, dy_rows.t(), x_rows);
    }
  } else if (method == GemmMethod::ViaFloat32) {
    linear_wgrad(route, dy_rows.to(at::kFloat), x_rows.to(at::kFloat), main_grad, accumulate);
  } else if (method == GemmMethod::MklSum) {
    mkl_sum(dy_rows, x_rows, main_grad, accumulate);
  } else {
    wgrad_16_bit(dy_rows, x_rows, main_grad, accumulate);
  }
}

void linear_bias_grad(const at::Tensor& dy, at::Tensor bias_grad, bool accumulate) {
  const at::Tensor sum = at::sum(rows_of(dy), {0}, false, bias_grad.scalar_type());
  accumulate ? bias_grad.add_(sum) : bias_grad.copy_(sum);
}

}  // namespace primus::kernels
