// What a token counts: the numbers of a step whose micro-batches hold unequal numbers of tokens, and packed documents.
#include <cmath>
#include <gtest/gtest.h>

#include "support/tiny_run.h"

#include "primus/train/batch.h"
#include "primus/train/evaluation.h"
#include "primus/train/step.h"

namespace primus::train {
namespace {

data::MicroBatch with_tokens(int64_t num_loss_tokens) {
  data::MicroBatch batch;
  batch.num_loss_tokens = num_loss_tokens;
  return batch;
}

// Micro-batch 1: loss sum 4 over 1 token. Micro-batch 2: sum 8 over 8 tokens.
double normalised(const std::vector<double>& weights) {
  return 4 * weights[0] + 8 * weights[1];
}

TEST(LossWeights, MakeTheMeanOverTokensOrTheMeanOfMeans) {  // B084
  const std::vector<data::MicroBatch> batches = {with_tokens(1), with_tokens(8)};
  EXPECT_DOUBLE_EQ(normalised(loss_weights(batches, spec::LossNormalisation::GlobalTokenMean, 1, 9)), 12.0 / 9);
  EXPECT_DOUBLE_EQ(normalised(loss_weights(batches, spec::LossNormalisation::MicroBatchMean, 1, 0)), 2.5);
}

TEST(LossWeights, AreTheSameOverRanks) {
  const auto on_two_ranks = [](spec::LossNormalisation rule) {
    const std::vector<double> first = loss_weights({with_tokens(1)}, rule, 2, 9),
                              second = loss_weights({with_tokens(8)}, rule, 2, 9);
    return 4 * first[0] + 8 * second[0];
  };
  EXPECT_DOUBLE_EQ(on_two_ranks(spec::LossNormalisation::GlobalTokenMean), 12.0 / 9);
  EXPECT_DOUBLE_EQ(on_two_ranks(spec::LossNormalisation::MicroBatchMean), 2.5);
}

TEST(LossWeights, OfNoTokensAreFinite) {
  for (const auto rule : {spec::LossNormalisation::GlobalTokenMean, spec::LossNormalisation::MicroBatchMean}) {
    for (const double weight : loss_weights({with_tokens(0), with_tokens(0)}, rule, 1, 0))
      EXPECT_TRUE(std::isfinite(weight));
  }
}

// Sample 0: one token that counts, label 0. Sample 1: eight, label 1.
class UnequalData : public data::DataSet {
 public:
  int64_t size() const override { return 2; }
  int64_t sequence_length() const override { return 9; }
  std::vector<std::string> files() const override { return {"unequal"}; }
  void get(int64_t index, data::Sample& sample) const override {
    sample.tokens.assign(10, static_cast<int32_t>(index));
    data::fill_masks({}, 10, sample);
    for (size_t i = index == 0 ? 1 : 8; i < 9; ++i) sample.loss_mask[i] = 0;
    sample.documents.assign(10, 0);
  }
};

// Hidden states are the constant vector (1, 0, ...), so a token's loss is -log p(label) with p from the head's first
// column.
spec::RunSpec constant_run(spec::LossNormalisation rule, int64_t micro_batch_size) {
  spec::RunSpec run = test::tiny_run({.vocab = 3, .sequence = 9});
  run.model.final_norm = {.kind = spec::NormKind::LayerNorm};
  run.loss = rule;
  run.batch = {.micro_batch_size = micro_batch_size, .global_batch_size = 2};
  run.optimizer.clip_grad_norm = 0;
  run.lr.max_lr = 0;
  return run;
}

struct HeadGradient {
  double loss = 0;
  at::Tensor d_logits;  // [3]: gradient of the head's first column, the sum over tokens of weight * (p - one_hot)
};

HeadGradient one_step(spec::LossNormalisation rule, int64_t micro_batch_size) {
  test::TinyTrainer tiny(constant_run(rule, micro_batch_size));
  nn::Parameter* head = nullptr;
  for (nn::Parameter* parameter : tiny.trainer().model.parameters()) {
    if (parameter->name() == "head.weight") head = parameter;
    if (parameter->name() == "final_norm.weight" || parameter->name() == "final_norm.bias") parameter->master.zero_();
    if (parameter->name() == "final_norm.bias") parameter->master[0] = 1.0;
  }
  head->master.zero_();
  const double p0 = std::exp(-4.0), p1 = std::exp(-1.0);  // losses 4 and 1
  head->master.select(1, 0).copy_(at::tensor({p0, p1, 1 - p0 - p1}, at::kDouble).log());
  data::BatchLoader loader = tiny.loader(std::make_shared<UnequalData>());
  HeadGradient result;
  result.loss = train_step(tiny.trainer(), loader).loss;
  const at::Tensor p = at::tensor({p0, p1, 1 - p0 - p1}, at::kDouble);
  result.d_logits = p - head->main_grad.select(1, 0).to(at::kDouble);  // what is left: the weight of each label
  return result;
}

void expect_label_weights(const HeadGradient& found, double first, double second) {
  EXPECT_NEAR(found.loss, 12.0 / 9, 1e-6);  // what is reported is the mean over tokens under both rules
  EXPECT_NEAR(found.d_logits[0].item<double>(), first, 1e-6);
  EXPECT_NEAR(found.d_logits[1].item<double>(), second, 1e-6);
  EXPECT_NEAR(found.d_logits[2].item<double>(), 0, 1e-6);
}

TEST(TrainStep, DividesByTheTokensOfTheWholeStep) {  // B084
  expect_label_weights(one_step(spec::LossNormalisation::GlobalTokenMean, 1), 1.0 / 9, 8.0 / 9);
  expect_label_weights(one_step(spec::LossNormalisation::GlobalTokenMean, 2), 1.0 / 9, 8.0 / 9);
}

TEST(TrainStep, WeighsMicroBatchesAlikeWithTheMeanOfMeans) {
  expect_label_weights(one_step(spec::LossNormalisation::MicroBatchMean, 1), 0.5, 0.5);
  expect_label_weights(one_step(spec::LossNormalisation::MicroBatchMean, 2), 1.0 / 9, 8.0 / 9);
}

// Documents of 5, 1, 4 and 7 tokens, each closed by the end token 0: packed into one sample, or one a sample (padded).
constexpr int64_t kSequence = 17;
const std::vector<std::vector<int32_t>> kDocuments = {{5, 9, 3, 7, 0}, {0}, {8, 8, 2, 0}, {4, 6, 1, 9, 9, 2, 0}};

class Documents : public data::DataSet {
 public:
  Documents(bool packed, data::MaskRules rules) : packed_(packed), rules_(rules) {}
  int64_t size() const override { return packed_ ? 1 : static_cast<int64_t>(kDocuments.size()); }
  int64_t sequence_length() const override { return kSequence; }
  std::vector<std::string> files() const override { return {"documents"}; }
  void get(int64_t index, data::Sample& sample) const override {
    sample.tokens.clear();
    for (size_t i = 0; i < kDocuments.size(); ++i) {
      if (packed_ || static_cast<int64_t>(i) == index)
        sample.tokens.insert(sample.tokens.end(), kDocuments[i].begin(), kDocuments[i].end());
    }
    const auto num_real = static_cast<int64_t>(sample.tokens.size());
    sample.tokens.resize(kSequence + 1, 0);
    data::fill_masks(rules_, num_real, sample);
    sample.documents.assign(kSequence + 1, 0);
  }

