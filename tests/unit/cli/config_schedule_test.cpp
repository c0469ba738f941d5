// config schedule and config parameters, run in-process.
#include "primus/cli/config_schedule.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/cli/config_parameters.h"

namespace primus::cli {
namespace {

constexpr const char* kTinyLlama = "examples/megatron/configs/MI300X/tinyllama_1.1B-pretrain.yaml";

std::string output(CommandFunction command, std::vector<std::string> arguments) {
  std::ostringstream out, err;
  Context context;
  context.arguments = std::move(arguments);
  context.environment = environment_of({});
  context.out = &out;
  context.err = &err;
  context.install_root = ".";
  EXPECT_EQ(command(context), ExitCode::Ok) << err.str();
  return out.str();
}

TEST(ConfigSchedule, PrintsEveryStepAsJson) {
  const auto parsed =
      parse_json(output(run_config_schedule, {"schedule", "--config", kTinyLlama, "--format", "json"}), "out");
  ASSERT_TRUE(parsed.ok());
  const Json& steps = (*parsed)["steps"];
  ASSERT_EQ(steps.size(), 50U);
  EXPECT_EQ(steps[0]["step"], 1);
  EXPECT_EQ(steps[0]["lr"], 0.0);    // the first step of a warm-up from 0
  EXPECT_EQ(steps[40]["lr"], 2e-5);  // 40 steps of warm-up are consumed
  EXPECT_EQ(steps[49]["samples"], 6400);
  EXPECT_EQ(steps[7]["global_batch_size"], 128);
  EXPECT_EQ(steps[7]["weight_decay"], 0.0);
}

TEST(ConfigSchedule, ObeysOverrides) {
  const auto parsed = parse_json(output(run_config_schedule, {"--config", kTinyLlama, "--format", "json",
                                                              "train_iters=3", "--lr_warmup_iters", "0"}),
                                 "out");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ((*parsed)["steps"].size(), 3U);
  EXPECT_EQ((*parsed)["steps"][0]["lr"], 2e-5);
}

TEST(ConfigSchedule, TableOfALongRunShowsFirstAndLastStep) {
  const std::string table = output(run_config_schedule, {"--config", kTinyLlama, "train_iters=100000"});
  EXPECT_THAT(table, ::testing::HasSubstr("\n        1 "));
  EXPECT_THAT(table, ::testing::HasSubstr("\n   100000 "));
  EXPECT_THAT(table, ::testing::HasSubstr("of 100000 steps shown"));
  EXPECT_LT(std::count(table.begin(), table.end(), '\n'), 70);
}

TEST(ConfigSchedule, OfATrainingWithoutEndIsNotListed) {
  EXPECT_THROW((void)output(run_config_schedule, {"--config", kTinyLlama, "train_iters=100000000000"}), InputError);
}

TEST(ConfigSchedule, DrawsThreeCurves) {
  const std::string svg = output(run_config_schedule, {"--config", kTinyLlama, "--format", "svg"});
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  size_t curves = 0;
  for (size_t at = svg.find("<polyline"); at != std::string::npos; at = svg.find("<polyline", at + 1)) ++curves;
  EXPECT_EQ(curves, 3U);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(ConfigSchedule, OfTheProxyIsShorter) {
  const auto parsed = parse_json(
      output(run_config_schedule, {"--config", kTinyLlama, "--format", "json", "--proxy", "train_iters=900"}), "out");
  ASSERT_TRUE(parsed.ok());
  EXPECT_LE((*parsed)["steps"].size(), 50U);
}

TEST(ConfigSchedule, RefusesAWarmUpAsLongAsTheRunWithAWayOut) {
  try {
    output(run_config_schedule, {"--config", kTinyLlama, "train_iters=40"});
    FAIL() << "accepted";
  } catch (const InputError& error) {
    const Diagnostic& last = error.diagnostics().back();
    EXPECT_EQ(last.key, "lr_warmup_iters");
    EXPECT_THAT(last.suggestion, ::testing::HasSubstr("at most 39 steps"));
  }
}

TEST(ConfigParameters, PrintsThePageAndRefusesUnknownFrameworks) {
  EXPECT_TRUE(output(run_config_parameters, {"parameters", "megatron"}).starts_with("# Parameters of megatron"));
  EXPECT_THROW(output(run_config_parameters, {"jax"}), InputError);
}

}  // namespace
}  // namespace primus::cli
