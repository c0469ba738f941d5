// Hugging Face configs as presets of the dialects that name architectures, and back through files of a presets tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/hf_golden.h"
#include "unit/cli/config_fixture.h"

#include "primus/base/check.h"
#include "primus/cli/config_import_hf.h"
#include "primus/cli/config_request.h"
#include "primus/cli/model_catalogue.h"
#include "primus/cli/resolve_run.h"
#include "primus/dialect/preset_from_model.h"
#include "primus/hub/hf_config.h"
#include "primus/spec/architecture.h"
#include "primus/tokenizer/tokenizer.h"

namespace primus::cli {
namespace {

using test::golden_cases;
using test::golden_config;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

spec::Model published(const std::string& name) {
  return value_or_throw(hub::read_hf_config(golden_config(name), name)).model;
}

class ImportHf : public ConfigFixture {
 protected:
  Outcome import(const Json& config, std::vector<std::string> more) {
    const fs::path file = folder_ / "config.json";
    std::ofstream(file) << config.dump();
    std::ostringstream out, err;
    Context context;
    context.arguments = {file.string()};
    context.arguments.insert(context.arguments.end(), more.begin(), more.end());
    context.environment = environment_of({});
    context.out = &out;
    context.err = &err;
    context.install_root = ".";
    Outcome outcome;
    try {
      outcome.code = static_cast<int>(run_config_import_hf(context));
    } catch (const Error& error) {
      outcome.code = static_cast<int>(error.code());
      err << error.what();
    }
    outcome.out = out.str(), outcome.err = err.str();
    return outcome;
  }

  // Written with --output into a tree of presets, then loaded as any preset is.
  config::Experiment experiment_of(const Json& config, const std::string& framework) {
    const fs::path configs = folder_ / "primus" / "configs", models = configs / "models" / framework;
    const fs::path shipped = fs::current_path() / "primus" / "configs";
    fs::create_directories(models);
    if (!fs::exists(configs / "modules")) fs::create_directory_symlink(shipped / "modules", configs / "modules");
    for (const char* parent : {"model_base.yaml", "language_model.yaml", "primus_megatron_model.yaml"})
      if (const fs::path file = shipped / "models" / framework / parent; fs::exists(file))
        fs::copy_file(file, models / parent, fs::copy_options::overwrite_existing);
    const Outcome outcome = import(config, {"--framework", framework, "--output", (models / "imported.yaml").string()});
    PRIMUS_CHECK(outcome.code == 0, outcome.err);
    return value_or_throw(bare_experiment(folder_, framework, "imported", environment_of({})));
  }
  spec::Model through_a_file(const std::string& name, const std::string& framework) {
    return value_or_throw(describe_run(experiment_of(golden_config(name), framework), {})).model;
  }

