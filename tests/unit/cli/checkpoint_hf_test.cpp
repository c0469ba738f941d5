// checkpoint import-hf, export-hf, and verify of Hugging Face folders.
#include <algorithm>
#include <fstream>

#include "unit/cli/config_fixture.h"

#include "primus/config/dump.h"
#include "primus/config/load.h"
#include "primus/hub/checkpoint_folder.h"
#include "primus/hub/hf_folder.h"

namespace primus::cli {
namespace {

using testing::HasSubstr;

constexpr const char* kQwen = "tests/golden/hf_models/qwen2_window";
constexpr const char* kSizes =
    "num_layers: 3, seq_length: 64, hidden_size: 24, ffn_hidden_size: 34, num_attention_heads: 4, "
    "group_query_attention: true, num_query_groups: 2, kv_channels: 6, max_position_embeddings: 77, "
    "normalization: RMSNorm, layernorm_epsilon: 0.003, swiglu: true, add_bias_linear: false, add_qkv_bias: true, "
    "rotary_base: 500.0, window_size: [4, 0], window_attn_skip_freq: [0, 1, 1], mock_data: true, "
    "untie_embeddings_and_output_weights: true";
constexpr const char* kVocabulary = ", tokenizer_type: NullTokenizer, tokenizer_model: null, vocab_size: 98";

class CheckpointHf : public ConfigFixture {
 protected:
  static Outcome run(std::vector<std::string> arguments) { return run_command(&run_checkpoint, std::move(arguments)); }
  static void refused(const std::vector<std::string>& arguments, const std::string& reason) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr(reason));
  }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  std::string qwen(const std::string& more = kVocabulary) {
    return write("qwen.yaml", experiment("{" + std::string(kSizes) + more + "}"));
  }
  // The golden folder, to be damaged.
  std::string copy_of_qwen() {
    fs::copy(kQwen, folder_ / "hf", fs::copy_options::recursive);
    return at("hf");
  }
  // A run folder with what `train` leaves: the resolved configuration and one checkpoint.
  std::string run_folder(int64_t step) {
    const fs::path target = hub::checkpoints_folder(folder_ / "run") / hub::step_folder_name(step);
    EXPECT_EQ(run({"import-hf", kQwen, "--output", target.string()}).code, 0);
    Json manifest = value_or_throw(parse_json(value_or_throw(read_text_file(target / hub::kManifestName)), "m"));
    manifest["step"] = step;
    manifest["extra"] = Json::object();
    manifest["precision"] = "bf16";
    write_file_atomic(target / hub::kManifestName, dump_json(manifest));
    config::LoadOptions options;
    options.path = qwen();
    options.environment = environment_of({});
    options.presets_root = fs::current_path();
    write("run/config/resolved.yaml", config::dump_yaml(value_or_throw(config::load_experiment(options))));
    return at("run");
  }
};

TEST_F(CheckpointHf, ImportsACheckpointThatIsWholeAndExportsItAgain) {
  const Outcome in = run({"import-hf", kQwen, "--output", at("ours")});
  EXPECT_EQ(in.code, 0) << in.err;
  EXPECT_THAT(in.out, HasSubstr("loaded 39 tensors (68.72 KiB), missing 0, unexpected 0"));
  EXPECT_EQ(run({"verify", at("ours")}).code, 0);
  const Outcome out = run({"export-hf", at("ours"), "--output", at("back"), "--max-shard-size", "0.02MB"});
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_THAT(out.out, HasSubstr("qwen2 model of step 0, 39 tensors in 4 files"));
  const auto before = value_or_throw(hub::HfFolder::open(kQwen)),
             after = value_or_throw(hub::HfFolder::open(at("back")));
  ASSERT_EQ(after.names().size(), before.names().size());
  for (const std::string& name : before.names())
    EXPECT_TRUE(std::ranges::equal(before.find(name)->bytes, after.find(name)->bytes)) << name;
  EXPECT_EQ(run({"verify", at("back"), "--values"}).code, 0);
}

