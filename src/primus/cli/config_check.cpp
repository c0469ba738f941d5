// config check: everything that is wrong with one experiment, several, or all below a folder.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/fs.h"
#include "primus/base/strings.h"
#include "primus/cli/config_actions.h"
#include "primus/cli/config_request.h"
#include "primus/config/file_cache.h"
#include "primus/config/read_file.h"
#include "primus/dialect/dialects.h"

namespace primus::cli {
namespace {

struct CheckRequest {
  bool strict = false, quiet = false;
  std::optional<int> num_ranks;  // --nproc N: check the batch against this number of ranks
};

struct Checked {
  std::string file, framework;
  Diagnostics findings;
  bool ok = true;
  std::string known_fault;  // why this shipped file of upstream fails; empty: it should not

  bool fails() const { return !ok && known_fault.empty(); }

  size_t count(Severity severity) const {
    return static_cast<size_t>(std::count_if(findings.begin(), findings.end(),
                                             [severity](const Diagnostic& d) { return d.severity == severity; }));
  }
};

// Files as they were given; of a folder, the YAML files below it that hold experiments (a top-level `modules:` or
// `extends:` beside an experiment's names).
struct Selection {
  std::vector<std::string> files;
  std::map<std::string, std::string> known_faults;  // file -> reason
  size_t num_others = 0;
};

constexpr const char* kFaultsFile = "upstream-faults.txt";

// "file: reason" a line, in the folder or one above it; files are named from where the list lies.
void read_known_faults(const fs::path& folder, Selection& selection) {
  std::error_code error;
  fs::path place = fs::absolute(folder, error).lexically_normal();
  for (int level = 0; level < 5 && !fs::exists(place / kFaultsFile, error); ++level) place = place.parent_path();
  const Result<std::string> text = read_text_file(place / kFaultsFile);
  if (!text) return;
  for (const std::string& line : split(*text, '\n')) {
    const size_t colon = line.find(": ");
    if (line.starts_with('#') || colon == std::string::npos) continue;
    selection.known_faults[(place / line.substr(0, colon)).string()] = line.substr(colon + 2);
  }
}

bool has_line(std::string_view text, std::string_view start) {
  return text.starts_with(start) || text.find("\n" + std::string(start)) != std::string_view::npos;
}

bool looks_like_experiment(const fs::path& path) {
  const Result<std::string> text = config::read_config_file(path);
  return text && (has_line(*text, "modules:") || (has_line(*text, "extends:") && has_line(*text, "exp_name:")));
}

void add_folder(const std::string& name, Selection& selection) {
  std::vector<std::string> found;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (const auto& entry : fs::recursive_directory_iterator(name, options)) {
    const std::string suffix = entry.path().extension().string();
    if (!entry.is_regular_file(error) || (suffix != ".yaml" && suffix != ".yml")) continue;
    // A template has words to be filled in: it is checked when it is named.
    const bool is_template = entry.path().stem().extension() == ".template";
    if (!is_template && looks_like_experiment(entry.path())) {
      found.push_back(entry.path().string());
    } else {
      ++selection.num_others;
    }
  }
  if (found.empty()) throw InputError(error_at({.file = name}, "no experiment below this folder"));
  read_known_faults(name, selection);
  std::sort(found.begin(), found.end());
  selection.files.insert(selection.files.end(), found.begin(), found.end());
}

Selection select_files(const ConfigRequest& request) {
  Selection selection;
  std::vector<std::string> given = request.words;
  if (!request.config.empty()) given.insert(given.begin(), request.config);
  if (given.empty())
    throw bad_words("config check needs an experiment",
                    "--config F names one; files and folders can follow each other");
  for (const std::string& name : given) {
    std::error_code error;
    if (fs::is_directory(name, error)) {
      add_folder(name, selection);
    } else {
      selection.files.push_back(name);
    }
  }
  return selection;
}

Checked check_file(const ConfigRequest& request, const CheckRequest& check, const config::LoadOptions& options) {
  Checked checked{.file = options.path, .framework = "-", .findings = {}};
  const Result<config::Experiment> loaded = config::load_experiment(options);
  checked.findings = loaded.diagnostics();
  if (loaded) {
    checked.framework = loaded->main_module().framework;
    for (const config::Module& module : loaded->modules) {
      if (!request.module.empty() && module.name != request.module) continue;
      if (dialect::find_dialect(module.framework) == nullptr) {
        checked.findings.push_back({Severity::Note, module.place, {}, "", {}, {}, {}});
        checked.findings.back().message =
            fmt::format("framework '{}' has no parameter table: only its composition is checked, and train refuses it",
                        printable_ascii(module.framework));
        continue;
      }
      const Result<spec::RunSpec> run = describe_run(*loaded, module.name, check.num_ranks);
      checked.findings.insert(checked.findings.end(), run.diagnostics().begin(), run.diagnostics().end());
    }
  }
  checked.ok = checked.count(Severity::Error) + (check.strict ? checked.count(Severity::Warning) : 0) == 0;
  return checked;
}

void add_known_fault(const Selection& selection, Checked& checked) {
  std::error_code error;
  const auto fault = selection.known_faults.find(fs::absolute(checked.file, error).lexically_normal().string());
  if (fault == selection.known_faults.end()) return;
  if (!checked.ok) {
    checked.known_fault = fault->second;
    return;
  }
  Diagnostic stale{
      Severity::Warning, {.file = checked.file}, {}, "listed as a fault of upstream, and passes", {}, {}, {}};
  stale.suggestion = std::string("drop its line from ") + kFaultsFile;
  checked.findings.push_back(std::move(stale));
}

// "2 errors, 1 warning, 3 notes"; empty when there is nothing.
std::string counts_text(const Checked& checked) {
  std::vector<std::string> parts;
  for (const auto& [severity, name] :
       {std::pair{Severity::Error, "error"}, {Severity::Warning, "warning"}, {Severity::Note, "note"}}) {
    const size_t count = checked.count(severity);
    if (count > 0) parts.push_back(fmt::format("{} {}{}", count, name, count == 1 ? "" : "s"));
  }
  return join(parts, ", ");
}

// Of one file everything; of many the errors and warnings, since notes of hundreds of files hide them.
void print_file(const Checked& checked, bool with_notes, bool quiet, Context& context) {
  Diagnostics shown = checked.findings;
  if (!with_notes) std::erase_if(shown, [](const Diagnostic& d) { return d.severity == Severity::Note; });
  if (quiet && shown.empty()) return;
  const std::string counts = counts_text(checked);
  if (!checked.known_fault.empty()) {
    if (!quiet)
      *context.out << painted(context, "33", "fault ") << ' ' << checked.file << "  (" << checked.known_fault << ")\n";
    return;
  }
  *context.out << painted(context, checked.ok ? "32" : "31", checked.ok ? "ok    " : "failed") << ' ' << checked.file
               << (counts.empty() ? "" : "  (" + counts + ")") << '\n';
  if (!shown.empty()) *context.out << render(shown, context.colour) << '\n';
}

struct Totals {
  size_t files = 0, ok = 0, faults = 0, failed = 0, warnings = 0, notes = 0;
  void add(const Checked& checked) {
    ++files;
    ++(checked.ok ? ok : checked.fails() ? failed : faults);
    warnings += checked.count(Severity::Warning);
    notes += checked.count(Severity::Note);
  }
};

void print_totals(const std::map<std::string, Totals>& frameworks, size_t num_others, std::ostream& out) {
  out << fmt::format("\n{:<18}{:>12}{:>8}{:>8}{:>8}{:>10}{:>8}\n", "framework", "experiments", "ok", "faults", "failed",
                     "warnings", "notes");
  size_t ok = 0, files = 0, faults = 0;
  for (const auto& [name, totals] : frameworks) {
    out << fmt::format("{:<18}{:>12}{:>8}{:>8}{:>8}{:>10}{:>8}\n", name, totals.files, totals.ok, totals.faults,
                       totals.failed, totals.warnings, totals.notes);
    ok += totals.ok, files += totals.files, faults += totals.faults;
  }
  out << fmt::format("{} of {} experiments ok", ok, files);
  if (faults > 0) out << fmt::format("; {} known faults of upstream ({})", faults, kFaultsFile);
  if (num_others > 0) out << fmt::format("; {} other YAML files left out", num_others);
  out << '\n';
}

}  // namespace

ExitCode run_config_check(Context& context) {
  ConfigOptions options("check", "--config F | FILE or FOLDER ... [--strict] [--nproc N] [overrides]",
                        "report everything that is wrong; what train cannot do yet is a note");
  CheckRequest check;
  options.experiment().presets().formats({"text", "json"});
  options.flag("--strict", check.strict, "warnings fail the check too");
  options.flag("--quiet", check.quiet, "print only files with errors or warnings");
  options.count("--nproc", check.num_ranks, "check the batch against this number of ranks");
  if (!options.read(context)) return ExitCode::Ok;
  const ConfigRequest& request = options.request();
  const Selection selection = select_files(request);
  std::map<std::string, Totals> frameworks;
  Json files = Json::array();
  bool ok = true;
  config::FileCache cache;
  for (const std::string& file : selection.files) {
    config::LoadOptions load = load_options(request, context, file);
    load.cache = &cache;
    Checked checked = check_file(request, check, load);
    if (!check.strict) add_known_fault(selection, checked);
    ok = ok && !checked.fails();
    frameworks[checked.framework].add(checked);
    if (request.json()) {
      files.push_back({{"file", file},
                       {"framework", checked.framework},
                       {"ok", checked.ok},
                       {"known_fault", checked.known_fault.empty() ? Json() : Json(checked.known_fault)},
                       {"diagnostics", findings_json(checked.findings)}});
    } else {
      print_file(checked, selection.files.size() == 1, check.quiet, context);
    }
  }
  if (request.json()) {
    *context.out << dump_json({{"ok", ok}, {"files", std::move(files)}}, 1) << '\n';
  } else if (selection.files.size() > 1 || selection.num_others > 0) {
    print_totals(frameworks, selection.num_others, *context.out);
  }
  return ok ? ExitCode::Ok : ExitCode::BadInput;
}

}  // namespace primus::cli
