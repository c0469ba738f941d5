// The one door for matrix products of the engine. Machines differ by factors in which library routine is fast
// (libtorch's BLAS can run at 40 % of a CPU's speed, bf16 at half of fp32 on one CPU and twice on another, fp16 ten
// times slower), so the routine is chosen by measurement at start and travels as a value: pass the route to every call.
//
// Dtypes: f32, bf16, f16, f64 (tests). All operands of one product share one. Rows may be strided; the last dim of x,
// dy and w should be contiguous (others work, slower).
#pragma once

#include <string>
#include <vector>

#include "primus/base/fs.h"
#include "primus/base/result.h"
#include "primus/tensor/fwd.h"

namespace primus::kernels {

enum class GemmMethod {
  Aten,    // at::mm and friends: MKL for f32, oneDNN for bf16 and f16
  OneDnn,  // f32 only: at::mm sent to oneDNN by libtorch's precision setting; used where that is proven true fp32
  LinearPointwise,  // mkldnn::_linear_pointwise for y = x w^T, Aten for the two gradients
  MklSum,           // bf16 only: Aten for y and dx; the weight gradient is added in f32 by MKL (mkl_sum.h)
  Tiled,            // f32 and bf16: products of our own (gemm_tiled.h), where the CPU has the instructions
  ViaFloat32,       // bf16 and f16: operands widened, product in f32 by its own method, result rounded once
};

struct GemmRoute {
  GemmMethod f32 = GemmMethod::Aten;
  GemmMethod bf16 = GemmMethod::Aten;
  GemmMethod f16 = GemmMethod::Aten;

  bool operator==(const GemmRoute&) const = default;
  // "f32=aten,bf16=aten,f16=via_float32": for broadcast, run record, checkpoint manifest. parse reads it back.
  std::string to_string() const;
  static Result<GemmRoute> parse(std::string_view text);
};

// y [..., M] = x [..., K] w^T (+ bias [M]), w [M, K]. An undefined bias means none.
at::Tensor linear_forward(const GemmRoute& route, const at::Tensor& x, const at::Tensor& w);
at::Tensor linear_forward(const GemmRoute& route, const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias);
// The same for x [N, K] into y [N, M], which may be a strided view with contiguous rows.
void linear_forward_out(const GemmRoute& route, const at::Tensor& x, const at::Tensor& w, at::Tensor y);

// dx [..., K] = dy [..., M] w.
at::Tensor linear_dgrad(const GemmRoute& route, const at::Tensor& dy, const at::Tensor& w);
// The same for dy [N, M] into dx [N, K], which may be a strided view with contiguous rows.
void linear_dgrad_out(const GemmRoute& route, const at::Tensor& dy, const at::Tensor& w, at::Tensor dx);

// main_grad [M, K] f32 (f64 for f64) = or += dy^T x, leading dims of dy and x flattened. Except with
// MklSum and Tiled, 16-bit products are rounded to their type block by block and added in f32 while they are in the
// cache.
void linear_wgrad(const GemmRoute& route, const at::Tensor& dy, const at::Tensor& x, at::Tensor main_grad,
                  bool accumulate);
// bias_grad [M] f32 (f64) = or += column sums of dy [..., M], summed in f32 in a fixed order.
void linear_bias_grad(const at::Tensor& dy, at::Tensor bias_grad, bool accumulate);

// a [M, K] b [K, N], any strides.
at::Tensor matmul(const GemmRoute& route, const at::Tensor& a, const at::Tensor& b);

// Plain double-precision products with the shapes of the functions above; results in f64.
at::Tensor linear_forward_reference(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias);
at::Tensor linear_dgrad_reference(const at::Tensor& dy, const at::Tensor& w);
at::Tensor linear_wgrad_reference(const at::Tensor& dy, const at::Tensor& x);

struct GemmCandidate {
  std::string dtype;  // "f32", "bf16", "f16"
  GemmMethod method = GemmMethod::Aten;
  double gflops = 0;          // forward, dgrad and wgrad of one layer together
  double relative_error = 0;  // against double, the worst of the three, by norms
  bool accepted = false;      // accurate enough: f32 < 2e-6, bf16 < 1e-2, f16 < 2e-3
};

struct GemmChoice {
  GemmRoute route;
  double f32_gflops = 0, bf16_gflops = 0, f16_gflops = 0;  // of the chosen methods
  std::vector<GemmCandidate> candidates;                   // empty when the choice came from the cache
  bool from_cache = false;
  std::string note;  // one sentence when the cache could not be read or written; empty otherwise
};

// Times every method (well under a second), drops those that miss the error bound, and returns the fastest per dtype.
// With a cache file: a stored choice for this CPU, these library versions and this number of threads is returned
// instead, and a new one is stored. A cache that cannot be used never fails the call (see note). Calls libtorch; not
// inside a parallel region.
GemmChoice choose_gemm_route(const fs::path& cache_file = {});

std::string_view to_string(GemmMethod method);

}  // namespace primus::kernels
