#include "primus/ckpt/loader.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/ckpt/sample_state.h"
#include "unit/hub/temp_folder.h"

#include "primus/base/check.h"

namespace primus::ckpt {
namespace {

using test::sample_request;
using test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CheckpointLoader : public ::testing::Test {
 protected:
  CheckpointLoader() {
    Writer({.checkpoints = run_.path(), .in_background = false}).save(sample_request(3));
    found_ = value_or_throw(hub::find_checkpoint(run_.path()));
  }

  std::string refusal(const std::vector<NamedShard>& wanted, const LoadOptions& options = {}) const {
    Result<LoadReport> report = load(found_, wanted, options);
    return report.ok() ? "accepted" : render(report.diagnostics());
  }

  TempFolder run_;
  hub::FoundCheckpoint found_;
};

TEST_F(CheckpointLoader, FillsAnyBoxAndNamesWhatWasNotAsked) {
  const at::Tensor whole = test::sample_values(test::sample_tensors()[0], 3);
  const at::Tensor box = at::empty({3, 2}, at::kBFloat16);
  const at::Tensor norm = at::empty({5}, at::kBFloat16);
  Result<LoadReport> report =
      load(found_, {{"model.embedding.weight", {7, 5}, {2, 3}, box}, whole_shard("model.norm.weight", norm)});
  ASSERT_TRUE(report.ok()) << render(report.diagnostics());
  EXPECT_TRUE(at::equal(box, whole.slice(0, 2, 5).slice(1, 3, 5)));
  EXPECT_EQ(report->num_tensors, 2);
  EXPECT_EQ(report->num_bytes, 22U);
  EXPECT_THAT(report->unused, ElementsAre("master.embedding.weight", "model.nothing", "optimizer.count",
                                          "optimizer.exp_avg.embedding.weight"));
}

TEST_F(CheckpointLoader, RefusesATensorThatIsMissingOrAnotherOne) {
  const std::string errors = refusal({whole_shard("model.norm.weigth", at::empty({5}, at::kBFloat16)),
                                      whole_shard("model.norm.weight", at::empty({6}, at::kBFloat16)),
                                      whole_shard("master.embedding.weight", at::empty({7, 5}, at::kBFloat16))});
  for (const char* part : {"model.norm.weigth", "lacks this tensor", "did you mean 'model.norm.weight'", "BF16 [6]",
                           "BF16 [5]", "F32 [7, 5]", "BF16 [7, 5]", "step_3"}) {
    EXPECT_THAT(errors, HasSubstr(part));
  }
}

TEST_F(CheckpointLoader, ShowsOnlyTheFirstOfManyMismatches) {
  std::vector<NamedShard> wanted;
  for (int i = 0; i < 30; ++i) wanted.push_back(whole_shard("model.layer" + std::to_string(i), at::empty({2})));
  EXPECT_THAT(refusal(wanted), HasSubstr("22 more tensors do not fit"));
}

TEST_F(CheckpointLoader, RefusesTheCheckpointOfAnotherModelInOneSentence) {
  const std::vector<NamedShard> wanted = {whole_shard("model.norm.weight", at::empty({9}, at::kBFloat16))};
  const std::string errors = refusal(wanted, {.model = {{"hidden_size", 9}, {"vocabulary", 7}}});
  EXPECT_THAT(errors, HasSubstr("checkpoint of another model"));
  EXPECT_THAT(errors, HasSubstr("hidden_size: 9 here, 5 in the checkpoint"));
  EXPECT_THAT(errors, ::testing::Not(HasSubstr("norm.weight")));
  const std::vector<NamedShard> right = {whole_shard("model.norm.weight", at::empty({5}, at::kBFloat16))};
  EXPECT_EQ(refusal(right, {.model = {{"vocabulary", 7}, {"hidden_size", 5}}}), "accepted");
}

TEST_F(CheckpointLoader, NamesTheFileThatIsDamagedCutOrGone) {
  const fs::path path = found_.path / "optimizer-00000.safetensors";
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-3, std::ios::end);
    file.put('\x55');
  }
  EXPECT_THAT(test::differences(found_, 3), HasSubstr("optimizer-00000.safetensors"));
  EXPECT_THAT(test::differences(found_, 3), HasSubstr("damaged"));
  const std::vector<NamedShard> model_only = {whole_shard("model.norm.weight", at::empty({5}, at::kBFloat16))};
  EXPECT_EQ(refusal(model_only), "accepted");
  fs::resize_file(path, fs::file_size(path) - 1);
  EXPECT_THAT(test::differences(found_, 3), HasSubstr("cut short"));
  fs::resize_file(path, 0);
  EXPECT_THAT(test::differences(found_, 3), HasSubstr("0 bytes"));
  fs::remove(path);
  EXPECT_THAT(test::differences(found_, 3), HasSubstr("missing"));
}

TEST_F(CheckpointLoader, StopsMistakesOfItsCaller) {
  EXPECT_THROW((void)load(found_, {{"model.norm.weight", {5}, {3}, at::empty({3}, at::kBFloat16)}}), InternalError);
  EXPECT_THROW((void)load(found_, {whole_shard("model.embedding.weight", at::empty({5, 7}, at::kBFloat16).t())}),
               InternalError);
}

}  // namespace
}  // namespace primus::ckpt
