#include "primus/cli/checkpoint_model.h"

#include <fmt/format.h>

#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/cli/train_hf.h"
#include "primus/data/prepare_run.h"
#include "primus/dialect/to_spec.h"
#include "primus/hub/hf_config.h"
#include "primus/hub/hf_import.h"
#include "primus/spec/fingerprint.h"
#include "primus/tokenizer/find.h"

namespace primus::cli {
namespace {

constexpr const char* kResolved = "config/resolved.yaml";

// Nothing where the experiment's tokenizer is not on this machine: a note says so.
std::unique_ptr<tokenizer::Tokenizer> tokenizer_of(const spec::RunSpec& run, const Context& context,
                                                   Diagnostics& notes) {
  auto found = tokenizer::find_tokenizer(data::tokenizer_options(run, context.environment));
  if (found) return std::move(found).value();
  const Diagnostic& reason = found.diagnostics().front();
  notes.push_back(warning_at(reason.place, "the tokenizer of the experiment is not here: " + reason.message));
  return nullptr;
}

hub::HfTokenIds ids_of(const tokenizer::SpecialIds& special) {
  hub::HfTokenIds ids;
  if (special.bos) ids.bos = *special.bos;
  if (special.pad) ids.pad = *special.pad;
  if (special.eos)
    ids.eos = {*special.eos};
  else if (special.eod)
    ids.eos = {*special.eod};
  return ids;
}

// <run>/checkpoints/step_<N> lies in <run>; empty when there is no run folder around it.
fs::path run_folder_of(const fs::path& checkpoint) {
  std::error_code code;
  const fs::path whole = (fs::absolute(checkpoint, code) / "").lexically_normal().parent_path();
  const fs::path run = whole.parent_path().parent_path();
  const bool is_inside = whole.parent_path().filename() == hub::checkpoints_folder(run).filename();
  return is_inside && fs::is_regular_file(run / kResolved, code) ? run : fs::path();
}

int64_t vocab_size_in(const hub::FoundCheckpoint& checkpoint) {
  const Json& model = checkpoint.manifest.state.model;
  const auto found = model.find("vocab_size");
  return found != model.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

CheckpointModel from_experiment(const hub::FoundCheckpoint& checkpoint, const ConfigRequest& request,
                                bool wants_tokenizer, const Context& context) {
  CheckpointModel out;
  spec::RunSpec run = run_of_experiment(request, context, vocab_size_in(checkpoint), out.notes);
  take_vocabulary(run, checkpoint.manifest.state.model);
  out.model = run.model;
  if (!wants_tokenizer) return out;
  Diagnostics notes;
  const auto tokenizer = tokenizer_of(run, context, notes);
  if (out.notes.empty()) out.notes = std::move(notes);
  if (!tokenizer) return out;
  const TokenizerFiles files = files_of(*tokenizer);
  out.ids = files.ids;
  out.tokenizer = files.source;
  return out;
}

CheckpointModel from_origin(const hub::FoundCheckpoint& checkpoint, const hub::ImportOrigin& origin) {
  CheckpointModel out;
  const std::string file = (checkpoint.path / hub::kManifestName).string();
  out.model = value_or_throw(hub::read_hf_config(origin.config, file)).model;
  out.family = origin.family;
  out.ids = hub::token_ids_of(origin.config);
  const Json& fingerprint = checkpoint.manifest.state.model;
  const auto depth = fingerprint.find("mtp_depth");
  if (depth != fingerprint.end() && depth->is_number_integer()) out.model.mtp = {.depth = depth->get<int64_t>()};
  std::error_code code;
  if (fs::is_directory(origin.folder, code)) {
    out.tokenizer = origin.folder;
  } else {
    out.notes.push_back(warning_at({origin.folder.string()}, "the imported folder is gone, and its tokenizer with it"));
  }
  return out;
}

Diagnostic nothing_describes(const hub::FoundCheckpoint& checkpoint) {
  Diagnostic finding = error_at({checkpoint.path.string()}, "nothing here says what the model of this checkpoint is");
  finding.expected = fmt::format(
      "a checkpoint in its run folder (<run>/checkpoints/{} with <run>/{}), or one that "
      "import-hf wrote",
      checkpoint.path.filename().string(), kResolved);
  finding.suggestion = "--config F names the experiment that it was trained with";
  return finding;
}

}  // namespace

TokenizerFiles files_of(const tokenizer::Tokenizer& tokenizer) {
  return {.source = tokenizer.source(), .ids = ids_of(tokenizer.special())};
}

spec::RunSpec run_of_experiment(const ConfigRequest& request, const Context& context, int64_t fallback_vocab_size,
                                Diagnostics& notes) {
  const config::Experiment experiment =
      value_or_throw(config::load_experiment(load_options(request, context, request.config)));
  spec::RunSpec run = value_or_throw(describe_run(experiment, request.module));
  data::resolve_paths(run, context.install_root);
  if (run.model.vocab_size > 0) return run;
  if (const auto tokenizer = run.data.mock ? nullptr : tokenizer_of(run, context, notes)) {
    const Diagnostics findings = dialect::finish_vocabulary(run, tokenizer->vocab_size());
    if (has_errors(findings)) throw InputError(findings);
  }
  if (run.model.vocab_size == 0) run.model.vocab_size = fallback_vocab_size;
  return run;
}

std::string fingerprint_differences(const spec::Model& described, Json weights) {
  Json wanted = spec::model_fingerprint(described);
  wanted.erase("mtp_depth");
  weights.erase("mtp_depth");
  const Diagnostics findings = hub::compare_fingerprints(wanted, weights, {});
  return findings.empty() ? "" : findings.front().found;
}

CheckpointModel model_of_checkpoint(const hub::FoundCheckpoint& checkpoint, const ConfigRequest& request,
                                    const fs::path& tokenizer, const Context& context) {
  ConfigRequest described_by = request;
  const fs::path run = run_folder_of(checkpoint.path);
  if (described_by.config.empty() && !run.empty()) described_by.config = (run / kResolved).string();
  CheckpointModel out;
  if (!described_by.config.empty()) {
    out = from_experiment(checkpoint, described_by, tokenizer.empty(), context);
  } else {
    const auto origin = value_or_throw(hub::origin_of(checkpoint));
    if (!origin) throw InputError(nothing_describes(checkpoint));
    described_by.config = (checkpoint.path / hub::kManifestName).string();
    out = from_origin(checkpoint, *origin);
  }
  if (!tokenizer.empty()) {
    out.tokenizer = tokenizer;
    out.ids = ids_of(value_or_throw(tokenizer::load_tokenizer(tokenizer))->special());
  }
  const std::string differences = fingerprint_differences(out.model, checkpoint.manifest.state.model);
  if (differences.empty()) return out;
  Diagnostic finding = error_at({described_by.config}, "this describes another model than the checkpoint's");
  finding.found = differences;
  finding.expected = "the model of " + checkpoint.path.string();
  throw InputError(finding);
}

}  // namespace primus::cli
