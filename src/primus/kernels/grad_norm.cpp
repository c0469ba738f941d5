#include "primus/kernels/grad_norm.h"

#include <cmath>

#include "primus/kernels/parallel.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

void append_block_square_sums(const at::Tensor& tensor, std::vector<double>& sums) {
  const at::Tensor x = (is_fast(tensor) ? tensor : tensor.to(at::kCPU, at::kFloat)).contiguous();
  const int64_t num_blocks = num_norm_blocks(x.numel());
  const size_t offset = sums.size();
  sums.resize(offset + static_cast<size_t>(num_blocks));
  double* const out = sums.data() + offset;
  with_element(x.scalar_type(), [&](auto element) {
    using X = decltype(element);
    const X* const data = pointer<X>(x);
    const int64_t numel = x.numel();
    parallel_ranges(num_blocks, 8, [&](int64_t first, int64_t last) {
      simd::loops<X>().square_sums(data, numel, kNormBlock, out, first, last);
    });
  });
}

double combine_square_sums(std::span<const double> sums) {
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

bool all_blocks_finite(std::span<const double> sums) {
  for (const double sum : sums) {
    if (!std::isfinite(sum)) return false;
  }
  return true;
}

}  // namespace primus::kernels
