#include "primus/dialect/translate.h"

#include <algorithm>
#include <cmath>

#include "primus/base/strings.h"
#include "primus/dialect/dialects.h"
#include "primus/dialect/preset_from_model.h"
#include "primus/dialect/to_spec.h"
#include "primus/dialect/translate_writers.h"
#include "primus/spec/architecture.h"
#include "primus/spec/schedule_values.h"
#include "primus/spec/to_json.h"
#include "primus/spec/validate.h"

namespace primus::dialect {

namespace {

struct Target {
  std::string_view framework, module_config, finetune_config;
  void (*training)(const spec::RunSpec&, KeyWriter&);
};

constexpr Target kTargets[] = {
    {"megatron", "pre_trainer.yaml", "sft_trainer.yaml", write_megatron_training},
    {"torchtitan", "pre_trainer.yaml", {}, write_titan_training},
    {"maxtext", "pre_trainer.yaml", {}, write_maxtext_training},
    {"megatron_bridge", "pretrain_trainer.yaml", "sft_trainer.yaml", write_bridge_training},
};

const Target* find_target(std::string_view framework) {
  for (const Target& target : kTargets)
    if (target.framework == framework) return &target;
  return nullptr;
}

Diagnostic no_such_target(std::string_view framework) {
  std::vector<std::string> names;
  for (const Target& target : kTargets) names.emplace_back(target.framework);
  Diagnostic finding = error_at({.file = "command line"}, "there is no dialect '" + std::string(framework) + "'");
  finding.expected = join(names, ", ");
  finding.suggestion = did_you_mean(std::string(framework), names);
  return finding;
}

// A vocabulary that the tokenizer decides has no size yet; presets want one.
Diagnostics write_model(const spec::RunSpec& run, std::string_view framework, KeyWriter& keys) {
  if (framework == "torchtitan") {
    write_titan_model(run, keys);
    return {};
  }
  if (framework == "maxtext") {
    write_maxtext_model(run, keys);
    return {};
  }
  if (framework == "megatron_bridge") {
    if (write_bridge_model(run, keys)) return {};
    return {no_such_recipe(run)};
  }
  spec::Model model = canonical_model(run.model);
  const bool open_vocabulary = model.vocab_size == 0;
  if (open_vocabulary) model.vocab_size = model.padded_vocab_size = model.vocab_divisor;
  const Result<ModelPreset> preset = preset_from_model(model, framework);
  if (!preset.ok()) return preset.diagnostics();
  for (const PresetLine& line : preset->lines) {
    if (open_vocabulary && line.key == "padded_vocab_size") continue;
    keys.set(line.key, line.value);
  }
  return {};
}

// ---------------------------------------------------------------- what is compared

struct Reason {
  std::string_view field;  // a part of the field's name when it starts with a dot, else its beginning
  std::string_view words;
};

// Why a field differs although the keys say the same. The first that fits.
constexpr Reason kReasons[] = {
    {".rope.interleaved", "the same rotation, its pairs laid out differently: query and key weights are permuted"},
    {".rope.llama3", "a factor of 1 scales nothing"},
    {"model.padded_vocab_size", "rows that no id reaches"},
    {"model.vocab_divisor", "rows that no id reaches"},
    {"model.vocab_size", "the tokenizer, or the recipe, decides in one of the two"},
    {"model.max_positions", "no limit of rotary positions; each dialect counts it in its own way"},
    {".softmax_scale", "the scale is in the first query weights in one of the two"},
    {"model.final_norm.eps", "the other trainer has no epsilon for its last norm"},
    {"loss", "equal as long as all micro-batches have as many tokens"},
    {"data.", "the other trainer reads or makes up its data in its own way"},
    {"optimizer.decay_vectors", "the other trainer has its own rule about biases and norms"},
    {"optimizer.clip_exactly", "differs by 1e-6 in the norm"},
};

std::string reason_for(const std::string& field, const std::string& after) {
  for (const Reason& reason : kReasons) {
    const bool fits =
        reason.field.starts_with('.') ? field.find(reason.field) != std::string::npos : field.starts_with(reason.field);
    if (fits) return "becomes " + after + ": " + std::string(reason.words);
  }
  return "becomes " + after;
}

// Only the words of a dialect, or told as a whole elsewhere.
bool is_told_elsewhere(const std::string& field) {
  for (const std::string_view prefix :
       {"identity.", "tokenizer.", "model.flops_formula", "model.init", "lr.", "weight_decay.ramp_samples"})
    if (field.starts_with(prefix)) return true;
  return field.find("].init") != std::string::npos;
}

std::string shortened(const Json& json) {
  std::string text = dump_json(json);
  constexpr size_t kMost = 60;
  if (text.size() > kMost) text = text.substr(0, kMost - 3) + "...";
  return text;
}

// Differences of the forward pass that have the same meaning.
bool means_the_same(const std::string& difference, const spec::RunSpec& before, const spec::RunSpec& after) {
  if (difference.find(".rope.interleaved") != std::string::npos) return true;
  if (difference.starts_with("model.max_positions")) return true;
  if (difference.starts_with("model.final_norm.eps")) return true;  // listed: TorchTitan has no such value
  if (difference.starts_with("model.padded_vocab_size")) return true;
  if (difference.starts_with("model.vocab_size"))
    return before.model.vocab_size == 0 || after.model.vocab_size == 0 || before.data.mock;
  return false;
}

std::vector<spec::StepValues> first_values(spec::RunSpec run) {
  constexpr int64_t kMostSteps = 100'000;
  run.exit.train_steps = std::min(run.exit.train_steps, kMostSteps);
  return spec::step_values(run);
}

// Rates step by step: the fields that say the same curve in other words do not matter.
void compare_rates(const spec::RunSpec& before, const spec::RunSpec& after, std::vector<NotCarried>& out) {
  const std::vector<spec::StepValues> a = first_values(before), b = first_values(after);
  double largest = 0;
  size_t at = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(a[i].lr - b[i].lr);
    if (difference <= largest) continue;
    largest = difference;
    at = i;
  }
  if (largest <= 1e-9 * before.lr.max_lr) return;
  out.push_back({"lr", format_double(a[at].lr) + " in step " + std::to_string(a[at].step),
                 "becomes " + format_double(b[at].lr) + ": there the schedules differ most"});
}

void compare_first_weights(const spec::RunSpec& before, const spec::RunSpec& after, std::vector<NotCarried>& out) {
  const spec::Init &a = before.model.init, &b = after.model.init;
  if (a.std == b.std && a.embedding_std == b.embedding_std && before.identity.framework == after.identity.framework)
    return;
  out.push_back({"model.init", "std " + format_double(a.std) + ", embeddings " + format_double(a.embedding_std),
                 "becomes std " + format_double(b.std) + ", embeddings " + format_double(b.embedding_std) +
                     ": each trainer has its own law of first weights"});
}

Diagnostics architecture_lost(const spec::RunSpec& before, const spec::RunSpec& after, std::string_view framework) {
  std::vector<std::string> lost;
  for (const std::string& difference :
       spec::architecture_differences(canonical_model(before.model), canonical_model(after.model)))
    if (!means_the_same(difference, before, after)) lost.push_back(difference);
  if (lost.empty()) return {};
  Diagnostic finding = error_at({}, "this model cannot be expressed in the dialect " + std::string(framework));
  finding.found = join(lost, "; ");
  return {finding};
}

// What is wrong with the model as a whole lies where the module begins.
Diagnostics placed(Diagnostics errors, const config::Module& module) {
  for (Diagnostic& error : errors)
    if (error.place.file.empty()) error.place = module.place;
  return errors;
}

ToSpecOptions describing(int64_t world_size) {
  return {.world_size = world_size, .for_training = false};
}

config::Experiment experiment_of(const config::Experiment& source, const config::Module& module, const Target& target,
                                 config::Map params, bool finetunes) {
  config::Experiment result;
  result.file = source.file;
  result.meta = source.meta;
  result.platform = source.platform;
  result.platform_config = source.platform_config;
  result.env = source.env;
  config::Module translated;
  translated.name = module.name;
  translated.framework = target.framework;
  translated.config = finetunes ? target.finetune_config : target.module_config;
  translated.model = module.model;
  translated.place = module.place;
  translated.params = config::Value(std::move(params));
  translated.extras = config::Value(config::Map());
  result.modules.push_back(std::move(translated));
  return result;
}

}  // namespace

