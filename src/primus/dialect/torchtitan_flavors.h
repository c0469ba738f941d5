// The model arguments of TorchTitan's flavors. Private to the room. Source: pytorch/torchtitan v0.2.2 (73a0e697).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace primus::dialect {

enum class TitanFamily : uint8_t { Llama3, Llama4, DeepSeekV3, Qwen3, GptOss };

// All arguments of all families under upstream's names; a family reads its own only.
struct TitanModel {
  TitanFamily family = TitanFamily::Llama3;
  int64_t dim = 0, n_layers = 0, n_heads = 0, vocab_size = 0, max_seq_len = 0;
  std::optional<int64_t> n_kv_heads;  // nothing: one per head
  int64_t head_dim = 0;               // qwen3, gpt_oss; llama: dim / n_heads
  double norm_eps = 1e-5, rope_theta = 10000;
  std::string attn_type = "sdpa", attn_mask_type = "causal";
  bool depth_init = true;
  // feed-forward
  int64_t multiple_of = 256;
  std::optional<double> ffn_dim_multiplier;
  int64_t hidden_dim = 0, inter_dim = 0, moe_inter_dim = 0;
  double swiglu_limit = 7;
  bool enable_weight_tying = false, qk_norm = false;
  // rope scaling of the llamas
  bool has_rope_scaling = false;
  double scaling_factor = 8, low_freq_factor = 1, high_freq_factor = 4;
  int64_t original_max_position_embeddings = 8192;
  // YaRN of deepseek_v3 and gpt_oss
  int64_t original_seq_len = 4096;
  double rope_factor = 1, beta_fast = 32, beta_slow = 1, mscale = 1, ntk_alpha = 1, ntk_beta = 32;
  // llama4
  std::optional<int64_t> every_n_layers_nope;
  int64_t fixed_attn_block_size = 8192, interleave_moe_layer_step = 2;
  bool auto_scale_hidden_dim = true;
  // gpt_oss
  int64_t sliding_window_size = 128;
  // deepseek_v3
  int64_t n_dense_layers = 1, q_lora_rank = 0, kv_lora_rank = 512;
  int64_t qk_nope_head_dim = 128, qk_rope_head_dim = 64, v_head_dim = 128;
  // mixture of experts
  bool moe_enabled = false;  // qwen3
  int64_t num_experts = 8, num_shared_experts = 1, top_k = 1;
  std::string score_func = "sigmoid";
  bool route_norm = false, gate_bias = false, score_before_experts = true;
  double route_scale = 1;
  std::optional<int64_t> num_expert_groups, num_limited_groups;
  std::optional<double> load_balance_coeff = 1e-3;
};

// "llama3", "llama4", ...; nothing for a name that is no family. llama3_ft has llama3's models.
std::optional<TitanFamily> titan_family(std::string_view name);
std::vector<std::string> titan_families();

// Nothing when the family has no such flavor.
std::optional<TitanModel> titan_model(TitanFamily family, std::string_view flavor);
std::vector<std::string> titan_flavors(TitanFamily family);

// An argument that `model.<name>` overrides.
struct TitanArgument {
  using Member =
      std::variant<int64_t TitanModel::*, double TitanModel::*, bool TitanModel::*, std::string TitanModel::*,
                   std::optional<int64_t> TitanModel::*, std::optional<double> TitanModel::*>;
  std::string_view key;       // "model.n_layers", "model.moe_args.top_k"
  std::string_view families;  // "llama3|qwen3"
  Member member;
};
std::span<const TitanArgument> titan_arguments();
bool has_argument(const TitanArgument& argument, std::string_view family_name);

}  // namespace primus::dialect
