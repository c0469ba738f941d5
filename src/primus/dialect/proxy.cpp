#include "primus/dialect/proxy.h"

#include <algorithm>
#include <cmath>

#include "primus/base/strings.h"
#include "primus/dialect/parameter_table.h"
#include "primus/dialect/typed_value.h"

namespace primus::dialect {

namespace {

using config::Value;

constexpr int64_t kLayers = 4, kHeadDim = 32, kSequence = 256, kMicroBatch = 2, kMicroBatches = 4;
constexpr int64_t kMockVocab = 2048, kMostSteps = 50, kUsefulSteps = 25, kLeastSteps = 10, kEvalBatches = 2;
constexpr int64_t kLeastHidden = 128;
constexpr int64_t kUnit = 32;  // widths are multiples of it

// The numbers that the rules look at, read through the table (defaults included).
class Keys {
 public:
  explicit Keys(const config::Module& module) : module_(module) {}

  std::optional<int64_t> integer(std::string_view key) const {
    const TypedValue value = typed(key);
    if (const auto* i = std::get_if<int64_t>(&value.data)) return *i;
    return std::nullopt;
  }
  bool flag(std::string_view key) const {
    const TypedValue value = typed(key);
    const auto* b = std::get_if<bool>(&value.data);
    return b != nullptr && *b;
  }
  std::string text(std::string_view key) const {
    const TypedValue value = typed(key);
    const auto* text = std::get_if<std::string>(&value.data);
    return text != nullptr ? *text : "";
  }
  std::vector<int64_t> integers(std::string_view key) const {
    const TypedValue value = typed(key);
    const auto* list = std::get_if<std::vector<int64_t>>(&value.data);
    return list != nullptr ? *list : std::vector<int64_t>{};
  }
  bool is_null(std::string_view key) const { return typed(key).is_null(); }

 private:
  TypedValue typed(std::string_view key) const {
    const Parameter* row = find_parameter(module_.framework, key);
    if (row == nullptr) return {};
    const Value* value = module_.params.find(key);
    if (value == nullptr) return table_value(*row, row->default_text);
    Diagnostics ignored;
    NumericText also_ignored;
    return read_typed(*row, *value, ignored, also_ignored).value_or(TypedValue{});
  }
  const config::Module& module_;
};

int64_t round_to(double value, int64_t unit) {
  return std::max<int64_t>(unit, static_cast<int64_t>(std::llround(value / static_cast<double>(unit))) * unit);
}

struct Shape {
  int64_t layers = 0, hidden = 0, heads = 0, groups = 0, head_dim = 0, ffn = 0, vocab = 0, sequence = 0;
  bool gated = false;

  // Megatron's formula (dialects 2.1).
  double flops_per_token() const {
    const auto h = static_cast<double>(hidden), q = static_cast<double>(heads * head_dim);
    const auto kv = static_cast<double>(groups * head_dim);
    const double attention = 6 * (h * (q + 2 * kv) + q * static_cast<double>(sequence) + q * h);
    const double mlp = 6 * h * static_cast<double>(ffn) * (gated ? 3 : 2);
    return static_cast<double>(layers) * (attention + mlp) + 6 * h * static_cast<double>(vocab);
  }
};

Shape full_shape(const Keys& keys) {
  Shape s;
  s.layers = keys.integer("num_layers").value_or(0);
  s.hidden = keys.integer("hidden_size").value_or(0);
  s.heads = keys.integer("num_attention_heads").value_or(0);
  s.gated = keys.flag("swiglu") || keys.flag("quick_geglu");
  if (s.heads <= 0) return s;
  s.groups = keys.flag("group_query_attention") ? keys.integer("num_query_groups").value_or(s.heads) : s.heads;
  s.head_dim = keys.integer("kv_channels").value_or(s.hidden / s.heads);
  s.ffn = keys.integer("ffn_hidden_size").value_or(s.gated ? s.hidden * 8 / 3 : 4 * s.hidden);
  s.sequence = keys.integer("seq_length").value_or(0);
  // A real tokenizer's size is not known here; the largest usual one of its kind keeps the budget honest.
  const std::string tokenizer = keys.text("tokenizer_type");
  const bool tiny = tokenizer == "ByteTokenizer" || tokenizer == "CharTokenizer";
  s.vocab = keys.integer("vocab_size").value_or(tiny ? 512 : 131072);
  return s;
}

// The proxy with `groups` key/value heads.
Shape small_shape(const Shape& full, int64_t groups, int64_t pipeline, bool mock) {
  Shape s = full;
  const int64_t ratio = std::max<int64_t>(1, full.heads / std::max<int64_t>(1, full.groups));
  s.layers = std::min(full.layers, (kLayers + pipeline - 1) / pipeline * pipeline);
  s.groups = std::min(groups, full.groups);
  s.heads = s.groups * ratio;
  s.head_dim = std::min(full.head_dim, kHeadDim);
  const double widths = static_cast<double>(full.hidden) / static_cast<double>(full.heads * full.head_dim);
  s.hidden = widths == 1 ? s.heads * s.head_dim
                         : std::min(full.hidden, round_to(widths * static_cast<double>(s.heads * s.head_dim), kUnit));
  const double ffn = static_cast<double>(full.ffn) / static_cast<double>(full.hidden) * static_cast<double>(s.hidden);
  s.ffn = std::min(full.ffn, round_to(ffn, kUnit));
  s.sequence = std::min(full.sequence, kSequence);
  if (mock) s.vocab = std::min(full.vocab, kMockVocab);
  return s;
}

class Changes {
 public:
  explicit Changes(const config::Module& module) : module_(module) {}