void KeyWriter::set(std::string_view key, config::Value value) {
  config::Map* map = &params_;
  for (size_t dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.')) {
    const std::string_view section = key.substr(0, dot);
    config::Value* inner = map->find(section);
    if (inner == nullptr || !inner->is_map()) inner = &map->set(std::string(section), config::Value(config::Map()));
    map = &inner->as_map();
    key.remove_prefix(dot + 1);
  }
  map->set(std::string(key), std::move(value));
}

int64_t steps_of(const spec::RunSpec& run, double samples) {
  const auto batch = static_cast<double>(std::max<int64_t>(1, run.batch.global_batch_size));
  return std::max<int64_t>(0, std::llround(samples / batch));
}

Result<Translated> translate_experiment(const config::Experiment& experiment, std::string_view module_name,
                                        std::string_view framework) {
  const Target* target = find_target(framework);
  if (target == nullptr) return no_such_target(framework);
  Result<spec::RunSpec> layout = to_spec(experiment, module_name, {.world_size = 0, .for_training = false});
  if (!layout.ok()) return layout.diagnostics();
  const int64_t world = spec::smallest_world(layout->parallel);
  Result<spec::RunSpec> run = to_spec(experiment, module_name, describing(world));
  if (!run.ok()) return run.diagnostics();
  const config::Module& module = module_name.empty() ? experiment.main_module() : *experiment.find_module(module_name);
  if (run->finetune)
    if (Diagnostics errors = finetuning_lost(module, *run, framework); !errors.empty()) return errors;
  Translated result;
  config::Map params;
  KeyWriter keys(params, result.notes);
  if (Diagnostics errors = write_model(*run, framework, keys); !errors.empty())
    return placed(std::move(errors), module);
  // Before the training half, which may not fit a model that lost a part.
  const auto model_only =
      to_spec(experiment_of(experiment, module, *target, params, run->finetune.has_value()), {}, describing(0));
  if (model_only.ok())
    if (Diagnostics errors = architecture_lost(*run, *model_only, framework); !errors.empty())
      return placed(std::move(errors), module);
  target->training(*run, keys);
  result.experiment = experiment_of(experiment, module, *target, std::move(params), run->finetune.has_value());
  Result<spec::RunSpec> again = to_spec(result.experiment, {}, describing(world));
  if (!again.ok()) return again.diagnostics();
  if (Diagnostics errors = architecture_lost(*run, *again, framework); !errors.empty())
    return placed(std::move(errors), module);
  compare_first_weights(*run, *again, result.not_carried);
  compare_rates(*run, *again, result.not_carried);
  for (const spec::FieldDifference& difference : spec::compare(*run, *again)) {
    if (is_told_elsewhere(difference.field)) continue;
    // One of the two dialects keeps the name of the records there too.
    if (run->finetune && (difference.field == "data.train.files" || difference.field == "data.valid.files")) continue;
    result.not_carried.push_back(
        {difference.field, shortened(difference.before), reason_for(difference.field, shortened(difference.after))});
  }
  return result;
}

}  // namespace primus::dialect
