// Cross-field rules on the spec itself, without a dialect.
#include "primus/spec/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace primus::spec {
namespace {

RunSpec good() {
  RunSpec run;
  LayerSpec layer;
  layer.attention.num_heads = 6;
  layer.attention.num_kv_heads = 3;
  layer.attention.head_dim = 14;
  layer.attention.rope = Rope{};
  layer.mlp.ffn_size = 77;
  run.model.hidden_size = 84;
  run.model.layers.assign(5, layer);
  run.model.max_positions = 33;
  run.data.mock = true;
  run.data.sequence_length = 33;
  run.batch.micro_batch_size = 3;
  run.batch.global_batch_size = 21;
  run.lr.max_lr = 1;
  run.lr.decay_samples = 210;
  run.exit.train_steps = 10;
  return run;
}

std::string first_field(const RunSpec& run) {
  const Diagnostics findings = validate(run);
  return findings.empty() ? "" : findings[0].key;
}

TEST(Validate, SaysNothingAboutAGoodRun) {
  EXPECT_TRUE(validate(good()).empty());
}

TEST(Validate, FindsEachBrokenRule) {
  const auto broken = [](auto change) {
    RunSpec run = good();
    change(run);
    return first_field(run);
  };
  EXPECT_EQ(broken([](RunSpec& r) { r.data.sequence_length = 34; }), "data.sequence_length");
  EXPECT_EQ(broken([](RunSpec& r) { r.model.layers[0].attention.num_kv_heads = 4; }), "attention.num_kv_heads");
  EXPECT_EQ(broken([](RunSpec& r) { r.model.layers[0].attention.rope->fraction = 0.5; }), "attention.head_dim");
  const auto tempered = [&](const TemperatureTuning& rule) {
    return broken([&](RunSpec& r) { r.model.layers[0].attention.temperature = rule; });
  };
  EXPECT_EQ(tempered({.log_length = 1}), "model.layers.attention.temperature");
  EXPECT_EQ(tempered({.floor_scale = 0}), "model.layers.attention.temperature");
  EXPECT_EQ(tempered({.floor_scale = 0, .log_length = 2}), "");
  EXPECT_EQ(broken([](RunSpec& r) { r.lr.min_lr = 2; }), "lr.min_lr");
  EXPECT_EQ(broken([](RunSpec& r) { r.lr.warmup_init_lr = 2; }), "lr.warmup_init_lr");
  EXPECT_EQ(broken([](RunSpec& r) { r.lr.warmup_samples = 210; }), "lr.warmup_samples");
  EXPECT_EQ(broken([](RunSpec& r) { r.lr.decay_samples = 0; }), "lr.decay_samples");
  EXPECT_EQ(broken([](RunSpec& r) { r.lr.decay = LrDecay::WarmupStableDecay; }), "lr.wsd_samples");
  EXPECT_EQ(broken([](RunSpec& r) { r.weight_decay = {0.2, 0.1, WeightDecayRamp::Linear, 9}; }), "weight_decay.end");
  EXPECT_EQ(broken([](RunSpec& r) { r.recompute.layer_ids = {5}; }), "recompute.layer_ids");
  EXPECT_EQ(broken([](RunSpec& r) { r.data.mock = false; }), "data.train");
  EXPECT_EQ(broken([](RunSpec& r) { r.evaluation.num_batches = 1; }), "evaluation.interval_steps");
  EXPECT_EQ(broken([](RunSpec& r) { r.checkpoint.save = true; }), "checkpoint.interval_steps");
  EXPECT_EQ(broken([](RunSpec& r) { r.batch.rampup = BatchRampup{3, 4, 60}; }), "batch.rampup");
  EXPECT_EQ(broken([](RunSpec& r) { r.batch.rampup = BatchRampup{22, 1, 60}; }), "batch.rampup");
  EXPECT_EQ(broken([](RunSpec& r) { r.model.vocab_size = 9, r.model.padded_vocab_size = 8; }),
            "model.padded_vocab_size");
}

TEST(Validate, KnowsTheDivisorsOfFamiliesAndLayouts) {
  const auto broken = [](auto change) {
    RunSpec run = good();
    change(run);
    return first_field(run);
  };
  const auto experts = [](RunSpec& r) -> Moe& {
    for (LayerSpec& layer : r.model.layers) layer.moe = Moe{.num_experts = 8, .top_k = 2, .expert = layer.mlp};
    return *r.model.layers.back().moe;
  };
  EXPECT_EQ(broken([](RunSpec& r) { r.parallel.tensor = 4; }), "parallel.tensor");
  EXPECT_EQ(broken([](RunSpec& r) { r.parallel.context = 2; }), "data.sequence_length");
  EXPECT_EQ(broken([](RunSpec& r) { r.parallel.expert = 2; }), "parallel.expert");
  EXPECT_EQ(broken([&](RunSpec& r) { experts(r), r.parallel.expert = 3; }), "parallel.expert");
  EXPECT_EQ(broken([&](RunSpec& r) { experts(r).top_k = 9; }), "model.layers.moe.top_k");
  EXPECT_EQ(broken([&](RunSpec& r) { experts(r).router.groups = GroupLimit{3, 1}; }), "model.layers.moe.router.groups");
  EXPECT_EQ(broken([&](RunSpec& r) { experts(r).router.groups = GroupLimit{8, 1}; }), "model.layers.moe.router.groups");
  EXPECT_EQ(broken([&](RunSpec& r) { experts(r).shared_gate = true; }), "model.layers.moe.shared_gate");
  EXPECT_EQ(broken([&](RunSpec& r) { experts(r); }), "");
  // Layers of multi-token prediction count on behind the others.
  EXPECT_EQ(broken([](RunSpec& r) { r.model.mtp = MultiTokenPrediction{}, r.recompute.layer_ids = {5}; }), "");
}

TEST(Validate, KnowsTheSizesOfOtherMixers) {
  const auto broken = [](auto change) {
    RunSpec run = good();
    change(run.model.layers[1]);
    return first_field(run);
  };
  const auto delta = [](LayerSpec& l) -> GatedDelta& {
    return l.gated_delta.emplace(
        GatedDelta{.num_key_heads = 2, .num_value_heads = 4, .key_head_dim = 6, .value_head_dim = 5});
  };
  const auto mamba = [](LayerSpec& l) -> Mamba2& {
    return l.mamba2.emplace(Mamba2{.num_heads = 4, .head_dim = 3, .num_groups = 2, .state_dim = 5});
  };
  EXPECT_EQ(broken([&](LayerSpec& l) { delta(l); }), "");
  EXPECT_EQ(broken([&](LayerSpec& l) { mamba(l); }), "");
  EXPECT_EQ(broken([&](LayerSpec& l) { l.short_conv = ShortConv{0, false}; }), "model.layers.short_conv");
  EXPECT_EQ(broken([&](LayerSpec& l) { delta(l).num_key_heads = 3; }), "model.layers.gated_delta.num_key_heads");
  EXPECT_EQ(broken([&](LayerSpec& l) { delta(l).kernel_size = 0; }), "model.layers.gated_delta.kernel_size");
  EXPECT_EQ(broken([&](LayerSpec& l) { mamba(l).num_groups = 3; }), "model.layers.mamba2.num_groups");
  EXPECT_EQ(broken([&](LayerSpec& l) { mamba(l).head_dim = 0; }), "model.layers.mamba2.head_dim");
}

TEST(ValidateWorld, NeedsWholeCopiesOfTheExperts) {
  RunSpec run = good();
  run.parallel.expert = 4;
  run.parallel.tensor = 6;
  EXPECT_EQ(smallest_world(run.parallel), 12);
  EXPECT_EQ(validate_world(run, 6)[0].key, "parallel.expert");
}

TEST(Validate, ReportsAllProblemsTogether) {
  RunSpec run = good();
  run.lr.min_lr = 2;
  run.data.sequence_length = 99;
  run.recompute.layer_ids = {-1};
  EXPECT_EQ(validate(run).size(), 3U);
}

TEST(ValidateWorld, SaysTheNearestBatches) {
  EXPECT_TRUE(validate_world(good(), 1).empty());
  EXPECT_TRUE(validate_world(good(), 7).empty());
  const Diagnostics findings = validate_world(good(), 2);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].suggestion, ::testing::HasSubstr("18 or 24"));
}

