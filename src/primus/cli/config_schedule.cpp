#include "primus/cli/config_schedule.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/base/strings.h"
#include "primus/cli/config_request.h"
#include "primus/config/load.h"
#include "primus/dialect/proxy.h"
#include "primus/spec/schedule_values.h"

namespace primus::cli {
namespace {

using spec::StepValues;

constexpr size_t kMostRows = 60;     // of the table
constexpr size_t kMostPoints = 600;  // of a curve

// The first and last step, and evenly spaced ones between them, at most `most`.
std::vector<size_t> picked(size_t count, size_t most) {
  std::vector<size_t> steps;
  const double stride = std::max(1.0, static_cast<double>(count - 1) / static_cast<double>(most - 1));
  for (double at = 0; at < static_cast<double>(count) - 0.5; at += stride)
    steps.push_back(static_cast<size_t>(std::llround(at)));
  if (!steps.empty() && steps.back() != count - 1) steps.push_back(count - 1);
  return steps;
}

void print_json(const std::vector<StepValues>& values, std::ostream& out) {
  Json steps = Json::array();
  for (const StepValues& v : values)
    steps.push_back({{"step", v.step},
                     {"lr", json_number(v.lr)},
                     {"weight_decay", json_number(v.weight_decay)},
                     {"global_batch_size", v.global_batch_size},
                     {"samples", v.samples}});
  out << dump_json({{"steps", std::move(steps)}}) << '\n';
}

void print_table(const std::vector<StepValues>& values, std::ostream& out) {
  out << fmt::format("{:>9}  {:>12}  {:>12}  {:>12}  {:>14}\n", "step", "lr", "weight decay", "global batch",
                     "samples");
  const std::vector<size_t> rows = picked(values.size(), kMostRows);
  for (const size_t row : rows) {
    const StepValues& v = values[row];
    out << fmt::format("{:>9}  {:>12.5e}  {:>12.5g}  {:>12}  {:>14}\n", v.step, v.lr, v.weight_decay,
                       v.global_batch_size, format_thousands(v.samples));
  }
  if (rows.size() < values.size())
    out << fmt::format("{} of {} steps shown; --format json prints all\n", rows.size(), values.size());
}

struct Curve {
  const char* name;
  const char* colour;
  std::function<double(const StepValues&)> value;
};

// One panel: frame, curve, its least and greatest value, first and last step.
std::string panel(const std::vector<StepValues>& values, const Curve& curve, double top) {
  constexpr double kLeft = 90, kWidth = 600, kHeight = 110;
  double low = curve.value(values.front()), high = low;
  for (const StepValues& v : values) {
    low = std::min(low, curve.value(v));
    high = std::max(high, curve.value(v));
  }
  const double span = high > low ? high - low : 1;
  const double last = static_cast<double>(std::max<size_t>(1, values.size() - 1));
  std::string points;
  for (const size_t i : picked(values.size(), kMostPoints)) {
    const double y = high > low ? (curve.value(values[i]) - low) / span : 0.5;
    points += fmt::format("{:.1f},{:.1f} ", kLeft + kWidth * static_cast<double>(i) / last, top + kHeight * (1 - y));
  }
  const double middle = top + kHeight / 2;
  std::string svg = fmt::format("<text x='{}' y='{}' class='name'>{}</text>\n", kLeft, top - 8, curve.name);
  svg += fmt::format("<rect x='{}' y='{}' width='{}' height='{}' class='frame'/>\n", kLeft, top, kWidth, kHeight);
  svg += fmt::format("<polyline points='{}' fill='none' stroke='{}' stroke-width='2'/>\n", points, curve.colour);
  if (high > low) {
    svg += fmt::format("<text x='{}' y='{}' class='right'>{:.4g}</text>\n", kLeft - 8, top + 10, high);
    svg += fmt::format("<text x='{}' y='{}' class='right'>{:.4g}</text>\n", kLeft - 8, top + kHeight, low);
  } else {
    svg += fmt::format("<text x='{}' y='{}' class='right'>{:.4g}</text>\n", kLeft - 8, middle + 4, low);
  }
  svg += fmt::format("<text x='{}' y='{}'>step {}</text>\n", kLeft, top + kHeight + 16, values.front().step);
  svg += fmt::format("<text x='{}' y='{}' class='right'>{}</text>\n", kLeft + kWidth, top + kHeight + 16,
                     values.back().step);
  return svg;
}

void print_svg(const std::vector<StepValues>& values, std::ostream& out) {
  const Curve curves[] = {
      {"learning rate", "#2563eb", [](const StepValues& v) { return v.lr; }},
      {"weight decay", "#b45309", [](const StepValues& v) { return v.weight_decay; }},
      {"global batch size", "#15803d", [](const StepValues& v) { return static_cast<double>(v.global_batch_size); }},
  };
  out << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 720 520' font-family='sans-serif' font-size='12'>\n"
         "<style>text{fill:#111}.name{font-weight:bold}.right{text-anchor:end}.frame{fill:none;stroke:#999}"
         ".page{fill:#fff}@media(prefers-color-scheme:dark){text{fill:#eee}.page{fill:#111}}</style>\n"
         "<rect width='720' height='520' class='page'/>\n";
  double top = 40;
  for (const Curve& curve : curves) {
    out << panel(values, curve, top);
    top += 165;
  }
  out << "</svg>\n";
}

}  // namespace

ExitCode run_config_schedule(Context& context) {
  if (!context.arguments.empty() && context.arguments.front() == "schedule")
    context.arguments.erase(context.arguments.begin());
  ConfigOptions options("schedule", "--config F [--format table|json|svg] [--proxy] [overrides]",
                        "learning rate, weight decay and batch size of every step, without training");
  bool proxy = false;
  options.experiment().presets().formats({"table", "text", "json", "svg"});
  options.flag("--proxy", proxy, "of the experiment shrunk by --proxy");
  if (!options.read_with_experiment(context)) return ExitCode::Ok;
  const ConfigRequest& request = options.request();
  if (!request.words.empty()) throw bad_words("config schedule takes no file but --config F", "config schedule --help");

  config::Experiment experiment = load_or_throw(request, context, request.config);
  if (proxy) value_or_throw(dialect::apply_proxy(experiment, request.module));
  const Result<spec::RunSpec> described = describe_run(experiment, request.module);
  if (!described) throw InputError(described.diagnostics());
  print_findings(described.diagnostics(), context);
  const spec::RunSpec& run = *described;
  constexpr int64_t kMostSteps = 10'000'000;  // each takes some bytes
  if (run.exit.train_steps > kMostSteps) {
    Diagnostic finding = error_at({request.config}, "the experiment has too many steps to list");
    finding.found = format_thousands(run.exit.train_steps);
    finding.expected = "at most " + format_thousands(kMostSteps);
    throw InputError(finding);
  }
  const std::vector<StepValues> values = spec::step_values(run);
  if (request.format == "json") {
    print_json(values, *context.out);
  } else if (values.empty()) {
    *context.out << "the experiment has no steps\n";
  } else if (request.format == "svg") {
    print_svg(values, *context.out);
  } else {
    print_table(values, *context.out);
  }
  return ExitCode::Ok;
}

}  // namespace primus::cli
