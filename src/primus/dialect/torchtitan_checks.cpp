// What upstream refuses when it starts, found before any rank does. Source: update_from_config, parallelize and
// ParallelDims of torchtitan v0.2.2.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "primus/base/strings.h"
#include "primus/dialect/torchtitan.h"

namespace primus::dialect {

namespace {

bool has_moe(const Translation& t) {
  const auto& layers = t.run.model.layers;
  return std::any_of(layers.begin(), layers.end(), [](const spec::LayerSpec& layer) { return layer.moe.has_value(); });
}

std::string number(int64_t value) {
  return format_thousands(value);
}

void must_divide(Translation& t, const char* key, int64_t ranks, int64_t count, const std::string& what) {
  if (ranks > 1 && count % ranks != 0)
    t.error(key, number(count) + " " + what + " cannot be shared out over " + number(ranks) + " ranks",
            "a divisor of " + number(count));
}

void check_attention(Translation& t, const TitanModel& m) {
  const bool masks_from_flex = m.attn_type == "flex" || m.attn_type == "varlen";
  if (m.attn_type == "varlen" && (m.family == TitanFamily::Llama4 || m.family == TitanFamily::DeepSeekV3))
    t.error("model.attn_type", "upstream has no varlen attention for this family", "sdpa or flex");
  if (m.attn_type == "varlen" && m.attn_mask_type != "block_causal")
    t.error("model.attn_mask_type", "varlen attention needs a mask per document", "block_causal");
  if (m.family == TitanFamily::GptOss && m.attn_type != "flex")
    t.error("model.attn_type", "gpt_oss has its windows from flex attention only", "flex");
  if (m.every_n_layers_nope && *m.every_n_layers_nope <= 1)
    t.error("model.every_n_layers_nope", "upstream refuses layers without positions in every layer", "at least 2");
  if (t.run.parallel.context <= 1) return;
  const char* key = "parallelism.context_parallel_degree";
  if (m.family == TitanFamily::GptOss)
    t.error(key, "upstream has no context parallelism for gpt_oss", "1");
  else if (m.family == TitanFamily::Llama3 || m.family == TitanFamily::Qwen3 ? m.attn_type == "varlen"
                                                                             : masks_from_flex)
    t.error(key, "upstream cuts the context with sdpa attention only, and this flavor has '" + m.attn_type + "'", "1",
            "set model.attn_type: sdpa and model.attn_mask_type: causal");
}

void check_yarn(Translation& t, const TitanModel& m) {
  if (m.family != TitanFamily::GptOss || m.rope_factor <= 1) return;
  const double half = static_cast<double>(m.head_dim) / 2, base = std::log(m.rope_theta);
  const auto bound = [&](double rotations) {
    return half * std::log(static_cast<double>(m.original_seq_len) / (rotations * 2 * std::numbers::pi)) / base;
  };
  const double low = bound(m.ntk_beta), high = bound(m.ntk_alpha);
  if (!(0 < low && low < high && high < half - 1))
    t.error("model.ntk_beta",
            "the ends of YaRN's ramp, " + format_double(low) + " and " + format_double(high) +
                ", do not lie in order between 0 and " + format_double(half - 1),
            "other values of ntk_alpha, ntk_beta, rope_theta, original_seq_len or head_dim");
}

void check_experts(Translation& t, const TitanModel& m) {
  if (!has_moe(t)) return;
  if (m.num_limited_groups && !m.num_expert_groups)
    t.error("model.moe_args.num_limited_groups", "a number of groups to choose needs groups",
            "model.moe_args.num_expert_groups");
  if (!m.num_expert_groups) return;
  const int64_t groups = *m.num_expert_groups;
  if (!m.num_limited_groups)
    t.error("model.moe_args.num_expert_groups", "groups of experts need a number of groups to choose",
            "model.moe_args.num_limited_groups");
  if (m.num_experts % groups == 0 && m.num_experts / groups < 2)
    t.error("model.moe_args.num_expert_groups", "a group is rated by its two best experts, and has only one",
            "at most " + number(m.num_experts / 2));
}

void check_pipeline(Translation& t, const TitanModel& m, const std::string& schedule) {
  const spec::Parallel& p = t.run.parallel;
  if (p.pipeline <= 1) return;
  const char* key = "parallelism.pipeline_parallel_degree";
  if (m.family == TitanFamily::Qwen3 || m.family == TitanFamily::GptOss)
    t.error(key, "upstream has no pipeline for this family", "1");
  const int64_t stages = p.pipeline * p.stages_per_rank;
  if (stages > m.n_layers + 2)
    t.error(key,
            number(m.n_layers) + " layers, the embedding and the head do not fill the " + number(stages) +
                " stages of " + schedule,
            "at most " + number(std::max<int64_t>(1, (m.n_layers + 2) / p.stages_per_rank)));
}

}  // namespace

void titan_check_model(Translation& t, const TitanModel& m) {
  const bool llama = m.family == TitanFamily::Llama3 || m.family == TitanFamily::Llama4;
  if (llama && m.n_heads > 0 && (m.dim < m.n_heads || m.dim % m.n_heads != 0))
    t.error("model.n_heads",
            "a width of " + number(m.dim) + " cannot be shared out over " + number(m.n_heads) + " heads",
            "a divisor of model.dim");
  if (t.run.data.sequence_length > m.max_seq_len && t.options.for_training)
    t.out.push_back({Severity::Note,
                     t.keys.place("training.seq_len"),
                     "training.seq_len",
                     "sequences of " + number(t.run.data.sequence_length) + " tokens are longer than the " +
                         number(m.max_seq_len) + " that the flavor names; upstream goes on, and so does this run",
                     {},
                     {},
                     {}});
  check_attention(t, m);
  check_yarn(t, m);
  check_experts(t, m);
}

void titan_check_layout(Translation& t, const TitanModel& m) {
  const spec::Parallel& p = t.run.parallel;
  const char* tp = "parallelism.tensor_parallel_degree";
  if (m.n_kv_heads) must_divide(t, tp, p.tensor, *m.n_kv_heads, "key/value heads");
  const int64_t pieces = p.tensor * (p.context > 1 ? 2 * p.context : 1);
  must_divide(t, "training.seq_len", pieces, t.run.data.sequence_length, "tokens of a sequence");
  if (p.expert > 1 && has_moe(t) && p.expert_tensor != 1 && p.expert_tensor != p.tensor)
    t.error("parallelism.expert_tensor_parallel_degree", "experts are cut as the other layers are, or not at all",
            "1 or tensor_parallel_degree");
  check_pipeline(t, m, t.keys.text("parallelism.pipeline_parallel_schedule"));
  // A layout that names every axis fixes the number of ranks.
  const int64_t shards = t.keys.integer("parallelism.data_parallel_shard_degree");
  const int64_t copies = t.keys.integer("parallelism.data_parallel_replicate_degree");
  if (shards == 0 || shards < -1)
    t.error("parallelism.data_parallel_shard_degree", "weights cannot be cut into " + number(shards) + " parts",
            "-1 (what is left of the ranks), or at least 1");
  const int64_t others = copies * p.tensor * p.pipeline * p.context;
  const int64_t world = t.options.world_size;
  if (!t.options.for_training || world == 0) return;
  if (shards > 0 && shards * others != world)
    t.error("parallelism.data_parallel_shard_degree",
            "the layout takes " + number(shards * others) + " ranks, and the run has " + number(world),
            "-1, or a layout of " + number(world) + " ranks",
            "start " + number(shards * others) + " ranks, or write -1 for what is left of them");
  if (shards < 0 && copies > 1 && world % others != 0)
    t.error("parallelism.data_parallel_replicate_degree",
            "the layout takes a multiple of " + number(others) + " ranks, and the run has " + number(world),
            "a divisor of the ranks that are left");
}

void titan_check_checkpoint(Translation& t) {
  const auto flag = [&t](const char* key) {
    const config::Value* value = find_value(t.keys.module().params, key);
    return value != nullptr && value->is_bool() ? std::optional(value->as_bool()) : std::nullopt;
  };
  if (!t.keys.flag("checkpoint.enable")) return;
  if (t.keys.integer("checkpoint.keep_latest_k") == 1)
    t.error("checkpoint.keep_latest_k", "the only checkpoint may be the one that is being written",
            "0 (all), or 2 and more");
  if (flag("checkpoint.last_save_in_hf").value_or(false) && !flag("checkpoint.last_save_model_only").value_or(true))
    t.error("checkpoint.last_save_in_hf", "safetensors hold weights only", "checkpoint.last_save_model_only: true");
  if (!flag("checkpoint.initial_load_in_hf").value_or(false)) return;
  if (t.keys.text("checkpoint.initial_load_path").empty())
    t.error("checkpoint.initial_load_in_hf", "there is nothing to load", "checkpoint.initial_load_path");
  if (!t.keys.flag("checkpoint.initial_load_model_only"))
    t.error("checkpoint.initial_load_in_hf", "safetensors hold weights only",
            "checkpoint.initial_load_model_only: true");
}

}  // namespace primus::dialect
