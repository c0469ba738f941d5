#include "primus/kernels/cast.h"

#include "primus/kernels/parallel.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

namespace {

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
      simd::map(pointer<T>(target), static_cast<const S*>(pointer<S>(source)), target.numel(), simd::Copy{});
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
    simd::map(pointer<float>(target), static_cast<const S*>(pointer<S>(source)), target.numel(), simd::Add{});
  });
}

void scale_in_place(at::Tensor target, double factor) {
  if (!both_fast(target, target)) {
    target.mul_(factor);
    return;
  }
  with_element(target.scalar_type(), [&](auto t) {
    using T = decltype(t);
    simd::map(pointer<T>(target), static_cast<const T*>(pointer<T>(target)), target.numel(),
              simd::Scale{static_cast<float>(factor)});
  });
}

}  // namespace primus::kernels
