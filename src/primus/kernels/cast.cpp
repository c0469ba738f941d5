#include "primus/kernels/cast.h"

#include "primus/kernels/parallel.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

namespace {

constexpr int64_t kMinElements = 32768;  // a thread's share is worth its start

bool both_fast(const at::Tensor& target, const at::Tensor& source) {
  PRIMUS_CHECK(target.numel() == source.numel(), "two tensors of different size");
  return is_fast(target) && is_fast(source) && target.is_contiguous() && source.is_contiguous();
}

}  // namespace

void cast_into(at::Tensor target, const at::Tensor& source) {
  if (!both_fast(target, source)) {
    target.copy_(source.reshape(target.sizes()));
    return;
  }
  with_element(target.scalar_type(), [&](auto t) {
    with_element(source.scalar_type(), [&](auto s) {
      using T = decltype(t);
      using S = decltype(s);
      T* const to = pointer<T>(target);
      const S* const from = pointer<S>(source);
      parallel_ranges(target.numel(), kMinElements, [&](int64_t begin, int64_t end) {
        if constexpr (std::is_same_v<T, float>) {
          simd::loops<S>().to_float(to + begin, from + begin, end - begin);
        } else {
          simd::loops<S>().to_bf16(to + begin, from + begin, end - begin);
        }
      });
    });
  });
}

void add_into(at::Tensor target, const at::Tensor& source) {
  PRIMUS_CHECK(target.scalar_type() == at::kFloat || target.scalar_type() == at::kDouble,
               "add_into: fp32 target expected");
  if (!both_fast(target, source)) {
    target.add_(source.reshape(target.sizes()));
    return;
  }
  with_element(source.scalar_type(), [&](auto s) {
    using S = decltype(s);
    float* const to = pointer<float>(target);
    const S* const from = pointer<S>(source);
    parallel_ranges(target.numel(), kMinElements, [&](int64_t begin, int64_t end) {
      simd::loops<S>().add_to_float(to + begin, from + begin, end - begin);
    });
  });
}

void scale_in_place(at::Tensor target, double factor) {
  if (!both_fast(target, target)) {
    target.mul_(factor);
    return;
  }
  with_element(target.scalar_type(), [&](auto t) {
    using T = decltype(t);
    T* const data = pointer<T>(target);
    parallel_ranges(target.numel(), kMinElements, [&](int64_t begin, int64_t end) {
      simd::loops<T>().scale(data + begin, static_cast<float>(factor), end - begin);
    });
  });
}

}  // namespace primus::kernels