  // The fields of a layer that differ from the published model, and whole fields of the model but the number of
  // positions, which rotary models do not have.
  std::vector<std::string> changed(const std::string& name, const std::string& framework) {
    std::vector<std::string> fields;
    for (const std::string& one : spec::architecture_differences(published(name), through_a_file(name, framework))) {
      std::string field = one.substr(0, one.find(" ("));
      if (const size_t layer = field.find("]."); layer != std::string::npos) field = field.substr(layer + 2);
      if (field != "model.max_positions") fields.push_back(field);
    }
    return fields;
  }
};

// A llama there has pairs of neighbours, and a scaling that a factor of 1 turns off.
TEST_F(ImportHf, ToTorchTitanGivesTheSameModel) {
  for (const char* name : {"llama3_8B", "tinyllama_1.1B"}) {
    EXPECT_THAT(changed(name, "torchtitan"), ElementsAre("attention.rope.interleaved", "attention.rope.llama3"))
        << name;
    EXPECT_EQ(through_a_file(name, "torchtitan").layers[0].attention.rope->llama3->factor, 1);
  }
  EXPECT_THAT(changed("llama3.1_8B", "torchtitan"), ElementsAre("attention.rope.interleaved"));
  for (const char* name : {"qwen3_8B", "qwen3_235B_A22B", "gpt_oss_20B"})
    EXPECT_THAT(changed(name, "torchtitan"), IsEmpty()) << name;
}

// Its llamas have the softmax's scale in the query weights.
TEST_F(ImportHf, ToMaxTextGivesTheSameModel) {
  for (const char* name : {"llama3_8B", "mixtral_8x7B_v0.1", "tinyllama_1.1B"}) {
    EXPECT_THAT(changed(name, "maxtext"), ElementsAre("attention.softmax_scale")) << name;
    const spec::Model model = through_a_file(name, "maxtext");
    EXPECT_EQ(model.layers[0].attention.softmax_scale, 1);
    EXPECT_GT(model.layers[0].init->query_std, 0);
  }
  for (const char* name : {"qwen3_8B", "qwen2.5_0.5B", "gpt_oss_20B"})
    EXPECT_THAT(changed(name, "maxtext"), IsEmpty()) << name;
}

TEST_F(ImportHf, ToMegatronBridgeGivesTheSameModel) {
  for (const char* name : {"llama3_8B", "qwen3_8B", "llama3.2_1B", "qwen3_30B_A3B"})
    EXPECT_THAT(changed(name, "megatron_bridge"), IsEmpty()) << name;
}

TEST_F(ImportHf, ToTorchTitanNamesTheFlavorAndWhatItHasDifferently) {
  const Outcome qwen = import(golden_config("qwen3_8B"), {"--framework", "torchtitan"});
  EXPECT_THAT(qwen.out, HasSubstr("model:\n  name: qwen3\n  flavor: 8B\n"));
  EXPECT_THAT(qwen.out, Not(HasSubstr("extends")));
  EXPECT_THAT(qwen.err, HasSubstr("model.flavor = 8B: the flavor with exactly these sizes\n"));
  const Outcome llama = import(golden_config("llama3_8B"), {"--framework", "torchtitan"});
  EXPECT_THAT(llama.out, HasSubstr("  flavor: 8B\n  rope_scaling_args:\n    scaling_factor: 1.0\n"));
  EXPECT_THAT(llama.err, HasSubstr("model.rope_scaling_args.scaling_factor = 1.0: flavor 8B has 8.0; "));
  EXPECT_THAT(llama.err, HasSubstr("rope.interleaved = true: the same rotation"));
}

TEST_F(ImportHf, ToMaxTextTakesANameOrSizes) {
  const Outcome named = import(golden_config("mixtral_8x7B_v0.1"), {"--framework", "maxtext"});
  EXPECT_THAT(named.out, HasSubstr("extends:\n  - model_base.yaml\n"));
  EXPECT_THAT(named.out, HasSubstr("model_name: mixtral-8x7b\n"));
  EXPECT_THAT(named.out, Not(HasSubstr("base_emb_dim")));
  EXPECT_THAT(named.err, HasSubstr("softmax_scale = 1.0: the scale is in the first query weights"));
  const Outcome sized = import(golden_config("qwen2.5_0.5B"), {"--framework", "maxtext"});
  EXPECT_THAT(sized.out, HasSubstr("model_name: default\n"));
  EXPECT_THAT(sized.out, HasSubstr("base_emb_dim: 896\n"));
  EXPECT_THAT(sized.out, HasSubstr("normalize_embedding_logits: false\n"));
  EXPECT_THAT(sized.err, HasSubstr("model_name = default: no model_name of MaxText has this architecture"));
}

TEST_F(ImportHf, ToMegatronBridgeNamesTheRecipeAndItsHfPath) {
  const Outcome found = import(golden_config("qwen3_8B"), {"--framework", "megatron_bridge", "--format", "json"});
  const Json json = Json::parse(found.out);
  EXPECT_EQ(json.at("params").dump(),
            R"({"recipe":"qwen.qwen3","flavor":"qwen3_8b_pretrain_config","hf_path":"Qwen/Qwen3-8B"})");
  EXPECT_THAT(json.at("decisions").dump(), HasSubstr("the pre-training recipe that has this architecture"));
  const Outcome refused = import(golden_config("llama2_70B"), {"--framework", "megatron_bridge"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("no pre-training recipe of megatron_bridge has this architecture"));
  EXPECT_THAT(refused.err, HasSubstr("the nearest, llama3_70b_pretrain_config, lacks model.vocab_size (32000)"));
}

TEST_F(ImportHf, RefusesWhatADialectCannotSayWithTheFields) {
  const Outcome titan = import(golden_config("gpt2"), {"--framework", "torchtitan"});
  EXPECT_EQ(titan.code, 2);
  EXPECT_EQ(titan.out, "");
  EXPECT_THAT(titan.err, HasSubstr("this model cannot be expressed in the dialect torchtitan"));
  EXPECT_THAT(titan.err, HasSubstr("model.learned_positions (true)"));
  EXPECT_THAT(titan.err, HasSubstr(R"(input_norm.kind ("LayerNorm"))"));
  const Outcome maxtext = import(golden_config("mistral_7B_v0.1"), {"--framework", "maxtext"});
  EXPECT_EQ(maxtext.code, 2);
  EXPECT_THAT(maxtext.err, HasSubstr("model.layers[0-31].attention.window_keys (4096)"));
  // One size that no recipe and no name has.
  Json odd = golden_config("llama3_8B");
  odd["intermediate_size"] = 14344;
  EXPECT_EQ(import(odd, {"--framework", "megatron_bridge"}).code, 2);
  EXPECT_THAT(import(odd, {"--framework", "maxtext"}).out, HasSubstr("base_mlp_dim: 14344\n"));
  const Outcome typo = import(golden_config("gpt2"), {"--framework", "maxtex"});
  EXPECT_EQ(typo.code, 2);
  EXPECT_THAT(typo.err, HasSubstr("there is no dialect 'maxtex'"));
  EXPECT_THAT(typo.err, HasSubstr("maxtext"));
}

// 990 tokens, the highest id given.
void write_tokenizer(const fs::path& folder, int64_t highest) {
  Json vocabulary = Json::object();
  for (int64_t id = 0; id < 985; ++id) vocabulary["token" + std::to_string(id)] = id;
  for (int64_t id = highest - 4; id <= highest; ++id) vocabulary["token" + std::to_string(id)] = id;
  const Json tokenizer = {{"version", "1.0"},
                          {"added_tokens", Json::array()},
                          {"normalizer", nullptr},
                          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
                          {"decoder", {{"type", "ByteLevel"}}},
                          {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}};
  fs::create_directories(folder);
  std::ofstream(folder / "tokenizer.json") << tokenizer.dump();
}

// B055
TEST_F(ImportHf, TheModelsTableIsAtLeastTheHighestIdAndOne) {
  Json config = golden_config("tinyllama_1.1B");
  config["vocab_size"] = 1000;
  config::Experiment experiment = experiment_of(config, "megatron");
  config::Map& params = experiment.modules[0].params.as_map();
  params.set("tokenizer_type", config::Value("HuggingFaceTokenizer"));
  params.set("tokenizer_model", config::Value((folder_ / "tokenizer").string()));
  spec::RunSpec run = value_or_throw(describe_run(experiment, {}));
  Context context;
  context.environment = environment_of({});
  write_tokenizer(folder_ / "tokenizer", 995);
  spec::RunSpec smaller = run;
  EXPECT_EQ(finish_with_tokenizer(smaller, context)->vocab_size(), 996);
  EXPECT_EQ(smaller.model.padded_vocab_size, 1000);  // never the tokenizer's 990 or 996
  write_tokenizer(folder_ / "tokenizer", 1003);
  try {
    finish_with_tokenizer(run, context);
    FAIL() << "ids run past the table";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the tokenizer has 1,004 ids, and padded_vocab_size allows 1,000"));
  }
}

// A small config of every family: a preset that means the model, or the fields that are in the way.
TEST_F(ImportHf, AlwaysGivesAPresetOrFields) {
  size_t presets = 0;
  for (const Json& c : golden_cases()) {
    if (!c.at("name").get<std::string>().ends_with("_3")) continue;
    const auto read = hub::read_hf_config(c.at("config"), "config.json");
    ASSERT_TRUE(read.ok());
    for (const std::string& framework : dialect::preset_frameworks()) {
      const auto preset = dialect::preset_from_model(read->model, framework);
      if (preset.ok()) {
        ++presets;
        continue;
      }
      const std::string text = render(preset.diagnostics());
      EXPECT_TRUE(text.find("cannot be expressed") != std::string::npos ||
                  text.find("no pre-training recipe") != std::string::npos)
          << c.at("name") << " " << framework << "\n"
          << text;
    }
  }
  EXPECT_GE(presets, 13U);
}

}  // namespace
}  // namespace primus::cli
