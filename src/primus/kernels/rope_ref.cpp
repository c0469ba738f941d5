#include "primus/kernels/rope.h"

namespace primus::kernels::reference {

void rope_apply(at::Tensor y, const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                const at::Tensor& positions, int64_t start_position, RopeLayout layout, RopeDirection direction) {
  const auto type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const int64_t half = cos.size(1);
  const at::Tensor rows_bt =
      positions.defined()
          ? positions.to(x.device(), at::kLong)
          : (at::arange(x.size(1), x.options().dtype(at::kLong)) + start_position).expand({x.size(0), x.size(1)});
  const auto table = [&](const at::Tensor& t) {
    return t.to(x.device(), type).index_select(0, rows_bt.reshape(-1)).reshape({x.size(0), x.size(1), 1, half});
  };
  const at::Tensor c = table(cos);
  const at::Tensor s = direction == RopeDirection::Forward ? table(sin) : -table(sin);
  const bool interleaved = layout == RopeLayout::Interleaved;
  const at::Tensor rotated = x.narrow(-1, 0, 2 * half).to(type);
  const at::Tensor x1 = interleaved ? rotated.slice(-1, 0, 2 * half, 2) : rotated.narrow(-1, 0, half);
  const at::Tensor x2 = interleaved ? rotated.slice(-1, 1, 2 * half, 2) : rotated.narrow(-1, half, half);
  const at::Tensor y1 = x1 * c - x2 * s;
  const at::Tensor y2 = x2 * c + x1 * s;
  const at::Tensor turned = interleaved ? at::stack({y1, y2}, -1).flatten(-2) : at::cat({y1, y2}, -1);
  y.copy_(at::cat({turned.to(x.scalar_type()), x.narrow(-1, 2 * half, x.size(-1) - 2 * half)}, -1));
}

}  // namespace primus::kernels::reference
