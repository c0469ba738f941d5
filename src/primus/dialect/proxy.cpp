#include "primus/dialect/proxy.h"

#include <algorithm>
#include <cmath>

#include "primus/base/strings.h"
#include "primus/dialect/dialects.h"
#include "primus/dialect/megatron_pattern.h"
#include "primus/dialect/proxy_change_list.h"
#include "primus/dialect/to_spec.h"
#include "primus/spec/model_size.h"
#include "primus/spec/validate.h"

namespace primus::dialect {

namespace {

using config::Value;

constexpr int64_t kMostHybridLayers = 12;

int64_t scaled(int64_t length, double factor, int64_t least = 1) {
  const auto shorter = static_cast<int64_t>(std::llround(static_cast<double>(length) * factor));
  return std::min(length, std::max<int64_t>(least, shorter));
}

double ratio(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 1;
}

// A model that only says how many of its layers attend takes as many layers as one of those.
int64_t least_layers(const ProxyView& view) {
  const double attending = std::max(view.number("hybrid_attention_ratio"), view.number("model.hybrid_attention_ratio"));
  if (attending <= 0) return 1;
  return static_cast<int64_t>(std::ceil(std::min(1 / attending, static_cast<double>(kMostHybridLayers))));
}

// The first `kept` entries of what says something about each of `layers` layers; nothing when it need not change.
std::optional<Value> cut_pattern(const Value& written, int64_t layers, int64_t kept) {
  if (written.is_string()) {
    const auto pattern = parse_layer_pattern(written.as_string());
    if (pattern && !std::holds_alternative<std::vector<int64_t>>(*pattern)) return std::nullopt;
    if (pattern) {
      const auto& numbers = std::get<std::vector<int64_t>>(*pattern);
      config::List list;
      for (const int64_t number : numbers) list.emplace_back(number);
      return cut_pattern(Value(std::move(list)), layers, kept);
    }
    // One letter a layer; bars stand between pipeline stages.
    std::string letters = written.as_string();
    std::erase(letters, '|');
    if (static_cast<int64_t>(letters.size()) <= kept) return std::nullopt;
    return Value(letters.substr(0, static_cast<size_t>(kept)));
  }
  if (!written.is_list()) return std::nullopt;
  const config::List& all = written.as_list();
  const auto size = static_cast<int64_t>(all.size());
  if (size < layers || kept >= layers) return std::nullopt;
  config::List first(all.begin(), all.begin() + kept);
  first.insert(first.end(), all.begin() + layers, all.end());  // layers of multi-token prediction
  return Value(std::move(first));
}

class Shrinker {
 public:
  Shrinker(const config::Module& module, const spec::RunSpec& run, int64_t most_steps)
      : module_(module), run_(run), list_(module), full_(full_sizes(run)) {
    small_ = proxy_sizes(run, {.flops = kProxyFlops, .least_layers = least_layers(view()), .most_steps = most_steps});
    training_ = ratio(small_[Size::Steps], full_[Size::Steps]);
    samples_ = ratio(small_[Size::Samples], full_[Size::Samples]);
  }

  std::vector<ProxyChange> changes() {
    for (const ProxyKey& key : proxy_keys(module_.framework)) change(key);
    const std::string permission = view().permission();
    const bool of_model = std::any_of(list_.list().begin(), list_.list().end(), [](const ProxyChange& change) {
      return change.key.starts_with("override_model.");
    });
    if (!permission.empty() && of_model) list_.set(permission, Value(true), "allows override_model");
    if (!run_.checkpoint.init_from.empty()) list_.set("init_from", Value(), "those weights have other sizes");
    return list_.take();
  }

 private:
  const ProxyView& view() const { return list_.view(); }
  void put(const ProxyKey& key, const Value& value, std::string_view rule) { list_.put(key.key, value, rule); }
  void put(const ProxyKey& key, int64_t value, std::string_view rule) { list_.put(key.key, value, rule); }

  void change(const ProxyKey& key) {
    switch (key.rule) {
      case ProxyRule::To:
      case ProxyRule::ToWhereGiven:
      case ProxyRule::InStep:
        return to_size(key);
      case ProxyRule::MockVocab:
        return vocabulary(key);
      case ProxyRule::Pattern:
        return pattern(key);
      case ProxyRule::LayersOnly:
        return layer_list(key);
      case ProxyRule::Window:
        return window(key);
      case ProxyRule::Ramp:
        return ramp(key);
      case ProxyRule::Stages:
        return stages(key);
      case ProxyRule::ToNothing:
        return to_nothing(key);
      default:
        return number(key);
    }
  }

