#include "primus/optim/optimizer.h"

#include <cmath>

#include "primus/base/check.h"
#include "primus/kernels/grad_norm.h"
#include "primus/kernels/optimizer_step.h"

namespace primus::optim {

GradientNorm gradient_norm(const std::vector<nn::Parameter*>& parameters, double inverse_scale) {
  std::vector<double> sums;
  for (const nn::Parameter* parameter : parameters) kernels::append_block_square_sums(parameter->main_grad, sums);
  return {.norm = std::sqrt(kernels::combine_square_sums(sums)) * inverse_scale,
          .finite = kernels::all_blocks_finite(sums)};
}

double clip_coefficient(double norm, double max_norm) {
  if (max_norm <= 0) return 1;
  const double coefficient = max_norm / (norm + 1e-6);
  return coefficient < 1 ? coefficient : 1;
}

Optimizer::Optimizer(std::vector<nn::Parameter*> parameters, const spec::Optimizer& rules)
    : parameters_(std::move(parameters)), rules_(rules) {
  for (const nn::Parameter* parameter : parameters_) {
    first_moment_.push_back(at::zeros_like(parameter->owned_master()));
    if (rules_.kind == spec::OptimizerKind::Adam) second_moment_.push_back(at::zeros_like(parameter->owned_master()));
  }
}

void Optimizer::update(const UpdateInputs& inputs) {
  ++num_updates_;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    nn::Parameter& parameter = *parameters_[i];
    const at::Tensor master = parameter.owned_master();
    if (master.numel() == 0) continue;
    const bool has_copy = !parameter.compute.is_same(parameter.master);
    const at::Tensor bf16_copy =
        has_copy && parameter.compute.scalar_type() == at::kBFloat16 ? parameter.owned_compute() : at::Tensor();
    const at::Tensor grad = parameter.owned_grad();
    const at::Tensor second = second_moment_.empty() ? at::Tensor() : second_moment_[i];
    const double lr = parameter.is_embedding_or_head ? inputs.embedding_and_head_lr : inputs.lr;
    const double decay = decays(parameter) ? inputs.weight_decay : 0;
    if (rules_.kind == spec::OptimizerKind::Adam) {
      kernels::adamw_step(master, grad, first_moment_[i], second, bf16_copy,
                          {.lr = lr,
                           .beta1 = rules_.beta1,
                           .beta2 = rules_.beta2,
                           .eps = rules_.eps,
                           .weight_decay = decay,
                           .decoupled = rules_.decoupled_weight_decay,
                           .step = num_updates_,
                           .grad_scale = inputs.gradient_scale});
    } else {
      kernels::sgd_step(master, grad, first_moment_[i], bf16_copy,
                        {.lr = lr,
                         .momentum = rules_.momentum,
                         .weight_decay = decay,
                         .first_step = num_updates_ == 1,
                         .grad_scale = inputs.gradient_scale});
    }
    if (has_copy && !bf16_copy.defined()) parameter.refresh_compute();
  }
}

std::vector<Optimizer::NamedState> Optimizer::state(size_t parameter_index) const {
  if (rules_.kind == spec::OptimizerKind::Sgd) return {{"momentum", first_moment_[parameter_index]}};
  return {{"exp_avg", first_moment_[parameter_index]}, {"exp_avg_sq", second_moment_[parameter_index]}};
}

}  // namespace primus::optim
