#include "primus/cli/resolve_run.h"

#include "primus/cli/presets_root.h"
#include "primus/data/prepare_run.h"
#include "primus/dialect/to_spec.h"
#include "primus/tokenizer/find.h"

namespace primus::cli {

namespace {

void append(Diagnostics& all, const Diagnostics& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

config::LoadOptions load_options(const TrainRequest& request, const Context& context) {
  config::LoadOptions options;
  options.path = request.config;
  options.command_line_overrides = request.overrides;
  options.environment = context.environment;
  options.presets_root = presets_root_for(request.presets, request.config, context.install_root);
  options.prefer_presets_tree = !request.presets.empty();
  return options;
}

ResolvedRun resolve_run(const TrainRequest& request, const Context& context, int64_t world_size) {
  ResolvedRun resolved;
  Result<config::Experiment> experiment = config::load_experiment(load_options(request, context));
  append(resolved.findings, experiment.diagnostics());
  if (!experiment.ok()) throw InputError(resolved.findings);
  resolved.experiment = std::move(experiment).value();
  if (request.proxy) resolved.proxy_changes = value_or_throw(dialect::apply_proxy(resolved.experiment));
  Result<spec::RunSpec> spec =
      dialect::to_spec(resolved.experiment, {},
                       {.world_size = world_size, .allow_precision_fallback = request.allow_precision_fallback});
  append(resolved.findings, spec.diagnostics());
  if (!spec.ok()) throw InputError(resolved.findings);
  resolved.spec = std::move(spec).value();
  // Here, so that the launcher and every rank look at the same files from whatever folder they are started.
  data::resolve_paths(resolved.spec, context.install_root);
  return resolved;
}

std::unique_ptr<tokenizer::Tokenizer> finish_with_tokenizer(spec::RunSpec& spec, const Context& context) {
  if (spec.data.mock) return nullptr;
  tokenizer::FindOptions options;
  options.tokenizer_type = spec.tokenizer.type;
  options.tokenizer_model = spec.tokenizer.model;
  options.vocab_file = spec.tokenizer.vocab_file;
  options.merge_file = spec.tokenizer.merge_file;
  options.vocab_size = spec.tokenizer.vocab_size;
  options.environment = context.environment;
  auto tokenizer = value_or_throw(tokenizer::find_tokenizer(options));
  const Diagnostics findings = dialect::finish_vocabulary(spec, tokenizer->vocab_size());
  if (has_errors(findings)) throw InputError(findings);
  return tokenizer;
}

}  // namespace primus::cli
