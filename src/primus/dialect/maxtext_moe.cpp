// The mixture of experts. Source: MaxText's layers/moe, 0.2.5, and the rules of its main branch in 2026-08.
#include "primus/base/strings.h"
#include "primus/dialect/maxtext.h"

namespace primus::dialect {

namespace {

struct RouterKeys {
  std::string score;
  bool normalise = false, bias = false;
  double scale = 1, bias_rate = 0;
  int64_t num_groups = -1, top_groups = -1;
  bool grouped_name = false;  // groups and the balancing bias are read for these model names only
};

RouterKeys router_keys(Translation& t) {
  RouterKeys keys;
  const std::string name = t.keys.text("model_name");
  keys.grouped_name = name.starts_with("deepseek3") || name.starts_with("deepseek4");
  keys.score = t.keys.text("routed_score_func");
  keys.normalise = t.keys.flag("norm_topk_prob");
  keys.bias = t.keys.flag("routed_bias");
  keys.scale = t.keys.number("routed_scaling_factor");
  keys.bias_rate = t.keys.number("routed_bias_update_rate");
  keys.num_groups = t.keys.integer("n_routing_groups");
  keys.top_groups = t.keys.integer("topk_routing_group");
  return keys;
}

void deepseek_router(Translation& t, const RouterKeys& keys, spec::Router& router) {
  const bool sigmoid = keys.score == "sigmoid";
  if (keys.score != "sigmoid" && keys.score != "softmax")
    t.error("routed_score_func", "the deepseek router needs a score", "softmax or sigmoid");
  router.score = sigmoid ? spec::RouterScore::Sigmoid : spec::RouterScore::Softmax;
  router.normalise_over_all = !sigmoid;
  router.renormalise = sigmoid;
  router.scale = keys.scale;
  if (keys.grouped_name && keys.num_groups != -1) {
    if (keys.num_groups < 1 || keys.top_groups < 1 || keys.top_groups > keys.num_groups)
      t.error("topk_routing_group",
              "a token cannot choose from " + std::to_string(keys.top_groups) + " of " +
                  std::to_string(keys.num_groups) + " groups",
              "1 to n_routing_groups");
    else
      router.groups = spec::GroupLimit{keys.num_groups, keys.top_groups, spec::GroupScore::SumOfTop, 2};
  }
  if (keys.bias && keys.grouped_name) router.expert_bias = spec::ExpertBias{keys.bias_rate, false};
  router.bias = keys.bias && !keys.grouped_name;
}

spec::Router router(Translation& t, const std::string& block) {
  const RouterKeys keys = router_keys(t);
  const double balance = t.keys.number("load_balance_loss_weight");
  const int64_t top_k = t.keys.integer("num_experts_per_tok");
  const bool fp32 = t.keys.flag("float32_gate_logits"), random = t.keys.flag("use_random_routing");
  spec::Router router;
  if (block == "deepseek") {
    deepseek_router(t, keys, router);
  } else if (block == "llama4") {
    router.score = spec::RouterScore::Sigmoid;
    router.weight_on_input = true;
  } else {  // softmax over the chosen logits; gemma4 over all
    router.normalise_over_all = block == "gemma4";
    router.renormalise = keys.normalise;
    router.bias = keys.bias;
  }
  // Upstream's shares are not divided by the experts per token; this form divides them.
  if (balance > 0)
    router.balance_losses.push_back({spec::BalanceScope::Sequence, balance * static_cast<double>(top_k)});
  if (fp32) router.dtype = spec::RouterDtype::Float32;
  if (random) router.forced_balance = spec::ForcedBalance::Random;
  return router;
}

void check(Translation& t, const MaxtextSizes& sizes, const std::string& block, const spec::Moe& moe) {
  if (sizes.expert_ffn <= 0) t.error("base_moe_mlp_dim", "the experts have no width", "the inner width of an expert");
  const bool all_layers = block == "mixtral" || block == "qwen3_moe" || block == "gpt_oss";
  if (all_layers && block != "qwen3_moe" && sizes.expert_ffn > 0 && sizes.expert_ffn != sizes.ffn)
    t.error("base_moe_mlp_dim", "every layer has experts, and MaxText wants base_mlp_dim to say the same width",
            "base_moe_mlp_dim: " + std::to_string(t.keys.integer("base_mlp_dim")));
  if (block == "llama4" && moe.top_k > 1) t.error("num_experts_per_tok", "llama4's router chooses one expert", "1");
  if (block == "llama4" && moe.capacity) t.error("capacity_factor", "llama4's experts drop no tokens", "-1");
  if (block == "gpt_oss" && moe.capacity) t.error("capacity_factor", "gpt_oss' experts drop no tokens", "-1");
  if (moe.router.expert_bias && moe.router.expert_bias->update_rate > 0 && block != "deepseek")
    t.error("routed_bias_update_rate", "only the deepseek block balances by a bias", "0");
}

}  // namespace

std::optional<spec::Moe> maxtext_moe(Translation& t, const MaxtextSizes& sizes, const std::string& block,
                                     const spec::Mlp& mlp) {
  spec::Moe moe;
  moe.num_experts = t.keys.integer("num_experts");
  moe.top_k = t.keys.integer("num_experts_per_tok");
  const int64_t shared = t.keys.integer("shared_experts");
  const double capacity = t.keys.number("capacity_factor");
  const bool ragged = t.keys.flag("sparse_matmul");
  Diagnostics unread;
  Translation silent{t.keys, t.run, unread, t.options};
  const bool on = !block.empty() && moe.num_experts > 1;
  moe.router = router(on ? t : silent, block);
  if (!on) return std::nullopt;
  moe.expert = mlp;
  moe.expert.ffn_size = sizes.expert_ffn;
  if (block == "deepseek" || block == "llama4") moe.shared_ffn_size = shared * sizes.expert_ffn;
  if (block == "gemma4") moe.shared_ffn_size = shared * sizes.ffn;
  if (!ragged && capacity > 0)
    moe.capacity = spec::Capacity{capacity, false, spec::DropPolicy::LastPosition, /*per_sequence=*/true};
  check(t, sizes, block, moe);
  return moe;
}

}  // namespace primus::dialect
