// Over random sizes: what holds for every dataset, whatever its documents.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>

#include "primus/data/blend.h"
#include "primus/data/gpt_index.h"
#include "primus/data/sample_order.h"

namespace primus::data {
namespace {

TEST(GptIndexProperty, EverySampleHasItsTokensAndStartsWhereTheLastOneEnded) {
  std::mt19937 random(20240615);
  for (int round = 0; round < 200; ++round) {
    std::vector<int32_t> lengths(1 + random() % 40);
    int64_t tokens = 0;
    for (int32_t& length : lengths) tokens += length = static_cast<int32_t>(random() % 30);
    const int64_t s = 1 + static_cast<int64_t>(random() % 20);
    if (tokens < s + 1) continue;
    const auto wanted = static_cast<int64_t>(1 + random() % 300);
    const auto last = static_cast<int64_t>(lengths.size());
    const GptIndex index = GptIndex::build(lengths, {0, last, wanted, s, static_cast<uint32_t>(round), false});
    ASSERT_GE(index.num_samples(), wanted);

    // Documents: each as often as there are epochs.
    std::map<int64_t, int64_t> times;
    for (int64_t i = 0; i < index.documents.size(); ++i) ++times[index.documents[i]];
    for (const auto& [document, count] : times) ASSERT_EQ(count, index.documents.size() / last) << document;

    // Samples: s + 1 tokens from one start to the next, inclusive.
    for (int64_t i = 0; i < index.num_samples(); ++i) {
      const int64_t end_position = index.samples[2 * i + 2], end_offset = index.samples[2 * i + 3];
      int64_t position = index.samples[2 * i], offset = index.samples[2 * i + 1], taken = 0;
      for (; position < end_position; ++position, offset = 0) {
        taken += lengths[static_cast<size_t>(index.documents[position])] - offset;
      }
      ASSERT_EQ(taken + end_offset - offset + 1, s + 1) << "sample " << i << " of round " << round;
      ASSERT_LT(end_offset, lengths[static_cast<size_t>(index.documents[end_position])]);
    }

    // Shuffle: every sample once.
    std::vector<bool> seen(static_cast<size_t>(index.num_samples()));
    for (int64_t i = 0; i < index.num_samples(); ++i) seen[static_cast<size_t>(index.shuffle[i])] = true;
    ASSERT_EQ(std::count(seen.begin(), seen.end(), false), 0);
  }
}

TEST(SampleOrderProperty, APassNeverRepeatsASample) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const OrderRule rule{spec::LoaderOrder::Cyclic, random() % 2 == 0, 1 + static_cast<int64_t>(random() % 5),
                         1 + static_cast<int64_t>(random() % 4)};
    const int64_t n = rule.micro_batch_size * rule.num_ranks + static_cast<int64_t>(random() % 60);
    const SampleOrder order = SampleOrder::make(n, rule).value();
    std::vector<int> seen(static_cast<size_t>(n));
    for (const int64_t index : order.indices(3 * order.pass_length(), order.pass_length())) {
      ASSERT_LT(index, n);
      ASSERT_EQ(seen[static_cast<size_t>(index)]++, 0);
    }
  }
}

TEST(BlendProperty, TakesFromEachFileWhatItsTargetAllows) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> weights(1 + random() % 12);
    for (double& weight : weights) weight = 0.01 + static_cast<double>(random() % 1000);
    const std::vector<double> parts = normalised(weights);
    const auto wanted = static_cast<int64_t>(1 + random() % 5000);
    int64_t size = 0;
    for (const double part : parts) size += blend_target(wanted, part);
    const BlendOrder order(parts, size);
    for (size_t i = 0; i < parts.size(); ++i) {
      ASSERT_LE(order.taken(static_cast<int32_t>(i)), blend_built(wanted, parts[i]) + 1);
      ASSERT_NEAR(static_cast<double>(order.taken(static_cast<int32_t>(i))), parts[i] * static_cast<double>(size),
                  1.0 + 1e-6);
    }
  }
}

}  // namespace
}  // namespace primus::data
