// Mixture of experts and multi-token prediction. Source: Megatron-LM d3528a21, transformer/moe (router, moe_utils) and
// transformer config; the additions of Primus (router soft cap, forced balance).
#include <algorithm>

#include "primus/base/strings.h"
#include "primus/dialect/megatron.h"
#include "primus/dialect/megatron_pattern.h"

namespace primus::dialect {

namespace {

// One number for all kinds of balancing loss, or a list.
std::vector<double> balance_coefficients(Translation& t) {
  const config::Value* value = any_value(t, "moe_aux_loss_coeff");
  if (value == nullptr || value->is_null()) return {0};
  std::vector<double> out;
  const auto take = [&](const config::Value& item) {
    std::optional<double> number;
    if (item.is_int() || item.is_double()) number = item.as_double();
    if (item.is_string()) number = parse_double(trim(item.as_string()));
    if (!number || *number < 0)
      t.error("moe_aux_loss_coeff", "'" + config::describe(item) + "' is no weight of a balancing loss",
              "a number, at least 0, or a list of them");
    out.push_back(number.value_or(0));
  };
  if (!value->is_list()) {
    take(*value);
  } else {
    for (const config::Value& item : value->as_list()) take(item);
  }
  return out;
}

void balance(Translation& t, spec::Router& router) {
  const std::vector<std::string> kinds = t.keys.texts("moe_router_load_balancing_type");
  const std::vector<double> weights = balance_coefficients(t);
  if (weights.size() != kinds.size() && weights.size() != 1)
    t.error("moe_aux_loss_coeff",
            std::to_string(weights.size()) + " weights for " + std::to_string(kinds.size()) + " kinds of balancing",
            "one weight a kind, or one for all");
  for (size_t i = 0; i < kinds.size(); ++i) {
    const double weight = i < weights.size() ? weights[i] : weights.empty() ? 0 : weights.front();
    router.sinkhorn = router.sinkhorn || kinds[i] == "sinkhorn";
    const auto scope = kinds[i] == "seq_aux_loss"      ? spec::BalanceScope::Sequence
                       : kinds[i] == "global_aux_loss" ? spec::BalanceScope::GlobalBatch
                                                       : spec::BalanceScope::MicroBatch;
    if (kinds[i].ends_with("aux_loss") && weight != 0) router.balance_losses.push_back({scope, weight});
  }
}

void groups(Translation& t, spec::Router& router, int64_t top_k) {
  const auto other = t.keys.maybe_text("moe_router_group_score");
  const auto num_groups = t.keys.maybe_integer("moe_router_num_groups");
  const auto top_groups = t.keys.maybe_integer("moe_router_group_topk");
  if (!num_groups && !top_groups) return;
  if (!num_groups || !top_groups)
    return t.error(num_groups ? "moe_router_num_groups" : "moe_router_group_topk",
                   "experts in groups need both the number of groups and how many a token may choose",
                   "moe_router_num_groups and moe_router_group_topk");
  spec::GroupLimit limit{*num_groups, *top_groups, spec::GroupScore::SumOfTop, 1};
  limit.sum_of = std::max<int64_t>(1, top_k / std::max<int64_t>(1, *top_groups));
  if (other == "top2") limit.sum_of = 2;
  if (other == "max") limit.score = spec::GroupScore::Max, limit.sum_of = 1;
  router.groups = limit;
}

spec::Router router(Translation& t, int64_t top_k) {
  spec::Router r;
  const std::string score = t.keys.text("moe_router_score_function");
  r.score = score == "sigmoid"        ? spec::RouterScore::Sigmoid
            : score == "sqrtsoftplus" ? spec::RouterScore::SqrtSoftplus
                                      : spec::RouterScore::Softmax;
  const bool pre_softmax = t.keys.flag("moe_router_pre_softmax");
  r.normalise_over_all = pre_softmax && r.score == spec::RouterScore::Softmax;
  r.renormalise = r.score != spec::RouterScore::Softmax && top_k > 1;
  r.scale = t.keys.maybe_number("moe_router_topk_scaling_factor").value_or(1);
  groups(t, r, top_k);
  const bool has_bias = t.keys.flag("moe_router_enable_expert_bias");
  const double rate = t.keys.number("moe_router_bias_update_rate");
  if (has_bias) r.expert_bias = spec::ExpertBias{rate, false};
  if (has_bias && r.score == spec::RouterScore::Softmax)
    t.error("moe_router_enable_expert_bias", "the balancing bias works with scores that are independent of each other",
            "moe_router_score_function: sigmoid", "set moe_router_enable_expert_bias: false, or sigmoid scores");
  if (top_k == 1 && r.score == spec::RouterScore::Softmax && !pre_softmax)
    t.error("moe_router_pre_softmax", "with one expert a token, a softmax over the chosen scores is always 1",
            "moe_router_pre_softmax: true");
  balance(t, r);
  r.z_loss = t.keys.maybe_number("moe_z_loss_coeff").value_or(0);
  r.input_jitter = t.keys.maybe_number("moe_input_jitter_eps").value_or(0);
  r.logit_soft_cap = t.keys.maybe_number("router_logit_softcapping").value_or(0);
  const auto dtype = t.keys.maybe_text("moe_router_dtype");
  r.dtype = dtype == "fp32"   ? spec::RouterDtype::Float32
            : dtype == "fp64" ? spec::RouterDtype::Float64
                              : spec::RouterDtype::Model;
  const bool forced = t.keys.flag("moe_router_force_load_balancing");
  const bool in_turn = t.keys.text("moe_router_force_load_balancing_type") == "even";
  if (forced) r.forced_balance = in_turn ? spec::ForcedBalance::RoundRobin : spec::ForcedBalance::Random;
  if (forced)
    t.warning("moe_router_force_load_balancing",
              "tokens go to experts whatever the router says: the loss means nothing");
  r.bias = t.keys.flag("moe_router_bias");
  r.sum_floor = t.keys.number("moe_router_sum_floor");
  r.weight_on_input = t.keys.flag("moe_apply_probs_on_input");
  if (r.weight_on_input && top_k != 1)
    t.error("moe_apply_probs_on_input", "scores can only multiply the experts' input when a token has one expert",
            "moe_router_topk: 1");
  return r;
}

std::optional<spec::Capacity> capacity(Translation& t) {
  const auto factor = t.keys.maybe_number("moe_expert_capacity_factor");
  const bool pad = t.keys.flag("moe_pad_expert_input_to_capacity");
  const bool by_position = t.keys.text("moe_token_drop_policy") == "position";
  if (!factor || *factor < 0) {  // upstream: a negative factor is none
    if (pad)
      t.error("moe_pad_expert_input_to_capacity", "experts can only be padded to a capacity that is given",
              "moe_expert_capacity_factor");
    return std::nullopt;
  }
  return spec::Capacity{*factor, pad,
                        by_position ? spec::DropPolicy::LastPosition : spec::DropPolicy::LowestProbability};
}

}  // namespace

void megatron_moe(Translation& t) {
  spec::Model& model = t.run.model;
  const int64_t num_experts = t.keys.maybe_integer("num_experts").value_or(0);
  spec::Moe moe;
  moe.num_experts = num_experts;
  moe.expert = model.layers.front().mlp;
  moe.expert.ffn_size = t.keys.maybe_integer("moe_ffn_hidden_size").value_or(moe.expert.ffn_size);
  moe.shared_ffn_size = t.keys.maybe_integer("moe_shared_expert_intermediate_size").value_or(0);
  moe.shared_gate = t.keys.flag("moe_shared_expert_gate");
  moe.output_multiplier = t.keys.number("moe_output_multiplier");
  const auto latent = t.keys.maybe_integer("moe_latent_size");
  moe.latent_size = t.keys.maybe_integer("routed_expert_hidden_size").value_or(latent.value_or(0));
  moe.top_k = t.keys.integer("moe_router_topk");
  moe.plain_router = t.keys.flag("disable_primus_topk_router");
  moe.plain_experts = t.keys.flag("use_deprecated_20241209_moe_layer");
  // Sub-keys of experts mean nothing, right or wrong, without experts.
  Diagnostics unread;
  Translation quiet{t.keys, t.run, num_experts > 0 ? t.out : unread, t.options};
  moe.router = router(quiet, moe.top_k);
  moe.capacity = capacity(quiet);
  const auto layers = static_cast<int64_t>(model.layers.size());
  const LayerPattern pattern = layer_pattern(quiet, "moe_layer_freq", layers);
  if (num_experts <= 0) return;
  if (moe.plain_experts)
    t.warning("use_deprecated_20241209_moe_layer", "this plain layer is deprecated: the same numbers, slower",
              "drop it");
  for (int64_t i = 0; i < layers; ++i) {
    const auto* period = std::get_if<int64_t>(&pattern);
    const auto* list = std::get_if<std::vector<int64_t>>(&pattern);
    if (list != nullptr ? (*list)[static_cast<size_t>(i)] != 0 : i % (period != nullptr ? *period : 1) == 0)
      model.layers[static_cast<size_t>(i)].moe = moe;
  }
}

void megatron_multi_token_prediction(Translation& t) {
  const auto depth = t.keys.maybe_integer("mtp_num_layers");
  const double scale = t.keys.number("mtp_loss_scaling_factor");
  if (!depth || *depth == 0) return;  // 0 is not null to upstream: it walks through a block of no layers
  t.run.model.mtp = spec::MultiTokenPrediction{*depth, scale};
  const bool rotary = !t.run.model.learned_positions;
  if (!rotary)
    t.error("mtp_num_layers", "multi-token prediction works with rotary positions or none",
            "position_embedding_type: rope");
}

}  // namespace primus::dialect
