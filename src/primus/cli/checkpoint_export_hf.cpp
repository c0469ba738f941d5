// checkpoint export-hf: a complete Hugging Face folder from the newest checkpoint of a run.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/base/progress.h"
#include "primus/base/strings.h"
#include "primus/cli/checkpoint_actions.h"
#include "primus/cli/checkpoint_model.h"
#include "primus/cli/options.h"
#include "primus/hub/hf_config.h"
#include "primus/hub/hf_export.h"

namespace primus::cli {
namespace {

struct ExportHfOptions {
  std::string path, output, family, dtype, tokenizer, max_shard_size = "5GB";
  std::optional<int64_t> step;
  bool overwrite = false;
  ConfigRequest request;  // --config, --presets, --format
};

InputError refused(const std::string& place, const std::string& message, std::string expected) {
  Diagnostic finding = error_at({place}, message);
  finding.expected = std::move(expected);
  return InputError(finding);
}

// False: --help was answered.
bool parse_export(ExportHfOptions& options, Context& context) {
  CLI::App app(fmt::format("{}: config.json, weights, tokenizer", kExportHfSummary), "checkpoint export-hf");
  app.add_option("path", options.path, "a run folder (its newest complete checkpoint), or one checkpoint")->required();
  app.add_option("--output", options.output, "the folder to write; it is there complete or not at all")->required();
  app.add_option("--family", options.family,
                 "model_type of the config.json; default: the first that can hold the model")
      ->type_name("TEXT:{" + join(hub::hf_families(), ",") + "}");
  app.add_option("--dtype", options.dtype, "bf16, fp32 or fp16; default: what the run computed in")
      ->check(CLI::IsMember({"bf16", "fp32", "fp16"}));
  app.add_option("--step", options.step, "this checkpoint of the run instead of the newest");
  app.add_option("--max-shard-size", options.max_shard_size, "default: 5GB; GB, MB, KB, GiB, MiB, KiB or bytes");
  app.add_option("--tokenizer", options.tokenizer, "folder of tokenizer files; default: the run's own");
  app.add_option("--config", options.request.config, "the experiment, for a checkpoint outside its run folder");
  app.add_option("--presets", options.request.presets, "use the presets and examples of this tree");
  app.add_flag("--overwrite", options.overwrite, "replace the Hugging Face folder that is there");
  app.add_option("--format", options.request.format, "text or json")->check(CLI::IsMember({"text", "json"}));
  return parse_options(app, {context.arguments.begin() + 1, context.arguments.end()}, context);
}

uint64_t parse_size(const std::string& text) {
  const size_t end = text.find_first_not_of("0123456789.");
  const std::optional<double> number = parse_double(text.substr(0, end));
  std::string unit = to_lower(trim(end == std::string::npos ? "" : text.substr(end)));
  if (unit.ends_with("b")) unit.pop_back();
  double scale = unit.empty() ? 1 : 0;
  for (const auto& [name, decimal, binary] : {std::tuple{"k", 1e3, 0x1p10}, {"m", 1e6, 0x1p20}, {"g", 1e9, 0x1p30}}) {
    if (unit == name) scale = decimal;
    if (unit == std::string(name) + "i") scale = binary;
  }
  const double size = number.value_or(0) * scale;
  if (!(size >= 1) || size > 9e18)
    throw refused("command line", fmt::format("--max-shard-size {} is no size", printable_ascii(text)),
                  "such as 5GB, 500MB, 2GiB");
  return static_cast<uint64_t>(size);
}

void check_family(const std::string& family) {
  const std::vector<std::string> families = hub::hf_families();
  if (family.empty() || std::ranges::find(families, family) != families.end()) return;
  Diagnostic finding = error_at({"command line"}, fmt::format("no family '{}'", printable_ascii(family)));
  finding.expected = join(families, ", ");
  finding.suggestion = did_you_mean(family, families);
  throw InputError(finding);
}

hub::FoundCheckpoint find(const ExportHfOptions& options, Context& context) {
  std::error_code code;
  fs::path path = options.path;
  if (!fs::is_directory(path, code))
    throw refused(options.path, "no such folder", "a run folder, or the folder of a checkpoint");
  if (options.step && !fs::exists(path / hub::kManifestName, code)) {
    const std::string name = hub::step_folder_name(*options.step);
    const fs::path below = hub::checkpoints_folder(path) / name;
    path = fs::is_directory(below, code) ? below : path / name;
    if (!fs::is_directory(path, code))
      throw refused(options.path, fmt::format("there is no checkpoint of step {}", *options.step),
                    "a step that checkpoint list shows");
  }
  Result<hub::FoundCheckpoint> found = hub::find_checkpoint(path);
  if (!found) throw InputError(found.diagnostics());
  print_findings(found.diagnostics(), context);
  if (options.step && found->manifest.state.step != *options.step)
    throw refused(options.path, fmt::format("this is the checkpoint of step {}", found->manifest.state.step),
                  fmt::format("step {}", *options.step));
  return std::move(found).value();
}

hub::Dtype dtype_of(const std::string& given, const std::string& precision) {
  const std::string& name = given.empty() ? precision : given;
  if (name == "fp32") return hub::Dtype::F32;
  return name == "fp16" ? hub::Dtype::F16 : hub::Dtype::BF16;
}

std::string dtype_text(hub::Dtype dtype) {
  if (dtype == hub::Dtype::F32) return "fp32";
  return dtype == hub::Dtype::F16 ? "fp16" : "bf16";
}

void print_report(const ExportHfOptions& options, const hub::FoundCheckpoint& checkpoint,
                  const hub::ExportReport& report, hub::Dtype dtype, Context& context) {
  if (options.request.json()) {
    *context.out << dump_json({{"output", options.output},
                               {"checkpoint", checkpoint.path.string()},
                               {"step", checkpoint.manifest.state.step},
                               {"family", report.family},
                               {"dtype", dtype_text(dtype)},
                               {"tensors", report.num_tensors},
                               {"shards", report.num_shards},
                               {"size_bytes", report.size_bytes},
                               {"tokenizer_files", report.tokenizer_files}},
                              1)
                 << '\n';
    return;
  }
  *context.out << fmt::format("written: {} ({} model of step {}, {} tensors in {} file{}, {}, {})\n", options.output,
                              report.family, checkpoint.manifest.state.step, report.num_tensors, report.num_shards,
                              report.num_shards == 1 ? "" : "s", format_bytes(static_cast<double>(report.size_bytes)),
                              dtype_text(dtype));
  if (!report.tokenizer_files.empty()) *context.out << "tokenizer: " << join(report.tokenizer_files, ", ") << '\n';
}

}  // namespace

ExitCode run_checkpoint_export_hf(Context& context) {
  ExportHfOptions options;
  if (!parse_export(options, context)) return ExitCode::Ok;
  check_family(options.family);
  hub::ExportOptions how{
      .folder = {.max_shard_bytes = parse_size(options.max_shard_size), .replace = options.overwrite}};
  std::error_code code;
  if (!options.tokenizer.empty() && !fs::is_directory(options.tokenizer, code))
    throw refused(options.tokenizer, "no such folder", "--tokenizer names a folder with tokenizer files");
  const hub::FoundCheckpoint checkpoint = find(options, context);
  const CheckpointModel described = model_of_checkpoint(checkpoint, options.request, options.tokenizer, context);
  print_findings(described.notes, context);
  how.family = options.family.empty() ? described.family : options.family;
  how.dtype = dtype_of(options.dtype, checkpoint.manifest.state.precision);
  how.tokenizer = described.tokenizer;
  how.ids = described.ids;
  std::optional<Progress> progress;
  how.progress = [&](uint64_t done, uint64_t total) {
    if (!progress) progress.emplace("exporting " + checkpoint.path.filename().string(), static_cast<int64_t>(total));
    progress->update(static_cast<int64_t>(done));
  };
  const Result<hub::ExportReport> report = hub::export_checkpoint(checkpoint, described.model, options.output, how);
  progress.reset();
  if (!report) throw InputError(report.diagnostics());
  print_findings(report.diagnostics(), context);
  if (report->tokenizer_files.empty())
    print_findings({warning_at({options.output}, "without tokenizer files: --tokenizer FOLDER adds them")}, context);
  print_report(options, checkpoint, *report, how.dtype, context);
  return ExitCode::Ok;
}

}  // namespace primus::cli
