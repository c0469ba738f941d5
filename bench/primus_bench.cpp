// primus-bench [ROWS...] [--format text|json] [--threads N] [--smoke]: the scoreboard, ratios only. Use bench/run.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>

#include "bench/bench.h"

#include "primus/base/error.h"
#include "primus/base/fs.h"
#include "primus/base/json.h"
#include "primus/base/strings.h"
#include "primus/tensor/runtime.h"

namespace primus::bench {
namespace {

struct Request {
  std::vector<std::string> ids;
  bool as_json = false;
  bool is_smoke = false;
  int threads = 2;
};

std::vector<std::string> group_ids() {
  std::vector<std::string> ids;
  for (const Group& group : groups()) ids.insert(ids.end(), group.ids.begin(), group.ids.end());
  return ids;
}

Result<Request> read_arguments(int argc, char** argv) {
  Request request;
  const std::vector<std::string> known = group_ids();
  Diagnostics errors;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--format" && (value == "json" || value == "text")) {
      request.as_json = value == "json", ++i;
    } else if (word == "--threads" && parse_int(value).value_or(0) > 0) {
      request.threads = static_cast<int>(*parse_int(value)), ++i;
    } else if (word == "--smoke") {
      request.is_smoke = true;
    } else if (std::find(known.begin(), known.end(), word) != known.end()) {
      request.ids.push_back(word);
    } else {
      Diagnostic error = error_at({.file = "command line"}, "unknown argument '" + word + "'");
      error.expected = "rows (" + join(known, ", ") + "), --format text|json, --threads N, --smoke";
      error.suggestion = did_you_mean(word, known);
      errors.push_back(error);
    }
  }
  if (!fs::exists("bench/peers")) {
    errors.push_back(error_at({}, "the scoreboard runs in the repository's root; start it with bench/run"));
  }
  if (!errors.empty()) return errors;
  return request;
}

bool is_wanted(const Group& group, const Request& request) {
  return request.ids.empty() || std::any_of(group.ids.begin(), group.ids.end(), [&](const std::string& id) {
           return std::find(request.ids.begin(), request.ids.end(), id) != request.ids.end();
         });
}

Json peaks_json(const Peaks& peaks) {
  return {{"fp32_gflops", peaks.f32_gflops}, {"bf16_gflops", peaks.bf16_gflops ? Json(*peaks.bf16_gflops) : Json()}};
}

Json row_json(const Row& row) {
  return {{"id", row.id},
          {"what", row.what},
          {"against", row.against},
          {"ratio", row.ratio ? json_number(*row.ratio) : Json()},
          {"target", row.target ? json_number(*row.target) : Json()},
          {"target_is", row.at_least ? "at_least" : "at_most"},
          {"reaches", row.ratio && row.target ? Json(row.reaches_target()) : Json()},
          {"stable", row.is_stable},
          {"detail", row.detail}};
}

void print_row(const Row& row) {
  const std::string ratio = row.ratio ? fmt::format("{:.2f}", *row.ratio) : "-";
  const std::string target = row.target ? fmt::format("{} {:.2f}", row.at_least ? ">=" : "<=", *row.target) : "-";
  fmt::print("{:<26} {:>6}  {:>8}  {:<12}  {}\n", row.id, ratio, target, row.verdict(), row.what);
  fmt::print("{:<26} against {}: {}\n", "", row.against, row.detail);
  std::fflush(stdout);
}

// Rows of one group, between two probes; both go into the result.
Json measure(const Group& group, const Request& request) {
  if (!request.as_json) fmt::print("\n{}\n", group.title);
  std::fflush(stdout);
  const Setup setup{.peaks = measure_peaks(), .threads = request.threads, .is_smoke = request.is_smoke};
  std::vector<Row> rows = group.measure(setup);
  const Peaks after = measure_peaks();
  const bool is_stable = !request.is_smoke && !differ(setup.peaks.f32_gflops, after.f32_gflops) &&
                         !differ(setup.peaks.bf16_gflops.value_or(0), after.bf16_gflops.value_or(0));
  Json result = {{"title", group.title}, {"probe_before", peaks_json(setup.peaks)}, {"probe_after", peaks_json(after)}};
  result["rows"] = Json::array();
  for (Row& row : rows) {
    row.is_stable = row.is_stable && is_stable;
    result["rows"].push_back(row_json(row));
    if (!request.as_json) print_row(row);
  }
  if (!request.as_json) {
    fmt::print("probe before and after: fp32 {:.0f} and {:.0f}, bf16 {:.0f} and {:.0f} GFLOP/s\n",
               setup.peaks.f32_gflops, after.f32_gflops, setup.peaks.bf16_gflops.value_or(0),
               after.bf16_gflops.value_or(0));
    std::fflush(stdout);
  }
  return result;
}

void run(const Request& request) {
  double load = 0;
  if (getloadavg(&load, 1) == 1 && load > 0.2) {
    fmt::print(stderr, "bench: the load of this machine is {:.1f}; ratios are only worth something below 0.2\n", load);
  }
  tensor::set_num_threads(request.threads);
  const std::string cpu = tensor::cpu_features().model + " (" + tensor::cpu_features().to_string() + ")";
  Json all = {{"cpu", cpu}, {"versions", tensor::versions()}, {"threads", request.threads}, {"load", load}};
  all["groups"] = Json::array();
  if (!request.as_json) fmt::print("{}, {}, {} threads, load {:.1f}\n", cpu, tensor::versions(), request.threads, load);
  const at::NoGradGuard no_grad;
  for (const Group& group : groups()) {
    if (is_wanted(group, request)) all["groups"].push_back(measure(group, request));
  }
  if (request.as_json) fmt::print("{}\n", dump_json(all, 2));
}

}  // namespace
}  // namespace primus::bench

int main(int argc, char** argv) {
  try {
    primus::tensor::configure_allocator();
    primus::bench::run(primus::value_or_throw(primus::bench::read_arguments(argc, argv)));
    return 0;
  } catch (const primus::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
