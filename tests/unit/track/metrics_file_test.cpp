#include <cmath>
#include <gtest/gtest.h>

#include "unit/hub/temp_folder.h"

#include "primus/base/json.h"
#include "primus/base/strings.h"
#include "primus/track/metrics.h"

namespace primus::track {
namespace {

std::vector<Json> rows_of(const fs::path& path) {
  std::vector<Json> rows;
  for (const std::string& line : split(*read_text_file(path), '\n')) {
    if (!line.empty()) rows.push_back(value_or_throw(parse_json(line, path.string())));
  }
  return rows;
}

std::vector<int64_t> steps_of(const fs::path& path) {
  std::vector<int64_t> steps;
  for (const Json& row : rows_of(path)) steps.push_back(row["step"].get<int64_t>());
  return steps;
}

TEST(MetricsFile, WritesOneObjectAStepWithTheContractsKeys) {
  const test::TempFolder folder;
  const fs::path path = folder / "metrics.jsonl";
  const auto sink = open_metrics_file(path, 0);
  sink->on_step({.step = 1,
                 .loss = 0.1,
                 .grad_norm = 1e-300,
                 .lr = 1.0 / 3,
                 .tokens = 4096,
                 .step_ms = 2.5,
                 .tokens_per_s = 7,
                 .model_flops = 1e12,
                 .mfu = 0.25,
                 .skipped = 2,
                 .nan = 1,
                 .global_batch_size = 16,
                 .samples = 160,
                 .extra = {{"loss_scale", 65536}}});
  sink->on_eval({.step = 1, .loss = 1.5});
  sink->on_eval({.step = 1, .name = "books", .loss = 2.5});
  // Flushed: readable while the run goes on.
  const std::vector<Json> rows = rows_of(path);
  ASSERT_EQ(rows.size(), 3U);
  std::vector<std::string> keys;
  for (const auto& [key, value] : rows[0].items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"step", "loss", "grad_norm", "lr", "tokens", "step_ms", "tokens_per_s",
                                            "model_flops", "mfu", "skipped", "nan", "global_batch_size", "samples",
                                            "loss_scale"}));
  EXPECT_EQ(rows[0]["lr"].get<double>(), 1.0 / 3);
  EXPECT_EQ(rows[0]["grad_norm"].get<double>(), 1e-300);
  EXPECT_EQ(rows[1], (Json{{"step", 1}, {"val_loss", 1.5}}));
  EXPECT_EQ(rows[2], (Json{{"step", 1}, {"val_loss.books", 2.5}}));
}

TEST(MetricsFile, WritesNonFiniteNumbersAsText) {
  const test::TempFolder folder;
  open_metrics_file(folder / "m", 0)
      ->on_step({.step = 3, .loss = std::nan(""), .grad_norm = HUGE_VAL, .extra = {{"x", -HUGE_VAL}}});
  const Json row = rows_of(folder / "m")[0];
  EXPECT_EQ(row["loss"], "NaN");
  EXPECT_EQ(row["grad_norm"], "Infinity");
  EXPECT_EQ(row["x"], "-Infinity");
  EXPECT_TRUE(row["mfu"].is_null());
}

TEST(MetricsFile, IsCutBackToTheStepOfTheResume) {
  const test::TempFolder folder;
  const fs::path path = folder / "metrics.jsonl";
  {
    const auto sink = open_metrics_file(path, 0);
    for (int64_t step = 1; step <= 7; ++step) {
      sink->on_step({.step = step});
      if (step % 2 == 0) sink->on_eval({.step = step, .loss = 1});
    }
  }
  const auto sink = open_metrics_file(path, 4);
  EXPECT_EQ(steps_of(path), (std::vector<int64_t>{1, 2, 2, 3, 4, 4}));
  sink->on_step({.step = 5});
  EXPECT_EQ(steps_of(path), (std::vector<int64_t>{1, 2, 2, 3, 4, 4, 5}));
}

TEST(MetricsFile, LosesATornLastLineOnAResume) {
  const test::TempFolder folder;
  for (const std::string torn : {"{\"step\":3,\"lo", "{\"step\":2}", "\x01"}) {
    const fs::path path = folder / "metrics.jsonl";
    write_file_atomic(path, "{\"step\":1}\n{\"step\":2}\n" + torn);
    open_metrics_file(path, 9)->on_step({.step = 10});
    EXPECT_EQ(steps_of(path), (std::vector<int64_t>{1, 2, 10})) << torn;
  }
}

TEST(MetricsFile, StartsEmptyWithoutAResume) {
  const test::TempFolder folder;
  write_file_atomic(folder / "m", "{\"step\":1}\n");
  open_metrics_file(folder / "m", 0);
  EXPECT_EQ(*read_text_file(folder / "m"), "");
}

TEST(MetricsFile, SurvivesALineWhoseStepIsNoNumber) {
  const test::TempFolder folder;
  write_file_atomic(folder / "m", "{\"step\":\"one\"}\n[1]\n7\n{\"step\":1}\n");
  open_metrics_file(folder / "m", 2);
  EXPECT_EQ(steps_of(folder / "m"), (std::vector<int64_t>{1}));
}

}  // namespace
}  // namespace primus::track
