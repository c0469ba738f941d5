#include "gradcheck/models/decoder_cases.h"

namespace primus::test {

namespace {

using M = spec::Model;
using L = spec::LayerSpec;

std::vector<Case> norm_cases() {
  const auto zero_centred = [](M& m, L& l) {
    m.final_norm.zero_centered_gain = l.input_norm.zero_centered_gain = l.post_attention_norm.zero_centered_gain = true;
  };
  const auto sandwich = [](M&, L& l) {
    l.attention_output_norm = spec::Norm{.eps = 0.1};
    l.mlp_output_norm = spec::Norm{.eps = 0.2, .zero_centered_gain = true};
  };
  const auto behind_only = [&](M& m, L& l) {
    sandwich(m, l);
    l.norms_in_front = false;
  };
  return {
      {"ZeroCentredRmsNorm", changed(llama(), zero_centred)},
      {"ZeroCentredLayerNorm", changed(gpt2(), zero_centred)},
      {"LargeNormEpsilons", changed(llama(),
                                    [](M& m, L& l) {
                                      m.final_norm.eps = 0.7;
                                      l.input_norm.eps = 0.3;
                                      l.post_attention_norm.eps = 0.5;
                                    })},
      {"SandwichNorms", changed(llama(), sandwich)},
      {"SandwichLayerNormsWithDropout",
       changed(changed(gpt2(), add_dropout),
               [](M&, L& l) { l.attention_output_norm = l.mlp_output_norm = {.kind = spec::NormKind::LayerNorm}; })},
      {"NormsBehindOnly", changed(llama(), behind_only)},  // arXiv 2501.00656
      {"NormsBehindOnlyFp32Residual", changed(changed(llama(), behind_only), [](M& m, L&) { m.fp32_residual = true; })},
      {"NormsBehindOnlyWithRecomputation", changed(llama(), behind_only), recomputed_blocks()},
      {"NoNormsInLayers", changed(llama(),
                                  [](M& m, L& l) {
                                    m.embedding_multiplier = 0.1;  // products of products grow fast
                                    l.norms_in_front = false;
                                  })},
  };
}

std::vector<Case> logit_cases() {
  return {
      {"ScaledEmbeddingsAndLogits", changed(gpt2(),
                                            [](M& m, L&) {
                                              m.embedding_multiplier = 2.5;
                                              m.logit_multiplier = 0.3;
                                              m.embedding_dropout = 0.2;
                                            })},
      {"LogitCap", changed(llama(), [](M& m, L&) { m.logit_soft_cap = 2; })},
      {"LogitCapOnScaledLogitsTied", changed(gpt2(),
                                             [](M& m, L&) {
                                               m.logit_soft_cap = 1.5;
                                               m.logit_multiplier = 0.4;
                                             })},
      {"PaddingId", changed(llama(), [](M& m, L&) { m.padding_id = 5; })},
      {"PaddingIdTied", changed(gpt2(),
                                [](M& m, L&) {
                                  m.padding_id = 5;
                                  m.embedding_multiplier = 1.5;
                                })},
  };
}

std::vector<Case> prediction_cases() {
  const auto depth = [](int64_t count) {
    return [count](M& m, L&) { m.mtp = spec::MultiTokenPrediction{.depth = count, .loss_scale = 0.7}; };
  };
  const auto tied = [](M& m, L&) { m.tied_embeddings = true; };
  M last = changed(llama(), depth(1));  // a depth is like the last layer
  last.layers[2].attention.num_kv_heads = 3;
  last.layers[2].attention.rope->base = 30;
  last.layers[2].mlp.ffn_size = 33;
  last.layers[2].input_norm = {.eps = 0.4, .zero_centered_gain = true};
  const auto loud = [&](M& m, L& l) {
    add_dropout(m, l);
    m.logit_soft_cap = 2.5;
    m.logit_multiplier = 0.6;
    m.embedding_multiplier = 1.7;
    m.padding_id = 5;
  };
  return {
      {"OneMorePrediction", changed(llama(), depth(1))},
      {"OneMorePredictionMeanOfItsOwn", changed(llama(), depth(1)), {}, false, 1, true},
      {"TwoMorePredictionsTied", changed(changed(llama(), depth(2)), tied)},
      {"TwoMorePredictionsTiedMeanOfItsOwn", changed(changed(llama(), depth(2)), tied), {}, false, 32, true},
      {"PredictionLikeTheLastLayer", last},
      {"PredictionsWithEverythingInDocuments", changed(changed(llama(), depth(2)), loud), {}, true, 8, true},
      {"PredictionsWithFullRecomputation", changed(changed(llama(), depth(2)), loud), recomputed_blocks(), true},
      {"PredictionsFp32Residual", changed(changed(llama(), depth(2)), [](M& m, L&) { m.fp32_residual = true; }),
       recomputed_blocks()},
      {"PredictionsWithLayerNormsTied",
       changed(changed(gpt2(), depth(1)), [](M& m, L&) { m.learned_positions = false; })},
  };
}

}  // namespace

std::vector<Case> head_cases() {
  std::vector<Case> all;
  for (const auto& part : {norm_cases(), logit_cases(), prediction_cases()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace primus::test