  void to_size(const ProxyKey& key) {
    const int64_t full = full_[key.size], small = small_[key.size];
    const auto now = view().integer(key.key);
    if (full == 0 || small == full || (!now && key.rule == ProxyRule::ToWhereGiven)) return;
    if (key.rule == ProxyRule::InStep) {
      if (now && *now > 0) put(key, small - (full - *now), rule_of(key.size));
      return;
    }
    // Layers may be counted in pairs; any other key that says something else is not what decides.
    const bool pairs = key.size == Size::Layers && now && *now * 2 == full && small % 2 == 0;
    if (!now || *now == full || pairs) put(key, pairs ? small / 2 : small, rule_of(key.size));
  }

  void vocabulary(const ProxyKey& key) {
    const int64_t small = small_[Size::Vocab];
    const auto now = view().integer(key.key);
    if (run_.data.mock && small < full_[Size::Vocab] && (!now || *now > small)) put(key, small, rule_of(key.size));
  }

  void pattern(const ProxyKey& key) {
    const Value* written = view().written(key.key);
    Value of_recipe;
    if (written == nullptr || written->is_null()) {
      const TypedValue value = view().value(key.key);
      if (const auto* text = std::get_if<std::string>(&value.data)) of_recipe = Value(*text);
      written = &of_recipe;
    }
    if (auto cut = cut_pattern(*written, full_[Size::Layers], small_[Size::Layers]))
      put(key, *cut, "of the layers that are left");
  }

  void layer_list(const ProxyKey& key) {
    const TypedValue value = view().value(key.key);
    const auto* ids = std::get_if<std::vector<int64_t>>(&value.data);
    if (ids == nullptr) return;
    config::List kept;
    for (const int64_t id : *ids)
      if (id < small_[Size::Layers]) kept.emplace_back(id);
    if (kept.size() == ids->size()) return;
    if (kept.empty()) kept.emplace_back(int64_t{0});
    put(key, Value(std::move(kept)), "layers that are left");
  }

  void window(const ProxyKey& key) {
    const TypedValue value = view().value(key.key);
    const auto* bounds = std::get_if<std::vector<int64_t>>(&value.data);
    const int64_t full = full_[Size::Window], small = small_[Size::Window];
    if (bounds == nullptr || bounds->size() != 2 || (*bounds)[0] < 0 || full == small) return;
    put(key, Value(config::List{Value((*bounds)[0] - (full - small)), Value((*bounds)[1])}), rule_of(key.size));
  }

  void ramp(const ProxyKey& key) {
    const TypedValue value = view().value(key.key);
    const auto* ramp = std::get_if<std::vector<int64_t>>(&value.data);
    if (ramp == nullptr || ramp->size() != 3) return;
    const int64_t unit = small_[Size::Global] / std::max<int64_t>(1, small_[Size::MicroBatches]);
    put(key, Value(config::List{Value(unit), Value(unit), Value(scaled((*ramp)[2], samples_, unit))}),
        "grows by one micro-batch at a time");
  }

  // As many stages as before.
  void stages(const ProxyKey& key) {
    const Value* written = view().written(key.key);
    const int64_t count = run_.parallel.pipeline * run_.parallel.stages_per_rank, layers = small_[Size::Layers];
    const bool given = written != nullptr && (written->is_list() || written->is_string());
    if (!given || count <= 1 || layers == full_[Size::Layers]) return;
    config::List list(static_cast<size_t>(count), Value(layers / count));
    if (written->is_list()) return put(key, Value(std::move(list)), "the same number of layers in each stage");
    const std::string stage = "t*" + std::to_string(layers / count);
    std::string text = "E" + stage;
    for (int64_t i = 1; i < count; ++i) text += "|" + stage;
    const auto depth = static_cast<size_t>(run_.model.mtp ? run_.model.mtp->depth : 0);
    put(key, Value(text + std::string(depth, 'm') + ",L"), "the same number of layers in each stage");
  }

  void to_nothing(const ProxyKey& key) {
    const Value* written = view().written(key.key);
    if (small_[key.size] == full_[key.size] || written == nullptr || written->is_null()) return;
    if (!written->is_bool()) return put(key, Value(), "follows from the other sizes");
    if (written->as_bool()) put(key, Value(false), "layers are shared out evenly");
  }

