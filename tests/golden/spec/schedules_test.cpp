// Our schedules against Megatron's own scheduler (values by make_schedules.py).
#include <cmath>
#include <gtest/gtest.h>
#include <map>

#include "primus/base/fs.h"
#include "primus/base/json.h"
#include "primus/spec/schedule_values.h"

namespace primus::spec {
namespace {

const std::map<std::string, LrDecay> kDecay{{"constant", LrDecay::Constant},
                                            {"linear", LrDecay::Linear},
                                            {"cosine", LrDecay::Cosine},
                                            {"inverse-square-root", LrDecay::InverseSquareRoot},
                                            {"WSD", LrDecay::WarmupStableDecay}};
const std::map<std::string, WsdDecay> kWsd{{"exponential", WsdDecay::Exponential},
                                           {"linear", WsdDecay::Linear},
                                           {"cosine", WsdDecay::Cosine},
                                           {"minus_sqrt", WsdDecay::MinusSqrt}};
const std::map<std::string, WeightDecayRamp> kRamp{
    {"constant", WeightDecayRamp::Constant}, {"linear", WeightDecayRamp::Linear}, {"cosine", WeightDecayRamp::Cosine}};

RunSpec run_of(const Json& c) {
  RunSpec run;
  run.batch.global_batch_size = c["batch"];
  run.exit.train_steps = c["steps"];
  run.lr.decay = kDecay.at(c["style"]);
  run.lr.max_lr = c["peak"];
  run.lr.min_lr = c["low"];
  run.lr.warmup_init_lr = c["init"];
  run.lr.warmup_samples = c["warmup"];
  run.lr.decay_samples = c["decay"];
  run.lr.warmup_counts_this_step = c["nemo"];
  if (c.contains("wsd_len")) {
    run.lr.wsd_samples = c["wsd_len"];
    run.lr.wsd_decay = kWsd.at(c["wsd_style"]);
  }
  run.weight_decay = {c["wd0"], c["wd1"], kRamp.at(c["wd_style"]), c["wd_len"]};
  return run;
}

TEST(Schedules, EqualMegatronsOnEveryStep) {
  const auto text = read_text_file("tests/golden/spec/schedules.json");
  ASSERT_TRUE(text.ok());
  const auto golden = parse_json(*text, "schedules.json");
  ASSERT_TRUE(golden.ok());
  size_t num_values = 0;
  for (const Json& c : (*golden)["cases"]) {
    const auto steps = step_values(run_of(c));
    ASSERT_EQ(steps.size(), c["lr"].size());
    for (size_t i = 0; i < steps.size(); ++i, ++num_values) {
      const double lr = c["lr"][i], wd = c["wd"][i];
      const Json name = {{"style", c["style"]}, {"warmup", c["warmup"]}, {"step", i + 1}};
      EXPECT_NEAR(steps[i].lr, lr, 1e-14 + 1e-13 * std::abs(lr)) << name.dump();
      EXPECT_NEAR(steps[i].weight_decay, wd, 1e-15) << name.dump();
    }
  }
  EXPECT_GT(num_values, 1500U);
}

}  // namespace
}  // namespace primus::spec