TEST_F(CheckpointHf, ImportReportsAsJsonAndStoresBf16WhenAsked) {
  const Json report = json_of(run({"import-hf", kQwen, "--output", at("ours"), "--dtype", "bf16", "--format", "json"}));
  EXPECT_EQ(report.at("family"), "qwen2");
  EXPECT_EQ(report.at("size_bytes"), 17'592 * 2);
  EXPECT_EQ(report.at("missing").size(), 0U);
  EXPECT_EQ(run({"verify", at("ours")}).code, 0);
}

TEST_F(CheckpointHf, ImportComparesTheExperimentsModel) {
  const std::string config = qwen();
  EXPECT_EQ(run({"import-hf", kQwen, "--output", at("a"), "--config", config}).code, 0);
  refused({"import-hf", kQwen, "--output", at("b"), "--config", config, "--hidden_size", "48"},
          "hidden_size: 48 here, 24 in the checkpoint");
  EXPECT_FALSE(fs::exists(at("b")));
  const Outcome other =
      run({"import-hf", kQwen, "--output", at("c"), "--config", config, "--layernorm_epsilon", "0.1"});
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_THAT(other.err, HasSubstr("computes otherwise than the folder says"));
  EXPECT_THAT(other.err, HasSubstr("model.final_norm.eps (0.1)"));
  refused({"import-hf", kQwen, "--output", at("b"), "--config",
           qwen(", vocab_size: 50, tokenizer_type: NullTokenizer, "
                "tokenizer_model: null")},
          "vocab_size: 51 here, 99 in the checkpoint");
}

TEST_F(CheckpointHf, ImportRefusesFoldersThatAreNone) {
  refused({"import-hf", "/nowhere", "--output", at("a")}, "/nowhere: error: no such folder");
  refused({"import-hf", folder_.string(), "--output", at("a")}, "there is no config.json in it");
  const std::string hf = copy_of_qwen();
  write("hf/config.json", R"({"model_type": "quen2", "hidden_size": 4})");
  refused({"import-hf", hf, "--output", at("a")}, "did you mean 'qwen2'");
  fs::copy_file(fs::path(kQwen) / "config.json", hf + "/config.json", fs::copy_options::overwrite_existing);
  fs::remove(hf + "/model.safetensors");
  refused({"import-hf", hf, "--output", at("a")}, hf);
  refused({"import-hf", hf}, "--output");
  refused({"import-hf", hf, "--output", at("a"), "--lr", "3"}, "--lr");
  EXPECT_FALSE(fs::exists(at("a")));
}

TEST_F(CheckpointHf, AMissingTensorIsAnErrorAndNothingIsWritten) {
  const std::string hf = copy_of_qwen();
  Json config = value_or_throw(parse_json(value_or_throw(read_text_file(hf + "/config.json")), "c"));
  config["num_hidden_layers"] = 4;
  config["layer_types"].push_back("full_attention");
  write("hf/config.json", dump_json(config));
  refused({"import-hf", hf, "--output", at("a")}, "12 tensors are missing: model.layers.3.");
  EXPECT_FALSE(fs::exists(at("a")));
  const Outcome verified = run({"verify", hf});
  EXPECT_EQ(verified.code, 4);
  EXPECT_THAT(verified.out, HasSubstr("NOT OK"));
  EXPECT_THAT(verified.err, HasSubstr("model.layers.3.mlp.up_proj.weight"));
}

TEST_F(CheckpointHf, TargetsThatExistAreReplacedOnlyWhenAskedAndOnlyWhenKnown) {
  ASSERT_EQ(run({"import-hf", kQwen, "--output", at("a")}).code, 0);
  refused({"import-hf", kQwen, "--output", at("a")}, "give another folder, or --overwrite");
  EXPECT_EQ(run({"import-hf", kQwen, "--output", at("a"), "--overwrite"}).code, 0);
  write("mine/notes.txt", "mine");
  refused({"import-hf", kQwen, "--output", at("mine"), "--overwrite"}, "a folder without manifest.json");
  ASSERT_EQ(run({"export-hf", at("a"), "--output", at("b")}).code, 0);
  refused({"export-hf", at("a"), "--output", at("b")}, "give another folder, or --overwrite");
  EXPECT_EQ(run({"export-hf", at("a"), "--output", at("b"), "--overwrite"}).code, 0);
  refused({"export-hf", at("a"), "--output", at("mine/notes.txt")}, "this is a file");
}

TEST_F(CheckpointHf, ExportsTheNewestCheckpointOfARunWithItsConfiguration) {
  const std::string folder = run_folder(7);
  fs::create_directories(hub::checkpoints_folder(folder) / "step_9");  // never completed
  const Outcome outcome = run({"export-hf", folder, "--output", at("hf"), "--format", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("step_9: note: skipped"));
  const Json report = json_of(outcome);
  EXPECT_EQ(report.at("step"), 7);
  EXPECT_EQ(report.at("family"), "qwen2");
  EXPECT_EQ(report.at("dtype"), "bf16");
  EXPECT_EQ(run({"verify", at("hf"), "--values"}).code, 0);
  EXPECT_EQ(run({"export-hf", folder, "--step", "7", "--output", at("hf"), "--overwrite"}).code, 0);
  refused({"export-hf", folder, "--step", "8", "--output", at("x")}, "there is no checkpoint of step 8");
  refused({"export-hf", folder + "/checkpoints/step_7", "--step", "8", "--output", at("x")}, "checkpoint of step 7");
}

TEST_F(CheckpointHf, CopiesTokenizerFilesByteForByte) {
  const std::string folder = run_folder(7);
  write("tok/merges.txt", "#version: 0.2\n");
  fs::copy_file("tests/golden/tokenizer/small/gpt2.json", at("tok/tokenizer.json"));
  write("tok/notes.md", "no tokenizer file");
  const Outcome outcome = run({"export-hf", folder, "--output", at("hf"), "--tokenizer", at("tok")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("tokenizer: tokenizer.json, merges.txt"));
  EXPECT_EQ(value_or_throw(read_text_file(at("hf/tokenizer.json"))),
            value_or_throw(read_text_file(at("tok/tokenizer.json"))));
  EXPECT_FALSE(fs::exists(at("hf/notes.md")));
  refused({"export-hf", folder, "--output", at("x"), "--tokenizer", "/nowhere"}, "/nowhere: error: no such folder");
  refused({"export-hf", folder, "--output", at("x"), "--tokenizer", at("run")}, at("run"));
  EXPECT_FALSE(fs::exists(at("x")));
}

TEST_F(CheckpointHf, ExportRefusesWhatItCannotDescribe) {
  refused({"export-hf", "/nowhere", "--output", at("x")}, "no such folder");
  refused({"export-hf", folder_.string(), "--output", at("x")}, "no complete checkpoint here");
  const std::string folder = run_folder(7);
  refused({"export-hf", folder, "--output", at("x"), "--family", "qwen"}, "no family 'qwen'");
  refused({"export-hf", folder, "--output", at("x"), "--family", "gpt2"}, "the family gpt2 cannot hold this model");
  refused({"export-hf", folder, "--output", at("x"), "--max-shard-size", "5 stones"}, "--max-shard-size");
  fs::rename(folder + "/checkpoints/step_7", at("step_7"));
  refused({"export-hf", at("step_7"), "--output", at("x")}, "nothing here says what the model");
  EXPECT_EQ(run({"export-hf", at("step_7"), "--output", at("hf"), "--config", qwen()}).code, 0);
  std::string wider = kSizes;
  wider.replace(wider.find("34"), 2, "68");
  wider = write("wider.yaml", experiment("{" + wider + kVocabulary + "}"));
  refused({"export-hf", at("step_7"), "--output", at("x"), "--config", wider},
          "ffn_size: 68 here, 34 in the checkpoint");
  EXPECT_FALSE(fs::exists(at("x")));
}

TEST_F(CheckpointHf, VerifiesHuggingFaceFolders) {
  const std::string hf = copy_of_qwen();
  EXPECT_THAT(run({"verify", hf}).out, HasSubstr("qwen2: loaded 39 tensors"));
  const Json report = json_of(run({"verify", hf, "--values", "--format", "json"}));
  EXPECT_EQ(report.at("ok"), true);
  EXPECT_EQ(report.at("loaded"), 39);
  std::string bytes = value_or_throw(read_text_file(hf + "/model.safetensors"));
  bytes.replace(bytes.size() - 4, 4, std::string("\x00\x00\xc0\x7f", 4));
  write_file_atomic(hf + "/model.safetensors", bytes);
  EXPECT_EQ(run({"verify", hf}).code, 0);
  const Outcome bad = run({"verify", hf, "--values"});
  EXPECT_EQ(bad.code, 4);
  EXPECT_THAT(bad.err, HasSubstr("1 NaN, 0 infinite"));
  write_file_atomic(hf + "/model.safetensors", bytes.substr(0, bytes.size() - 9));
  EXPECT_EQ(run({"verify", hf}).code, 4);
  write("hf/config.json", R"({"model_type": "mamba"})");
  const Outcome foreign = run({"verify", hf});
  EXPECT_EQ(foreign.code, 4);
  EXPECT_THAT(foreign.err, HasSubstr("mamba"));
}

}  // namespace
}  // namespace primus::cli
