#include "primus/optim/optimizer.h"

#include <algorithm>
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

double clip_coefficient(double norm, double max_norm, bool exactly) {
  if (max_norm <= 0) return 1;
  const double coefficient = max_norm / (exactly ? norm : norm + 1e-6);
  return coefficient < 1 ? coefficient : 1;
}

Optimizer::Optimizer(std::vector<nn::Parameter*> parameters, const spec::Optimizer& rules)
    : parameters_(std::move(parameters)), rules_(rules) {
  for (const nn::Parameter* parameter : parameters_) {
    const at::Tensor master = parameter->owned_master();
    // Weights that are stored in fewer bits bring their state along.
    const auto zeros = [&](spec::Dtype dtype) {
      const bool asked = dtype != spec::Dtype::Float32;
      return at::zeros(master.sizes(), asked ? nn::to_torch(dtype) : master.scalar_type());
    };
    first_moment_.push_back(zeros(rules_.first_moment));
    if (rules_.kind == spec::OptimizerKind::Adam) second_moment_.push_back(zeros(rules_.second_moment));
  }
}

// Whether a step reads or leaves anything in fewer than 32 bits.
bool Optimizer::rounds(const Spans& spans) const {
  const auto is_narrow = [](const at::Tensor& t) { return t.defined() && t.scalar_type() != at::kFloat; };
  return is_narrow(spans.master) || is_narrow(spans.first) || is_narrow(spans.second) ||
         rules_.gradients != spec::Dtype::Float32;
}

void Optimizer::step(const Spans& spans, const at::Tensor& bf16_copy, double lr, double weight_decay, double scale) {
  if (rules_.kind == spec::OptimizerKind::Adam) {
    kernels::adamw_step(spans.master, spans.grad, spans.first, spans.second, bf16_copy,
                        {.lr = lr,
                         .beta1 = rules_.beta1,
                         .beta2 = rules_.beta2,
                         .eps = rules_.eps,
                         .weight_decay = weight_decay,
                         .decoupled = rules_.decoupled_weight_decay,
                         .step = num_updates_,
                         .grad_scale = scale,
                         .eps_root = rules_.eps_root});
  } else {
    kernels::sgd_step(spans.master, spans.grad, spans.first, bf16_copy,
                      {.lr = lr,
                       .momentum = rules_.momentum,
                       .weight_decay = weight_decay,
                       .first_step = num_updates_ == 1,
                       .grad_scale = scale});
  }
}

void Optimizer::step_rounded(const Spans& stored, double lr, double weight_decay, double scale) {
  // A piece at a time: what is in 32 bits fits into the cache and is gone after the step.
  constexpr int64_t kPiece = 1 << 16;
  const int64_t count = stored.master.numel();
  for (int64_t begin = 0; begin < count; begin += kPiece) {
    const int64_t length = std::min(kPiece, count - begin);
    const auto part = [&](const at::Tensor& t) {
      return t.defined() ? t.view({-1}).narrow(0, begin, length) : at::Tensor();
    };
    const auto wide = [&](const at::Tensor& t) { return t.defined() ? part(t).to(at::kFloat) : at::Tensor(); };
    at::Tensor grad = part(stored.grad);
    if (rules_.gradients != spec::Dtype::Float32) grad = grad.to(nn::to_torch(rules_.gradients)).to(at::kFloat);
    const Spans spans{wide(stored.master), grad, wide(stored.first), wide(stored.second)};
    step(spans, {}, lr, weight_decay, scale);
    part(stored.master).copy_(spans.master);
    part(stored.first).copy_(spans.first);
    if (stored.second.defined()) part(stored.second).copy_(spans.second);
  }
}

void Optimizer::update(const UpdateInputs& inputs) {
  ++num_updates_;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    nn::Parameter& parameter = *parameters_[i];
    const Spans spans{parameter.owned_master(), parameter.owned_grad(), first_moment_[i],
                      second_moment_.empty() ? at::Tensor() : second_moment_[i]};
    if (spans.master.numel() == 0) continue;
    const bool has_copy = !parameter.compute.is_same(parameter.master);
    const bool rounded = rounds(spans);
    const bool copies_bf16 = has_copy && !rounded && parameter.compute.scalar_type() == at::kBFloat16;
    const double lr = parameter.is_embedding_or_head ? inputs.embedding_and_head_lr : inputs.lr;
    const double decay = decays(parameter) ? inputs.weight_decay : 0;
    if (rounded) {
      step_rounded(spans, lr, decay, inputs.gradient_scale);
    } else {
      step(spans, copies_bf16 ? parameter.owned_compute() : at::Tensor(), lr, decay, inputs.gradient_scale);
    }
    if (has_copy && !copies_bf16) parameter.refresh_compute();
  }
}

std::vector<Optimizer::NamedState> Optimizer::state(size_t parameter_index) const {
  if (rules_.kind == spec::OptimizerKind::Sgd) return {{"momentum", first_moment_[parameter_index]}};
  return {{"exp_avg", first_moment_[parameter_index]}, {"exp_avg_sq", second_moment_[parameter_index]}};
}

}  // namespace primus::optim
