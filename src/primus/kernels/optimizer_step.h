// One fused pass of an optimizer over a flat span of parameters: reads the gradient once, updates the state and the
// fp32 master in place and writes the bf16 copy. All tensors of a call are contiguous with equal numel on one device,
// and element i of each belongs to the same parameter; views such as flat.slice(0, begin, end) are meant, and any cut
// gives the same bits (ZeRO-1 shards). master, m, v: fp32; grad: fp32 or bf16; bf16_copy: bf16 or undefined (other
// types and devices: reference path). Memory bound: 28 bytes a parameter with fp32 gradients (30 with the copy).
#pragma once

#include <cstdint>

#include "primus/tensor/fwd.h"

namespace primus::kernels {

struct AdamWOptions {
  double lr = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  bool decoupled = true;  // AdamW; false: weight_decay * p is added to the gradient (Adam with L2)
  int64_t step = 1;       // from 1
  double grad_scale = 1;  // the gradient is multiplied by it first: clip coefficient, inverse loss scale
  double eps_root = 0;    // under the root: sqrt(v/(1-b2^t) + eps_root), as optax.adamw has it
};

// g *= grad_scale; m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2; p -= lr wd p; p -= lr (m/(1-b1^t)) / (sqrt(v/(1-b2^t)) +
// eps). Source: Kingma and Ba 2015; Loshchilov and Hutter 2019, algorithm 2.
void adamw_step(at::Tensor master, const at::Tensor& grad, at::Tensor m, at::Tensor v, at::Tensor bf16_copy,
                const AdamWOptions& options);

struct SgdOptions {
  double lr = 0;
  double momentum = 0;
  double weight_decay = 0;  // L2: added to the gradient
  bool nesterov = false;
  bool first_step = false;  // the buffer starts as the gradient itself
  double grad_scale = 1;
};

// g = g * grad_scale + wd p; b = momentum b + g; p -= lr b (nesterov: p -= lr (g + momentum b)); with momentum 0 the
// buffer may be undefined. The rules of torch.optim.SGD.
void sgd_step(at::Tensor master, const at::Tensor& grad, at::Tensor buffer, at::Tensor bf16_copy,
              const SgdOptions& options);

// The plain forms: libtorch operations, any float type and device.
namespace reference {
void adamw_step(at::Tensor master, const at::Tensor& grad, at::Tensor m, at::Tensor v, at::Tensor bf16_copy,
                const AdamWOptions& options);
void sgd_step(at::Tensor master, const at::Tensor& grad, at::Tensor buffer, at::Tensor bf16_copy,
              const SgdOptions& options);
}  // namespace reference

}  // namespace primus::kernels
