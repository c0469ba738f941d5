#include "primus/track/console.h"

#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "primus/base/strings.h"

namespace primus::track {

namespace {

constexpr const char* kColumns =
    "    step      loss  grad norm        lr      ms     tok/s  GFLOP/s   peak    memory  left";

class Console : public Sink {
 public:
  Console(Logger& log, ConsoleOptions options)
      : log_(log), options_(options), start_(std::chrono::steady_clock::now()) {}

  void on_step(const StepRow& row) override {
    const bool first = row.step == options_.first_step + 1;
    if (first) {
      log_.info(kColumns);
    } else {
      interval_ms_ += row.step_ms;
      interval_tokens_ += row.tokens_per_s * row.step_ms / 1e3;
      ++interval_steps_;
    }
    loss_sum_ += row.loss;
    ++num_losses_;
    const bool due = first || row.step % options_.interval_steps == 0 || row.step == options_.num_steps ||
                     extra(row, "memory_limit_bytes") > 0;
    if (!due) return;
    log_.info(line(row, first));
    if (const std::string memory = memory_line(row); !memory.empty()) log_.info(memory);
    interval_ms_ = interval_tokens_ = loss_sum_ = 0;
    interval_steps_ = num_losses_ = 0;
  }

  void on_eval(const EvalRow& row) override {
    const std::string name = row.name.empty() ? "validation" : "validation '" + row.name + "'";
    log_.info(fmt::format("{:>8}  {} loss {:.4f}", row.step, name, row.loss));
  }

 private:
  static double extra(const StepRow& row, std::string_view wanted) {
    for (const auto& [name, value] : row.extra) {
      if (name == wanted) return value;
    }
    return 0;
  }

  // A NaN has no sign that would mean anything.
  static double signless(double value) { return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value; }

  // Steps that carry the whole account of memory show it.
  static std::string memory_line(const StepRow& row) {
    const double limit = extra(row, "memory_limit_bytes");
    if (limit <= 0) return {};
    const double used = extra(row, "memory_bytes");
    return fmt::format("{:>8}  memory: resident {}, peak {}, limit {} ({:.1f}% used)", row.step, format_bytes(used),
                       format_bytes(extra(row, "memory_peak_bytes")), format_bytes(limit), used / limit * 100);
  }

  std::string line(const StepRow& row, bool first) {
    const double ms = first ? row.step_ms : interval_ms_ / static_cast<double>(interval_steps_);
    const double tokens_per_s = first ? row.tokens_per_s : interval_tokens_ / interval_ms_ * 1e3;
    const double scale = row.tokens_per_s > 0 ? tokens_per_s / row.tokens_per_s : 1;
    const std::string share = row.mfu ? fmt::format("{:.1f}%", *row.mfu * scale * 100) : "-";
    return fmt::format("{:>8} {:>9.4f} {:>10.4f} {:>9.3e} {:>7.1f} {:>9.0f} {:>8.1f} {:>6} {:>9}  {}", row.step,
                       signless(loss_sum_ / static_cast<double>(num_losses_)), signless(row.grad_norm), row.lr, ms,
                       tokens_per_s, row.model_flops * scale / 1e9, share, format_bytes(extra(row, "memory_bytes")),
                       time_left(row, first));
  }

  std::string time_left(const StepRow& row, bool first) {
    const auto now = std::chrono::steady_clock::now();
    if (first) {
      start_ = now;
      return "-";
    }
    const auto done = static_cast<double>(row.step - options_.first_step - 1);
    const double elapsed_s = std::chrono::duration<double>(now - start_).count();
    return format_duration(elapsed_s / done * static_cast<double>(options_.num_steps - row.step));
  }

  Logger& log_;
  ConsoleOptions options_;
  std::chrono::steady_clock::time_point start_;
  double interval_ms_ = 0, interval_tokens_ = 0, loss_sum_ = 0;
  int64_t interval_steps_ = 0, num_losses_ = 0;
};

}  // namespace

std::unique_ptr<Sink> open_console(Logger& log, ConsoleOptions options) {
  return std::make_unique<Console>(log, options);
}

}  // namespace primus::track
