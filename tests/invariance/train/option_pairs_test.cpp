// What may not change a run does not: ranks, the cut of the batch, who holds the optimizer's state, when gradients are
// summed, what is run again in backward, an interruption, the routines of the experts. All pairs of their values, for
// every kind of model, against one rank that uses none of them. With PRIMUS_TEST_FULL all triples.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "support/covering_array.h"
#include "support/family_runs.h"
#include "support/outcome.h"
#include "unit/hub/temp_folder.h"

#include "primus/train/checkpointing.h"
#include "primus/train/step.h"

namespace primus::train {
namespace {

constexpr int64_t kPairSteps = 3, kStepsBeforeResume = 1, kPairGlobalBatch = 16;

enum class Interruption { None, SameRanks, OtherRanks };

// A value of every option.
struct Layout {
  int num_ranks = 1;
  bool shard_state = false;
  int64_t micro_batch_size = 1;
  size_t recompute = 0;  // number in recompute_rules
  Interruption interruption = Interruption::None;
  bool bf16 = false, deterministic = false, overlap = false, many_buckets = false, per_token = false, plain = false;
};

struct RecomputeRule {
  std::string name;
  spec::Recompute rule;
};

std::vector<RecomputeRule> recompute_rules(const spec::Model& model) {
  const auto num_layers = static_cast<int64_t>(model.layers.size()) + (model.mtp ? model.mtp->depth : 0);
  std::vector<int64_t> all;
  for (int64_t i = 0; i < num_layers; ++i) all.push_back(i);
  const auto full = [](std::vector<int64_t> ids, int64_t block) {
    return spec::Recompute{.kind = spec::RecomputeKind::Full, .layer_ids = std::move(ids), .layers_per_block = block};
  };
  std::vector<RecomputeRule> rules = {
      {"nothing", {}}, {"every layer", full(all, 1)}, {"blocks of two", full(all, 2)}, {"first layer", full({0}, 1)}};
  const auto any = [&model](auto test) { return std::any_of(model.layers.begin(), model.layers.end(), test); };
  const auto module = [&rules](bool there, const char* name) {
    if (there) rules.push_back({name, {.kind = spec::RecomputeKind::Selective, .modules = {name}}});
  };
  module(true, "core_attn");
  module(true, "layernorm");
  module(any([](const auto& layer) { return layer.attention.latent.has_value(); }), "mla_up_proj");
  module(any([](const auto& layer) { return !layer.moe; }), "mlp");
  module(any([](const auto& layer) { return layer.moe.has_value(); }), "moe");
  module(any([](const auto& layer) { return layer.moe && layer.moe->shared_ffn_size > 0; }), "shared_experts");
  return rules;
}

constexpr int kRankCounts[] = {1, 2, 4};
constexpr int64_t kMicroBatches[] = {1, 2, 4};

spec::RunSpec run_of(const test::FamilyRun& family, const Layout& layout, const std::vector<RecomputeRule>& rules) {
  spec::RunSpec run = family.run;
  run.batch = {.micro_batch_size = layout.micro_batch_size, .global_batch_size = kPairGlobalBatch};
  run.optimizer.shard_state = layout.shard_state;
  run.optimizer.eps = 1e-6;  // a gradient of rounding errors alone moves nothing far
  run.recompute = rules[layout.recompute].rule;
  run.precision.compute = layout.bf16 ? spec::Dtype::BFloat16 : spec::Dtype::Float32;
  run.parallel.deterministic = layout.deterministic;
  run.parallel.overlap_grad_reduce = layout.overlap;
  run.parallel.bucket_elements = layout.many_buckets ? 700 : 1'000'000;
  run.loss = layout.per_token ? spec::LossNormalisation::GlobalTokenMean : spec::LossNormalisation::MicroBatchMean;
  for (spec::LayerSpec& layer : run.model.layers)
    if (layer.moe) layer.moe->plain_router = layer.moe->plain_experts = layout.plain;
  return run;
}

std::string text_of(const Layout& l, const std::vector<RecomputeRule>& rules) {
  constexpr const char* kInterruptions[] = {"none", "same ranks", "other ranks"};
  return fmt::format(
      "ranks {} shard {} micro-batch {} recompute {} interruption {} bf16 {} deterministic {} overlap {} many buckets "
      "{} "
      "per token {} plain {}",
      l.num_ranks, l.shard_state, l.micro_batch_size, rules[l.recompute].name,
      kInterruptions[static_cast<size_t>(l.interruption)], l.bf16, l.deterministic, l.overlap, l.many_buckets,
      l.per_token, l.plain);
}

// Steps [from, to) of a run; restored from the folder when it does not begin, saved there when it does not end.
void train_part(const spec::RunSpec& run, int64_t from, int64_t to, const fs::path& folder,
                const dist::Endpoint& endpoint, test::Outcome& outcome) {
  at::set_num_threads(1);
  const std::unique_ptr<dist::Group> group = dist::connect(endpoint);
  Logger log({.console_level = LogLevel::Off});
  Trainer trainer(run, *group, log, {});
  if (from > 0) restore(trainer, value_or_throw(hub::find_latest(folder)).value(), /*weights_only=*/false);
  auto dataset = std::make_shared<test::CountingData>(64, run.data.sequence_length, run.model.vocab_size);
  auto order = std::make_shared<const data::SampleOrder>(
      value_or_throw(data::SampleOrder::make(dataset->size(), {.order = spec::LoaderOrder::Single})));
  data::BatchLoader loader(dataset, order,
                           {.micro_batch_size = run.batch.micro_batch_size,
                            .rank = group->rank(),
                            .num_ranks = group->size(),
                            .queue_depth = 0},
                           trainer.state.consumed_samples);
  for (int64_t step = from; step < to; ++step) {
    const StepResult result = train_step(trainer, loader);
    outcome.losses.push_back(result.loss);
    outcome.norms.push_back(result.grad_norm);
  }
  test::append_weights(trainer, outcome);
  for (const models::Buffer& buffer : trainer.model.buffers()) test::append(buffer.values, outcome.weights);
  if (to == kPairSteps) return;
  ckpt::Writer writer({.checkpoints = hub::checkpoints_folder(folder),
                       .rank = group->rank(),
                       .world_size = group->size(),
                       .session = "pairs",
                       .in_background = false});
  writer.save(save_request(trainer));
}

test::Outcome outcome_of_part(const spec::RunSpec& run, int num_ranks, int64_t from, int64_t to,
                              const fs::path& folder) {
  return test::outcome_on(num_ranks, dist::Backend::SharedMemory, static_cast<size_t>(to - from),
                          [&](const dist::Endpoint& endpoint, test::Outcome& outcome) {
                            train_part(run, from, to, folder, endpoint, outcome);
                          });
}

class OptionPairs : public testing::TestWithParam<test::FamilyRun> {
 protected:
  test::Outcome outcome(const Layout& layout) const {
    const test::FamilyRun& family = GetParam();
    const spec::RunSpec run = run_of(family, layout, rules_);
    const test::TempFolder folder = test::TempFolder::in_memory();
    if (layout.interruption == Interruption::None)
      return outcome_of_part(run, layout.num_ranks, 0, kPairSteps, folder.path());
    const bool same = layout.interruption == Interruption::SameRanks;
    const int ranks_before = same ? layout.num_ranks : layout.num_ranks == 4 ? 1 : 2 * layout.num_ranks;
    const test::Outcome before = outcome_of_part(run, ranks_before, 0, kStepsBeforeResume, folder.path());
    test::Outcome rest = outcome_of_part(run, layout.num_ranks, kStepsBeforeResume, kPairSteps, folder.path());
    rest.losses.insert(rest.losses.begin(), before.losses.begin(), before.losses.end());
    rest.norms.insert(rest.norms.begin(), before.norms.begin(), before.norms.end());
    return rest;
  }

