// Learning rates against TorchTitan's own scheduler (values by tests/golden/spec/make_torchtitan_lr.py).
#include <cmath>
#include <gtest/gtest.h>

#include "torchtitan_experiment.h"

#include "primus/base/fs.h"
#include "primus/base/json.h"
#include "primus/spec/schedule_values.h"

namespace primus::dialect {
namespace {

std::string text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

TEST(TorchTitanSchedule, EqualsTorchTitansOnEveryStep) {
  const auto file = read_text_file("tests/golden/spec/torchtitan_lr.json");
  ASSERT_TRUE(file.ok());
  const auto golden = parse_json(*file, "torchtitan_lr.json");
  ASSERT_TRUE(golden.ok());
  size_t num_values = 0;
  for (const Json& c : (*golden)["cases"]) {
    std::vector<std::string> lines{"training.steps: " + text(c["steps"]), "optimizer.lr: " + text(c["lr"])};
    for (const char* key : {"warmup_steps", "total_steps", "decay_ratio", "decay_type", "min_lr_factor"})
      lines.push_back("lr_scheduler." + std::string(key) + ": " + text(c[key]));
    const auto steps = spec::step_values(testing::described(lines));
    ASSERT_EQ(steps.size(), c["rates"].size()) << c.dump();
    for (size_t i = 0; i < steps.size(); ++i, ++num_values) {
      const double rate = c["rates"][i];
      EXPECT_NEAR(steps[i].lr, rate, 1e-14 * c["lr"].get<double>())
          << lines[2] << lines[4] << lines[5] << " step " << i;
    }
  }
  EXPECT_GT(num_values, 5000U);
}

TEST(TorchTitanSchedule, OfSixStepsNeverReachesZero) {  // B093
  const auto rates = [](const std::string& warmup) {
    std::vector<double> out;
    for (const spec::StepValues& v : spec::step_values(
             testing::described({"training.steps: 6", "optimizer.lr: 1.0", "lr_scheduler.warmup_steps: " + warmup})))
      out.push_back(v.lr);
    return out;
  };
  EXPECT_THAT(rates("2"), ::testing::ElementsAre(0.5, 1, 1, 0.75, 0.5, 0.25));
  EXPECT_THAT(rates("8"), ::testing::Pointwise(::testing::DoubleEq(), {1 / 6.0, 2 / 6.0, 0.5, 4 / 6.0, 5 / 6.0, 1.0}));
}

TEST(TorchTitanSchedule, SaysWhenTheWarmUpIsCut) {
  const auto run = to_spec(testing::titan({"lr_scheduler.warmup_steps: 61"}), {}, {.for_training = false});
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  bool warned = false;
  for (const Diagnostic& d : run.diagnostics())
    warned = warned || (d.severity == Severity::Warning && d.key == "lr_scheduler.warmup_steps");
  EXPECT_TRUE(warned);
}

TEST(TorchTitanSchedule, RefusesAScheduleShorterThanTraining) {
  const auto run = to_spec(testing::titan({"lr_scheduler.total_steps: 59"}), {}, {.for_training = false});
  EXPECT_THAT(testing::errors_of(run.diagnostics(), "lr_scheduler.total_steps"), ::testing::HasSubstr("59"));
}

}  // namespace
}  // namespace primus::dialect
