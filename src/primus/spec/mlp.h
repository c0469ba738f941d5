// The feed-forward half of a layer: one MLP, or a mixture of experts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace primus::spec {

enum class Activation { Silu, Gelu, QuickGelu, SquaredRelu, GeluTanh };  // Gelu is the erf form

struct Mlp {
  int64_t ffn_size = 0;
  Activation activation = Activation::Silu;
  bool gated = true;  // W2(act(W_gate x) * W_up x)
  bool bias = false;
  double clamp = 0;      // gate at most this, up within +-this; 0: no clamp
  double up_offset = 0;  // act(gate) * (up + offset)
};

enum class RouterScore { Softmax, Sigmoid, SqrtSoftplus };
enum class GroupScore { SumOfTop, Max };
enum class ForcedBalance { None, RoundRobin, Random };
enum class RouterDtype { Model, Float32, Float64 };

// Experts in equal contiguous groups; only the best groups' experts can be chosen.
struct GroupLimit {
  int64_t num_groups = 1, top_groups = 1;
  GroupScore score = GroupScore::SumOfTop;
  int64_t sum_of = 2;  // SumOfTop: how many of a group's best scores are added
};

// The loss-free balance (arXiv 2408.15664): a bias on the choice, moved after each step by the sign of the load error.
struct ExpertBias {
  double update_rate = 1e-3;
  bool centred = false;  // the mean of the moves is taken out
};

enum class BalanceScope { MicroBatch, Sequence, GlobalBatch };

// coefficient * E / (k T^2) * sum_e(P_e n_e) over the scope; coefficient in this normalisation.
struct BalanceLoss {
  BalanceScope scope = BalanceScope::MicroBatch;
  double coefficient = 0;
};

struct Router {
  RouterScore score = RouterScore::Softmax;
  bool normalise_over_all = false;  // softmax over all experts before the choice; otherwise over the chosen ones
  bool renormalise = false;         // weights of the chosen experts are divided by their sum
  double sum_floor = 1e-20;         // added to that sum
  double scale = 1;                 // multiplies the weights last
  bool bias = false;                // the router is a linear layer with a bias
  std::optional<GroupLimit> groups;
  std::optional<ExpertBias> expert_bias;
  std::vector<BalanceLoss> balance_losses;
  bool sinkhorn = false;
  double z_loss = 0;
  double input_jitter = 0;
  double logit_soft_cap = 0;
  RouterDtype dtype = RouterDtype::Model;
  ForcedBalance forced_balance = ForcedBalance::None;
  bool weight_on_input = false;  // the weight multiplies the expert's input, not its output
};

enum class DropPolicy { LowestProbability, LastPosition };

struct Capacity {
  double factor = 1;  // tokens an expert takes: ceil(T k / E * factor)
  bool pad = false;
  DropPolicy policy = DropPolicy::LowestProbability;
  bool per_sequence = false;  // the tokens of one sequence compete, for floor(ceil(T k / E) * factor) places
};

struct Moe {
  int64_t num_experts = 0;
  int64_t top_k = 0;
  Mlp expert;
  int64_t latent_size = 0;       // routed experts work in this width, between two projections; 0: hidden_size
  int64_t shared_ffn_size = 0;   // width of the MLP that every token passes; 0: none
  bool shared_gate = false;      // sigmoid(x w) on the shared MLP's output
  double output_multiplier = 1;  // of the sum of experts and shared MLP
  Router router;
  std::optional<Capacity> capacity;                  // nothing: no token is dropped
  bool plain_router = false, plain_experts = false;  // the engine's reference routines: slower, the same numbers
};

}  // namespace primus::spec
