#include "primus/kernels/column_sum.h"

#include <algorithm>

#include "primus/kernels/parallel.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

at::Tensor sum_block_rows(const at::Tensor& partials) {
  const int64_t width = partials.size(1);
  at::Tensor sum = at::zeros({width}, partials.options());
  simd::loops<float>().column_sum(pointer<float>(partials), width, 0, partials.size(0), pointer<float>(sum));
  return sum;
}

at::Tensor column_sum(const at::Tensor& x_any) {
  const int64_t width = x_any.size(-1);
  const at::Tensor x = x_any.reshape({-1, width}).contiguous();
  if (!is_fast(x)) return x.to(x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat).sum(0);
  const RowBlocks blocks(x.size(0));
  const at::Tensor partials = at::zeros({blocks.count(), width}, x.options().dtype(at::kFloat));
  with_element(x.scalar_type(), [&](auto element) {
    using X = decltype(element);
    const X* const source = pointer<X>(x);
    float* sums = pointer<float>(partials);
    parallel_ranges(blocks.count(), 1, [&](int64_t first, int64_t last) {
      for (int64_t block = first; block < last; ++block) {
        simd::loops<X>().column_sum(source, width, blocks.begin(block), blocks.end(block), sums + block * width);
      }
    });
  });
  return sum_block_rows(partials);
}

}  // namespace primus::kernels
