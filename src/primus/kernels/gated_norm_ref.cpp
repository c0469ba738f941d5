#include "primus/kernels/gated_norm.h"

namespace primus::kernels::reference {

namespace {

struct GatedNormParts {
  at::Tensor x, gate, slope, gain;  // [N, W', W]: rows, groups, columns; gain [W', W]
};

GatedNormParts gated_norm_parts(const at::Tensor& x, const at::Tensor& z, const at::Tensor& gain,
                                const GatedNormOptions& options) {
  const auto type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const int64_t group = options.group > 0 ? options.group : x.size(-1);
  const auto grouped = [&](const at::Tensor& t) { return t.to(type).reshape({-1, x.size(-1) / group, group}); };
  const at::Tensor z_groups = grouped(z), sigmoid = z_groups.sigmoid();
  return {grouped(x), z_groups * sigmoid, sigmoid * (1 + z_groups * (1 - sigmoid)), grouped(gain)[0]};
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> gated_rms_norm_forward(const at::Tensor& x, const at::Tensor& z,
                                                          const at::Tensor& gain, const GatedNormOptions& options) {
  const GatedNormParts p = gated_norm_parts(x, z, gain, options);
  const bool gate_first = options.order == GateOrder::GateFirst;
  const at::Tensor input = gate_first ? p.x * p.gate : p.x;
  const at::Tensor rstd = (input.square().mean(-1, true) + options.eps).rsqrt();
  at::Tensor y = input * rstd * p.gain;
  if (!gate_first) y = y * p.gate;
  return {y.reshape(x.sizes()).to(x.scalar_type()), rstd.squeeze(-1)};
}

GatedNormGrads gated_rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& z,
                                       const at::Tensor& gain, const at::Tensor& rstd_groups,
                                       const GatedNormOptions& options) {
  const GatedNormParts p = gated_norm_parts(x, z, gain, options);
  const bool gate_first = options.order == GateOrder::GateFirst;
  const at::Tensor rstd = rstd_groups.unsqueeze(-1);
  const at::Tensor d = dy.to(p.x.scalar_type()).reshape(p.x.sizes());
  const at::Tensor normed = (gate_first ? p.x * p.gate : p.x) * rstd;
  const at::Tensor d_scaled = gate_first ? d : d * p.gate;  // of normed * gain
  const at::Tensor d_normed = d_scaled * p.gain;
  const at::Tensor d_input = rstd * (d_normed - normed * (d_normed * normed).mean(-1, true));
  const at::Tensor dx = gate_first ? d_input * p.gate : d_input;
  const at::Tensor d_gate = gate_first ? d_input * p.x : d * normed * p.gain;
  const auto like = [&](const at::Tensor& t) { return t.reshape(x.sizes()).to(x.scalar_type()); };
  return {like(dx), like(d_gate * p.slope), (d_scaled * normed).sum(0).flatten()};
}

}  // namespace primus::kernels::reference