TEST(ValidateWorld, OffersAMicroBatchWhereOneFits) {
  RunSpec run = good();
  run.batch.global_batch_size = 20;
  run.batch.micro_batch_size = 3;
  const Diagnostics findings = validate_world(run, 5);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].suggestion, ::testing::HasSubstr("a global batch of 15 or 30, or a micro-batch of 2 or 4"));
}

TEST(ValidateWorld, NeedsWholeCopiesOfTheModel) {
  RunSpec run = good();
  run.parallel.tensor = 2;
  run.parallel.pipeline = 3;
  EXPECT_EQ(model_ranks(run.parallel), 6);
  EXPECT_EQ(data_parallel_size(run.parallel, 42), 7);
  EXPECT_EQ(data_parallel_size(run.parallel, 44), 0);
  EXPECT_EQ(validate_world(run, 44)[0].key, "parallel");
}

TEST(ValidateWorld, ChecksEveryStageOfARampUp) {
  RunSpec run = good();
  run.batch.global_batch_size = 24;
  run.batch.rampup = BatchRampup{12, 3, 100};
  EXPECT_TRUE(validate_world(run, 1).empty());
  const Diagnostics findings = validate_world(run, 2);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].key, "batch.rampup");
  EXPECT_THAT(findings[0].message, ::testing::HasSubstr("stage of 15"));
}

}  // namespace
}  // namespace primus::spec
