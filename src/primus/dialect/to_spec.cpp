#include "primus/dialect/to_spec.h"

#include <algorithm>

#include "primus/base/strings.h"
#include "primus/dialect/check_parameters.h"
#include "primus/dialect/dialects.h"
#include "primus/dialect/module_keys.h"
#include "primus/dialect/translation.h"
#include "primus/spec/engine_limits.h"
#include "primus/spec/validate.h"

namespace primus::dialect {

namespace {

bool names_field(const Parameter& row, std::string_view field) {
  for (const std::string& word : split(row.spec_field, ' '))
    if (word == field) return true;
  return false;
}

// The key whose value decided a field: the one that is given (a number rather than a switch), else the first of the
// table.
const Parameter* key_of_field(const Reader& keys, std::string_view field) {
  const Parameter* best = nullptr;
  int best_rank = -1;
  for (const Parameter& row : all_parameters(keys.module().framework)) {
    if (!names_field(row, field)) continue;
    const int rank = 2 * keys.is_given(row.name) + (row.type != Type::Bool);
    if (rank <= best_rank) continue;
    best = &row;
    best_rank = rank;
  }
  return best;
}

// Findings of the spec, with the dialect's keys and places.
void add_spec_findings(const Reader& keys, Diagnostics findings, Diagnostics& out) {
  for (Diagnostic& finding : findings) {
    const Parameter* row = key_of_field(keys, finding.key);
    finding.place = row != nullptr ? keys.place(row->name) : keys.module().place;
    if (row != nullptr) finding.key = row->name;
    // The same key may be wrong by itself already.
    const auto told = [&](const Diagnostic& d) { return d.severity == Severity::Error && d.key == finding.key; };
    if (std::none_of(out.begin(), out.end(), told)) out.push_back(std::move(finding));
  }
}

// What the engine cannot train: errors for a run; when nobody trains, one note.
void add_engine_limits(const Reader& keys, const spec::RunSpec& run, bool for_training, Diagnostics& out) {
  Diagnostics limits = spec::engine_limits(run);
  if (for_training) return add_spec_findings(keys, std::move(limits), out);
  // The table's own note about keys said it already.
  const auto told = [](const Diagnostic& d) { return d.message.starts_with("not built yet"); };
  if (limits.empty() || std::any_of(out.begin(), out.end(), told)) return;
  std::vector<std::string> features;
  for (const Diagnostic& limit : limits) features.push_back(limit.message);
  out.push_back(
      {Severity::Note, keys.module().place, {}, "train refuses this for now: " + join(features, "; "), {}, {}, {}});
}

Diagnostic no_such_module(const config::Experiment& experiment, std::string_view name) {
  Diagnostic finding = error_at({experiment.file, 0, 0}, "the experiment has no module '" + std::string(name) + "'");
  std::vector<std::string> names;
  for (const config::Module& module : experiment.modules) names.push_back(module.name);
  finding.expected = join(names, ", ");
  return finding;
}

Diagnostic no_such_framework(const config::Module& module) {
  Diagnostic finding = error_at(module.place, "");
  std::vector<std::string> names;
  for (const Dialect& dialect : all_dialects()) names.emplace_back(dialect.framework);
  finding.key = "framework";
  finding.found = module.framework;
  finding.expected = join(names, ", ");
  finding.message = "framework '" + module.framework + "' has no parameter table: it can be shown, not trained";
  finding.suggestion = did_you_mean(module.framework, names);
  return finding;
}

spec::Identity identity(const config::Experiment& experiment, const config::Module& module) {
  spec::Identity id;
  id.work_group = experiment.meta.work_group;
  id.user_name = experiment.meta.user_name;
  id.experiment_name = experiment.meta.exp_name;
  id.workspace = experiment.meta.workspace;
  id.run_folder = experiment.meta.folder().string();
  id.framework = module.framework;
  id.model_file = module.model;
  id.module_name = module.name;
  return id;
}

const config::Module* select_module(const config::Experiment& experiment, std::string_view name) {
  if (experiment.modules.empty()) return nullptr;
  return name.empty() ? &experiment.main_module() : experiment.find_module(name);
}

}  // namespace

int64_t Translation::needed(std::string_view key, int64_t otherwise) {
  const auto value = keys.maybe_integer(key);
  if (value) return *value;
  error(key, "'" + std::string(key) + "' is not given", "an integer",
        "add " + std::string(key) + " to the model preset or the overrides");
  return otherwise;
}

int64_t Translation::limited_layers(std::string_view key, int64_t layers) {
  if (layers <= spec::kMostLayers) return layers;
  error(key, "a model of " + format_thousands(layers) + " layers", "at most " + format_thousands(spec::kMostLayers));
  return spec::kMostLayers;
}

Result<spec::RunSpec> to_spec(const config::Experiment& experiment, std::string_view module_name,
                              const ToSpecOptions& options) {
  const config::Module* module = select_module(experiment, module_name);
  if (module == nullptr) return no_such_module(experiment, module_name);
  const Dialect* dialect = find_dialect(module->framework);
  if (dialect == nullptr) return no_such_framework(*module);

  Diagnostics out = check_parameters(
      *module, {.for_training = options.for_training, .allow_precision_fallback = options.allow_precision_fallback});
  Reader keys(*module);
  spec::RunSpec run;
  run.identity = identity(experiment, *module);
  // A key that does not fit was reported above and reads as its default here: say nothing twice about it.
  Diagnostics own;
  Translation translation{keys, run, own, options};
  module_to_spec(translation);
  dialect->to_spec(translation);
  for (Diagnostic& finding : own) {
    const auto told = [&](const Diagnostic& d) { return d.severity == Severity::Error && d.key == finding.key; };
    if (std::none_of(out.begin(), out.end(), told)) out.push_back(std::move(finding));
  }
  Diagnostics findings = options.cross_checks ? spec::validate(run) : Diagnostics{};
  // 0: the number of ranks is not known yet, and neither is whether the batch comes out. Nobody trains: the layout's
  // own smallest number of ranks is enough.
  const int64_t ranks =
      options.for_training ? options.world_size : std::max(options.world_size, spec::smallest_world(run.parallel));
  if (options.world_size != 0)
    for (Diagnostic& finding : spec::validate_world(run, ranks)) findings.push_back(std::move(finding));
  // A shipped experiment may leave its data to a variable of the environment.
  for (Diagnostic& finding : findings)
    if (!options.for_training && finding.key == "data.train") finding.severity = Severity::Warning;
  add_spec_findings(keys, std::move(findings), out);
  add_engine_limits(keys, run, options.for_training, out);
  if (has_errors(out)) return out;
  return Result<spec::RunSpec>(std::move(run), std::move(out));
}

std::vector<std::string> keys_read(const config::Experiment& experiment, std::string_view module_name) {
  const config::Module* module = select_module(experiment, module_name);
  const Dialect* dialect = module == nullptr ? nullptr : find_dialect(module->framework);
  if (dialect == nullptr) return {};
  Reader keys(*module);
  spec::RunSpec run;
  Diagnostics ignored;
  const ToSpecOptions options;
  Translation translation{keys, run, ignored, options};
  module_to_spec(translation);
  dialect->to_spec(translation);
  return {keys.taken().begin(), keys.taken().end()};
}

int64_t padded_vocab_size(int64_t vocab_size, int64_t divisor, int64_t tensor_ranks) {
  const int64_t unit = std::max<int64_t>(1, divisor) * std::max<int64_t>(1, tensor_ranks);
  return (vocab_size + unit - 1) / unit * unit;
}

Diagnostics finish_vocabulary(spec::RunSpec& run, int64_t tokenizer_vocab_size) {
  spec::Model& model = run.model;
  if (model.vocab_size > 0) return {};
  Diagnostics out;
  const auto too_large = [&](const char* key, int64_t limit) {
    Diagnostic finding = error_at({}, "the tokenizer has " + format_thousands(tokenizer_vocab_size) + " ids, and " +
                                          key + " allows " + format_thousands(limit));
    finding.key = key;
    finding.expected = std::string(key) + " of at least " + std::to_string(tokenizer_vocab_size);
    finding.suggestion = std::string("leave ") + key + " out: the tokenizer's size is used";
    out.push_back(std::move(finding));
  };
  if (run.tokenizer.vocab_size && tokenizer_vocab_size > *run.tokenizer.vocab_size)
    too_large("vocab_size", *run.tokenizer.vocab_size);
  if (model.padded_vocab_size > 0 && tokenizer_vocab_size > model.padded_vocab_size)
    too_large("padded_vocab_size", model.padded_vocab_size);
  if (!out.empty()) return out;
  model.vocab_size = tokenizer_vocab_size;
  if (model.padded_vocab_size == 0)
    model.padded_vocab_size = padded_vocab_size(tokenizer_vocab_size, model.vocab_divisor, run.parallel.tensor);
  return out;
}

Diagnostics check_world(const spec::RunSpec& run, int64_t world_size) {
  Diagnostics out = spec::validate_world(run, world_size);
  for (Diagnostic& finding : out)
    for (const Parameter& row : all_parameters(run.identity.framework))
      if (names_field(row, finding.key)) finding.key = row.name;
  return out;
}

}  // namespace primus::dialect
