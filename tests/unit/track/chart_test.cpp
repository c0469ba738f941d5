#include "primus/track/chart.h"

#include <cmath>
#include <gtest/gtest.h>

namespace primus::track {
namespace {

using Ticks = std::vector<double>;

void expect_ticks(const Ticks& found, const Ticks& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-9 * std::abs(wanted.back()));
}

TEST(NiceTicks, AreNumbersThatAPersonWouldChoose) {
  expect_ticks(nice_ticks(0, 10, 5), {0, 2, 4, 6, 8, 10});
  expect_ticks(nice_ticks(1.4, 4.3, 5), {2, 3, 4});
  expect_ticks(nice_ticks(0, 2000, 6), {0, 500, 1000, 1500, 2000});
  expect_ticks(nice_ticks(-0.3, 0.31, 4), {-0.2, 0, 0.2});
  expect_ticks(nice_ticks(3e-5, 2e-4, 5), {5e-5, 1e-4, 1.5e-4, 2e-4});
}

TEST(NiceTicks, LieWithinTheRangeAndAreFew) {
  for (const double low : {-7.3, 0.0, 1e-6, 123456.0}) {
    for (const double width : {1e-9, 0.37, 1.0, 9.99, 1e7}) {
      for (int most = 2; most < 9; ++most) {
        const Ticks ticks = nice_ticks(low, low + width, most);
        EXPECT_LE(ticks.size(), static_cast<size_t>(most) + 1);
        for (const double tick : ticks) {
          EXPECT_GE(tick, low - width * 1e-3);
          EXPECT_LE(tick, low + width * 1.001);
        }
      }
    }
  }
}

TEST(NiceTicks, OfNoRangeIsOneNumber) {
  EXPECT_EQ(nice_ticks(3, 3, 5), Ticks{3});
  EXPECT_EQ(nice_ticks(1, HUGE_VAL, 5).size(), 1U);
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Chart, LeavesAGapAtNonFiniteValues) {
  const auto svg_of = [](double middle) {
    return render_svg({.title = "loss", .series = {{.name = "a", .x = {1, 2, 3, 4, 5}, .y = {1, 2, middle, 2, 1}}}});
  };
  EXPECT_EQ(count(svg_of(1.5), "M"), 1U);
  EXPECT_EQ(count(svg_of(std::nan("")), "M"), 2U);
  EXPECT_EQ(count(svg_of(HUGE_VAL), "M"), 2U);
  EXPECT_EQ(count(svg_of(HUGE_VAL), "inf") + count(svg_of(std::nan("")), "nan"), 0U);
}

TEST(Chart, KeepsAPeakAmongManyPoints) {
  Series series{.name = "a"};
  for (int i = 0; i < 100'000; ++i) {
    series.x.push_back(i);
    series.y.push_back(i == 54'321 ? 100 : 1);
  }
  const std::string svg = render_svg({.title = "t", .series = {series}});
  EXPECT_LT(svg.size(), 40'000U);
  series.y[54'321] = 1;
  EXPECT_NE(render_svg({.title = "t", .series = {series}}), svg);
}

TEST(Chart, OfOnePointOrNoneIsNoCrash) {
  EXPECT_EQ(render_svg({.title = "t"}), "<p class=empty>no values</p>");
  EXPECT_EQ(render_svg({.title = "t", .series = {{.name = "a", .x = {1}, .y = {std::nan("")}}}}),
            "<p class=empty>no values</p>");
  const std::string svg = render_svg({.title = "t", .series = {{.name = "a", .x = {4}, .y = {0}, .dots = true}}});
  EXPECT_EQ(count(svg, "<circle"), 1U);
  EXPECT_EQ(count(svg, "nan"), 0U);
}

}  // namespace
}  // namespace primus::track
