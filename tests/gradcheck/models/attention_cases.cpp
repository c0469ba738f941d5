#include "gradcheck/models/decoder_cases.h"

namespace primus::test {

namespace {

using A = spec::Attention;

std::vector<Case> mask_cases() {
  const auto window = [](A& a) { a.window_keys = 5; };
  const auto chunk = [](A& a) { a.chunk_size = 7; };
  spec::Model alternating = with_attention(llama(), window);
  alternating.layers[1].attention.window_keys.reset();
  spec::Model mixed = with_attention(llama(), chunk);
  mixed.layers[1].attention.chunk_size.reset();
  mixed.layers[1].attention.rope.reset();
  return {
      {"Window", with_attention(llama(), window)},
      {"WindowOfOneKey", with_attention(llama(), [](A& a) { a.window_keys = 1; })},
      {"WindowLongerThanTheText", with_attention(llama(), [](A& a) { a.window_keys = kTokens; })},
      {"AlternatingWindows", alternating},
      {"WindowInDocuments", with_attention(llama(), window), {}, true},
      {"WindowDropout", with_attention(changed(llama(), add_dropout), window)},
      {"Chunks", with_attention(llama(), chunk)},
      {"ChunksInDocuments", with_attention(llama(), [](A& a) { a.chunk_size = 4; }), {}, true},
      {"ChunksWithAndWithoutRope", mixed},
      {"WindowInChunks", with_attention(llama(),
                                        [](A& a) {
                                          a.window_keys = 4;
                                          a.chunk_size = 6;
                                        })},
  };
}

std::vector<Case> score_cases() {
  const auto learned = [](A& a) { a.sink = spec::Sink::Learned; };
  const auto cap = [](A& a) { a.logit_soft_cap = 1.5; };
  const auto growing = [](A& a) { a.temperature = spec::TemperatureTuning{.log_length = 3}; };
  const auto temperature = [](A& a) { a.temperature = spec::TemperatureTuning{.scale = 0.4, .floor_scale = 5}; };
  return {
      {"ZeroSink", with_attention(llama(), [](A& a) { a.sink = spec::Sink::Zero; })},
      {"LearnedSinks", with_attention(llama(), learned)},
      {"LearnedSinksOneKeyHeadInAWindow", with_attention(llama(),
                                                         [&](A& a) {
                                                           learned(a);
                                                           a.num_kv_heads = 1;
                                                           a.window_keys = 4;
                                                         })},
      {"LearnedSinksWithDropoutInDocuments", with_attention(changed(llama(), add_dropout), learned), {}, true},
      {"LearnedSinksWithSelectiveRecomputation", with_attention(gpt2(), learned), recomputed_parts()},
      {"ScoreCap", with_attention(llama(), cap)},
      {"ScoreCapWithSinksInDocumentsAndAWindow",
       with_attention(llama(),
                      [&](A& a) {
                        cap(a);
                        learned(a);
                        a.window_keys = 3;
                      }),
       {},
       true},
      {"Temperature", with_attention(llama(), temperature)},
      {"TemperatureInDocumentsWithoutRope",
       with_attention(llama(),
                      [&](A& a) {
                        temperature(a);
                        a.temperature->floor_scale = 2;
                        a.rope.reset();
                      }),
       {},
       true},
      {"LogTemperature", with_attention(llama(), growing)},
      {"LogTemperatureBehindACapInDocuments",
       with_attention(llama(),
                      [&](A& a) {
                        cap(a);
                        growing(a);
                      }),
       {},
       true},
      {"LogTemperatureBehindACapWithSinksAndRecomputation",
       with_attention(llama(),
                      [&](A& a) {
                        cap(a);
                        growing(a);
                        learned(a);
                        a.window_keys = 6;
                      }),
       recomputed_parts()},
      {"OutputGate", with_attention(llama(), [](A& a) { a.output_gate = true; })},
      {"OutputGateWithRecomputation", with_attention(gpt2(), [](A& a) { a.output_gate = true; }), recomputed_parts()},
  };
}

std::vector<Case> norm_cases() {
  const auto with = [](const spec::QkNorm& rule) { return with_attention(llama(), [&](A& a) { a.qk_norm = rule; }); };
  const auto stretched = [](A& a) {
    a.rope->yarn = spec::YarnRopeScaling{
        .factor = 6, .beta_fast = 2, .beta_slow = 0.1, .original_max_positions = 64, .cos_sin_factor = 1.4};
  };
  return {
      {"QkNorm", with({.norm = {.eps = 0.2}})},
      {"QkNormBeforeAScaledRotation", with_attention(with({.norm = {.eps = 0.2}}), stretched)},
      {"QkNormWithoutWeightsBehindAScaledRotation",
       with_attention(with({.norm = {.eps = 0.1}, .has_gain = false, .after_rope = true}), stretched)},
      {"QkNormZeroCentredWithRecomputation",
       with_attention(with({.norm = {.eps = 0.1, .zero_centered_gain = true}}), [](A& a) { a.qkv_bias = true; }),
       recomputed_blocks()},
      {"QkNormOfTheWholeProjection",
       with({.norm = {.eps = 0.3, .zero_centered_gain = true}, .scope = spec::QkNormScope::WholeProjection})},
      {"QkNormOfTheWholeProjectionWithoutWeights", with({.norm = {.eps = 0.3, .zero_centered_gain = true},
                                                         .has_gain = false,
                                                         .scope = spec::QkNormScope::WholeProjection})},
      {"QkNormWithoutWeightsBehindTheRotation", with({.norm = {.eps = 0.1}, .has_gain = false, .after_rope = true})},
      {"QkNormWithoutWeightsBehindAPartialRotation",
       with_attention(with({.norm = {.eps = 0.1}, .has_gain = false, .after_rope = true}),
                      [](A& a) {
                        a.rope->fraction = 0.6;
                        a.rope->interleaved = true;
                      })},
  };
}

std::vector<Case> rope_cases() {
  const auto with = [](const spec::Rope& rope) { return with_attention(llama(), [&](A& a) { a.rope = rope; }); };
  const spec::YarnRopeScaling yarn = {.factor = 6, .beta_fast = 2, .beta_slow = 0.1, .original_max_positions = 64};
  spec::YarnRopeScaling exact = yarn;
  exact.whole_bounds = false;
  exact.cos_sin_factor = 1.3;
  return {
      {"InterleavedPartialRope", with({.base = 500, .fraction = 0.6, .interleaved = true})},
      {"LinearRopeScaling", with({.base = 500, .position_divisor = 3})},
      {"Llama3RopeScaling",
       with({.base = 500,
             .llama3 =
                 spec::Llama3RopeScaling{
                     .factor = 4, .low_freq_factor = 1, .high_freq_factor = 3, .original_max_positions = 40}})},
      {"Yarn", with({.base = 500, .yarn = yarn})},
      {"YarnOnDividedPositions", with({.base = 500, .position_divisor = 1.5, .yarn = yarn})},
      {"YarnWithExactBoundsAndAmplitude", with({.base = 500, .interleaved = true, .yarn = exact}), {}, true},
  };
}

std::vector<Case> latent_cases() {
  const spec::LatentAttention plain = {.kv_lora_rank = 11, .nope_head_dim = 8, .rope_head_dim = 6, .v_head_dim = 9};
  spec::LatentAttention wide = plain, ranked = plain, bare = plain;
  wide.v_head_dim = 17;  // wider than queries and keys
  ranked.q_lora_rank = 13;
  ranked.latent_norm_eps = 0.2;
  ranked.v_head_dim = 14;  // as wide
  bare.q_lora_rank = 9;
  bare.norm_latents = false;
  const auto with = [](
                        const spec::LatentAttention& latent, const std::function<void(A&)>& change = [](A&) {}) {
    return with_attention(llama(), [&](A& a) {
      make_latent(a, latent);
      change(a);
    });
  };
  const auto everything = [](A& a) {
    a.qkv_bias = a.out_bias = true;
    a.sink = spec::Sink::Learned;
    a.window_keys = 6;
    a.dropout = 0.2;
    a.rope->interleaved = true;
  };
  return {
      {"Latent", with(plain)},
      {"LatentWithWideValues", with(wide)},
      {"LatentWithAQueryRankAndBiases", with(ranked, [](A& a) { a.qkv_bias = a.out_bias = true; })},
      {"LatentWithoutNorms", with(bare)},
      {"LatentWithoutRope", with(plain, [](A& a) { a.rope.reset(); })},
      {"LatentInDocuments", with(ranked), {}, true},
      {"LatentScoreCapAndTemperature", with(plain,
                                            [](A& a) {
                                              a.logit_soft_cap = 1.2;
                                              a.temperature = spec::TemperatureTuning{.scale = 0.3, .floor_scale = 4};
                                            })},
      {"LatentWithEverythingInDocuments", with(ranked, everything), {}, true},
      {"LatentWithSelectiveRecomputation", with(wide, everything), recomputed_parts()},
      {"LatentWithFullRecomputation", with(ranked, everything), recomputed_blocks(), true},
  };
}

}  // namespace

void make_latent(spec::Attention& attention, const spec::LatentAttention& latent) {
  attention.num_heads = attention.num_kv_heads = 5;
  attention.head_dim = latent.nope_head_dim + latent.rope_head_dim;
  attention.latent = latent;
}

std::vector<Case> attention_cases() {
  std::vector<Case> all;
  for (const auto& part : {mask_cases(), score_cases(), norm_cases(), rope_cases(), latent_cases()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace primus::test
