// report: writes the page of a run again, from what the run folder holds.
#include <CLI/CLI.hpp>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/cli/options.h"
#include "primus/track/report.h"

namespace primus::cli {

ExitCode run_report(Context& context) {
  CLI::App app("report RUN: writes report.html of a run folder, a page that needs no network", "primus-cli report");
  std::string run;
  std::string format = "text";
  app.add_option("run,--run", run, "the run folder")->required();
  app.add_option("--format", format, "text or json")->check(CLI::IsMember({"text", "json"}));
  if (!parse_options(app, context)) return ExitCode::Ok;
  if (!fs::exists(fs::path(run) / "metrics.jsonl")) {
    Diagnostic error = error_at({run}, "no run here: metrics.jsonl is missing");
    error.expected = "a run folder: <workspace>/<work_group>/<user_name>/<exp_name>";
    throw InputError(error);
  }
  const fs::path page = track::write_report(run);
  *context.out << (format == "json" ? dump_json(Json{{"report", page.string()}}) : page.string()) << "\n";
  return ExitCode::Ok;
}

}  // namespace primus::cli
