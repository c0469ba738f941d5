#include "primus/cli/train_hf.h"

#include <algorithm>
#include <fmt/format.h>

#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/cli/config_request.h"
#include "primus/data/prepare_run.h"
#include "primus/dialect/to_spec.h"
#include "primus/hub/checkpoint_folder.h"
#include "primus/hub/hf_config.h"
#include "primus/hub/hf_export.h"
#include "primus/spec/architecture.h"
#include "primus/tokenizer/find.h"

namespace primus::cli {

namespace {

constexpr const char* kInitKey = "init_from";

Diagnostic about_folder(const spec::RunSpec& run, std::string message) {
  Diagnostic finding = error_at({run.checkpoint.init_from}, std::move(message));
  finding.key = kInitKey;
  return finding;
}

// "model.hidden_size: 64 here, 128 in the folder; ..."
std::string differences(const spec::Model& mine, const spec::Model& published) {
  const auto name_of = [](const std::string& field) { return field.substr(0, field.find(" (")); };
  const auto value_of = [&](const std::string& field) {
    const size_t begin = name_of(field).size() + 2;
    return begin < field.size() ? field.substr(begin, field.size() - begin - 1) : std::string("other");
  };
  const std::vector<std::string> here = spec::architecture_differences(mine, published);
  const std::vector<std::string> there = spec::architecture_differences(published, mine);
  std::vector<std::string> lines;
  for (const std::string& field : here) {
    const std::string name = name_of(field);
    if (name == "model.padding_id" || (name == "model.max_positions" && !mine.learned_positions)) continue;
    const auto other = std::ranges::find(there, name, name_of);
    lines.push_back(fmt::format("{}: {} here, {} in the folder", name, value_of(field),
                                other == there.end() ? "another value" : value_of(*other)));
  }
  return join(lines, "; ");
}

hub::HfModel read_config(const spec::RunSpec& run) {
  std::error_code code;
  const fs::path folder = run.checkpoint.init_from;
  if (fs::is_regular_file(folder / "config.json", code)) return value_or_throw(hub::read_hf_config(folder));
  Diagnostic finding =
      about_folder(run, fs::is_directory(folder, code) ? "there is no config.json in it" : "no such folder");
  finding.expected = "a Hugging Face folder: config.json and *.safetensors";
  throw InputError(finding);
}

// An experiment that predicts further tokens needs weights for that too.
void check_predictions(const spec::RunSpec& run, const InitialWeights& initial, Diagnostics& findings) {
  if (!run.model.mtp || run.model.mtp->depth == 0 || initial.weights.has("mtp.0.proj.weight")) return;
  Diagnostic finding = about_folder(run, "there are no weights for the experiment's predictions of further tokens");
  finding.suggestion = "train without them: mtp_num_layers: null";
  findings.push_back(std::move(finding));
}

// Nothing where the tokenizer is not known yet: one that the run makes itself. The ranks look again.
void find_vocabulary(spec::RunSpec& run, const Context& context) {
  if (run.data.mock || run.model.vocab_size > 0) return;
  const auto tokenizer = tokenizer::find_tokenizer(data::tokenizer_options(run, context.environment));
  if (!tokenizer) return;
  const Diagnostics findings = dialect::finish_vocabulary(run, (*tokenizer)->vocab_size());
  if (has_errors(findings)) throw InputError(findings);
}

bool will_resume(const TrainRequest& request, const spec::Checkpoint& rule, const fs::path& run_folder) {
  if (request.overwrite || request.resume == "never") return false;
  if (request.resume.empty() && !rule.resume_by_default) return false;
  const auto newest = hub::find_latest(run_folder);
  return newest.ok() && newest->has_value();
}

void check_export(const spec::RunSpec& run, const std::string& family) {
  const Result<hub::ExportPlan> plan = hub::plan_export(run.model, {.family = family});
  if (plan.ok()) return;
  Diagnostic finding = error_at({}, "the model cannot be exported to a Hugging Face folder");
  finding.key = "export_every";
  finding.suggestion = "export_every: null trains it without";
  Diagnostics findings = plan.diagnostics();
  findings.insert(findings.begin(), std::move(finding));
  throw InputError(findings);
}

}  // namespace

void take_vocabulary(spec::RunSpec& run, int64_t vocab_size) {
  spec::Model& model = run.model;
  model.vocab_size = vocab_size;
  model.padded_vocab_size =
      std::max(model.padded_vocab_size,
               dialect::padded_vocab_size(vocab_size, std::max<int64_t>(1, model.vocab_divisor), run.parallel.tensor));
}

void take_vocabulary(spec::RunSpec& run, const Json& checkpoint_model) {
  if (run.checkpoint.init_from.empty()) return;
  const auto found = checkpoint_model.find("vocab_size");
  if (found != checkpoint_model.end() && found->is_number_integer() && found->get<int64_t>() > run.model.vocab_size)
    take_vocabulary(run, found->get<int64_t>());
}

InitialWeights open_initial_weights(spec::RunSpec& run, Diagnostics& notes) {
  const hub::HfModel published = read_config(run);
  Diagnostics findings;
  if (run.model.vocab_size > published.model.vocab_size) {
    Diagnostic finding = about_folder(run, "the experiment has more token ids than the folder's model has rows");
    finding.found = format_thousands(run.model.vocab_size) + " ids";
    finding.expected = "at most " + format_thousands(published.model.vocab_size);
    finding.suggestion = "train with the tokenizer of that folder";
    findings.push_back(std::move(finding));
  }
  take_vocabulary(run, published.model.vocab_size);
  if (const std::string found = differences(run.model, published.model); !found.empty()) {
    Diagnostic finding = about_folder(run, "the experiment's model is not the one of this folder");
    finding.found = found;
    finding.expected = "the model of its config.json";
    finding.suggestion = "config import-hf " + run.checkpoint.init_from + " prints a model preset that fits";
    findings.push_back(std::move(finding));
  }
  if (!findings.empty()) throw InputError(findings);
  Result<hub::WeightSource> source = hub::WeightSource::open(run.checkpoint.init_from, run.model, published.family);
  if (!source.ok()) throw InputError(source.diagnostics());
  notes.insert(notes.end(), source.diagnostics().begin(), source.diagnostics().end());
  InitialWeights initial{.weights = std::move(source).value(), .family = published.family};
  check_predictions(run, initial, findings);
  if (!findings.empty()) throw InputError(findings);
  return initial;
}

void check_hugging_face(const TrainRequest& request, const ResolvedRun& resolved, Context& context) {
  spec::RunSpec run = resolved.spec;
  std::string family;
  if (!run.checkpoint.init_from.empty() && !will_resume(request, run.checkpoint, run.identity.run_folder)) {
    find_vocabulary(run, context);
    Diagnostics notes;
    family = open_initial_weights(run, notes).family;
    print_findings(notes, context);
  }
  if (run.checkpoint.export_every_steps <= 0) return;
  // Any number does where only the tokenizer knows it.
  if (run.model.vocab_size == 0) take_vocabulary(run, 1 << 20);
  check_export(run, family);
}

}  // namespace primus::cli
