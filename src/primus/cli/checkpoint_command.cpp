// checkpoint: what a run has saved and whether it is whole; import-hf and export-hf have files of their own.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <ostream>

#include "primus/base/check.h"
#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/base/progress.h"
#include "primus/base/strings.h"
#include "primus/cli/checkpoint_actions.h"
#include "primus/cli/options.h"
#include "primus/hub/checkpoint_folder.h"
#include "primus/hub/checkpoint_reader.h"
#include "primus/hub/hf_folder_check.h"

namespace primus::cli {

namespace {

InputError bad_path(const std::string& path, const std::string& message, const std::string& expected) {
  Diagnostic finding = error_at({path}, message);
  finding.expected = expected;
  return InputError(finding);
}

// The folder of step folders that the user means: a run folder or its checkpoints folder.
fs::path step_folders(const std::string& given) {
  std::error_code code;
  const fs::path path = given;
  if (!fs::is_directory(path, code)) throw bad_path(given, "no such folder", "a run folder or its checkpoints folder");
  const fs::path inside = hub::checkpoints_folder(path);
  return fs::is_directory(inside, code) ? inside : path;
}

// {"dp": 2, "tp": 1} -> "dp 2, tp 1"
std::string layout_text(const Json& layout) {
  std::string text;
  for (const auto& [axis, size] : layout.items()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", axis, dump_json(size));
  }
  return printable_ascii(text);
}

Json to_json(const hub::CheckpointListing& listing) {
  Json row = {{"step", listing.step},
              {"path", listing.path.string()},
              {"complete", listing.complete()},
              {"size_bytes", listing.size_bytes}};
  if (!listing.complete()) row["problem"] = listing.problem;
  if (listing.manifest) {
    const hub::CheckpointState& state = listing.manifest->state;
    row["created"] = listing.manifest->created;
    row["consumed_samples"] = state.consumed_samples;
    row["consumed_tokens"] = state.consumed_tokens;
    row["world_size"] = listing.manifest->world_size;
    row["layout"] = state.layout;
    row["precision"] = state.precision;
  }
  return row;
}

void print_table(const std::vector<hub::CheckpointListing>& listings, std::ostream& out) {
  out << fmt::format("{:>10}  {:<20}  {:>10}  {:<8}  {}\n", "step", "when (UTC)", "size", "complete", "layout");
  for (const hub::CheckpointListing& listing : listings) {
    std::string when = "-", layout = listing.problem;
    if (listing.manifest) {
      when = printable_ascii(listing.manifest->created);
      if (listing.complete()) {
        const std::string axes = layout_text(listing.manifest->state.layout);
        layout = fmt::format("{} rank{}{}{}", listing.manifest->world_size,
                             listing.manifest->world_size == 1 ? "" : "s", axes.empty() ? "" : ": ", axes);
      }
    }
    out << fmt::format("{:>10}  {:<20}  {:>10}  {:<8}  {}\n", listing.step, when,
                       format_bytes(static_cast<double>(listing.size_bytes)), listing.complete() ? "yes" : "NO",
                       layout);
  }
}

ExitCode list_checkpoints(Context& context, const std::string& run, bool as_json) {
  const fs::path folder = step_folders(run);
  const std::vector<hub::CheckpointListing> listings = hub::list_checkpoints(folder);
  if (as_json) {
    Json rows = Json::array();
    for (const hub::CheckpointListing& listing : listings) rows.push_back(to_json(listing));
    *context.out << dump_json({{"folder", folder.string()}, {"checkpoints", std::move(rows)}}, 2) << "\n";
  } else if (listings.empty()) {
    *context.out << fmt::format("no checkpoints in '{}'\n", folder.string());
  } else {
    print_table(listings, *context.out);
  }
  return ExitCode::Ok;
}

struct Target {
  fs::path path;
  std::string problem;  // known before anything is read
};

std::vector<Target> targets_of(const std::string& run, const std::string& path) {
  std::error_code code;
  if (run.empty() == path.empty()) throw bad_path("command line", "nothing to verify", "either --run DIR or PATH");
  if (!path.empty() && !fs::is_directory(path, code))
    throw bad_path(path, "no such folder", "the folder of a checkpoint, or a Hugging Face folder");
  const std::string name = (fs::path(path) / "").parent_path().filename().string();  // also behind a closing slash
  if (name.starts_with("step_")) return {{path, ""}};
  if (!path.empty() && fs::exists(fs::path(path) / hub::kManifestName, code)) return {{path, ""}};
  const std::string& given = path.empty() ? run : path;
  std::vector<Target> targets;
  for (const hub::CheckpointListing& listing : hub::list_checkpoints(step_folders(given))) {
    targets.push_back({listing.path, listing.manifest ? "" : listing.problem});
  }
  if (targets.empty()) {
    throw bad_path(given, "no checkpoints here", "a checkpoint's folder, a run folder, or its checkpoints folder");
  }
  return targets;
}

Diagnostics verify_one(const Target& target) {
  if (!target.problem.empty()) return {error_at({target.path.string()}, target.problem)};
  Result<hub::Manifest> manifest = hub::read_manifest(target.path);
  if (!manifest) return manifest.diagnostics();
  Progress progress("verifying " + target.path.filename().string(), static_cast<int64_t>(manifest->size_bytes()));
  return hub::verify_checkpoint(target.path, [&](uint64_t done) { progress.update(static_cast<int64_t>(done)); });
}

ExitCode verify_checkpoints(Context& context, const std::string& run, const std::string& path, bool as_json) {
  bool all_ok = true;
  Json rows = Json::array();
  for (const Target& target : targets_of(run, path)) {
    const Diagnostics findings = verify_one(target);
    all_ok = all_ok && findings.empty();
    Json problems = Json::array();
    for (const Diagnostic& finding : findings) problems.push_back(render(finding));
    rows.push_back({{"path", target.path.string()}, {"ok", findings.empty()}, {"problems", std::move(problems)}});
    if (as_json) continue;
    *context.out << fmt::format("{}: {}\n", target.path.string(), findings.empty() ? "ok" : "NOT OK");
    if (!findings.empty()) *context.err << render(findings, context.colour) << "\n";
  }
  if (as_json) *context.out << dump_json({{"ok", all_ok}, {"checkpoints", std::move(rows)}}, 2) << "\n";
  return all_ok ? ExitCode::Ok : ExitCode::CheckFailed;
}

ExitCode verify_hf_folder(Context& context, const std::string& path, bool values, bool as_json) {
  std::optional<Progress> progress;
  const hub::HfFolderCheck check = hub::check_hf_folder(path, values, [&](uint64_t done, uint64_t total) {
    if (!progress) progress.emplace("verifying " + path, static_cast<int64_t>(total));
    progress->update(static_cast<int64_t>(done));
  });
  progress.reset();
  if (as_json) {
    Json problems = Json::array();
    for (const Diagnostic& finding : check.findings) problems.push_back(render(finding));
    *context.out << dump_json({{"ok", check.ok()},
                               {"path", path},
                               {"family", check.family},
                               {"loaded", check.report.loaded.size()},
                               {"unexpected", check.report.unexpected},
                               {"ignored", check.report.ignored},
                               {"values", values},
                               {"problems", std::move(problems)}},
                              2)
                 << "\n";
  } else {
    *context.out << fmt::format("{}: {}\n", path, check.ok() ? "ok" : "NOT OK");
    if (!check.report.loaded.empty())
      *context.out << fmt::format("{}: {}{}\n", check.family, check.report.summary(),
                                  values ? "" : "; --values also looks for NaN and infinities");
    if (!check.findings.empty()) *context.err << render(check.findings, context.colour) << "\n";
  }
  return check.ok() ? ExitCode::Ok : ExitCode::CheckFailed;
}

// A checkpoint of ours has a manifest, or the name of one.
bool is_foreign(const std::string& path) {
  std::error_code code;
  const std::string name = (fs::path(path) / "").parent_path().filename().string();
  return !path.empty() && !name.starts_with("step_") && !fs::exists(fs::path(path) / hub::kManifestName, code) &&
         hub::is_hf_folder(path);
}

constexpr const char* kListSummary = "one line a checkpoint: step, when, size, complete, layout";
constexpr const char* kVerifySummary = "read every byte; exit code 4 when something is wrong";

struct CheckpointOptions {
  std::string run;
  std::string path;
  std::string format = "text";
  bool values = false;
};

// False: --help was answered.
bool parse_checkpoint(CLI::App& app, CheckpointOptions& options, Context& context) {
  app.add_option("--format", options.format, "text or json")->check(CLI::IsMember({"text", "json"}));
  return parse_options(app, {context.arguments.begin() + 1, context.arguments.end()}, context);
}

}  // namespace

ExitCode run_checkpoint(Context& context) {
  CheckpointOptions options;
  const std::string action = context.arguments.empty() ? "" : context.arguments.front();
  if (action == "list") {
    CLI::App app(kListSummary, "checkpoint list");
    app.add_option("--run", options.run, "run folder or its checkpoints folder")->required();
    if (!parse_checkpoint(app, options, context)) return ExitCode::Ok;
    return list_checkpoints(context, options.run, options.format == "json");
  }
  if (action == "verify") {
    CLI::App app(kVerifySummary, "checkpoint verify");
    app.add_option("--run", options.run, "run folder: all its checkpoints");
    app.add_option("path", options.path, "one checkpoint's folder, a run folder, or a Hugging Face folder");
    app.add_flag("--values", options.values, "of a Hugging Face folder: look for NaN and infinities too");
    if (!parse_checkpoint(app, options, context)) return ExitCode::Ok;
    if (options.run.empty() && is_foreign(options.path))
      return verify_hf_folder(context, options.path, options.values, options.format == "json");
    return verify_checkpoints(context, options.run, options.path, options.format == "json");
  }
  if (action == "import-hf") return run_checkpoint_import_hf(context);
  if (action == "export-hf") return run_checkpoint_export_hf(context);
  CLI::App app("what a run has saved, and whether it is whole; Hugging Face folders in and out", "checkpoint");
  app.require_subcommand(1);
  app.add_subcommand("list", kListSummary);
  app.add_subcommand("verify", kVerifySummary);
  app.add_subcommand("import-hf", kImportHfSummary);
  app.add_subcommand("export-hf", kExportHfSummary);
  if (parse_options(app, context)) PRIMUS_CHECK(false, "a known action was not dispatched");
  return ExitCode::Ok;
}

}  // namespace primus::cli
