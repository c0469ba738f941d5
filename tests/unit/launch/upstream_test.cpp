#include "primus/launch/upstream.h"

#include <fstream>
#include <gmock/gmock.h>
#include <unistd.h>

#include "primus/base/error.h"

namespace primus::launch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class UpstreamTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("primus_upstream_" + std::to_string(::getpid()) + "_" +
                                              testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string touch(const std::string& name) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "#\n";
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  std::string refusal(const TrainerRequest& request, std::map<std::string, std::string> variables) {
    try {
      find_trainer(request, environment_of(std::move(variables)));
    } catch (const MissingPartError& error) {
      EXPECT_EQ(error.code(), ExitCode::MissingPart);
      return error.what();
    }
    ADD_FAILURE() << "was found";
    return "";
  }
  static TrainerRequest titan() {
    return {"TorchTitan", "torchtitan", {{"torchtitan/train.py", {"-m", "torchtitan.train"}}}, ""};
  }

  fs::path folder_;
};

TEST_F(UpstreamTest, TheOptionBeatsTheVariableAndTheInstalledPackage) {
  touch("a/torchtitan/train.py");
  touch("b/torchtitan/train.py");
  touch("venv/bin/python3");
  touch("venv/lib/python3.11/site-packages/torchtitan/train.py");
  TrainerRequest request = titan();
  request.backend_path = at("a");
  const std::map<std::string, std::string> variables = {{"BACKEND_PATH", at("b")}, {"PATH", at("venv/bin")}};
  Trainer found = find_trainer(request, environment_of(variables));
  EXPECT_EQ(found.found_by, "--backend_path");
  EXPECT_EQ(found.import_root, at("a"));
  EXPECT_THAT(found.program, ElementsAre("-m", "torchtitan.train"));
  found = find_trainer(titan(), environment_of(variables));
  EXPECT_EQ(found.found_by, "BACKEND_PATH");
  EXPECT_EQ(found.import_root, at("b"));
  found = find_trainer(titan(), environment_of({{"PATH", at("none") + ":" + at("venv/bin")}}));
  EXPECT_EQ(found.found_by, "installed package");
  EXPECT_EQ(found.import_root, at("venv/lib/python3.11/site-packages"));
  EXPECT_EQ(found.python, at("venv/bin/python3"));
}

TEST_F(UpstreamTest, LooksBelowSrcAndTriesEveryEntry) {
  touch("tree/src/MaxText/train.py");
  const TrainerRequest request = {"MaxText",
                                  "maxtext",
                                  {{"maxtext/trainers/pre_train/train.py", {"-m", "maxtext.trainers.pre_train.train"}},
                                   {"MaxText/train.py", {"-m", "MaxText.train"}}},
                                  at("tree")};
  const Trainer found = find_trainer(request, environment_of({}));
  EXPECT_EQ(found.import_root, at("tree/src"));
  EXPECT_THAT(found.program, ElementsAre("-m", "MaxText.train"));
}

TEST_F(UpstreamTest, AScriptIsRunByItsPath) {
  touch("Megatron-LM/pretrain_gpt.py");
  const Trainer found =
      find_trainer({"Megatron-LM", "megatron-lm", {{"pretrain_gpt.py", {"pretrain_gpt.py"}}}, at("Megatron-LM")},
                   environment_of({}));
  EXPECT_THAT(found.program, ElementsAre(at("Megatron-LM/pretrain_gpt.py")));
}

TEST_F(UpstreamTest, SaysWhereItLooked) {
  touch("venv/bin/python");
  fs::create_directories(folder_ / "venv/lib/python3.12/site-packages");
  const std::string text = refusal(titan(), {{"VIRTUAL_ENV", at("venv")}, {"PYTHONPATH", at("mine")}});
  EXPECT_THAT(text,
              HasSubstr("no torchtitan/train.py in " + at("mine") + ", " + at("venv/lib/python3.12/site-packages")));
  EXPECT_THAT(text, HasSubstr("--backend_path DIR or BACKEND_PATH"));
  TrainerRequest request = titan();
  request.backend_path = at("empty");
  EXPECT_THAT(refusal(request, {}), HasSubstr("--backend_path must name the tree of TorchTitan"));
}

TEST_F(UpstreamTest, StartsTorchrunWithTheNodeVariables) {
  World world;
  world.num_nodes = 3;
  world.node_rank = 2;
  world.ranks_per_node = 7;
  world.master_address = "gpu-07";
  world.master_port = 29511;
  const Trainer trainer{"/venv/bin/python", "/tree", {"-m", "torchtitan.train"}, "--backend_path"};
  const UpstreamCommand command = upstream_command(trainer, {"-m", "torchtitan.train", "--job.config_file", "a b.toml"},
                                                   world, true, environment_of({{"PYTHONPATH", "/mine"}}));
  EXPECT_THAT(command.arguments,
              ElementsAre("/venv/bin/python", "-m", "torch.distributed.run", "--nproc_per_node", "7", "--nnodes", "3",
                          "--node_rank", "2", "--master_addr", "gpu-07", "--master_port", "29511", "-m",
                          "torchtitan.train", "--job.config_file", "a b.toml"));
  EXPECT_THAT(command.environment, Contains(Pair("PYTHONPATH", "/tree:/mine")));
  EXPECT_THAT(command.environment, Contains(Pair("NODE_RANK", "2")));
  EXPECT_THAT(command.environment, Contains(Pair("GPUS_PER_NODE", "7")));
}

TEST_F(UpstreamTest, StartsOneProcessForJaxAndNamesItsCoordinator) {
  World world;
  world.num_nodes = 2;
  world.node_rank = 1;
  world.master_address = "gpu-01";
  world.master_port = 1234;
  const UpstreamCommand command = upstream_command({"python3", "/tree", {}, ""}, {"-m", "maxtext.train", "a.yml"},
                                                   world, false, environment_of({}));
  EXPECT_THAT(command.arguments, ElementsAre("python3", "-m", "maxtext.train", "a.yml"));
  EXPECT_THAT(command.environment, Contains(Pair("JAX_COORDINATOR_IP", "gpu-01")));
  EXPECT_THAT(command.environment, Contains(Pair("JAX_COORDINATOR_PORT", "1234")));
  EXPECT_THAT(command.environment, Contains(Pair("PYTHONPATH", "/tree")));
}

}  // namespace
}  // namespace primus::launch