  // Of a layout that is compared with many.
  const test::Outcome& kept_outcome(const Layout& layout) {
    const std::string key = text_of(layout, rules_);
    const auto found = outcomes_.find(key);
    return found != outcomes_.end() ? found->second : outcomes_.emplace(key, outcome(layout)).first->second;
  }

  std::vector<Layout> layouts() const {
    const auto& layers = GetParam().run.model.layers;
    const bool experts = std::any_of(layers.begin(), layers.end(), [](const auto& layer) { return !!layer.moe; });
    const test::Choices num_values = {3, 2, 3, rules_.size(), 3, 2, 2, 2, 2, 2, experts ? 2u : 1u};
    std::vector<Layout> layouts;
    for (const test::Choices& row : test::covering_array(num_values, std::getenv("PRIMUS_TEST_FULL") ? 3 : 2)) {
      layouts.push_back({kRankCounts[row[0]], row[1] == 1, kMicroBatches[row[2]], row[3],
                         static_cast<Interruption>(row[4]), row[5] == 1, row[6] == 1, row[7] == 1, row[8] == 1,
                         row[9] == 1, row[10] == 1});
    }
    return layouts;
  }

  std::vector<RecomputeRule> rules_ = recompute_rules(GetParam().run.model);

 private:
  std::map<std::string, test::Outcome> outcomes_;
};

TEST_P(OptionPairs, GiveTheNumbersOfOneRank) {  // B105, B116: what there is of them
  for (const Layout& layout : layouts()) {
    const std::string what = text_of(layout, rules_);
    SCOPED_TRACE(what);
    const test::Outcome actual = outcome(layout);
    // The mean of a micro-batch is what the rule names it after, so there its size counts.
    const bool cut_counts = !layout.per_token || !GetParam().per_micro_batch.empty();
    const Layout one = {.micro_batch_size = cut_counts ? layout.micro_batch_size : 1,
                        .bf16 = layout.bf16,
                        .per_token = layout.per_token};
    const test::Tolerance fp32 = {.loss = 1e-6, .norm = 1e-5, .weight = 5e-5};
    const test::Tolerance bf16 = {.loss = 2e-3, .norm = 5e-2, .weight = 3e-2};
    test::expect_close(actual, kept_outcome(one), layout.bf16 ? bf16 : fp32, what);
    // Without other sums there is no other rounding.
    Layout equal = {.micro_batch_size = layout.micro_batch_size,
                    .bf16 = layout.bf16,
                    .deterministic = layout.deterministic,
                    .per_token = layout.per_token,
                    .plain = layout.plain};
    if (!layout.deterministic) equal.num_ranks = layout.num_ranks;
    if (layout.deterministic || layout.interruption != Interruption::OtherRanks)
      test::expect_equal_bits(actual, kept_outcome(equal), what + ", against none of it");
  }
}

INSTANTIATE_TEST_SUITE_P(Families, OptionPairs, testing::ValuesIn(test::family_runs()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace primus::train
