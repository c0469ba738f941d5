// What stands in the place of attention: short convolutions, gated delta nets, state spaces; other mixers only have a
// name here. Source: Megatron-LM d3528a21 and megatron.core 0.19 (ssm: gated_delta_net), Primus' layer lists.
#include <fmt/format.h>

#include "primus/dialect/mamba_stack.h"
#include "primus/dialect/megatron.h"
#include "primus/dialect/megatron_pattern.h"

namespace primus::dialect {

namespace {

// What upstream's layer lists mix; the longest names first. Empty: attention, or Megatron's own Mamba stack.
std::string named_mixer(const std::string& model_type, const std::string& spec) {
  if (model_type == "deepseek_v4") return "DeepSeek-V4 attention";
  if (spec.find("gdn") != std::string::npos) return "gated delta net";
  if (spec.find("kda") != std::string::npos) return "Kimi delta attention";
  if (spec.empty() || spec == "mamba_stack_spec") return "";
  if (model_type == "mamba" || spec.find("mamba") != std::string::npos) return "state-space";
  return "layers of " + spec;
}

// Its sizes must be given where a layer wants them.
spec::GatedDelta gated_delta(Translation& t, bool wanted) {
  const auto size = [&](const char* key) { return wanted ? t.needed(key, 1) : t.keys.maybe_integer(key).value_or(1); };
  spec::GatedDelta g;
  g.num_key_heads = size("linear_num_key_heads");
  g.num_value_heads = size("linear_num_value_heads");
  g.key_head_dim = size("linear_key_head_dim");
  g.value_head_dim = size("linear_value_head_dim");
  g.kernel_size = size("linear_conv_kernel_dim");
  g.output_norm = t.run.model.final_norm;
  g.output_norm.zero_centered_gain =
      t.keys.maybe_flag("linear_output_norm_zero_centered").value_or(g.output_norm.zero_centered_gain);
  return g;
}

void linear_attention(Translation& t, const std::string& type) {
  auto& layers = t.run.model.layers;
  const auto count = static_cast<int64_t>(layers.size());
  const auto variant = t.keys.maybe_text("experimental_attention_variant");
  const LayerPattern linear = layer_pattern(t, "linear_attention_freq", count);
  const bool listed = std::holds_alternative<std::vector<int64_t>>(linear);
  const bool is_delta = type != "kimi_k3" && (!variant || *variant == "gated_delta_net");
  const bool wanted = is_delta && linear.index() != 0;
  const spec::GatedDelta shape = gated_delta(t, wanted);
  const std::optional<spec::GatedDelta> delta = wanted ? std::optional(shape) : std::nullopt;
  for (int64_t i = 0; i < count && linear.index() != 0; ++i) {
    spec::LayerSpec& layer = layers[static_cast<size_t>(i)];
    if (in_period(linear, i, false) != listed) continue;
    layer.gated_delta = delta;
    if (!delta) layer.other_mixer = type == "kimi_k3" ? "Kimi delta attention" : *variant;
  }
  if (variant && linear.index() == 0 && *variant != "gated_delta_net")
    for (spec::LayerSpec& layer : layers) layer.other_mixer = *variant;
}

void short_convolutions(Translation& t) {
  auto& layers = t.run.model.layers;
  const std::vector<std::string> kinds = t.keys.texts("lfm_layer_types");
  const spec::ShortConv conv{t.keys.integer("conv_L_cache"), t.keys.flag("conv_bias")};
  if (!kinds.empty() && kinds.size() != layers.size())
    return t.error("lfm_layer_types",
                   fmt::format("'lfm_layer_types' names {} layers of {}", kinds.size(), layers.size()),
                   "one kind a layer");
  for (size_t i = 0; i < kinds.size(); ++i)
    if (kinds[i] == "conv") layers[i].short_conv = conv;
}

MambaStack mamba_stack(Translation& t) {
  MambaStack stack;
  stack.head_dim = t.keys.integer("mamba_head_dim");
  stack.state_dim = t.keys.integer("mamba_state_dim");
  stack.num_groups = t.keys.integer("mamba_num_groups");
  stack.num_heads = t.keys.maybe_integer("mamba_num_heads");
  stack.attention_ratio = t.keys.number("hybrid_attention_ratio");
  stack.mlp_ratio = t.keys.number("hybrid_mlp_ratio");
  stack.pattern = t.keys.maybe_text("hybrid_override_pattern");
  return stack;
}

}  // namespace

void megatron_mixers(Translation& t) {
  const std::string type = t.keys.text("model_type");
  const std::vector<std::string> spec = t.keys.texts("spec");
  const bool hybrid = t.keys.flag("is_hybrid_model");
  const std::string name = named_mixer(type, spec.empty() ? "" : spec.back());
  const MambaStack stack = mamba_stack(t);
  if (name.empty() && (type == "mamba" || hybrid)) use_mamba_stack(t, stack);
  for (spec::LayerSpec& layer : t.run.model.layers) layer.other_mixer = name;
  linear_attention(t, type);
  short_convolutions(t);
}

}  // namespace primus::dialect
