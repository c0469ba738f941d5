// Decoding token by token: the cache, and how tokens are drawn.
#include "primus/models/generate.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "unit/models/small_models.h"

#include "primus/nn/cache.h"

namespace primus::models {
namespace {

class Generation : public testing::Test {
 protected:
  Generation() { context_.routes = &routes_; }

  static std::unique_ptr<Decoder> decoder_of(const spec::Model& model, spec::Dtype dtype = spec::Dtype::Float32) {
    auto decoder = std::make_unique<Decoder>(model, dtype, spec::Recompute{});
    decoder->initialise(11);
    return decoder;
  }
  static double error_of(const at::Tensor& found, const at::Tensor& wanted) {
    return ((found - wanted).norm() / wanted.norm()).item<double>();
  }
  // Logits behind ids, read without a cache.
  at::Tensor uncached(Decoder& decoder, const std::vector<int64_t>& ids) const {
    return decoder.last_logits(at::tensor(ids, at::kLong).unsqueeze(0), context_)[0];
  }
  std::vector<int64_t> write(Decoder& decoder, const GenerateOptions& options) const {
    return generate(decoder, {3, 1, 4}, options, context_);
  }

  small::OneThread one_thread_;
  nn::Routes routes_;
  nn::Context context_;
};

TEST_F(Generation, WithACacheGivesTheLogitsOfTheWholeText) {
  at::manual_seed(2);
  const at::Tensor tokens = at::randint(31, {2, 17}, at::kLong);
  for (const auto& [kind, model] : small::all_kinds()) {
    const auto decoder = decoder_of(model);
    for (const int64_t prompt : {1, 6, 16}) {
      nn::KeyValueCache cache;
      nn::Context cached = context_;
      cached.cache = &cache;
      for (int64_t read = 0; read < 17;) {
        const int64_t count = read == 0 ? prompt : 1;
        cached.start_position = read;
        const at::Tensor found = decoder->last_logits(tokens.narrow(1, read, count).contiguous(), cached);
        read += count;
        const at::Tensor wanted = decoder->last_logits(tokens.narrow(1, 0, read).contiguous(), context_);
        EXPECT_LT(error_of(found, wanted), 1e-5) << kind << ", prompt of " << prompt << ", " << read << " read";
      }
    }
  }
}

TEST_F(Generation, CachesLatentsInsteadOfHeads) {
  const auto bytes = [this](const spec::Model& model) {
    const auto decoder = decoder_of(model);
    nn::KeyValueCache cache;
    nn::Context cached = context_;
    cached.cache = &cache;
    decoder->last_logits(at::ones({1, 20}, at::kLong), cached);
    return cache.size_bytes();
  };
  const spec::Model latent = small::with([](spec::Model&, spec::LayerSpec& l) { small::make_latent(l, 5, 10); });
  const int64_t per_token = bytes(small::plain()) / (2 * 2 * 6);  // keys and values of two heads of width 6
  EXPECT_EQ(bytes(latent), per_token * (7 + 4));
}

TEST_F(Generation, IsTheSameWithAndWithoutACache) {
  for (const auto& [kind, model] : small::all_kinds()) {
    const auto decoder = decoder_of(model);
    for (const double temperature : {0.0, 0.9}) {
      GenerateOptions options{.max_new_tokens = 15, .temperature = temperature, .seed = 5};
      const std::vector<int64_t> cached = write(*decoder, options);
      options.cache = false;
      EXPECT_EQ(write(*decoder, options), cached) << kind << " at " << temperature;
      EXPECT_EQ(cached.size(), 15U);
    }
  }
}

TEST_F(Generation, DependsOnItsSeedAlone) {
  const auto decoder = decoder_of(small::plain());
  const std::vector<int64_t> once = write(*decoder, {.max_new_tokens = 20, .temperature = 1, .seed = 1});
  EXPECT_EQ(write(*decoder, {.max_new_tokens = 20, .temperature = 1, .seed = 1}), once);
  EXPECT_NE(write(*decoder, {.max_new_tokens = 20, .temperature = 1, .seed = 2}), once);
}

TEST_F(Generation, TakesTheLikeliestTokenWhereNothingElseIsLeft) {
  const auto decoder = decoder_of(small::plain());
  const std::vector<int64_t> greedy = write(*decoder, {.max_new_tokens = 18, .temperature = 0});
  std::vector<int64_t> ids = {3, 1, 4};
  for (const int64_t next : greedy) {
    EXPECT_EQ(next, uncached(*decoder, ids).argmax().item<int64_t>());
    ids.push_back(next);
  }
  EXPECT_EQ(write(*decoder, {.max_new_tokens = 18, .temperature = 3, .top_k = 1, .seed = 9}), greedy);
  EXPECT_EQ(write(*decoder, {.max_new_tokens = 18, .temperature = 3, .top_p = 1e-9, .seed = 9}), greedy);
}

TEST_F(Generation, DrawsAmongTheKLikeliest) {
  const auto decoder = decoder_of(small::plain());
  const std::vector<int64_t> text = write(*decoder, {.max_new_tokens = 20, .temperature = 50, .top_k = 3, .seed = 4});
  std::vector<int64_t> ids = {3, 1, 4}, ranks;
  for (const int64_t next : text) {
    const at::Tensor logits = uncached(*decoder, ids);
    ranks.push_back((logits > logits[next]).sum().item<int64_t>());
    ids.push_back(next);
  }
  EXPECT_EQ(*std::max_element(ranks.begin(), ranks.end()), 2);  // all of the three occur in 20 nearly even draws
  EXPECT_EQ(*std::min_element(ranks.begin(), ranks.end()), 0);
}

TEST_F(Generation, DrawsFromTheLeastSetThatHoldsTopP) {
  const auto decoder = decoder_of(small::plain());
  bool second_came = false;
  for (const uint64_t seed : {1, 2, 3}) {
    const std::vector<int64_t> text =
        write(*decoder, {.max_new_tokens = 20, .temperature = 1.5, .top_k = 0, .top_p = 0.6, .seed = seed});
    std::vector<int64_t> ids = {3, 1, 4};
    for (const int64_t next : text) {
      const at::Tensor p = (uncached(*decoder, ids).to(at::kDouble) / 1.5).softmax(0);
      const double likelier = p.masked_select(p > p[next]).sum().item<double>();
      EXPECT_LT(likelier, 0.6);
      second_came = second_came || likelier > 0;
      ids.push_back(next);
    }
  }
  EXPECT_TRUE(second_came);
}

TEST_F(Generation, ThrowsTokensAsOftenAsTheirProbabilitySays) {
  const auto decoder = decoder_of(small::plain());
  const at::Tensor p = uncached(*decoder, {3, 1, 4}).to(at::kDouble).softmax(0);
  const int64_t best = p.argmax().item<int64_t>();
  const int64_t num_draws = 400;
  int64_t hits = 0;
  for (int64_t seed = 0; seed < num_draws; ++seed) {
    const auto one =
        write(*decoder, {.max_new_tokens = 1, .temperature = 1, .top_k = 0, .seed = static_cast<uint64_t>(seed)});
    hits += one[0] == best;
  }
  const double wanted = p[best].item<double>();
  EXPECT_NEAR(static_cast<double>(hits) / num_draws, wanted, 4 * std::sqrt(wanted * (1 - wanted) / num_draws));
}

TEST_F(Generation, EndsInFrontOfTheFirstEndToken) {
  const auto decoder = decoder_of(small::plain());
  const std::vector<int64_t> all = write(*decoder, {.max_new_tokens = 18, .temperature = 1, .seed = 6});
  for (const std::vector<int64_t>& ends : {std::vector<int64_t>{all[9]}, {all[9], all[5]}, {30000, all[3]}, {30000}}) {
    std::vector<int64_t> heard;
    const GenerateOptions options{.max_new_tokens = 18, .temperature = 1, .seed = 6, .end_tokens = ends};
    const std::vector<int64_t> cut =
        generate(*decoder, {3, 1, 4}, options, context_, [&](int64_t id) { heard.push_back(id); });
    const auto first = std::find_first_of(all.begin(), all.end(), ends.begin(), ends.end());
    EXPECT_EQ(cut, std::vector<int64_t>(all.begin(), first));
    EXPECT_EQ(heard, cut);
  }
}

TEST_F(Generation, NeverNamesARowWithoutAToken) {
  const auto decoder = decoder_of(small::plain());
  for (const int64_t id : write(*decoder, {.max_new_tokens = 40, .temperature = 9, .seed = 3, .vocab_size = 7})) {
    EXPECT_LT(id, 7);
  }
}

// Behind the last position the model sees the last tokens of the text, numbered from 0 again.
TEST_F(Generation, GoesOnBehindItsWindow) {
  for (const auto& [kind, model] : small::all_kinds()) {
    const auto decoder = decoder_of(model);
    for (const int64_t window : {9, 0}) {
      const GenerateOptions options{.max_new_tokens = 35, .temperature = 0, .window = window};
      const std::vector<int64_t> text = write(*decoder, options);
      ASSERT_EQ(text.size(), 35U);
      std::vector<int64_t> ids = {3, 1, 4};
      const size_t seen = window == 0 ? 24 : 9;
      for (const int64_t next : text) {
        const size_t first = ids.size() > seen ? ids.size() - seen : 0;
        const at::Tensor logits = uncached(*decoder, std::vector<int64_t>(ids.begin() + first, ids.end()));
        // Equal but for rounding: the chosen token is as likely as the best.
        EXPECT_GT(logits[next].item<float>(), logits.max().item<float>() - 1e-4F) << kind;
        ids.push_back(next);
      }
    }
  }
}

TEST_F(Generation, ReadsAPromptLongerThanItsWindow) {
  const auto decoder = decoder_of(small::plain());
  std::vector<int64_t> prompt(30, 2);
  for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<int64_t>(i) % 7;
  const std::vector<int64_t> tail(prompt.end() - 24, prompt.end());
  const GenerateOptions options{.max_new_tokens = 1, .temperature = 0};
  EXPECT_EQ(generate(*decoder, prompt, options, context_), generate(*decoder, tail, options, context_));
}

}  // namespace
}  // namespace primus::models
