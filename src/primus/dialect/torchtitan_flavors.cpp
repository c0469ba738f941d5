// Plain rows: what upstream's argument classes and its tables of flavors say.
#include "primus/dialect/torchtitan_flavors.h"

#include <algorithm>

#include "primus/base/strings.h"

namespace primus::dialect {

namespace {

struct MoeRow {
  int64_t num_experts = 8, num_shared_experts = 1, top_k = 1;
  std::string_view score_func = "sigmoid";
  bool route_norm = false;
  double route_scale = 1;
  bool gate_bias = false, score_before_experts = true;
  int64_t num_expert_groups = 0, num_limited_groups = 0;  // 0: none
};

struct Llama3Row {
  std::string_view flavor;
  int64_t dim = 4096, n_layers = 32, n_heads = 32, n_kv_heads = 0, vocab_size = 128256, multiple_of = 256;
  double ffn_dim_multiplier = 0;
  std::string_view attn_type = "sdpa", attn_mask_type = "causal";
};
constexpr Llama3Row kLlama3Rows[] = {
    {.flavor = "debugmodel", .dim = 256, .n_layers = 6, .n_heads = 16, .vocab_size = 2048},
    {.flavor = "debugmodel_flex_attn",
     .dim = 256,
     .n_layers = 6,
     .n_heads = 16,
     .vocab_size = 2048,
     .attn_type = "flex",
     .attn_mask_type = "block_causal"},
    {.flavor = "debugmodel_varlen_attn",
     .dim = 256,
     .n_layers = 6,
     .n_heads = 16,
     .vocab_size = 2048,
     .attn_type = "varlen",
     .attn_mask_type = "block_causal"},
    {.flavor = "8B", .n_kv_heads = 8, .multiple_of = 1024, .ffn_dim_multiplier = 1.3},
    {.flavor = "8B_flex",
     .n_kv_heads = 8,
     .multiple_of = 1024,
     .ffn_dim_multiplier = 1.3,
     .attn_type = "flex",
     .attn_mask_type = "block_causal"},
    {.flavor = "8B_varlen",
     .n_kv_heads = 8,
     .multiple_of = 1024,
     .ffn_dim_multiplier = 1.3,
     .attn_type = "varlen",
     .attn_mask_type = "block_causal"},
    {.flavor = "70B",
     .dim = 8192,
     .n_layers = 80,
     .n_heads = 64,
     .n_kv_heads = 8,
     .multiple_of = 4096,
     .ffn_dim_multiplier = 1.3},
    {.flavor = "405B",
     .dim = 16384,
     .n_layers = 126,
     .n_heads = 128,
     .n_kv_heads = 8,
     .multiple_of = 4096,
     .ffn_dim_multiplier = 1.2},
};

struct Llama4Row {
  std::string_view flavor;
  bool is_debug = false;
  bool has_rope_scaling = false;
  int64_t max_seq_len = 1048576, num_experts = 8, interleave_moe_layer_step = 2;
  int64_t every_n_layers_nope = 0, fixed_attn_block_size = 8192;  // 0: positions in all layers
};
constexpr Llama4Row kLlama4[] = {
    {.flavor = "debugmodel", .is_debug = true, .has_rope_scaling = true},
    {.flavor = "17bx16e",
     .has_rope_scaling = true,
     .max_seq_len = 10485760,
     .num_experts = 16,
     .interleave_moe_layer_step = 1},
    {.flavor = "17bx128e", .num_experts = 128},
    {.flavor = "debugmodel_irope",
     .is_debug = true,
     .has_rope_scaling = true,
     .every_n_layers_nope = 4,
     .fixed_attn_block_size = 256},
    {.flavor = "17bx16e_irope",
     .has_rope_scaling = true,
     .max_seq_len = 10485760,
     .num_experts = 16,
     .interleave_moe_layer_step = 1,
     .every_n_layers_nope = 4},
    {.flavor = "17bx128e_irope", .num_experts = 128, .every_n_layers_nope = 4},
};

constexpr MoeRow kQwenMoe{.num_experts = 128,
                          .num_shared_experts = 0,
                          .top_k = 8,
                          .score_func = "softmax",
                          .route_norm = true,
                          .score_before_experts = false};
constexpr MoeRow kQwenDebugMoe{.num_experts = 64,
                               .num_shared_experts = 0,
                               .top_k = 8,
                               .score_func = "softmax",
                               .route_norm = true,
                               .score_before_experts = false};
struct Qwen3Row {
  std::string_view flavor;
  int64_t dim, n_layers, n_heads, n_kv_heads, hidden_dim;
  bool tied = false;
  int64_t vocab_size = 151936, max_seq_len = 4096, moe_inter_dim = 0;  // 0: dense
  double rope_theta = 1e6;
  MoeRow moe = {};
};
constexpr Qwen3Row kQwen3Rows[] = {
    {"debugmodel", 256, 8, 16, 8, 3072, true, 2048},
    {"0.6B", 1024, 28, 16, 8, 3072, true},
    {"1.7B", 2048, 28, 16, 8, 6144, true},
    {"4B", 2560, 36, 32, 8, 9728, true},
    {"8B", 4096, 36, 32, 8, 12288},
    {"14B", 5120, 40, 40, 8, 17408},
    {"32B", 5120, 64, 64, 8, 25600},
    {"debugmodel_moe", 256, 8, 16, 8, 3072, false, 2048, 4096, 768, 1e6, kQwenDebugMoe},
    {"30B-A3B", 2048, 48, 32, 4, 6144, false, 151936, 262144, 768, 1e6, kQwenMoe},
    {"235B-A22B", 4096, 94, 64, 4, 12288, false, 151936, 4096, 1536, 5e6, kQwenMoe},
};

struct DeepSeekRow {
  std::string_view flavor;
  int64_t vocab_size, dim, inter_dim, moe_inter_dim, n_layers, n_dense_layers, n_heads, q_lora_rank;
  double mscale;
  bool is_flex;  // with masks per document
  MoeRow moe;
};
constexpr MoeRow kDeepSeekDebugMoe{
    .num_experts = 8, .num_shared_experts = 2, .top_k = 3, .score_func = "softmax", .score_before_experts = false};
constexpr DeepSeekRow kDeepSeekRows[] = {
    {"debugmodel", 2048, 256, 1024, 256, 6, 1, 16, 0, 0.70, false, kDeepSeekDebugMoe},
    {"debugmodel_flex_attn", 2048, 256, 1024, 256, 6, 1, 16, 0, 0.70, true, kDeepSeekDebugMoe},
    {"16B",
     102400,
     2048,
     10944,
     1408,
     27,
     1,
     16,
     0,
     0.70,
     true,
     {.num_experts = 64, .num_shared_experts = 2, .top_k = 6, .score_func = "softmax", .score_before_experts = false}},
    {"236B",
     102400,
     5120,
     12288,
     1536,
     60,
     1,
     128,
     1536,
     1.0,
     true,
     {.num_experts = 160,
      .num_shared_experts = 2,
      .top_k = 6,
      .score_func = "softmax",
      .route_scale = 16,
      .score_before_experts = false,
      .num_expert_groups = 8,
      .num_limited_groups = 3}},
    {"671B",
     129280,
     7168,
     18432,
     2048,
     61,
     3,
     128,
     1536,
     1.0,
     true,
     {.num_experts = 256,
      .num_shared_experts = 1,
      .top_k = 8,
      .score_func = "sigmoid",
      .route_norm = true,
      .route_scale = 2.5,
      .score_before_experts = false,
      .num_expert_groups = 8,
      .num_limited_groups = 4}},
};

struct GptOssRow {
  std::string_view flavor;
  int64_t dim, n_layers, num_experts;
};
constexpr GptOssRow kGptOssRows[] = {{"debugmodel", 256, 4, 8}, {"20b", 2880, 24, 32}, {"120b", 2880, 36, 128}};

std::optional<int64_t> if_positive(int64_t value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

void set_moe(TitanModel& model, const MoeRow& row) {
  model.num_experts = row.num_experts;
  model.num_shared_experts = row.num_shared_experts;
  model.top_k = row.top_k;
  model.score_func = row.score_func;
  model.route_norm = row.route_norm;
  model.route_scale = row.route_scale;
  model.gate_bias = row.gate_bias;
  model.score_before_experts = row.score_before_experts;
  model.num_expert_groups = if_positive(row.num_expert_groups);
  model.num_limited_groups = if_positive(row.num_limited_groups);
}

TitanModel expand(const Llama3Row& row) {
  TitanModel model{.family = TitanFamily::Llama3,
                   .dim = row.dim,
                   .n_layers = row.n_layers,
                   .n_heads = row.n_heads,
                   .vocab_size = row.vocab_size,
                   .max_seq_len = 131072,
                   .n_kv_heads = if_positive(row.n_kv_heads),
                   .rope_theta = 500000,
                   .attn_type = std::string(row.attn_type),
                   .attn_mask_type = std::string(row.attn_mask_type),
                   .multiple_of = row.multiple_of};
  if (row.ffn_dim_multiplier > 0) model.ffn_dim_multiplier = row.ffn_dim_multiplier;
  model.has_rope_scaling = true;  // the default of the class, so every flavor has it
  return model;
}

TitanModel expand(const Llama4Row& row) {
  TitanModel model{.family = TitanFamily::Llama4,
                   .dim = row.is_debug ? 256 : 5120,
                   .n_layers = row.is_debug ? 6 : 48,
                   .n_heads = row.is_debug ? 16 : 40,
                   .vocab_size = row.is_debug ? 2048 : 202048,
                   .max_seq_len = row.max_seq_len,
                   .n_kv_heads = if_positive(row.is_debug ? 0 : 8),
                   .rope_theta = 500000,
                   .multiple_of = row.is_debug ? 256 : 2048};
  if (!row.is_debug) model.ffn_dim_multiplier = 1.2;
  model.has_rope_scaling = row.has_rope_scaling;
  model.scaling_factor = 16;
  model.high_freq_factor = 1;
  model.num_experts = row.num_experts;
  model.interleave_moe_layer_step = row.interleave_moe_layer_step;
  model.fixed_attn_block_size = row.fixed_attn_block_size;
  model.every_n_layers_nope = if_positive(row.every_n_layers_nope);
  if (model.every_n_layers_nope) {
    model.attn_type = "flex";
    model.attn_mask_type = "block_causal";
  }
  return model;
}

TitanModel expand(const Qwen3Row& row) {
  TitanModel model{.family = TitanFamily::Qwen3,
                   .dim = row.dim,
                   .n_layers = row.n_layers,
                   .n_heads = row.n_heads,
                   .vocab_size = row.vocab_size,
                   .max_seq_len = row.max_seq_len,
                   .n_kv_heads = row.n_kv_heads,
                   .head_dim = 128,
                   .norm_eps = 1e-6,
                   .rope_theta = row.rope_theta,
                   .hidden_dim = row.hidden_dim,
                   .moe_inter_dim = row.moe_inter_dim > 0 ? row.moe_inter_dim : 768,
                   .enable_weight_tying = row.tied,
                   .qk_norm = true,
                   .moe_enabled = row.moe_inter_dim > 0};
  set_moe(model, row.moe);
  return model;
}

TitanModel expand(const DeepSeekRow& row) {
  TitanModel model{.family = TitanFamily::DeepSeekV3,
                   .dim = row.dim,
                   .n_layers = row.n_layers,
                   .n_heads = row.n_heads,
                   .vocab_size = row.vocab_size,
                   .max_seq_len = 4096 * 4,
                   .attn_type = row.is_flex ? "flex" : "sdpa",
                   .attn_mask_type = row.is_flex ? "block_causal" : "causal",
                   .inter_dim = row.inter_dim,
                   .moe_inter_dim = row.moe_inter_dim,
                   .rope_factor = 40,
                   .mscale = row.mscale,
                   .n_dense_layers = row.n_dense_layers,
                   .q_lora_rank = row.q_lora_rank};
  set_moe(model, row.moe);
  return model;
}

TitanModel expand(const GptOssRow& row) {
  TitanModel model{.family = TitanFamily::GptOss,
                   .dim = row.dim,
                   .n_layers = row.n_layers,
                   .n_heads = 64,
                   .vocab_size = 201088,
                   .max_seq_len = 131072,
                   .n_kv_heads = 8,
                   .head_dim = 64,
                   .rope_theta = 150000,
                   .attn_type = "flex",
                   .moe_inter_dim = 2880,
                   .rope_factor = 32};
  set_moe(model, {.num_experts = row.num_experts,
                  .num_shared_experts = 0,
                  .top_k = 4,
                  .score_func = "softmax",
                  .route_norm = true,
                  .gate_bias = true,
                  .score_before_experts = false});
  return model;
}

template <class Rows>
std::optional<TitanModel> find_in(const Rows& rows, std::string_view flavor) {
  for (const auto& row : rows)
    if (row.flavor == flavor) return expand(row);
  return std::nullopt;
}
template <class Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.flavor);
  return names;
}

}  // namespace

