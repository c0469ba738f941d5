// What stands in the place of attention: short convolutions, gated delta nets, state spaces; other mixers only have a
// name here. Source: Megatron-LM d3528a21 and megatron.core 0.19 (ssm: gated_delta_net, mamba_mixer,
// mamba_hybrid_layer_allocation), Primus' layer lists.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "primus/base/strings.h"
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

// Attention evenly spread, then MLPs among the rest from the right: allocate_layers, number for number.
std::string allocated(int64_t layers, double attention_ratio, double mlp_ratio) {
  std::string kinds(static_cast<size_t>(layers), 'M');
  const auto whole = [layers](double ratio) {
    return static_cast<int64_t>(std::nearbyint(static_cast<double>(layers) * ratio));
  };
  const auto spread = [&kinds](double distance, char kind) {
    double left = distance;
    for (char& one : kinds) {
      if (one != 'M') continue;
      if (left < 0.5)
        one = kind, left += distance;
      else
        left -= 1;
    }
  };
  const int64_t attention = whole(attention_ratio), mlps = whole(mlp_ratio);
  spread(static_cast<double>(layers - attention) / static_cast<double>(attention + 1), '*');
  if (mlps > 0) spread(static_cast<double>(layers - attention - mlps) / static_cast<double>(mlps), '-');
  return kinds;
}

spec::Mamba2 mamba2(Translation& t, bool wanted) {
  spec::Mamba2 m;
  m.head_dim = t.keys.integer("mamba_head_dim");
  m.state_dim = t.keys.integer("mamba_state_dim");
  m.num_groups = t.keys.integer("mamba_num_groups");
  const int64_t inner = 2 * t.run.model.hidden_size;
  const auto heads = t.keys.maybe_integer("mamba_num_heads");
  m.num_heads = heads.value_or(inner / std::max<int64_t>(1, m.head_dim));
  m.output_norm.eps = 1e-5;
  if (wanted && !heads && m.head_dim > 0 && inner % m.head_dim != 0)
    t.error("mamba_head_dim", fmt::format("{} channels cannot be shared out over heads of {}", inner, m.head_dim),
            fmt::format("a divisor of {}", inner));
  return m;
}

// A layer of these stacks is one half of ours: a mixer or an MLP, with its norm.
void state_spaces(Translation& t, bool on) {
  auto& layers = t.run.model.layers;
  const double attention = t.keys.number("hybrid_attention_ratio"), mlps = t.keys.number("hybrid_mlp_ratio");
  const auto pattern = t.keys.maybe_text("hybrid_override_pattern");
  const spec::Mamba2 mamba = mamba2(t, on);
  if (!on) return;
  if (attention < 0 || mlps < 0 || attention + mlps > 1)
    return t.error("hybrid_attention_ratio", "the parts of attention and MLPs are more than the whole",
                   "two numbers of at least 0 whose sum is at most 1");
  std::string kinds = allocated(static_cast<int64_t>(layers.size()), attention, mlps);
  if (pattern && pattern->size() != layers.size())
    return t.error("hybrid_override_pattern",
                   fmt::format("'hybrid_override_pattern' names {} layers of {}", pattern->size(), layers.size()),
                   "one letter a layer");
  if (pattern && (attention > 0 || mlps > 0))
    for (const char kind : {'M', '*', '-'})
      if (std::count(pattern->begin(), pattern->end(), kind) != std::count(kinds.begin(), kinds.end(), kind))
        return t.error("hybrid_override_pattern", "the pattern has other numbers of layers than the ratios", kinds,
                       "drop hybrid_attention_ratio and hybrid_mlp_ratio");
  kinds = pattern.value_or(kinds);
  for (size_t i = 0; i < layers.size(); ++i) {
    spec::LayerSpec& layer = layers[i];
    const char kind = kinds[i];
    if (kind == 'M') layer.mamba2 = mamba;
    layer.has_mixer = kind == 'M' || kind == '*';
    layer.has_mlp = !layer.has_mixer;
    if (kind != 'M' && kind != '*' && kind != '-' && kind != 'E')
      return t.error("hybrid_override_pattern", fmt::format("'{}' is no kind of layer", kind),
                     "M (Mamba), * (attention), - (MLP), E (experts)");
  }
}

}  // namespace

void megatron_mixers(Translation& t) {
  const std::string type = t.keys.text("model_type");
  const std::vector<std::string> spec = t.keys.texts("spec");
  const bool hybrid = t.keys.flag("is_hybrid_model");
  const std::string name = named_mixer(type, spec.empty() ? "" : spec.back());
  state_spaces(t, name.empty() && (type == "mamba" || hybrid));
  for (spec::LayerSpec& layer : t.run.model.layers) layer.other_mixer = name;
  linear_attention(t, type);
  short_convolutions(t);
}

}  // namespace primus::dialect
