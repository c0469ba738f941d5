// Runs `config` in-process in a folder that is gone after the test.
#pragma once

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/cli/command.h"

namespace primus::cli {

struct Outcome {
  int code = 0;
  std::string out, err;
};

class ConfigFixture : public testing::Test {
 protected:
  static constexpr const char* kExperiment = "examples/megatron/configs/MI300X/tinyllama_1.1B-pretrain.yaml";

  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("primus_cli_config_" + std::to_string(::getpid()) + "_" +
                                              testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static Outcome run(std::vector<std::string> arguments, std::map<std::string, std::string> environment = {},
                     bool colour = false) {
    return run_command(&run_config, std::move(arguments), std::move(environment), colour);
  }
  static Outcome run_command(CommandFunction command, std::vector<std::string> arguments,
                             std::map<std::string, std::string> environment = {}, bool colour = false) {
    std::ostringstream out, err;
    Context context;
    context.arguments = std::move(arguments);
    context.environment = environment_of(std::move(environment));
    context.out = &out;
    context.err = &err;
    context.colour = colour;
    context.install_root = fs::current_path();
    Outcome outcome;
    try {
      outcome.code = static_cast<int>(command(context));
    } catch (const Error& error) {
      outcome.code = static_cast<int>(error.code());
      err << error.what();
    }
    outcome.out = out.str();
    outcome.err = err.str();
    return outcome;
  }
  static Json json_of(const Outcome& outcome) { return value_or_throw(parse_json(outcome.out, "out")); }

  std::string write(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  static std::string experiment(const std::string& overrides) {
    return "work_group: a\nuser_name: b\nexp_name: c\nworkspace: ./output\nmodules:\n  pre_trainer:\n    framework: "
           "megatron\n"
           "    config: pre_trainer.yaml\n    model: tinyllama_1.1B.yaml\n    overrides: " +
           overrides + "\n";
  }
  // A small tree of presets of its own, with one experiment in it.
  std::string write_tree(const std::string& name) {
    write(name + "/primus/configs/modules/megatron/pre_trainer.yaml", "train_iters: 5\nlr: 1.0e-3\n");
    write(name + "/primus/configs/models/megatron/tinyllama_1.1B.yaml", "num_layers: 1\n");
    write(name + "/primus/configs/platforms/platform_azure.yaml",
          "name: a\nnum_nodes_env_key: A\nnode_rank_env_key: A\nmaster_addr_env_key: A\n"
          "master_port_env_key: A\ngpus_per_node_env_key: A\nmaster_sink_level: INFO\nworkspace: w\n");
    return write(name + "/" + kExperiment, experiment("{other_tree: 1}"));
  }

  fs::path folder_;
};

// The experiments that are shipped, every n-th.
inline std::vector<std::string> shipped_experiments(size_t every = 1) {
  std::vector<std::string> files, picked;
  for (const auto& entry : fs::recursive_directory_iterator("examples")) {
    const std::string name = entry.path().string();
    if (!name.ends_with(".yaml") || name.find("/configs/") == std::string::npos) continue;
    files.push_back(name);
  }
  std::sort(files.begin(), files.end());
  for (size_t i = 0; i < files.size(); i += every) picked.push_back(files[i]);
  return picked;
}

}  // namespace primus::cli
