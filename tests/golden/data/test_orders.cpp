// Golden values: make_orders.py (megatron-core 0.19.2: GPTDataset, BlendedMegatronDatasetBuilder, its samplers).
#include <gtest/gtest.h>

#include "golden/data/support.h"

#include "primus/data/indexed_dataset_writer.h"
#include "primus/data/loader.h"

namespace primus::data::test {
namespace {

constexpr int64_t kVocab = 211, kEod = 210;

// The same documents as in make_orders.py. file: [number, documents, shortest, spread].
std::string write_file(const Scratch& scratch, const Json& file) {
  const int64_t number = file[0], documents = file[1], shortest = file[2], spread = file[3];
  const std::string prefix = scratch / fmt::format("file{}", number);
  IndexedDatasetWriter writer(prefix, TokenType::U16);
  for (int64_t d = 0; d < documents; ++d) {
    const int64_t length = shortest + (d * 7919 + number * 104729 + d * d * 31) % spread;
    std::vector<int32_t> tokens;
    for (int64_t i = 0; i < length; ++i) {
      tokens.push_back(static_cast<int32_t>(i == length - 1 ? kEod : (d * 131 + i * 7 + number * 17) % (kVocab - 1)));
    }
    writer.add_document(tokens);
  }
  writer.close();
  return prefix;
}

spec::DataBlend blend_of(const Scratch& scratch, const Json& list) {
  spec::DataBlend blend;
  for (const Json& item : list) {
    if (item.is_string()) {
      blend.weighted = true;
      blend.files.push_back({std::stod(item.get<std::string>()), ""});
    } else if (blend.weighted) {
      blend.files.back().prefix = write_file(scratch, item);
    } else {
      blend.files.push_back({1, write_file(scratch, item)});
    }
  }
  return blend;
}

spec::RunSpec run_of(const Scratch& scratch, const Json& row) {
  spec::RunSpec run;
  spec::Data& data = run.data;
  data.sequence_length = row["length"];
  data.seed = row["seed"];
  data.split = row.value("split", "");
  data.mock = row.contains("mock");
  if (data.mock) run.tokenizer.vocab_size = row["mock"].get<int64_t>();
  if (row.contains("blend")) data.blend = blend_of(scratch, row["blend"]);
  if (row.contains("train")) {
    data.train = blend_of(scratch, row["train"]);
    data.valid = blend_of(scratch, row["valid"]);
    data.test = blend_of(scratch, row["test"]);
  }
  for (const Json& flag : row.value("flags", Json::array())) {
    data.reset_position_ids |= flag == "reset_position_ids";
    data.reset_attention_mask |= flag == "reset_attention_mask";
    data.mask_loss_at_eod |= flag == "eod_mask_loss";
    data.drop_last_partial_validation_sample &= flag != "keep_last_partial";
  }
  return run;
}

void expect_samples(const DataSet* dataset, const Json& expected, const std::string& where) {
  if (expected.is_null()) {
    EXPECT_EQ(dataset, nullptr) << where;
    return;
  }
  ASSERT_NE(dataset, nullptr) << where;
  ASSERT_EQ(dataset->size(), expected["size"].get<int64_t>()) << where;
  std::vector<int32_t> tokens, positions, starts;
  std::vector<uint8_t> mask;
  Sample sample;
  for (int64_t i = 0; i < expected["described"].get<int64_t>(); ++i) {
    dataset->get(i, sample);
    if (i < 2) {
      EXPECT_EQ(sample.tokens, numbers<int32_t>(expected["head"][static_cast<size_t>(i)])) << where << i;
    }
    tokens.insert(tokens.end(), sample.tokens.begin(), sample.tokens.end());
    mask.insert(mask.end(), sample.loss_mask.begin(), sample.loss_mask.end());
    positions.insert(positions.end(), sample.position_ids.begin(), sample.position_ids.end());
    starts.insert(starts.end(), sample.document_start.begin(), sample.document_start.end());
  }
  EXPECT_EQ(digest(tokens), expected["tokens"].get<std::string>()) << where;
  EXPECT_EQ(digest(mask), expected["loss_mask"].get<std::string>()) << where;
  EXPECT_EQ(digest(positions), expected["position_ids"].get<std::string>()) << where;
  EXPECT_EQ(digest(starts), expected["document_start"].get<std::string>()) << where;
}

class Orders : public testing::TestWithParam<Json> {};

TEST_P(Orders, GiveTheSamplesThatMegatronGives) {
  const Json& row = GetParam();
  const Scratch scratch;
  const spec::RunSpec run = run_of(scratch, row);
  const int64_t vocab = run.data.mock ? *run.tokenizer.vocab_size + 1 : kVocab;
  const SplitSizes sizes{row["sizes"][0], row["sizes"][1], row["sizes"][2]};
  // Twice: built, then read from the index cache.
  for (const char* round : {" built", " cached"}) {
    Result<Datasets> datasets = open_datasets(run, run.data.mock ? -1 : kEod, vocab, sizes, {.check_enough = false});
    ASSERT_TRUE(datasets.ok()) << render(datasets.diagnostics());
    for (const Split split : {Split::Train, Split::Valid, Split::Test}) {
      // What nobody asks for is not built here; Megatron builds it all the same.
      if (sizes[split] == 0) continue;
      expect_samples((*datasets)[split].get(), row["expected"][to_string(split)],
                     to_string(split) + std::string(round));
    }
  }
}

std::vector<Json> cases() {
  const Json all = golden("orders.json");
  return {all["cases"].begin(), all["cases"].end()};
}

INSTANTIATE_TEST_SUITE_P(Megatron, Orders, testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = info.param["name"];
  std::erase_if(name, [](char c) { return c == ','; });
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

TEST(SampleOrder, DealsSamplesToRanksAsMegatronDoes) {
  const Json all = golden("orders.json");
  for (const Json& row : all["orders"]) {
    const OrderRule rule{row["loader"] == "single" ? spec::LoaderOrder::Single : spec::LoaderOrder::Cyclic,
                         row["sharding"], row["micro_batch"], row["ranks"]};
    const SampleOrder order = SampleOrder::make(row["n"], rule).value();
    for (int64_t rank = 0; rank < rule.num_ranks; ++rank) {
      const Json& batches = row["batches"][static_cast<size_t>(rank)];
      for (size_t k = 0; k < batches.size(); ++k) {
        EXPECT_EQ(
            order.micro_batch(row["consumed"], static_cast<int64_t>(k), rule.micro_batch_size, rank, rule.num_ranks),
            numbers<int64_t>(batches[k]))
            << row["loader"] << " of " << row["n"] << ", rank " << rank << ", batch " << k;
      }
    }
  }
}

}  // namespace
}  // namespace primus::data::test
