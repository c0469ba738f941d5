// Cross entropy from hidden states as its definition says.
#include "primus/kernels/linear_cross_entropy.h"

namespace primus::kernels {

CrossEntropyReference linear_cross_entropy_reference(const at::Tensor& x, const at::Tensor& w, const at::Tensor& labels,
                                                     const at::Tensor& weights, const CrossEntropyOptions& options) {
  const bool all_rows = options.padded_rows_in_softmax || options.vocab_size == 0;
  const int64_t in_softmax = all_rows ? w.size(0) : options.vocab_size;
  const at::Tensor wide_x = x.to(at::kDouble);
  const at::Tensor wide_w = w.to(at::kDouble).narrow(0, 0, in_softmax);
  at::Tensor logits = linear_forward_reference(wide_x, wide_w, {}), slope = at::ones_like(logits);
  if (const double cap = options.soft_cap; cap != 0) {
    slope = 1 - (logits / cap).tanh().square();
    logits = cap * (logits / cap).tanh();
  }
  const at::Tensor log_p = at::log_softmax(logits, -1);
  const at::Tensor counted = (labels >= 0).to(at::kDouble);
  const at::Tensor label = labels.clamp_min(0).unsqueeze(1);

  CrossEntropyReference result;
  result.loss = -log_p.gather(1, label).squeeze(1) * counted;
  at::Tensor dlogits = log_p.exp();
  dlogits.scatter_add_(1, label, -at::ones_like(label, at::kDouble));
  dlogits = dlogits * (weights.to(at::kDouble) * counted).unsqueeze(1) * slope;
  result.dx = linear_dgrad_reference(dlogits, wide_w);
  result.dw = at::zeros(w.sizes(), at::kDouble);
  result.dw.narrow(0, 0, in_softmax).copy_(linear_wgrad_reference(dlogits, wide_x));
  return result;
}

}  // namespace primus::kernels
