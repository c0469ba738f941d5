#include "primus/dialect/mamba_stack.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace primus::dialect {

namespace {

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

spec::Mamba2 mamba2(Translation& t, const MambaStack& stack) {
  spec::Mamba2 m;
  m.head_dim = stack.head_dim;
  m.state_dim = stack.state_dim;
  m.num_groups = stack.num_groups;
  const int64_t inner = 2 * t.run.model.hidden_size;
  m.num_heads = stack.num_heads.value_or(inner / std::max<int64_t>(1, m.head_dim));
  m.output_norm.eps = 1e-5;
  if (!stack.num_heads && m.head_dim > 0 && inner % m.head_dim != 0)
    t.error(stack.prefix + "mamba_head_dim",
            fmt::format("{} channels cannot be shared out over heads of {}", inner, m.head_dim),
            fmt::format("a divisor of {}", inner));
  return m;
}

}  // namespace

void use_mamba_stack(Translation& t, const MambaStack& stack) {
  auto& layers = t.run.model.layers;
  const spec::Mamba2 mamba = mamba2(t, stack);
  const double attention = stack.attention_ratio, mlps = stack.mlp_ratio;
  const std::string ratio_key = stack.prefix + "hybrid_attention_ratio",
                    pattern_key = stack.prefix + "hybrid_override_pattern";
  if (attention < 0 || mlps < 0 || attention + mlps > 1)
    return t.error(ratio_key, "the parts of attention and MLPs are more than the whole",
                   "two numbers of at least 0 whose sum is at most 1");
  std::string kinds = allocated(static_cast<int64_t>(layers.size()), attention, mlps);
  const std::optional<std::string>& pattern = stack.pattern;
  if (pattern && pattern->size() != layers.size())
    return t.error(pattern_key, fmt::format("'{}' names {} layers of {}", pattern_key, pattern->size(), layers.size()),
                   "one letter a layer");
  if (pattern && (attention > 0 || mlps > 0))
    for (const char kind : {'M', '*', '-'})
      if (std::count(pattern->begin(), pattern->end(), kind) != std::count(kinds.begin(), kinds.end(), kind))
        return t.error(pattern_key, "the pattern has other numbers of layers than the ratios", kinds,
                       fmt::format("drop {} and {}hybrid_mlp_ratio", ratio_key, stack.prefix));
  kinds = pattern.value_or(kinds);
  for (size_t i = 0; i < layers.size(); ++i) {
    spec::LayerSpec& layer = layers[i];
    const char kind = kinds[i];
    if (kind == 'M') layer.mamba2 = mamba;
    layer.has_mixer = kind == 'M' || kind == '*';
    layer.has_mlp = !layer.has_mixer;
    if (kind != 'M' && kind != '*' && kind != '-' && kind != 'E')
      return t.error(pattern_key, fmt::format("'{}' is no kind of layer", kind),
                     "M (Mamba), * (attention), - (MLP), E (experts)");
  }
}

}  // namespace primus::dialect
