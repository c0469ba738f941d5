// Hugging Face configs as presets, and the shipped -hf presets against the published sizes.
#include "primus/cli/config_import_hf.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

#include "support/hf_golden.h"

#include "primus/base/check.h"
#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/cli/config_request.h"
#include "primus/cli/model_catalogue.h"
#include "primus/cli/model_params.h"
#include "primus/cli/models_page.h"
#include "primus/config/load.h"
#include "primus/dialect/preset_from_model.h"
#include "primus/hub/hf_config.h"
#include "primus/spec/architecture.h"
#include "primus/spec/model_size.h"

namespace primus::cli {
namespace {

using test::golden_cases;
using test::golden_config;
using ::testing::HasSubstr;

fs::path written_config(const std::string& name) {
  const fs::path file = fs::temp_directory_path() / ("primus_import_hf_" + std::to_string(::getpid()) + ".json");
  std::ofstream(file) << golden_config(name).dump();
  return file;
}

struct Ran {
  std::string out, err;
};

Ran run(CommandFunction command, const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  Context context;
  context.arguments = arguments;
  context.environment = environment_of({});
  context.out = &out;
  context.err = &err;
  context.install_root = ".";
  EXPECT_EQ(command(context), ExitCode::Ok);
  return {out.str(), err.str()};
}

spec::Model model_of_preset(const std::string& model) {
  const auto experiment = bare_experiment(".", "megatron", model, environment_of({}));
  PRIMUS_CHECK(experiment.ok(), render(experiment.diagnostics()));
  const auto described = describe_run(*experiment, {});
  PRIMUS_CHECK(described.ok(), render(described.diagnostics()));
  return described->model;
}

TEST(PresetFromModel, OfEveryPublishedModelIsExact) {
  for (const Json& c : golden_cases()) {
    const auto name = c.at("name").get<std::string>();
    if (!c.at("published").get<bool>()) continue;
    const auto read = hub::read_hf_config(c.at("config"), name);
    ASSERT_TRUE(read.ok()) << name;
    const auto preset = dialect::preset_from_model(read->model, "megatron");
    EXPECT_TRUE(preset.ok()) << name << "\n" << render(preset.diagnostics());
  }
}

TEST(PresetFromModel, RefusesWhatTheDialectCannotSay) {
  Json config = {{"model_type", "gpt2"}, {"n_layer", 2}, {"scale_attn_by_inverse_layer_idx", true}};
  const auto read = hub::read_hf_config(config, "config.json");
  ASSERT_TRUE(read.ok());
  const auto preset = dialect::preset_from_model(read->model, "megatron");
  ASSERT_FALSE(preset.ok());
  EXPECT_THAT(preset.diagnostics()[0].found, HasSubstr("softmax_scale"));
  EXPECT_FALSE(dialect::preset_from_model(read->model, "no_such").ok());
}

// Through the real module preset, whose keys win over the model preset's.
TEST(PaperTruePresets, AreThePublishedArchitecturesToTheLastParameter) {
  size_t count = 0;
  for (const Json& c : golden_cases()) {
    const auto name = c.at("name").get<std::string>();
    if (!fs::exists("primus/configs/models/megatron/" + name + "-hf.yaml")) continue;
    const spec::Model model = model_of_preset(name + "-hf");
    const spec::ModelSize size = spec::count_parameters(model, /*padded=*/true);
    EXPECT_EQ(size.total() - size.mtp, c.at("parameters").get<int64_t>()) << name;
    spec::Model published = hub::read_hf_config(c.at("config"), name)->model;
    published.vocab_size = model.vocab_size;  // the tokenizer decides, when it is there
    EXPECT_THAT(spec::architecture_differences(published, model), ::testing::IsEmpty()) << name;
    ++count;
  }
  EXPECT_GE(count, 30U);
}

TEST(ConfigImportHf, PrintsAPresetAndEveryReason) {
  const fs::path file = written_config("qwen3_4B");
  const Ran ran = run(run_config_import_hf, {file.string()});
  fs::remove(file);
  EXPECT_THAT(ran.out, HasSubstr("kv_channels: 128\n"));
  EXPECT_THAT(ran.out, HasSubstr("qk_layernorm: true\n"));
  EXPECT_THAT(ran.out, HasSubstr("layernorm_epsilon: 1.0e-06\n"));
  EXPECT_THAT(ran.out, HasSubstr("untie_embeddings_and_output_weights: false\n"));
  EXPECT_THAT(ran.out, HasSubstr("4,022,468,096 parameters"));
  EXPECT_THAT(ran.err, HasSubstr("attention.qk_norm = per head, before the rotation: qwen3 always has it"));
}

TEST(ConfigImportHf, MarksAdditionsOfThisProject) {
  const fs::path file = written_config("llama3.2_1B");
  const Ran ran = run(run_config_import_hf, {file.string(), "--format", "json"});
  fs::remove(file);
  const Json json = Json::parse(ran.out);
  EXPECT_EQ(json.at("params").at("llama3_rope_factor"), 32.0);
  EXPECT_THAT(json.at("additions").dump(), HasSubstr("llama3_rope_factor"));
  EXPECT_EQ(json.at("parameters"), 1235814400);
}

TEST(ConfigImportHf, NeedsOnePath) {
  EXPECT_THROW(run(run_config_import_hf, {}), InputError);
  EXPECT_THROW(run(run_config_import_hf, {"no/such/config.json"}), InputError);
}

TEST(ModelParams, ShowsPartsThatAddUp) {
  const fs::path file = written_config("deepseek_v2_lite");
  const Json json = Json::parse(run(run_model_params, {"--hf", file.string(), "--format", "json"}).out);
  const Ran text = run(run_model_params, {"--hf", file.string()});
  fs::remove(file);
  int64_t sum = json.at("embedding").get<int64_t>() + json.at("head").get<int64_t>();
  for (const auto& [name, value] : json.at("parts").items())
    if (name != "active_experts") sum += value.get<int64_t>();
  EXPECT_EQ(sum, 15706484224);
  EXPECT_EQ(json.at("parameters"), 15706484224);
  EXPECT_LT(json.at("active").get<int64_t>(), 3000000000);
  EXPECT_THAT(text.out, HasSubstr("15,706,484,224"));
  EXPECT_THROW(run(run_model_params, {}), InputError);
}

TEST(ModelsPage, IsUpToDate) {
  const auto page = read_text_file("docs/models.md");
  ASSERT_TRUE(page.ok()) << "make it: primus-cli config list models --format markdown > docs/models.md";
  EXPECT_TRUE(*page == models_page(".", environment_of({})))
      << "make it again: primus-cli config list models --format markdown > docs/models.md";
}

}  // namespace
}  // namespace primus::cli
