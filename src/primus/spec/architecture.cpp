#include "primus/spec/architecture.h"

#include <algorithm>
#include <cmath>

#include "primus/spec/to_json.h"

namespace primus::spec {

namespace {

// The model without what belongs to training, and one spelling where two mean the same.
RunSpec comparable(const Model& model) {
  RunSpec run;
  run.model = model;
  Model& m = run.model;
  m.padded_vocab_size = m.vocab_size;
  m.vocab_divisor = 1;
  m.embedding_dropout = 0;
  m.fp32_residual = false;
  m.mtp.reset();
  m.init = {};
  m.flops_formula = FlopsFormula::Megatron;
  // Where nothing attends, positions are no part of the model.
  if (!m.learned_positions && std::none_of(m.layers.begin(), m.layers.end(), attends)) m.max_positions = 0;
  for (LayerSpec& layer : m.layers) {
    layer.hidden_dropout = layer.attention.dropout = 0;
    layer.init.reset();
    if (!attends(layer)) layer.attention = {};
    if (!layer.has_mixer) layer.input_norm = {};
    if (!layer.has_mlp) {
      layer.mlp = {}, layer.post_attention_norm = {};
      layer.moe.reset();
    }
    if (!layer.moe) continue;
    layer.mlp = {};
    Router& router = layer.moe->router;
    if (!router.renormalise) router.sum_floor = Router{}.sum_floor;
    if (router.score == RouterScore::Softmax && router.renormalise)
      router.normalise_over_all = router.renormalise = false;
    if (router.score == RouterScore::Sigmoid) router.normalise_over_all = false;  // each score stands for itself
    router.balance_losses.clear();
    router.z_loss = router.input_jitter = 0;
    router.dtype = RouterDtype::Model;
    router.forced_balance = ForcedBalance::None;
    if (router.expert_bias) router.expert_bias = ExpertBias{};
    if (router.groups && router.groups->num_groups == 1) router.groups.reset();
    if (router.groups && router.groups->score == GroupScore::Max) router.groups->sum_of = 1;
    layer.moe->capacity.reset();
    layer.moe->plain_router = layer.moe->plain_experts = false;
  }
  return run;
}

bool nearly_equal(const Json& a, const Json& b) {
  if (!a.is_number() || !b.is_number()) return a == b;
  const double x = a.get<double>(), y = b.get<double>();
  return x == y || std::abs(x - y) <= 1e-11 * std::max(std::abs(x), std::abs(y));
}

}  // namespace

std::vector<std::string> architecture_differences(const Model& wanted, const Model& got) {
  std::vector<std::string> differences;
  for (const FieldDifference& d : compare(comparable(wanted), comparable(got)))
    if (!nearly_equal(d.before, d.after)) differences.push_back(d.field + " (" + d.before.dump() + ")");
  return differences;
}

}  // namespace primus::spec
