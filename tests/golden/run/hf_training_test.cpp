// Training from the tiny checkpoints of every family, and Hugging Face folders made on the way: what comes in goes out,
// two ranks do what one does, and an export computes what the run computes.
#include <cstring>
#include <fstream>
#include <gmock/gmock.h>
#include <sstream>

#include "support/ranks.h"
#include "support/tiny_run.h"

#include "primus/hub/hf_config.h"
#include "primus/hub/hf_folder.h"
#include "primus/run/model_session.h"
#include "primus/train/hf_export.h"
#include "primus/train/loop.h"
#include "primus/train/setup.h"

namespace primus::run {
namespace {

const fs::path kCases = "tests/golden/hf_models";

// Packed numbers come out as plain ones, and a folder in the spelling of a composed model as that of its text model.
bool is_plain(const std::string& name) {
  return !name.ends_with("fp8") && !name.ends_with("mxfp4") && !name.ends_with("_nested");
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kCases)) {
    const std::string name = entry.path().filename().string();
    if (fs::exists(entry.path() / "expected.safetensors") && is_plain(name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

class HfTraining : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    run_folder_ = fs::path(testing::TempDir()) / ("primus_hf_training_" + std::to_string(::getpid()) + GetParam());
    fs::remove_all(run_folder_);
    described_ = value_or_throw(hub::read_hf_config(folder()));
  }
  void TearDown() override { fs::remove_all(run_folder_); }

  fs::path folder() const { return kCases / GetParam(); }
  hub::WeightSource source() const {
    return value_or_throw(hub::WeightSource::open(folder(), described_.model, described_.family));
  }
  spec::RunSpec described_run() const {
    spec::RunSpec run = test::tiny_run();
    run.model = described_.model;
    run.data.sequence_length = 12;
    run.identity.run_folder = run_folder_.string();
    run.checkpoint.init_from = folder().string();
    run.checkpoint.export_every_steps = 1;
    run.exit.train_steps = 2;
    return run;
  }
  fs::path exported(int64_t step) const {
    return train::exports_folder(run_folder_) / ("step_" + std::to_string(step));
  }

  fs::path run_folder_;
  hub::HfModel described_;
};

TEST_P(HfTraining, ExportsTheBytesThatItStartedFrom) {
  spec::RunSpec run = described_run();
  if (GetParam().find("bf16") != std::string::npos) run.precision.compute = spec::Dtype::BFloat16;
  test::TinyTrainer tiny(run);
  train::apply_start(tiny.trainer(), {.resume = {}, .load = {}, .init = source()});
  EXPECT_EQ(tiny.trainer().state.step, 0);
  train::HfExporter exporter(tiny.trainer(), {.family = described_.family, .tokenizer = {}, .ids = {}});
  EXPECT_FALSE(exporter.has(0));
  exporter.write();
  ASSERT_EQ(exporter.num_failed(), 0);
  EXPECT_TRUE(exporter.has(0));

  const hub::HfFolder before = value_or_throw(hub::HfFolder::open(folder()));
  const hub::HfFolder after = value_or_throw(hub::HfFolder::open(exported(0)));
  EXPECT_THAT(after.names(), testing::UnorderedElementsAreArray(before.names()));
  for (const std::string& name : before.names()) {
    const hub::HfEntry *a = before.find(name), *b = after.find(name);
    ASSERT_NE(b, nullptr) << name;
    EXPECT_EQ(a->info->dtype, b->info->dtype) << name;
    ASSERT_EQ(a->bytes.size(), b->bytes.size()) << name;
    EXPECT_EQ(std::memcmp(a->bytes.data(), b->bytes.data(), a->bytes.size()), 0) << name;
  }
  const hub::HfModel again = value_or_throw(hub::read_hf_config(exported(0)));
  EXPECT_EQ(again.family, described_.family);
}

// One rank's part of a run of two steps. Rank 0 leaves losses and, for tokens.json, logits in `output`.
int train_two_steps(spec::RunSpec run, const hub::HfModel& described, const dist::Endpoint& endpoint,
                    const fs::path& output, const fs::path& tokens) {
  at::set_num_threads(1);
  const std::unique_ptr<dist::Group> group = dist::connect(endpoint);
  run.optimizer.shard_state = group->size() > 1;
  Logger log({.console_level = LogLevel::Off});
  train::Trainer trainer(run, *group, log, {});
  train::Start start;
  start.init = value_or_throw(hub::WeightSource::open(run.checkpoint.init_from, run.model, described.family));
  train::apply_start(trainer, start);
  trainer.train_data = std::make_shared<test::CountingData>(64, run.data.sequence_length, run.model.vocab_size);
  trainer.order_rule = {.order = spec::LoaderOrder::Single};
  std::unique_ptr<train::HfExporter> exporter;
  if (group->rank() == 0)
    exporter = std::make_unique<train::HfExporter>(
        trainer, train::HfExportOptions{.family = described.family, .tokenizer = {}, .ids = {}});
  std::vector<std::unique_ptr<track::Sink>> sinks;
  if (group->rank() == 0) sinks.push_back(track::open_metrics_file(output.string() + ".jsonl", 0));
  train::run_loop(trainer, nullptr, sinks, exporter.get());
  sinks.clear();
  const at::Tensor rows = read_token_rows(tokens.string(), run.model);
  const at::Tensor logits = trainer.model.logits(rows, trainer.context(/*training=*/false)).contiguous();
  group->barrier();
  if (group->rank() != 0) return 0;
  hub::SafetensorsWriter writer(output, {{"logits", hub::Dtype::F32, logits.sizes().vec()}});
  writer.append({static_cast<const std::byte*>(logits.const_data_ptr()), logits.nbytes()});
  writer.close();
  return exporter->num_written() == 2 ? 0 : 1;
}

std::vector<double> losses_in(const fs::path& metrics) {
  std::vector<double> losses;
  std::ifstream file(metrics);
  for (std::string line; std::getline(file, line);)
    losses.push_back(value_or_throw(parse_json(line, metrics.string())).at("loss").get<double>());
  return losses;
}

TEST_P(HfTraining, IsTheSameOnTwoRanksAndExportsWhatItHasLearned) {
  const spec::RunSpec run = described_run();
  fs::create_directories(run_folder_);
  std::vector<std::vector<double>> losses;
  for (const int num_ranks : {1, 2}) {
    const fs::path output = run_folder_ / ("trained-" + std::to_string(num_ranks));
    test::expect_all_good(test::run_ranks(num_ranks, [&](const dist::Endpoint& endpoint) {
      return train_two_steps(run, described_, endpoint, output, folder() / "tokens.json");
    }));
    losses.push_back(losses_in(output.string() + ".jsonl"));
    ASSERT_EQ(losses.back().size(), 2u);
    std::ostringstream err;
    cli::Context context{.out = &err, .err = &err};
    ModelSession session = open_model({.source = {.hf = exported(2).string()}}, context, /*with_tokenizer=*/false);
    const at::Tensor rows = read_token_rows((folder() / "tokens.json").string(), session.decoder->spec());
    const at::Tensor found = session.decoder->logits(rows, session.context());
    const at::Tensor wanted = test::read_safetensors(output.string()).at("logits");
    EXPECT_LT((found - wanted).abs().max().item<double>(), 1e-6 * wanted.abs().max().item<double>()) << num_ranks;
  }
  EXPECT_NEAR(losses[0][0], losses[1][0], 1e-6 * losses[0][0]);
  EXPECT_NEAR(losses[0][1], losses[1][1], 1e-5 * losses[0][1]);
  EXPECT_NE(losses[0][0], losses[0][1]);
}

INSTANTIATE_TEST_SUITE_P(Cases, HfTraining, testing::ValuesIn(case_names()),
                         [](const auto& info) { return info.param; });

TEST(HfExport, RefusesAModelThatNoFamilyHolds) {
  spec::RunSpec run = test::tiny_run();
  run.model.logit_soft_cap = 13;  // with no other trait of the families that have one
  test::TinyTrainer tiny(run);
  try {
    train::HfExporter exporter(tiny.trainer(), {});
    ADD_FAILURE() << "was accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("no family of Hugging Face can hold this model"));
  }
}

}  // namespace
}  // namespace primus::run
