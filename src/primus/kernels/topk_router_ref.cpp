#include <limits>
#include <vector>

#include "primus/kernels/topk_router.h"

namespace primus::kernels {

namespace reference {

namespace {
at::Tensor best_columns(const at::Tensor& values, int64_t count) {
  return std::get<1>(at::sort(values, /*stable=*/true, /*dim=*/-1, /*descending=*/true)).narrow(-1, 0, count);
}
}  // namespace

at::Tensor choose_experts(const at::Tensor& values, const TopKOptions& o) {
  if (o.top_groups == o.num_groups) return best_columns(values, o.top_k).contiguous();
  const at::Tensor grouped = values.reshape({values.size(0), o.num_groups, -1});
  const at::Tensor best = std::get<0>(at::sort(grouped, true, -1, true)).narrow(-1, 0, o.sum_of);
  const at::Tensor groups = best_columns(best.sum(-1), o.top_groups);
  const at::Tensor allowed = at::zeros({values.size(0), o.num_groups}, at::kBool).scatter(1, groups, true);
  const at::Tensor masked = at::where(allowed.unsqueeze(-1), grouped,
                                      at::scalar_tensor(-std::numeric_limits<double>::infinity(), values.options()));
  return best_columns(masked.reshape(values.sizes()), o.top_k).contiguous();
}

at::Tensor router_weights(const at::Tensor& logits, const at::Tensor& experts, const RouterOptions& o) {
  at::Tensor weights;
  switch (o.score) {
    case RouterScore::SoftmaxOverAll:
      weights = at::softmax(logits, -1).gather(1, experts);
      break;
    case RouterScore::SoftmaxOverChosen:
      weights = at::softmax(logits.gather(1, experts), -1);
      break;
    case RouterScore::Sigmoid:
      weights = at::sigmoid(logits.gather(1, experts));
      break;
    case RouterScore::SqrtSoftplus:
      weights = at::softplus(logits.gather(1, experts)).sqrt();
      break;
  }
  if (o.renormalise) weights = weights / (weights.sum(-1, true) + o.sum_floor);
  return weights * o.scale;
}

}  // namespace reference

}  // namespace primus::kernels