  void set(const std::string& key, Value value, std::string rule) {
    const Value* old = module_.params.find(key);
    if (old != nullptr && old->same_data(value)) return;
    value.origin().layer = config::Layer::CommandLine;
    value.origin().file = std::make_shared<const std::string>("--proxy");
    list_.push_back({key, old != nullptr ? *old : Value(), std::move(value), std::move(rule)});
  }
  void set(const std::string& key, int64_t value, std::string rule) { set(key, Value(value), std::move(rule)); }

  std::vector<ProxyChange> take() { return std::move(list_); }

 private:
  const config::Module& module_;
  std::vector<ProxyChange> list_;
};

void shape_changes(const Keys& keys, const Shape& full, const Shape& s, Changes& out) {
  if (s.layers < full.layers) out.set("num_layers", s.layers, "at most 4 layers, a multiple of the pipeline stages");
  if (s.heads != full.heads) out.set("num_attention_heads", s.heads, "few heads, the same number per key/value head");
  if (keys.flag("group_query_attention") && s.groups != full.groups)
    out.set("num_query_groups", s.groups, "few key/value heads, as many as the budget allows");
  if (s.hidden != full.hidden) out.set("hidden_size", s.hidden, "follows heads and head width");
  if (!keys.is_null("kv_channels") && s.head_dim != full.head_dim)
    out.set("kv_channels", s.head_dim, "heads of at most 32");
  if (!keys.is_null("ffn_hidden_size") && s.ffn != full.ffn)
    out.set("ffn_hidden_size", s.ffn, "the same multiple of the hidden size, in steps of 32");
  if (s.sequence < full.sequence) out.set("seq_length", s.sequence, "at most 256 tokens");
  if (const auto positions = keys.integer("max_position_embeddings"); positions && *positions > s.sequence)
    out.set("max_position_embeddings", s.sequence, "as long as the sequences");
  if (s.vocab < full.vocab) out.set("vocab_size", s.vocab, "mock data: at most 2,048 ids");
  if (const auto rows = keys.integer("padded_vocab_size"); rows && s.vocab < full.vocab)
    out.set("padded_vocab_size", Value(), "follows vocab_size");
  if (const auto count = keys.integer("recompute_num_layers"); count && *count > s.layers)
    out.set("recompute_num_layers", s.layers, "no more than there are layers");
  std::vector<int64_t> ids = keys.integers("recompute_layer_ids");
  if (std::erase_if(ids, [&](int64_t id) { return id >= s.layers; }) > 0) {
    config::List kept;
    for (const int64_t id : ids.empty() ? std::vector<int64_t>{0} : ids) kept.emplace_back(id);
    out.set("recompute_layer_ids", Value(std::move(kept)), "layers that are left");
  }
}

int64_t scaled(int64_t length, double factor, int64_t least) {
  return std::min(length,
                  std::max<int64_t>(least, static_cast<int64_t>(std::llround(static_cast<double>(length) * factor))));
}

// Schedules keep their shape: every length is scaled by the same factor.
void length_changes(const Keys& keys, int64_t steps, double factor, Changes& out) {
  const char* rule = "scaled like the length of training";
  for (const char* key : {"lr_decay_iters", "lr_decay_samples", "lr_wsd_decay_iters", "lr_wsd_decay_samples"})
    if (const auto length = keys.integer(key)) out.set(key, scaled(*length, factor, 1), rule);
  const int64_t decay = keys.integer("lr_decay_iters") ? scaled(*keys.integer("lr_decay_iters"), factor, 1) : steps;
  if (const auto warmup = keys.integer("lr_warmup_iters"); warmup && *warmup > 0)
    out.set("lr_warmup_iters", std::min(scaled(*warmup, factor, 1), std::max<int64_t>(0, decay - 1)), rule);
  if (const auto warmup = keys.integer("lr_warmup_samples"); warmup && *warmup > 0)
    out.set("lr_warmup_samples", scaled(*warmup, factor, 1), rule);
  if (const auto batches = keys.integer("eval_iters"); batches && *batches > kEvalBatches)
    out.set("eval_iters", kEvalBatches, "at most 2 batches per evaluation");
  for (const char* key : {"eval_interval", "save_interval"})
    if (const auto interval = keys.integer(key)) out.set(key, scaled(*interval, factor, 1), rule);
}

void ramp_changes(const Keys& keys, int64_t micro, double factor, Changes& out) {
  const std::vector<int64_t> ramp = keys.integers("rampup_batch_size");
  if (ramp.size() != 3) return;
  config::List small{Value(micro), Value(micro), Value(scaled(ramp[2], factor, micro))};
  out.set("rampup_batch_size", Value(std::move(small)), "grows by one micro-batch at a time");
}

}  // namespace

Result<std::vector<ProxyChange>> proxy_changes(const config::Module& module) {
  if (module.framework != "megatron")
    return error_at(module.place, "--proxy for framework '" + module.framework + "' is not built yet");
  const Keys keys(module);
  const bool mock = keys.flag("mock_data");
  const Shape full = full_shape(keys);
  const auto train_steps = keys.integer("train_iters"), train_samples = keys.integer("train_samples");
  const auto micro = keys.integer("micro_batch_size");
  if (full.layers < 1 || full.hidden < 1 || full.heads < 1 || full.sequence < 1 || full.head_dim < 1 || !micro ||
      *micro < 1 || (!train_steps && !train_samples)) {
    Diagnostic finding = error_at(module.place, "--proxy needs the sizes of the model and the length of training");
    finding.expected = "num_layers, hidden_size, num_attention_heads, seq_length, micro_batch_size, train_iters";
    return finding;
  }
  const int64_t global = std::max(*micro, keys.integer("global_batch_size").value_or(*micro));
  const int64_t small_micro = std::min(*micro, kMicroBatch);
  const int64_t small_global = small_micro * std::min(kMicroBatches, std::max<int64_t>(1, global / *micro));
  const int64_t full_steps = train_steps ? *train_steps : *train_samples / global;
  const int64_t wanted = std::min(full_steps, kMostSteps);
  const int64_t pipeline = std::max<int64_t>(1, keys.integer("pipeline_model_parallel_size").value_or(1));

  const auto step_flops = [&](const Shape& s) {
    return s.flops_per_token() * static_cast<double>(s.sequence * small_global);
  };
  const auto useful = static_cast<double>(std::min(wanted, kUsefulSteps));
  Shape shape = small_shape(full, 1, pipeline, mock);
  for (int64_t groups = 2; groups <= full.groups; ++groups) {
    const Shape larger = small_shape(full, groups, pipeline, mock);
    if (shape.hidden >= kLeastHidden && step_flops(larger) * useful > kProxyFlops) break;
    shape = larger;
  }
  const auto affordable = static_cast<int64_t>(kProxyFlops / step_flops(shape));
  const int64_t steps = std::min(wanted, std::max(kLeastSteps, affordable));
  const double factor = full_steps > 0 ? static_cast<double>(steps) / static_cast<double>(full_steps) : 1;

  Changes out(module);
  shape_changes(keys, full, shape, out);
  out.set("micro_batch_size", small_micro, "at most 2 sequences");
  out.set("global_batch_size", small_global, "at most 4 micro-batches");
  if (train_steps)
    out.set("train_iters", steps, "at most 50 steps, within the budget of floating point operations");
  else
    out.set("train_samples", steps * small_global, "at most 50 steps, within the budget of floating point operations");
  length_changes(keys, steps, factor, out);
  ramp_changes(keys, small_micro, factor, out);
  return out.take();
}

Result<std::vector<ProxyChange>> apply_proxy(config::Experiment& experiment, std::string_view module_name) {
  const std::string name(module_name.empty() && !experiment.modules.empty() ? experiment.main_module().name
                                                                            : module_name);
  config::Module* module = experiment.find_module(name);
  if (module == nullptr) return error_at({experiment.file, 0, 0}, "the experiment has no module '" + name + "'");
  auto changes = proxy_changes(*module);
  if (!changes) return changes;
  for (const ProxyChange& change : *changes) {
    Value value = change.new_value;
    if (const Value* old = module->params.find(change.key)) value.hide(*old);
    module->params.as_map().set(change.key, std::move(value));
  }
  return changes;
}

std::string render_proxy(const std::vector<ProxyChange>& changes) {
  size_t width = 0;
  for (const ProxyChange& change : changes) width = std::max(width, change.key.size());
  std::string text;
  for (const ProxyChange& change : changes) {
    text += change.key + std::string(width - change.key.size(), ' ') + "  " + config::describe(change.old_value) +
            " -> " + config::describe(change.new_value) + "  (" + change.rule + ")\n";
  }
  return text;
}

}  // namespace primus::dialect