 private:
  bool packed_;
  data::MaskRules rules_;
};

spec::RunSpec document_run(bool learned_positions) {
  spec::RunSpec run = test::tiny_run({.sequence = kSequence});
  run.data.reset_attention_mask = run.data.reset_position_ids = run.data.mask_loss_at_eod = true;
  run.batch = {.micro_batch_size = 1, .global_batch_size = 1};
  if (learned_positions) {
    run.model.learned_positions = true;
    for (spec::LayerSpec& layer : run.model.layers) layer.attention.rope.reset();
  }
  return run;
}

TEST(PackedDocuments, LoseExactlyWhatSeparateDocumentsLose) {
  const data::MaskRules rules{
      .eod_id = 0, .reset_position_ids = true, .reset_attention_mask = true, .mask_loss_at_eod = true};
  for (const bool learned_positions : {false, true}) {
    test::TinyTrainer tiny(document_run(learned_positions));
    const double packed = evaluate(tiny.trainer(), std::make_shared<Documents>(true, rules), 1);
    const double separate = evaluate(tiny.trainer(), std::make_shared<Documents>(false, rules), 99);
    EXPECT_NEAR(packed, separate, 1e-6 * separate) << "learned positions: " << learned_positions;
    data::MaskRules leaking = rules;
    leaking.reset_attention_mask = false;
    EXPECT_GT(std::abs(evaluate(tiny.trainer(), std::make_shared<Documents>(true, leaking), 1) - separate), 1e-4);
  }
}

}  // namespace
}  // namespace primus::train
