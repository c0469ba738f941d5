// A folder of presets and experiments that is gone after the test, and short ways to load from it.
#pragma once

#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "primus/base/fs.h"
#include "primus/config/load.h"

namespace primus::config {

class PresetTree : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / ("primus_config_" + std::to_string(::getpid()) + "_" +
                                            testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(root_);
    write("primus/configs/platforms/platform_azure.yaml",
          "name: azure\nnum_nodes_env_key: NNODES\nnode_rank_env_key: NODE_RANK\nmaster_addr_env_key: MASTER_ADDR\n"
          "master_port_env_key: MASTER_PORT\ngpus_per_node_env_key: GPUS_PER_NODE\nmaster_sink_level: INFO\n"
          "workspace: ./output\n");
    write("primus/configs/modules/megatron/mod.yaml",
          "train_iters: 1000\nlr: 2.0e-05\nseq_length: 1024\nblock: {a: 1, b: 2}\nsave: null\n");
    write("primus/configs/models/megatron/model.yaml",
          "num_layers: 32\nseq_length: 4096\nblock: {c: 3}\ntokenizer_model: org/name\n");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) {
    const fs::path path = root_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;  // no fsync: hundreds of these are written
  }

  // An experiment over mod.yaml and model.yaml; `module` and `top` are lines put into the module and at the top.
  static std::string experiment(const std::string& module = "", const std::string& top = "") {
    return "work_group: amd\nuser_name: root\nexp_name: run\nworkspace: ./output\n" + top +
           "modules:\n  pre_trainer:\n    framework: megatron\n    config: mod.yaml\n    model: model.yaml\n" + module;
  }

  Result<Experiment> load(const std::string& name, std::vector<std::string> overrides = {},
                          std::map<std::string, std::string> environment = {}) {
    return load_experiment({.path = (root_ / name).string(),
                            .command_line_overrides = std::move(overrides),
                            .environment = environment_of(std::move(environment)),
                            .presets_root = root_});
  }
  Result<Experiment> load_text(const std::string& text, std::vector<std::string> overrides = {},
                               std::map<std::string, std::string> environment = {}) {
    write("exp.yaml", text);
    return load("exp.yaml", std::move(overrides), std::move(environment));
  }
  // One parameter after `overrides:` holds `line`, described; the findings when nothing loads.
  std::string value_of(const std::string& key, const std::string& line,
                       std::map<std::string, std::string> environment = {}) {
    const auto loaded = load_text(experiment("    overrides:\n      " + line + "\n"), {}, std::move(environment));
    return loaded ? describe_param(*loaded, key) : messages(loaded.diagnostics());
  }
  static std::string describe_param(const Experiment& experiment, const std::string& key) {
    const Value* value = experiment.modules.at(0).params.find_path(key);
    return value == nullptr ? "absent" : describe(*value);
  }
  static std::string messages(const Diagnostics& diagnostics) { return render(diagnostics); }

  fs::path root_;
};

}  // namespace primus::config
