#include "primus/kernels/mkl_sum.h"

#include <dlfcn.h>

#include "primus/base/check.h"

namespace primus::kernels {
namespace {

// cblas_gemm_bf16bf16f32 of oneMKL, with 32-bit sizes as libtorch is linked to it. libtorch offers no way of its own to
// it, but exports the symbol.
using Gemm = void (*)(int layout, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const void* a,
                      int lda, const void* b, int ldb, float beta, float* c, int ldc);
constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;

Gemm find_routine() {
  static const auto routine = reinterpret_cast<Gemm>(dlsym(RTLD_DEFAULT, "cblas_gemm_bf16bf16f32"));
  return routine;
}

at::Tensor with_contiguous_rows(const at::Tensor& t) {
  return t.stride(1) == 1 && t.stride(0) >= t.size(1) ? t : t.contiguous();
}

}  // namespace

bool has_mkl_sum() {
  return find_routine() != nullptr;
}

void mkl_sum(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& main, bool accumulate) {
  PRIMUS_CHECK(has_mkl_sum(), "this libtorch has no cblas_gemm_bf16bf16f32");
  if (main.numel() == 0) return;
  if (dy.size(0) == 0) {
    if (!accumulate) main.zero_();
    return;
  }
  const at::Tensor a = with_contiguous_rows(dy), b = with_contiguous_rows(x);
  const auto narrow = [](int64_t size) {
    PRIMUS_CHECK(size <= std::numeric_limits<int>::max(), "a matrix dimension above 2^31");
    return static_cast<int>(size);
  };
  find_routine()(kRowMajor, kTransposed, kPlain, narrow(a.size(1)), narrow(b.size(1)), narrow(a.size(0)), 1.0F,
                 a.const_data_ptr(), narrow(std::max<int64_t>(1, a.stride(0))), b.const_data_ptr(),
                 narrow(std::max<int64_t>(1, b.stride(0))), accumulate ? 1.0F : 0.0F, main.mutable_data_ptr<float>(),
                 narrow(main.stride(0)));
}

}  // namespace primus::kernels
