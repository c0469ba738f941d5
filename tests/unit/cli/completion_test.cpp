// Shell completion: the candidates, and the bash script with the real program behind it.
#include "primus/cli/completion.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

#include "unit/cli/config_fixture.h"

#include "primus/base/strings.h"

namespace primus::cli {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> completed(const std::vector<std::string>& words) {
  Context context;
  context.environment = environment_of({{"PATH", "/usr/bin:/bin"}});
  context.install_root = fs::current_path();
  return complete(context, words);
}

TEST(Complete, OffersCommandsAndTheirSubCommands) {
  EXPECT_THAT(completed({"conf"}), ElementsAre("config"));
  EXPECT_THAT(completed({""}), Contains("train"));
  EXPECT_THAT(completed({"config", "sch"}), ElementsAre("schedule", "schema"));
  EXPECT_THAT(completed({"data", ""}), ElementsAre("build-index", "inspect", "prepare"));
  EXPECT_THAT(completed({"checkpoint", "ver"}), ElementsAre("verify"));
  EXPECT_THAT(completed({"train", "pre"}), ElementsAre("pretrain"));
  EXPECT_THAT(completed({"direct", "--env", "A=1", "--", "conf"}), ElementsAre("config"));
}

TEST(Complete, OffersOptionsAndTheirValues) {
  EXPECT_THAT(completed({"train", "pretrain", "--dry"}), ElementsAre("--dry-run"));
  EXPECT_THAT(completed({"train", "pretrain", "--resume", ""}), ElementsAre("auto", "must", "never"));
  EXPECT_THAT(completed({"train", "pretrain", "--engine", ""}), ElementsAre("native", "upstream"));
  EXPECT_THAT(completed({"train", "pretrain", "--backend_path", "/op"}), ElementsAre(kFileNames));
  EXPECT_THAT(completed({"config", "exp"}), ElementsAre("explain", "export"));
  EXPECT_THAT(completed({"config", "export", "--to", "max"}), ElementsAre("maxtext"));
  EXPECT_THAT(completed({"config", "export", "--as", ""}), ElementsAre("experiment", "launch"));
  EXPECT_THAT(completed({"config", "import-hf", "--framework", "tor"}), ElementsAre("torchtitan"));
  EXPECT_THAT(completed({"config", "show", "--format", "j"}), ElementsAre("json"));
  EXPECT_THAT(completed({"checkpoint", "i"}), ElementsAre("import-hf"));
  EXPECT_THAT(completed({"checkpoint", "export-hf", "--family", "lla"}), ElementsAre("llama", "llama4_text"));
  EXPECT_THAT(completed({"checkpoint", "export-hf", "--dtype", ""}), ElementsAre("bf16", "fp16", "fp32"));
  EXPECT_THAT(completed({"config", "show", "--format=y"}), ElementsAre("--format=yaml"));
  EXPECT_THAT(completed({"config", "schema", "--framework", "meg"}), ElementsAre("megatron", "megatron_bridge"));
  EXPECT_THAT(completed({"config", "list", "ke"}), Contains("keys"));
  EXPECT_THAT(completed({"config", "show", "--config", "exam"}), ElementsAre(kFileNames));
}

TEST(Complete, OffersKeysOfTheExperimentsFrameworkAndTheirValues) {
  EXPECT_THAT(completed({"config", "explain", "lr_warmup_it"}), ElementsAre("lr_warmup_iters"));
  EXPECT_THAT(completed({"train", "pretrain", "--lr_warmup_it"}), ElementsAre("--lr_warmup_iters"));
  EXPECT_THAT(completed({"train", "pretrain", "lr_warmup_it"}), ElementsAre("lr_warmup_iters="));
  EXPECT_THAT(completed({"train", "pretrain", "lr_decay_style=cos"}), ElementsAre("lr_decay_style=cosine"));
  EXPECT_THAT(completed({"train", "pretrain", "--mock_data", ""}), ElementsAre("false", "true"));
  const std::vector<std::string> titan = {"config", "show", "--config",
                                          "examples/torchtitan/configs/MI300X/llama3.1_8B-BF16-pretrain.yaml",
                                          "--training.st"};
  EXPECT_THAT(completed(titan), Contains("--training.steps"));
}

TEST(Complete, OffersModelPresets) {
  const auto models = completed({"config", "new", "--framework", "megatron", "--model", "llama3."});
  EXPECT_THAT(models, Contains("llama3.1_8B"));
  EXPECT_THAT(models, Each(StartsWith("llama3.")));
}

std::string output_of(const std::string& command) {
  std::string text;
  std::array<char, 4096> buffer{};
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  while (const size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), size);
  ::pclose(pipe);
  return text;
}

using CompletionScript = ConfigFixture;

TEST_F(CompletionScript, OfBashCompletesAFewLines) {
  const fs::path programs = fs::read_symlink("/proc/self/exe").parent_path();
  if (!fs::exists(programs / "primus")) GTEST_SKIP() << "primus is not built beside this test";
  std::ostringstream out;
  Context context;
  context.arguments = {"bash"};
  context.out = &out;
  context.program_folder = programs;
  ASSERT_EQ(run_completion(context), ExitCode::Ok);
  const std::string script = write("completion.bash", out.str());
  const auto typed = [&](const std::string& line, const std::string& words, int at) {
    const std::string body =
        "source '" + script + "'; COMP_LINE='" + line + "'; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(" + words +
        "); COMP_CWORD=" + std::to_string(at) + "; _primus_cli; printf '%s\\n' \"${COMPREPLY[@]}\"";
    write("line.bash", body);
    return output_of("bash '" + (folder_ / "line.bash").string() + "' 2>&1");
  };
  EXPECT_EQ(typed("primus-cli conf", "primus-cli conf", 1), "config\n");
  EXPECT_EQ(typed("primus-cli config expl", "primus-cli config expl", 2), "explain\n");
  EXPECT_EQ(typed("primus-cli config show --format ", "primus-cli config show --format ''", 4), "json\ntext\nyaml\n");
  // Bash takes '=' for the end of a word.
  EXPECT_EQ(typed("primus-cli train pretrain lr_decay_style=cos", "primus-cli train pretrain lr_decay_style = cos", 5),
            "cosine\n");
  EXPECT_THAT(typed("primus-cli config show --config VERS", "primus-cli config show --config VERS", 4),
              StartsWith("VERSION"));
}

TEST_F(CompletionScript, OfEveryShellNamesTheProgramAndUnknownShellsAreRefused) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    std::ostringstream out;
    Context context;
    context.arguments = {shell};
    context.out = &out;
    context.program_folder = "/a b/it's";
    EXPECT_EQ(run_completion(context), ExitCode::Ok);
    EXPECT_THAT(out.str(), testing::HasSubstr("'/a b/it'\\''s/primus' completion query"));
    EXPECT_THAT(out.str(), Not(testing::HasSubstr("@PROGRAM@")));
  }
  Context context;
  context.arguments = {"tcsh"};
  EXPECT_THROW(run_completion(context), InputError);
}

}  // namespace
}  // namespace primus::cli
