#include "primus/train/statistics.h"

#include <cmath>

#include "primus/kernels/grad_norm.h"

namespace primus::train {

double parameters_norm(Trainer& trainer) {
  std::vector<double> sums;
  for (const nn::Parameter* parameter : trainer.model.parameters()) {
    kernels::append_block_square_sums(parameter->owned_master().to(at::kFloat), sums);
  }
  const at::Tensor total = at::full({1}, kernels::combine_square_sums(sums), at::kDouble);
  if (trainer.spec.optimizer.shard_state) trainer.group.all_reduce_sum(total)->wait();
  return std::sqrt(total.item<double>());
}

int64_t num_zero_gradients(Trainer& trainer) {
  int64_t count = 0;
  for (const nn::Parameter* parameter : trainer.model.parameters()) {
    count += (parameter->main_grad == 0).sum().item<int64_t>();
  }
  return count;
}

}  // namespace primus::train
