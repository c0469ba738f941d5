// The checkpoints of ../hf_models through ours and back: every tensor has the bytes that it had.
#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "unit/hub/temp_folder.h"

#include "primus/hub/checkpoint_reader.h"
#include "primus/hub/hf_config.h"
#include "primus/hub/hf_export.h"
#include "primus/hub/hf_folder.h"
#include "primus/hub/hf_folder_check.h"
#include "primus/hub/hf_import.h"

namespace primus::hub {
namespace {

using test::TempFolder;

std::vector<fs::path> golden_checkpoints() {
  std::vector<fs::path> folders;
  for (const auto& item : fs::directory_iterator("tests/golden/hf_models"))
    if (fs::exists(item.path() / "expected.safetensors")) folders.push_back(item.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

struct Imported {
  HfModel hf;
  FoundCheckpoint checkpoint;
  std::string precision;
};

Imported import(const fs::path& folder, const fs::path& target) {
  HfModel hf = value_or_throw(read_hf_config(folder));
  const WeightSource source = value_or_throw(WeightSource::open(folder, hf.model, hf.family));
  const std::string precision = stored_precision(source);
  const CheckpointState state = import_state(hf.model, {.family = hf.family, .folder = folder}, precision);
  const ImportReport report = value_or_throw(import_weights(source, state, target, {.max_file_bytes = 30'000}));
  EXPECT_EQ(report.num_tensors, source.pieces().size());
  EXPECT_TRUE(verify_checkpoint(target).empty()) << folder;
  return {std::move(hf), value_or_throw(find_checkpoint(target)), precision};
}

ExportReport export_to(const Imported& from, const fs::path& target, Dtype dtype) {
  return value_or_throw(export_checkpoint(from.checkpoint, from.hf.model, target,
                                          {.family = from.hf.family,
                                           .dtype = dtype,
                                           .tokenizer = {},
                                           .ids = {},
                                           .folder = {.max_shard_bytes = 20'000},
                                           .progress = {}}));
}

// Name, type, shape and checksum of every tensor of a checkpoint.
std::set<std::string> contents(const Manifest& manifest) {
  std::set<std::string> all;
  for (const CheckpointTensor& tensor : manifest.tensors)
    all.insert(tensor.name + " " + std::string(to_string(tensor.dtype)) + " " + format_shape(tensor.shape) + " " +
               std::to_string(tensor.shards.at(0).xxh64));
  return all;
}

TEST(HfRoundTrip, EveryGoldenCheckpointComesBackByteForByteInManyShards) {
  size_t compared = 0;
  std::set<std::string> families;
  for (const fs::path& folder : golden_checkpoints()) {
    const TempFolder temp = TempFolder::in_memory();
    const Imported first = import(folder, temp / "ours");
    const ExportReport report = export_to(first, temp / "back", first.precision == "bf16" ? Dtype::BF16 : Dtype::F32);
    EXPECT_GT(report.num_shards, 1U) << folder;
    const HfFolderCheck check = check_hf_folder(temp / "back", true);
    EXPECT_TRUE(check.findings.empty()) << folder << render(check.findings);
    const HfFolder before = value_or_throw(HfFolder::open(folder)),
                   after = value_or_throw(HfFolder::open(temp / "back"));
    const bool is_saved_form = before.names().size() == after.names().size();
    for (const std::string& name : after.names()) {
      const HfEntry *old = before.find(name), *now = after.find(name);
      // Quantised tensors and halves of multimodal models come back in the plain form: other names, or other types.
      if (!is_saved_form && (old == nullptr || old->info->dtype != now->info->dtype)) continue;
      ASSERT_NE(old, nullptr) << folder << name;
      EXPECT_EQ(old->info->dtype, now->info->dtype) << folder << name;
      EXPECT_EQ(old->info->shape, now->info->shape) << folder << name;
      ASSERT_TRUE(std::ranges::equal(old->bytes, now->bytes)) << folder << name;
      ++compared;
    }
    families.insert(first.hf.family);
  }
  EXPECT_EQ(families.size(), hf_families().size());
  EXPECT_GT(compared, 1000U);
}

TEST(HfRoundTrip, AnExportImportsToTheSameCheckpoint) {
  for (const fs::path& folder : golden_checkpoints()) {
    const TempFolder temp = TempFolder::in_memory();
    const Imported first = import(folder, temp / "ours");
    export_to(first, temp / "back", Dtype::F32);
    const Imported second = import(temp / "back", temp / "again");
    EXPECT_EQ(contents(first.checkpoint.manifest), contents(second.checkpoint.manifest)) << folder;
    EXPECT_EQ(first.checkpoint.manifest.state.model, second.checkpoint.manifest.state.model) << folder;
  }
}

}  // namespace
}  // namespace primus::hub
