#include "primus/spec/engine_limits.h"

#include <functional>
#include <gmock/gmock.h>

#include "primus/base/error.h"

namespace primus::spec {
namespace {

using testing::HasSubstr;

RunSpec plain_run() {
  RunSpec run;
  run.model.layers.resize(2);
  for (LayerSpec& layer : run.model.layers) layer.attention.rope = Rope{};
  return run;
}

std::string refusal(const RunSpec& run) {
  return render(engine_limits(run));
}

TEST(EngineLimits, LetPassWhatTheOtherDialectsDenseModelsMean) {
  RunSpec run = plain_run();
  for (LayerSpec& layer : run.model.layers) {
    layer.init = LayerInit{.query_std = 0.1, .mlp_cut = 2};
    layer.attention.qk_norm = QkNorm{};
    layer.attention.rope->interleaved = true;
    layer.attention.rope->llama3 = Llama3RopeScaling{};
  }
  run.model.init.head_std = run.model.init.head_cut = run.model.init.layer_cut = 0.3;
  run.model.embedding_multiplier = 8;
  run.model.logit_multiplier = 0.125;
  run.data.mock = run.data.one_batch = true;
  run.data.texts = TextStream{};
  run.optimizer.eps_root = 1e-8;
  run.optimizer.clip_exactly = run.optimizer.decay_vectors = true;
  run.optimizer.clip_grad_norm = 1;
  run.optimizer.decoupled_weight_decay = false;
  run.loss = LossNormalisation::GlobalTokenMean;
  run.precision.stored = run.precision.compute = Dtype::BFloat16;
  EXPECT_EQ(refusal(run), "");
}

TEST(EngineLimits, LetPassEveryKindOfDecoderLayer) {
  RunSpec run = plain_run();
  Model& m = run.model;
  m.layers.resize(11);
  for (LayerSpec& layer : m.layers) layer.attention.rope = Rope{};
  m.layers[0].attention.window_keys = 128;
  m.layers[0].attention.sink = Sink::Learned;
  m.layers[0].attention.dropout = 0.1;
  m.layers[1].attention.chunk_size = 8192;
  m.layers[1].attention.qk_norm = QkNorm{.has_gain = false, .after_rope = true};
  m.layers[2].attention.rope.reset();
  m.layers[2].attention.temperature = TemperatureTuning{};
  m.layers[2].attention.output_gate = true;
  m.layers[3].attention.latent = LatentAttention{};
  m.layers[3].attention.sink = Sink::Zero;
  m.layers[3].attention.rope->yarn = YarnRopeScaling{.cos_sin_factor = 1.2};
  m.layers[4].attention.logit_soft_cap = 30;
  m.layers[4].attention_output_norm = m.layers[4].mlp_output_norm = Norm{};
  m.layers[4].moe = Moe{};
  m.layers[5].norms_in_front = false;
  m.layers[5].attention.qk_norm = QkNorm{.scope = QkNormScope::WholeProjection};
  m.layers[5].mlp.clamp = 7;
  m.layers[5].mlp.up_offset = 1;
  m.layers[6].attention.rope->position_divisor = 2;
  m.layers[7].short_conv = ShortConv{};
  m.layers[8].gated_delta = GatedDelta{};
  m.layers[9].mamba2 = Mamba2{};
  m.layers[9].has_mlp = false;
  m.layers[10].has_mixer = false;
  m.logit_soft_cap = 30;
  m.padding_id = 0;
  m.mtp = MultiTokenPrediction{};
  EXPECT_EQ(refusal(run), "");
}

TEST(EngineLimits, RefuseNormsOnQueriesAndKeysThatAreNotBuilt) {
  const auto with = [](
                        const QkNorm& norm, const std::function<void(Attention&)>& change = [](Attention&) {}) {
    RunSpec run = plain_run();
    run.model.layers[1].attention.qk_norm = norm;
    change(run.model.layers[1].attention);
    return refusal(run);
  };
  const char* sentence =
      "training with norms on queries and keys other than RMS norms, in front of the rotation where they have weights "
      "is not built yet";
  EXPECT_THAT(with({.norm = {.kind = NormKind::LayerNorm}}), HasSubstr(sentence));
  EXPECT_THAT(with({.after_rope = true}), HasSubstr(sentence));
  EXPECT_THAT(with({}, [](Attention& a) { a.latent = LatentAttention{}; }), HasSubstr(sentence));
  // Behind a rotation that scales a part of the head a norm without weights is no norm in front of it.
  const auto grow = [](Attention& a) { a.rope->yarn = YarnRopeScaling{.cos_sin_factor = 1.2}; };
  const auto grow_a_part = [&](Attention& a) {
    grow(a);
    a.rope->fraction = 0.5;
  };
  EXPECT_THAT(with({.has_gain = false, .after_rope = true}, grow_a_part), HasSubstr(sentence));
  EXPECT_EQ(with({.has_gain = false, .after_rope = true}, grow), "");
  EXPECT_EQ(with({.has_gain = false}, grow_a_part), "");
}

TEST(EngineLimits, RefuseLayersThatAreNotBuilt) {
  const auto with = [](const std::function<void(LayerSpec&)>& change) {
    RunSpec run = plain_run();
    change(run.model.layers[1]);
    return refusal(run);
  };
  EXPECT_THAT(with([](LayerSpec& l) { l.other_mixer = "mamba"; }), HasSubstr("training mamba layers is not built yet"));
  EXPECT_THAT(with([](LayerSpec& l) {
                l.attention.logit_soft_cap = 30;
                l.attention.dropout = 0.1;
              }),
              HasSubstr("training with a soft cap on attention and dropout in it is not built yet"));
  EXPECT_THAT(with([](LayerSpec& l) {
                l.attention.latent = LatentAttention{};
                l.attention.output_gate = true;
              }),
              HasSubstr("training with gated latent attention is not built yet"));
  EXPECT_THAT(with([](LayerSpec& l) { l.other_parameters = 7; }),
              HasSubstr("training with weights that this description does not hold is not built yet"));
  EXPECT_THAT(with([](LayerSpec& l) {
                l.gated_delta = GatedDelta{};
                l.gated_delta->output_norm.kind = NormKind::LayerNorm;
              }),
              HasSubstr("training gated delta nets with norms other than RMS norms is not built yet"));
  const char* taps = "training with convolutions of other than 2 to 8 tokens is not built yet";
  EXPECT_THAT(with([](LayerSpec& l) { l.short_conv = ShortConv{9, false}; }), HasSubstr(taps));
  EXPECT_THAT(with([](LayerSpec& l) { l.mamba2.emplace().kernel_size = 1; }), HasSubstr(taps));
  const char* values = "training with keys for values, or norms on values is not built yet";
  EXPECT_THAT(with([](LayerSpec& l) { l.attention.values_are_keys = true; }), HasSubstr(values));
  EXPECT_THAT(with([](LayerSpec& l) { l.attention.value_norm = QkNorm{}; }), HasSubstr(values));
}

TEST(EngineLimits, RefuseStatesInHalfPrecision) {
  RunSpec run = plain_run();
  run.precision.compute = Dtype::Float16;
  run.model.layers[0].short_conv = ShortConv{};
  EXPECT_EQ(refusal(run), "");
  run.model.layers[0].short_conv.reset();
  run.model.layers[0].mamba2 = Mamba2{};
  EXPECT_THAT(refusal(run), HasSubstr("training gated delta nets and Mamba 2 layers in fp16 is not built yet"));
}

TEST(EngineLimits, RefuseWhatNeedsMoreThanDataParallelRanks) {
  const auto with = [](int64_t Parallel::* field) {
    RunSpec run = plain_run();
    run.parallel.*field = 2;
    return refusal(run);
  };
  EXPECT_THAT(with(&Parallel::tensor), HasSubstr("with tensor parallelism is not built yet"));
  EXPECT_THAT(with(&Parallel::pipeline), HasSubstr("with pipeline parallelism is not built yet"));
  EXPECT_THAT(with(&Parallel::context), HasSubstr("with context parallelism is not built yet"));
  EXPECT_THAT(with(&Parallel::expert), HasSubstr("with expert parallelism is not built yet"));
}

TEST(EngineLimits, RefuseFp16WithoutFp32Weights) {
  RunSpec run = plain_run();
  run.precision.compute = Dtype::Float16;
  EXPECT_EQ(refusal(run), "");
  for (const Dtype stored : {Dtype::BFloat16, Dtype::Float16}) {
    run.precision.stored = stored;
    EXPECT_THAT(refusal(run), HasSubstr("training in fp16 without fp32 weights is not built yet"));
  }
}

}  // namespace
}  // namespace primus::spec
