// The experiments for CPUs are what the command in their head makes, byte for byte.
#include "primus/dialect/proxy_file.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <map>

#include "experiment.h"

#include "primus/base/fs.h"
#include "primus/base/json.h"
#include "primus/base/result.h"
#include "primus/base/strings.h"
#include "primus/config/dump.h"
#include "primus/dialect/to_spec.h"
#include "primus/spec/validate.h"

namespace primus::dialect {
namespace {

using testing::shipped;

constexpr std::string_view kHead = "#   primus-cli config proxy ";

struct Command {
  std::string source, output;
  ProxyOptions options;
  std::vector<std::string> overrides;
};

// The command in a file's head; no source when it has none.
Command command_of(const std::string& text) {
  Command command;
  const size_t at = text.find(kHead);
  if (at == std::string::npos) return command;
  const std::string line = text.substr(at + 4, text.find('\n', at) - at - 4);
  std::vector<std::string> words = split(line, ' ');
  for (size_t i = 3; i < words.size(); ++i) {
    if (words[i] == "--config") {
      command.source = words.at(++i);
    } else if (words[i] == "--output") {
      command.output = words.at(++i);
    } else if (words[i] == "--mock") {
      command.options.mock_data = true;
    } else if (words[i] == "--one-device") {
      command.options.one_device = true;
    } else {
      command.overrides.push_back(words[i]);
    }
  }
  return command;
}

std::vector<std::string> cpu_files() {
  std::vector<std::string> files;
  for (const char* framework : {"megatron", "torchtitan", "maxtext", "megatron_bridge"}) {
    const fs::path folder = fs::path("examples") / framework / "configs" / "CPU";
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path().string());
  }
  return files;
}

std::string made(const Command& command, const std::string& head) {
  Diagnostics told;
  const ProxyFile file{.source = command.source,
                       .output = command.output,
                       .command = head,
                       .given = config::parse_overrides(command.overrides, told)};
  const auto text = proxy_file(shipped(command.source, command.overrides), file, command.options);
  PRIMUS_CHECK(text.ok(), render(text.diagnostics()));
  return *text;
}

TEST(ProxyFile, TheCpuExamplesAreWhatTheirCommandsMake) {
  std::map<std::string, int> count;
  for (const std::string& path : cpu_files()) {
    const std::string text = value_or_throw(read_text_file(path));
    const Command command = command_of(text);
    if (command.source.empty()) continue;  // written by hand: quickstart and speed comparison
    EXPECT_EQ(command.output, path);
    const size_t at = text.find(kHead) + 4;
    EXPECT_EQ(made(command, text.substr(at, text.find('\n', at) - at)), text) << path;
    ++count[split(path, '/')[1]];
  }
  EXPECT_GE(count["megatron"], 25);
  EXPECT_GE(count["torchtitan"], 5);
  EXPECT_GE(count["maxtext"], 8);
  EXPECT_GE(count["megatron_bridge"], 4);
}

TEST(ProxyFile, LoadsToWhatProxyMakesOfTheSource) {
  for (const std::string& path : cpu_files()) {
    const Command command = command_of(value_or_throw(read_text_file(path)));
    if (command.source.empty()) continue;
    auto source = shipped(command.source, command.overrides);
    ASSERT_TRUE(apply_proxy(source, {}, command.options).ok()) << path;
    const auto small = shipped(path);
    const Json difference =
        Json::diff(config::to_json(source.main_module().params), config::to_json(small.main_module().params));
    EXPECT_EQ(difference, Json::array()) << path;
    EXPECT_NE(source.meta.exp_name, small.meta.exp_name) << path;
  }
}

TEST(ProxyFile, TrainsOrSaysWhatIsNotBuiltYet) {
  for (const std::string& path : cpu_files()) {
    const auto experiment = shipped(path);
    const auto described = to_spec(experiment, {}, {.world_size = 0, .for_training = false});
    ASSERT_TRUE(described.ok()) << path;
    const auto run = to_spec(experiment, {}, {.world_size = spec::smallest_world(described->parallel)});
    if (run.ok()) continue;
    for (const Diagnostic& finding : run.diagnostics())
      if (finding.severity == Severity::Error) {
        EXPECT_THAT(finding.message, ::testing::HasSubstr("not built yet")) << path;
      }
  }
}

}  // namespace
}  // namespace primus::dialect