std::optional<TitanFamily> titan_family(std::string_view name) {
  if (name == "llama3" || name == "llama3_ft") return TitanFamily::Llama3;
  if (name == "llama4") return TitanFamily::Llama4;
  if (name == "deepseek_v3") return TitanFamily::DeepSeekV3;
  if (name == "qwen3") return TitanFamily::Qwen3;
  if (name == "gpt_oss") return TitanFamily::GptOss;
  return std::nullopt;
}

std::vector<std::string> titan_families() {
  return {"llama3", "llama4", "deepseek_v3", "qwen3", "gpt_oss"};
}

std::optional<TitanModel> titan_model(TitanFamily family, std::string_view flavor) {
  switch (family) {
    case TitanFamily::Llama3:
      return find_in(kLlama3Rows, flavor);
    case TitanFamily::Llama4:
      return find_in(kLlama4, flavor);
    case TitanFamily::DeepSeekV3:
      return find_in(kDeepSeekRows, flavor);
    case TitanFamily::Qwen3:
      return find_in(kQwen3Rows, flavor);
    case TitanFamily::GptOss:
      return find_in(kGptOssRows, flavor);
  }
  return std::nullopt;
}

std::vector<std::string> titan_flavors(TitanFamily family) {
  switch (family) {
    case TitanFamily::Llama3:
      return names_of(kLlama3Rows);
    case TitanFamily::Llama4:
      return names_of(kLlama4);
    case TitanFamily::DeepSeekV3:
      return names_of(kDeepSeekRows);
    case TitanFamily::Qwen3:
      return names_of(kQwen3Rows);
    case TitanFamily::GptOss:
      return names_of(kGptOssRows);
  }
  return {};
}

}  // namespace primus::dialect
