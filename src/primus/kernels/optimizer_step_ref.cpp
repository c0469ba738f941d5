#include <cmath>

#include "primus/kernels/optimizer_step.h"

namespace primus::kernels::reference {

void adamw_step(at::Tensor p, const at::Tensor& grad, at::Tensor m, at::Tensor v, at::Tensor bf16_copy,
                const AdamWOptions& options) {
  at::Tensor g = grad.to(p.scalar_type()) * options.grad_scale;
  if (!options.decoupled) g = g + options.weight_decay * p;
  m.mul_(options.beta1).add_(g, 1 - options.beta1);
  v.mul_(options.beta2).addcmul_(g, g, 1 - options.beta2);
  if (options.decoupled) p.mul_(1 - options.lr * options.weight_decay);
  const at::Tensor m_hat = m / (1 - std::pow(options.beta1, options.step));
  const at::Tensor v_hat = v / (1 - std::pow(options.beta2, options.step));
  p.sub_(options.lr * m_hat / ((v_hat + options.eps_root).sqrt() + options.eps));
  if (bf16_copy.defined()) bf16_copy.copy_(p);
}

void sgd_step(at::Tensor p, const at::Tensor& grad, at::Tensor buffer, at::Tensor bf16_copy,
              const SgdOptions& options) {
  at::Tensor g = grad.to(p.scalar_type()) * options.grad_scale + options.weight_decay * p;
  if (options.momentum != 0) {
    if (options.first_step) {
      buffer.copy_(g);
    } else {
      buffer.mul_(options.momentum).add_(g);
    }
    g = options.nesterov ? g + options.momentum * buffer : buffer;
  }
  p.sub_(g, options.lr);
  if (bf16_copy.defined()) bf16_copy.copy_(p);
}

}  // namespace primus::kernels::reference
