// One line chart as inline SVG: axes, grid, a few series; colours come from the page's CSS.
#pragma once

#include <string>
#include <vector>

namespace primus::track {

struct Series {
  std::string name;
  std::vector<double> x, y;  // non-finite points leave a gap
  bool dots = false;         // few points: drawn as dots with a line
};

struct Chart {
  std::string title;
  std::string unit;
  std::vector<Series> series;
};

// Cost: series are thinned to one minimum and maximum per column of the picture, so peaks stay.
std::string render_svg(const Chart& chart);

// Tick values that a person would choose, within [low, high].
std::vector<double> nice_ticks(double low, double high, int most);

}  // namespace primus::track
