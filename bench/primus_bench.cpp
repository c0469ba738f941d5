// primus-bench [ROWS...] [--format text|json] [--threads N]: the scoreboard, ratios only. Use bench/run.
#include <cmath>
#include <cstdio>
#include <fmt/format.h>

#include "bench/bench.h"

#include "primus/base/exit_code.h"
#include "primus/base/json.h"
#include "primus/base/strings.h"
#include "primus/tensor/runtime.h"

namespace primus::bench {
namespace {

struct Request {
  std::vector<std::string> ids;
  bool as_json = false;
  int threads = 2;
};

std::vector<std::string> group_ids() {
  std::vector<std::string> ids;
  for (const Group& group : groups()) ids.emplace_back(group.id);
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
    } else if (std::find(known.begin(), known.end(), word) != known.end()) {
      request.ids.push_back(word);
    } else {
      Diagnostic error = error_at({.file = "command line"}, "unknown argument '" + word + "'");
      error.expected = "rows (" + join(known, ", ") + "), --format text|json, --threads N";
      error.suggestion = did_you_mean(word, known);
      errors.push_back(error);
    }
  }
  if (!errors.empty()) return errors;
  return request;
}

bool differ(double before, double after) {
  return std::fabs(before - after) > 0.1 * std::max(before, after);
}

struct Measured {
  std::vector<Row> rows;
  Peaks peaks;  // the better of before and after, by type
};

Measured measure(const Group& group) {
  const Peaks before = measure_peaks();
  Measured result{group.measure(before), before};
  const Peaks after = measure_peaks();
  const bool is_stable = !differ(before.f32_gflops, after.f32_gflops) &&
                         !differ(before.bf16_gflops.value_or(0), after.bf16_gflops.value_or(0));
  for (Row& row : result.rows) row.is_stable = row.is_stable && is_stable;
  return result;
}

Json as_json(const Row& row) {
  return {{"id", row.id},
          {"what", row.what},
          {"against", row.against},
          {"ratio", row.ratio},
          {"target", row.target},
          {"target_is", row.at_least ? "at_least" : "at_most"},
          {"stable", row.is_stable},
          {"detail", row.detail}};
}

void print_row(const Row& row) {
  const char* verdict = !row.is_stable ? "*unstable*" : row.reaches_target() ? "reached" : "missed";
  std::printf("%-26s %6.2f  %s %.2f  %-10s  %s\n", row.id.c_str(), row.ratio, row.at_least ? ">=" : "<=", row.target,
              verdict, row.what.c_str());
  std::printf("%26s of: %s; %s\n", "", row.against.c_str(), row.detail.c_str());
  std::fflush(stdout);
}

int run(const Request& request) {
  tensor::set_num_threads(request.threads);
  const at::NoGradGuard no_grad;
  Json all = {{"cpu", tensor::cpu_features().model + " (" + tensor::cpu_features().to_string() + ")"},
              {"versions", tensor::versions()},
              {"threads", request.threads},
              {"rows", Json::array()}};
  if (!request.as_json) {
    std::printf("%s, %s, %d threads\n", all["cpu"].get<std::string>().c_str(), tensor::versions().c_str(),
                request.threads);
  }
  for (const Group& group : groups()) {
    const bool wanted =
        request.ids.empty() || std::find(request.ids.begin(), request.ids.end(), group.id) != request.ids.end();
    if (!wanted) continue;
    const Measured measured = measure(group);
    if (!request.as_json) {
      std::printf("\n%s (probe: fp32 %.0f, bf16 %.0f GFLOP/s)\n", group.title, measured.peaks.f32_gflops,
                  measured.peaks.bf16_gflops.value_or(0));
    }
    for (const Row& row : measured.rows) {
      if (request.as_json) {
        all["rows"].push_back(as_json(row));
      } else {
        print_row(row);
      }
    }
  }
  if (request.as_json) std::printf("%s\n", dump_json(all, 2).c_str());
  return 0;
}

}  // namespace
}  // namespace primus::bench

int main(int argc, char** argv) {
  primus::tensor::configure_allocator();
  const auto request = primus::bench::read_arguments(argc, argv);
  if (!request.ok()) {
    std::fprintf(stderr, "%s\n", primus::render(request.diagnostics()).c_str());
    return static_cast<int>(primus::ExitCode::BadInput);
  }
  return primus::bench::run(*request);
}
