// checkpoint import-hf: a Hugging Face folder becomes a checkpoint that `load` starts from.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/json_file.h"
#include "primus/base/progress.h"
#include "primus/base/strings.h"
#include "primus/cli/checkpoint_actions.h"
#include "primus/cli/checkpoint_model.h"
#include "primus/cli/options.h"
#include "primus/hub/hf_config.h"
#include "primus/hub/hf_import.h"
#include "primus/hub/new_folder.h"
#include "primus/spec/architecture.h"
#include "primus/spec/fingerprint.h"

namespace primus::cli {
namespace {

struct ImportHfOptions {
  std::string folder, output, dtype = "fp32";
  bool overwrite = false;
  ConfigRequest request;  // --config, --presets, overrides, --format
};

// False: --help was answered.
bool parse_import(ImportHfOptions& options, Context& context) {
  CLI::App app(fmt::format("{}; `load: DIR` with `finetune: true` starts from it", kImportHfSummary),
               "checkpoint import-hf");
  ConfigRequest& request = options.request;
  app.add_option("hf_dir", options.folder, "folder with config.json and *.safetensors")->required();
  app.add_option("--output", options.output, "the checkpoint's folder; it is there complete or not at all")->required();
  app.add_option("--config", request.config, "an experiment: its model must be the folder's; overrides may follow");
  app.add_option("--presets", request.presets, "use the presets and examples of this tree");
  app.add_option("--dtype", options.dtype, "fp32 (default) or bf16: how the weights are stored")
      ->check(CLI::IsMember({"fp32", "bf16"}));
  app.add_flag("--overwrite", options.overwrite, "replace the checkpoint that is there");
  app.add_option("--format", request.format, "text or json")->check(CLI::IsMember({"text", "json"}));
  const bool with_overrides = std::ranges::any_of(
      context.arguments, [](const std::string& word) { return word == "--config" || word.starts_with("--config="); });
  app.allow_extras(with_overrides);
  if (!parse_options(app, {context.arguments.begin() + 1, context.arguments.end()}, context)) return false;
  request.overrides = app.remaining();
  return true;
}

hub::ImportOrigin read_origin(const fs::path& folder, spec::Model& model) {
  std::error_code code;
  if (!fs::is_directory(folder, code) || !fs::is_regular_file(folder / "config.json", code)) {
    Diagnostic finding = error_at({folder.string()},
                                  fs::is_directory(folder, code) ? "there is no config.json in it" : "no such folder");
    finding.expected = "a Hugging Face folder: config.json and *.safetensors";
    throw InputError(finding);
  }
  hub::HfModel read = value_or_throw(hub::read_hf_config(folder));
  model = std::move(read.model);
  const fs::path file = folder / "config.json";
  return {.family = read.family,
          .config = value_or_throw(read_json_file(file)),
          .folder = fs::absolute(folder).lexically_normal()};
}

// The experiment's model, once it is sure that the folder's weights fit it.
spec::Model model_of_experiment(const ImportHfOptions& options, const spec::Model& published, Context& context) {
  Diagnostics notes;
  const spec::Model model = run_of_experiment(options.request, context, published.vocab_size, notes).model;
  const std::string differences = fingerprint_differences(model, spec::model_fingerprint(published));
  if (!differences.empty()) {
    Diagnostic finding = error_at({options.request.config}, "the experiment's model is not the one of the folder");
    finding.found = differences;
    finding.expected = "the model of " + (fs::path(options.folder) / "config.json").string();
    finding.suggestion = "config import-hf " + options.folder + " prints a model preset that fits";
    notes.push_back(std::move(finding));
    throw InputError(notes);
  }
  std::vector<std::string> other;
  for (std::string& field : spec::architecture_differences(model, published))
    if (!field.starts_with("model.max_positions ") && !field.starts_with("model.padding_id "))
      other.push_back(std::move(field));
  if (!other.empty()) {
    Diagnostic finding = warning_at({options.request.config},
                                    "the weights fit, but the experiment computes otherwise than the folder says");
    finding.found = join(other, ", ");
    notes.push_back(std::move(finding));
  }
  print_findings(notes, context);
  return model;
}

void print_report(const ImportHfOptions& options, const hub::ImportOrigin& origin, const hub::LoadReport& loaded,
                  const hub::ImportReport& written, Context& context) {
  if (options.request.json()) {
    *context.out << dump_json({{"output", options.output},
                               {"family", origin.family},
                               {"tensors", written.num_tensors},
                               {"size_bytes", written.size_bytes},
                               {"loaded", loaded.loaded.size()},
                               {"missing", loaded.missing},
                               {"unexpected", loaded.unexpected},
                               {"ignored", loaded.ignored}},
                              1)
                 << '\n';
    return;
  }
  *context.out << fmt::format("{}\nwritten: {} ({} weights, {}, {})\n", loaded.summary(), options.output,
                              written.num_tensors, format_bytes(static_cast<double>(written.size_bytes)),
                              options.dtype);
}

}  // namespace

ExitCode run_checkpoint_import_hf(Context& context) {
  ImportHfOptions options;
  if (!parse_import(options, context)) return ExitCode::Ok;
  spec::Model model;
  const hub::ImportOrigin origin = read_origin(options.folder, model);
  value_or_throw(hub::check_target(options.output, options.overwrite, hub::kManifestName));
  if (!options.request.config.empty()) model = model_of_experiment(options, model, context);
  Result<hub::WeightSource> source = hub::WeightSource::open(options.folder, model, origin.family);
  if (!source) throw InputError(source.diagnostics());
  print_findings(source.diagnostics(), context);
  const hub::CheckpointState state = hub::import_state(model, origin, hub::stored_precision(*source));
  hub::ImportOptions how{.dtype = options.dtype == "bf16" ? hub::Dtype::BF16 : hub::Dtype::F32,
                         .replace = options.overwrite};
  std::optional<Progress> progress;
  how.progress = [&](uint64_t done, uint64_t total) {
    if (!progress) progress.emplace("importing " + origin.folder.filename().string(), static_cast<int64_t>(total));
    progress->update(static_cast<int64_t>(done));
  };
  const hub::ImportReport written = value_or_throw(hub::import_weights(*source, state, options.output, how));
  progress.reset();
  print_report(options, origin, source->report(), written, context);
  return ExitCode::Ok;
}

}  // namespace primus::cli
