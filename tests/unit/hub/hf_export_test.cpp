// Checkpoints of ours as Hugging Face folders: several ranks' shards, what is refused, and the folder rules.
#include "primus/hub/hf_export.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/hub/hf_sample.h"
#include "unit/hub/temp_folder.h"

#include "primus/base/xxh64.h"
#include "primus/hub/checkpoint_reader.h"
#include "primus/hub/hf_folder.h"
#include "primus/hub/hf_folder_check.h"
#include "primus/hub/hf_import.h"
#include "primus/hub/new_folder.h"
#include "primus/spec/fingerprint.h"

namespace primus::hub {
namespace {

using test::TempFolder;
using ::testing::HasSubstr;

TEST(HfExportPlan, FindsItsFamilyItself) {
  for (const test::TinyModel& tiny : test::tiny_models()) {
    const auto plan = plan_export(tiny.hf.model, {});
    ASSERT_TRUE(plan.ok()) << tiny.name << "\n" << render(plan.diagnostics());
    const auto again = read_hf_config(plan->config, tiny.name);
    ASSERT_TRUE(again.ok()) << tiny.name << "\n" << render(again.diagnostics());
    EXPECT_EQ(again->family, plan->family) << tiny.name;
    EXPECT_EQ(hf_family_of(plan->config), plan->family) << tiny.name;
    EXPECT_FALSE(plan->tensors.empty()) << tiny.name;
  }
}

HfModel tiny_llama() {
  const Json config = {
      {"model_type", "llama"},        {"hidden_size", 12},    {"num_hidden_layers", 2},      {"num_attention_heads", 3},
      {"num_key_value_heads", 1},     {"head_dim", 6},        {"intermediate_size", 7},      {"vocab_size", 11},
      {"tie_word_embeddings", false}, {"rms_norm_eps", 1e-5}, {"max_position_embeddings", 9}};
  return value_or_throw(read_hf_config(config, "config.json"));
}

struct Shard {
  std::string name;
  Box box;
  std::vector<float> values;
};

// What two ranks would write, each its half of the rows, in a file of its own.
fs::path write_two_ranks(const fs::path& folder, const HfModel& hf, const std::string& without = "") {
  create_folders(folder);
  Manifest manifest{.save_id = "two", .created = "2026-01-31T12:34:56Z", .world_size = 2};
  manifest.state.step = 8;
  manifest.state.model = spec::model_fingerprint(hf.model);
  std::map<std::string, CheckpointTensor> tensors;
  for (int rank = 0; rank < 2; ++rank) {
    std::vector<Shard> shards;
    std::vector<TensorInfo> infos;
    for (const HfTensor& tensor : value_or_throw(hf_weights(hf.model, hf.family))) {
      for (const WeightPart& part : tensor.parts) {
        if (part.piece == without) continue;
        std::vector<float> whole(static_cast<size_t>(part.rows() * part.cols()));
        test::fill_from_name(part, whole);
        const int64_t middle = part.rows() / 2, begin = rank == 0 ? 0 : middle, end = rank == 0 ? middle : part.rows();
        Box box{std::vector<int64_t>(part.shape.size(), 0), part.shape};
        box.offset[0] = begin;
        box.size[0] = end - begin;
        shards.push_back(
            {"master." + part.piece, box, {whole.begin() + begin * part.cols(), whole.begin() + end * part.cols()}});
        infos.push_back({shards.back().name, Dtype::F32, box.size});
        tensors.try_emplace(shards.back().name, CheckpointTensor{shards.back().name, Dtype::F32, part.shape, {}});
      }
    }
    const std::string file = "optimizer-0000" + std::to_string(rank) + ".safetensors";
    SafetensorsWriter writer(folder / file, infos);
    for (const size_t i : writer.order()) {
      const auto bytes = std::as_bytes(std::span(shards[i].values));
      writer.append(bytes);
      tensors.at(shards[i].name)
          .shards.push_back({static_cast<size_t>(rank), shards[i].name, shards[i].box, xxh64(bytes)});
    }
    writer.close();
    manifest.files.push_back({file, writer.size_bytes(), xxh64(std::as_bytes(std::span(writer.header())))});
  }
  for (auto& [name, tensor] : tensors) manifest.tensors.push_back(tensor);
  write_file_atomic(folder / kManifestName, dump_json(to_json(manifest)));
  return folder;
}

std::string refusal(const Result<ExportReport>& report) {
  return report.ok() ? "accepted" : render(report.diagnostics());
}

TEST(HfExport, JoinsTheShardsOfSeveralRanks) {
  const TempFolder temp;
  const HfModel hf = tiny_llama();
  const FoundCheckpoint checkpoint = value_or_throw(find_checkpoint(write_two_ranks(temp / "step_8", hf)));
  ExportOptions options;
  options.dtype = Dtype::F32;
  options.ids = {.bos = 1, .pad = {}, .eos = {2, 5}};
  const ExportReport report = value_or_throw(export_checkpoint(checkpoint, hf.model, temp / "hf", options));
  EXPECT_EQ(report.family, "llama");
  const WeightSource source = value_or_throw(WeightSource::open(temp / "hf", hf.model, "llama"));
  for (const HfTensor& tensor : source.tensors()) {
    for (const WeightPart& part : tensor.parts) {
      std::vector<float> wanted(static_cast<size_t>(part.rows() * part.cols())), got(wanted.size());
      test::fill_from_name(part, wanted);
      source.read_rows(part.piece, 0, part.rows(), std::span(got));
      ASSERT_EQ(got, wanted) << part.piece;
    }
  }
  const Json config =
      value_or_throw(parse_json(value_or_throw(read_text_file(temp / "hf/config.json")), "config.json"));
  EXPECT_EQ(config.at("dtype"), "float32");
  EXPECT_EQ(config.at("eos_token_id"), Json::array({2, 5}));
  EXPECT_TRUE(fs::exists(temp / "hf/generation_config.json"));
  EXPECT_TRUE(check_hf_folder(temp / "hf", true).ok());
}

TEST(HfExport, RefusesWeightsThatAreMissingOrOfAnotherModelAndWritesNothing) {
  const TempFolder temp;
  HfModel hf = tiny_llama();
  const FoundCheckpoint lacking =
      value_or_throw(find_checkpoint(write_two_ranks(temp / "step_1", hf, "layer.1.mlp.up.weight")));
  EXPECT_THAT(refusal(export_checkpoint(lacking, hf.model, temp / "hf", {})),
              HasSubstr("lacks 1 of the model's weights: master.layer.1.mlp.up.weight"));
  const FoundCheckpoint whole = value_or_throw(find_checkpoint(write_two_ranks(temp / "step_2", hf)));
  spec::Model shorter = hf.model;
  shorter.layers.pop_back();
  EXPECT_THAT(refusal(export_checkpoint(whole, shorter, temp / "hf", {})), HasSubstr("no tensor for 9 weights"));
  spec::Model padded = hf.model;
  padded.vocab_size = 128;
  EXPECT_THAT(refusal(export_checkpoint(whole, padded, temp / "hf", {})), HasSubstr("found:    F32 [11, 12]"));
  EXPECT_FALSE(fs::exists(temp / "hf"));
}

TEST(HfExport, RefusesAModelThatNoFamilyCanHold) {
  const TempFolder temp;
  HfModel hf = tiny_llama();
  const FoundCheckpoint whole = value_or_throw(find_checkpoint(write_two_ranks(temp / "step_2", hf)));
  hf.model.layers[0].mlp.activation = spec::Activation::SquaredRelu;
  EXPECT_THAT(refusal(export_checkpoint(whole, hf.model, temp / "hf", {})), HasSubstr("mlp.activation"));
  ExportOptions options;
  options.family = "gpt2";
  EXPECT_THAT(refusal(export_checkpoint(whole, tiny_llama().model, temp / "hf", options)),
              HasSubstr("the family gpt2 cannot hold this model"));
}

TEST(HfExport, ADamagedCheckpointLeavesNoFolder) {
  const TempFolder temp;
  const HfModel hf = tiny_llama();
  const fs::path step = write_two_ranks(temp / "step_2", hf);
  std::string bytes = value_or_throw(read_text_file(step / "optimizer-00001.safetensors"));
  bytes.back() ^= 1;
  write_file_atomic(step / "optimizer-00001.safetensors", bytes);
  const FoundCheckpoint checkpoint = value_or_throw(find_checkpoint(step));
  EXPECT_THROW(static_cast<void>(export_checkpoint(checkpoint, hf.model, temp / "hf", {})), RunError);
  fs::remove_all(step);
  EXPECT_TRUE(fs::is_empty(temp.path()));
}

TEST(HfExport, ReplacesOnlyWhatIsAHuggingFaceFolder) {
  const TempFolder temp;
  const HfModel hf = tiny_llama();
  const FoundCheckpoint checkpoint = value_or_throw(find_checkpoint(write_two_ranks(temp / "step_2", hf)));
  write_file_atomic((create_folders(temp / "mine"), temp / "mine/thesis.txt"), "years");
  ExportOptions options;
  options.folder.replace = true;
  EXPECT_THAT(refusal(export_checkpoint(checkpoint, hf.model, temp / "mine", options)),
              HasSubstr("a folder without config.json"));
  EXPECT_TRUE(fs::exists(temp / "mine/thesis.txt"));
  EXPECT_TRUE(export_checkpoint(checkpoint, hf.model, temp / "hf", {}).ok());
  EXPECT_THAT(refusal(export_checkpoint(checkpoint, hf.model, temp / "hf", {})), HasSubstr("--overwrite"));
  EXPECT_TRUE(export_checkpoint(checkpoint, hf.model, temp / "hf", options).ok());
}

TEST(HfExport, PredictionsWithoutANameInTheFamilyAreLeftOutWithAWarning) {
  const TempFolder temp;
  const HfModel hf = tiny_llama();
  const fs::path step = write_two_ranks(temp / "step_2", hf);
  Json manifest = value_or_throw(parse_json(value_or_throw(read_text_file(step / kManifestName)), "manifest"));
  for (Json& tensor : manifest["tensors"])
    if (tensor["name"] == "master.final_norm.weight") {
      Json copy = tensor;
      copy["name"] = "master.mtp.0.enorm.weight";
      manifest["tensors"].push_back(copy);
      break;
    }
  write_file_atomic(step / kManifestName, dump_json(manifest));
  const FoundCheckpoint checkpoint = value_or_throw(find_checkpoint(step));
  const auto report = export_checkpoint(checkpoint, hf.model, temp / "hf", {});
  ASSERT_TRUE(report.ok()) << render(report.diagnostics());
  EXPECT_THAT(render(report.diagnostics()), HasSubstr("left out"));
}

TEST(HfFolderCheck, FindsNumbersThatAreNone) {
  const TempFolder temp;
  const HfModel hf = tiny_llama();
  const auto tensors = value_or_throw(hf_weights(hf.model, "llama"));
  test::write_weights(temp / "hf", tensors, [](const WeightPart& part, std::span<float> out) {
    test::fill_from_name(part, out);
    if (part.piece == "layer.1.attn.o.weight") out[19] = NAN, out[20] = INFINITY, out[40] = -INFINITY;
  });
  write_file_atomic(temp / "hf/config.json", dump_json(value_or_throw(write_hf_config(hf.model, "llama"))));
  EXPECT_TRUE(check_hf_folder(temp / "hf").ok());
  const HfFolderCheck check = check_hf_folder(temp / "hf", true);
  EXPECT_FALSE(check.ok());
  EXPECT_THAT(render(check.findings), HasSubstr("model.layers.1.self_attn.o_proj.weight"));
  EXPECT_THAT(render(check.findings), HasSubstr("1 NaN, 2 infinite; the first at layer.1.attn.o.weight [1, 1]"));
}

// The n-th step of the writing fails, for every n: the old checkpoint is there, or the new one, and nothing beside it.
TEST(HfImport, AFailureAtAnyStepLeavesTheOldCheckpointOrTheNewOne) {
  const TempFolder temp = TempFolder::in_memory();
  const HfModel hf = tiny_llama();
  test::write_weights(temp / "hf", value_or_throw(hf_weights(hf.model, "llama")), test::fill_from_name);
  const WeightSource source = value_or_throw(WeightSource::open(temp / "hf", hf.model, "llama"));
  CheckpointState state = import_state(hf.model, {.family = "llama", .folder = temp / "hf"}, "fp32");
  create_folders(temp / "out");
  const ImportOptions options{.replace = true, .max_file_bytes = 2000};
  ASSERT_TRUE(import_weights(source, state, temp / "out/ours", options).ok());
  state.seed = 7;
  int failures = 0;
  for (bool done = false; !done; ++failures) {
    int left = failures;
    set_fault_hook([&left](std::string_view, const fs::path&) {
      if (left-- == 0) throw RunError("injected");
    });
    try {
      done = import_weights(source, state, temp / "out/ours", options).ok();
    } catch (const RunError&) {
      EXPECT_TRUE(verify_checkpoint(temp / "out/ours").empty()) << failures;
    }
    set_fault_hook({});
    const FoundCheckpoint now = value_or_throw(find_checkpoint(temp / "out/ours"));
    if (done) {
      EXPECT_EQ(now.manifest.state.seed, 7U);
      EXPECT_GT(now.manifest.files.size(), 1U);
    }
    EXPECT_EQ(std::distance(fs::directory_iterator(temp / "out"), {}), 1) << failures;
  }
  EXPECT_GT(failures, 10);
}

TEST(NewFolder, SaysHowMuchSpaceIsNeededAndFree) {
  const TempFolder temp;
  EXPECT_NO_THROW(require_space(temp / "a/b/c", 1));
  try {
    require_space(temp / "a/b/c", uint64_t{1} << 60);
    FAIL() << "an exbibyte was there";
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("not enough space"));
    EXPECT_THAT(error.what(), HasSubstr("it needs 1048576.00 TiB"));
  }
}

TEST(NewFolder, IsThereCompleteOrNotAtAll) {
  const TempFolder temp;
  {
    const NewFolder folder = value_or_throw(NewFolder::create(temp / "new/", false, "marker"));
    write_file_atomic(folder.path() / "marker", "half");
    EXPECT_FALSE(fs::exists(temp / "new"));
  }
  EXPECT_TRUE(fs::is_empty(temp.path()));
  for (const char* text : {"first", "second"}) {
    NewFolder folder = value_or_throw(NewFolder::create(temp / "new", true, "marker"));
    write_file_atomic(folder.path() / "marker", text);
    folder.commit();
    EXPECT_EQ(value_or_throw(read_text_file(temp / "new/marker")), text);
  }
  EXPECT_FALSE(NewFolder::create(temp / "new", false, "marker").ok());
  EXPECT_FALSE(NewFolder::create(temp / "new/marker", true, "marker").ok());
}

}  // namespace
}  // namespace primus::hub
