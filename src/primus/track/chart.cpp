#include "primus/track/chart.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "primus/base/strings.h"

namespace primus::track {

namespace {

constexpr double kWidth = 640, kHeight = 260, kLeft = 64, kRight = 24, kTop = 12, kBottom = 30;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void include(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
  void widen() {
    const double margin = high > low ? (high - low) * 0.04 : std::max(std::abs(high) * 0.1, 1e-12);
    low -= margin;
    high += margin;
  }
};

std::string number(double value) {
  const double size = std::abs(value);
  if (size >= 1e4) return format_count(value);
  if (size != 0 && size < 1e-3) return fmt::format("{:.1e}", value);
  return fmt::format("{:.4g}", value);
}

struct Scale {
  Range x, y;
  double px(double value) const { return kLeft + (value - x.low) / (x.high - x.low) * (kWidth - kLeft - kRight); }
  double py(double value) const {
    return kHeight - kBottom - (value - y.low) / (y.high - y.low) * (kHeight - kTop - kBottom);
  }
};

// Points of one series, thinned to the extremes of every pixel column.
std::string path_of(const Series& series, const Scale& scale) {
  std::string path;
  bool pen_down = false;
  for (size_t i = 0; i < series.x.size();) {
    const auto column = static_cast<int>(scale.px(series.x[i]));
    size_t lowest = i, highest = i, end = i;
    bool gap = false;
    for (; end < series.x.size() && static_cast<int>(scale.px(series.x[end])) == column; ++end) {
      if (!std::isfinite(series.y[end])) {
        gap = true;
        continue;
      }
      if (!(series.y[end] >= series.y[lowest])) lowest = end;
      if (!(series.y[end] <= series.y[highest])) highest = end;
    }
    std::vector<size_t> points = {std::min(lowest, highest), std::max(lowest, highest)};
    if (points[0] == points[1]) points.pop_back();
    for (const size_t point : points) {
      if (!std::isfinite(series.y[point])) continue;
      path +=
          fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", scale.px(series.x[point]), scale.py(series.y[point]));
      pen_down = true;
    }
    if (gap) pen_down = false;
    i = end;
  }
  return path;
}

std::string axes(const Scale& scale) {
  std::string svg;
  for (const double tick : nice_ticks(scale.y.low, scale.y.high, 5)) {
    const double y = scale.py(tick);
    svg +=
        fmt::format("<line class=grid x1={} x2={} y1={:.1f} y2={:.1f} /><text x={} y={:.1f} text-anchor=end>{}</text>",
                    kLeft, kWidth - kRight, y, y, kLeft - 6, y + 4, number(tick));
  }
  for (const double tick : nice_ticks(scale.x.low, scale.x.high, 6)) {
    svg += fmt::format("<text x={:.1f} y={} text-anchor=middle>{}</text>", scale.px(tick), kHeight - 10, number(tick));
  }
  return svg;
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int most) {
  const double raw = (high - low) / most;
  if (!(raw > 0) || !std::isfinite(raw)) return {low};
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= raw) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> ticks;
  for (double i = std::ceil(low / step); i * step <= high; ++i) ticks.push_back(i * step + 0.0);  // no "-0"
  return ticks;
}

std::string render_svg(const Chart& chart) {
  Scale scale;
  for (const Series& series : chart.series) {
    for (const double x : series.x) scale.x.include(x);
    for (const double y : series.y) scale.y.include(y);
  }
  if (scale.x.empty() || scale.y.empty()) return "<p class=empty>no values</p>";
  if (scale.x.low == scale.x.high) scale.x.high += 1;
  scale.y.widen();
  std::string svg = fmt::format("<svg viewBox=\"0 0 {} {}\" role=img aria-label=\"{}\">", kWidth, kHeight, chart.title);
  svg += axes(scale);
  int index = 0;
  for (const Series& series : chart.series) {
    svg += fmt::format("<path class=\"line s{}\" d=\"{}\" />", index, path_of(series, scale));
    if (series.dots) {
      for (size_t i = 0; i < series.x.size(); ++i) {
        if (!std::isfinite(series.y[i])) continue;
        svg += fmt::format("<circle class=\"dot s{}\" cx={:.1f} cy={:.1f} r=3><title>{}: {}</title></circle>", index,
                           scale.px(series.x[i]), scale.py(series.y[i]), number(series.x[i]), number(series.y[i]));
      }
    }
    ++index;
  }
  return svg + "</svg>";
}

}  // namespace primus::track