  void number(const ProxyKey& key) {
    const char* with_training = "scaled like the length of training";
    if (!applies(key.rule)) return;
    if (key.rule == ProxyRule::AtMost || key.rule == ProxyRule::OfMixer || key.rule == ProxyRule::OfEvaluation) {
      // Kept as it is below the limit, whole or not.
      if (view().number(key.key) <= static_cast<double>(key.limit)) return;
      return put(key, key.limit, "at most " + std::to_string(key.limit));
    }
    const auto now = view().integer(key.key);
    if (!now || *now <= 0) return;
    const int64_t layers = small_[Size::Layers];
    switch (key.rule) {
      case ProxyRule::WithTraining:
      case ProxyRule::WithEvaluation:
      case ProxyRule::WithSaving:
        return put_shorter(key, *now, scaled(*now, training_), with_training);
      case ProxyRule::SamplesOfRun:
        return put_shorter(key, *now, scaled(*now, samples_), with_training);
      case ProxyRule::Warmup:
        return put_shorter(key, *now, std::min(scaled(*now, training_), warmup_limit()), with_training);
      case ProxyRule::WithHeads:
        return put_shorter(key, *now, scaled(*now, ratio(small_[Size::Heads], full_[Size::Heads])),
                           "scaled like the heads");
      case ProxyRule::AtMostLayers:
        return put_shorter(key, *now, std::min(*now, layers), "no more than there are layers");
      case ProxyRule::PerStage:
        return put_shorter(
            key, *now,
            std::max<int64_t>(1, layers / std::max<int64_t>(1, run_.parallel.pipeline * run_.parallel.stages_per_rank)),
            "layers of one stage");
      default:
        return;
    }
  }
  bool applies(ProxyRule rule) const {
    switch (rule) {
      case ProxyRule::OfMixer:
      case ProxyRule::WithHeads:
        return mixes_otherwise();
      case ProxyRule::WithEvaluation:
      case ProxyRule::OfEvaluation:
        return run_.evaluation.num_batches > 0;
      case ProxyRule::WithSaving:
        return run_.checkpoint.save;
      default:
        return true;
    }
  }
  // By a state, or in a way that only has a name.
  bool mixes_otherwise() const {
    return std::any_of(run_.model.layers.begin(), run_.model.layers.end(), [](const spec::LayerSpec& layer) {
      return layer.gated_delta || layer.mamba2 || !layer.other_mixer.empty();
    });
  }
  void put_shorter(const ProxyKey& key, int64_t now, int64_t value, std::string_view rule) {
    if (value < now) put(key, value, rule);
  }

  // A warm-up ends before the decay does.
  int64_t warmup_limit() const {
    const auto global = static_cast<double>(full_[Size::Global]);
    const auto decay = static_cast<int64_t>(std::llround(run_.lr.decay_samples / global));
    return std::max<int64_t>(0, scaled(decay, training_) - 1);
  }

  const config::Module& module_;
  const spec::RunSpec& run_;
  ProxyChangeList list_;
  Sizes full_, small_;
  double training_ = 1, samples_ = 1;
};

const config::Module* selected(const config::Experiment& experiment, std::string_view name) {
  if (experiment.modules.empty()) return nullptr;
  return name.empty() ? &experiment.main_module() : experiment.find_module(name);
}

void append(std::vector<ProxyChange>& all, std::vector<ProxyChange> more) {
  for (ProxyChange& change : more) all.push_back(std::move(change));
}

}  // namespace

Result<std::vector<ProxyChange>> apply_proxy(config::Experiment& experiment, std::string_view module_name,
                                             const ProxyOptions& options) {
  const config::Module* chosen = selected(experiment, module_name);
  std::vector<ProxyChange> changes;
  if (chosen != nullptr && find_dialect(chosen->framework) != nullptr) {
    config::Module& module = *experiment.find_module(chosen->name);
    const auto first = [&](std::vector<ProxyChange> more) {
      apply_changes(more, module);
      append(changes, std::move(more));
    };
    if (options.mock_data) first(mock_data_changes(module));
    if (options.one_device) first(one_device_changes(module));
  }
  // Lengths that do not fit each other are shrunk to some that do.
  const Result<spec::RunSpec> run =
      to_spec(experiment, module_name, {.world_size = 0, .cross_checks = false, .for_training = false});
  if (!run) return run.diagnostics();
  Diagnostics spoilt = spec::validate(*run);
  std::erase_if(spoilt, [](const Diagnostic& d) { return d.key.starts_with("lr.") || d.key == "data.train"; });
  if (has_errors(spoilt))
    return to_spec(experiment, module_name, {.world_size = 0, .for_training = false}).diagnostics();
  if (run->model.layers.empty() || run->model.hidden_size < 1 || run->exit.train_steps < 1)
    return error_at(chosen->place, "--proxy needs the sizes of the model and the length of training");
  config::Module& module = *experiment.find_module(chosen->name);
  std::vector<ProxyChange> sizes = Shrinker(module, *run, options.most_steps).changes();
  apply_changes(sizes, module);
  append(changes, std::move(sizes));
  return changes;
}

Result<std::vector<ProxyChange>> proxy_changes(const config::Experiment& experiment, std::string_view module_name,
                                               const ProxyOptions& options) {
  config::Experiment copy = experiment;
  return apply_proxy(copy, module_name, options);
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
