// config check: everything that is wrong with one experiment, several, or all below a folder.
#include <algorithm>
#include <fmt/format.h>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/fs.h"
#include "primus/base/strings.h"
#include "primus/cli/config_actions.h"
#include "primus/dialect/to_spec.h"
#include "primus/launch/world.h"

namespace primus::cli {
namespace {

struct Checked {
  std::string file;
  Diagnostics findings;
  bool ok = true;
};

// Files as they were given; of a folder, the YAML files below it that hold experiments (a top-level `modules:`).
struct Selection {
  std::vector<std::string> files;
  size_t num_others = 0;
};

bool looks_like_experiment(const fs::path& path) {
  const Result<std::string> text = read_text_file(path);
  return text && (text->starts_with("modules:") || text->find("\nmodules:") != std::string::npos);
}

Selection select_files(const ConfigRequest& request) {
  Selection selection;
  std::vector<std::string> given = request.words;
  if (!request.config.empty()) given.insert(given.begin(), request.config);
  if (given.empty()) {
    Diagnostic none = error_at({.file = "command line"}, "config check needs an experiment");
    none.suggestion = "--config F names one; files and folders can follow each other";
    throw InputError(none);
  }
  for (const std::string& name : given) {
    std::error_code error;
    if (!fs::is_directory(name, error)) {
      selection.files.push_back(name);
      continue;
    }
    std::vector<std::string> found;
    const auto options = fs::directory_options::skip_permission_denied;
    for (const auto& entry : fs::recursive_directory_iterator(name, options)) {
      const std::string suffix = entry.path().extension().string();
      if (!entry.is_regular_file(error) || (suffix != ".yaml" && suffix != ".yml")) continue;
      if (looks_like_experiment(entry.path())) {
        found.push_back(entry.path().string());
      } else {
        ++selection.num_others;
      }
    }
    if (found.empty()) throw InputError(error_at({.file = name}, "no experiment below this folder"));
    std::sort(found.begin(), found.end());
    selection.files.insert(selection.files.end(), found.begin(), found.end());
  }
  return selection;
}

// What the dialect says about every module, on the smallest number of ranks that its layout allows unless one is given.
void add_findings_of_modules(const config::Experiment& experiment, const ConfigRequest& request,
                             Diagnostics& findings) {
  for (const config::Module& module : experiment.modules) {
    auto run = dialect::to_spec(experiment, module.name, {.world_size = request.num_ranks.value_or(1)});
    if (run && !request.num_ranks) {
      const spec::Parallel& layout = run->parallel;
      const int64_t world = launch::smallest_world({.tensor = layout.tensor,
                                                    .pipeline = layout.pipeline,
                                                    .context = layout.context,
                                                    .expert = layout.expert,
                                                    .expert_tensor = layout.expert_tensor});
      if (world > 1) run = dialect::to_spec(experiment, module.name, {.world_size = world});
    }
    findings.insert(findings.end(), run.diagnostics().begin(), run.diagnostics().end());
  }
}

Checked check_file(const ConfigRequest& request, const Context& context, const std::string& file) {
  Checked checked{.file = file};
  const Result<config::Experiment> loaded = config::load_experiment(load_options(request, context, file));
  checked.findings = loaded.diagnostics();
  if (loaded) add_findings_of_modules(*loaded, request, checked.findings);
  const auto fails = [&request](const Diagnostic& d) {
    return d.severity == Severity::Error || (request.strict && d.severity == Severity::Warning);
  };
  checked.ok = std::none_of(checked.findings.begin(), checked.findings.end(), fails);
  return checked;
}

}  // namespace

ExitCode config_check(const ConfigRequest& request, Context& context) {
  const Selection selection = select_files(request);
  size_t num_bad = 0;
  Json files = Json::array();
  for (const std::string& file : selection.files) {
    const Checked checked = check_file(request, context, file);
    num_bad += !checked.ok;
    if (request.json) {
      files.push_back({{"file", file}, {"ok", checked.ok}, {"diagnostics", findings_json(checked.findings)}});
      continue;
    }
    *context.out << (checked.ok ? "ok     " : "failed ") << file << '\n';
    if (!checked.findings.empty()) *context.out << render(checked.findings, context.colour) << '\n';
  }
  if (request.json) {
    *context.out << dump_json({{"ok", num_bad == 0}, {"files", std::move(files)}}, 1) << '\n';
  } else if (selection.files.size() > 1 || selection.num_others > 0) {
    *context.out << fmt::format("{} of {} experiments ok", selection.files.size() - num_bad, selection.files.size());
    if (selection.num_others > 0) *context.out << fmt::format("; {} other YAML files left out", selection.num_others);
    *context.out << '\n';
  }
  return num_bad == 0 ? ExitCode::Ok : ExitCode::BadInput;
}

}  // namespace primus::cli
