#include "primus/spec/engine_limits.h"

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

TEST(EngineLimits, RefuseEveryOtherNormOnQueriesAndKeys) {
  const auto with = [](const QkNorm& norm) {
    RunSpec run = plain_run();
    run.model.layers[1].attention.qk_norm = norm;
    return refusal(run);
  };
  const char* sentence =
      "training with norms on queries and keys other than RMS norms of every head, with gains, before the rotation is "
      "not built yet";
  EXPECT_THAT(with({.norm = {.kind = NormKind::LayerNorm}}), HasSubstr(sentence));
  EXPECT_THAT(with({.has_gain = false}), HasSubstr(sentence));
  EXPECT_THAT(with({.scope = QkNormScope::WholeProjection}), HasSubstr(sentence));
  EXPECT_THAT(with({.after_rope = true}), HasSubstr(sentence));
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
