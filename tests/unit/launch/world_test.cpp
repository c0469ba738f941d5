#include "primus/launch/world.h"

#include <gmock/gmock.h>

namespace primus::launch {
namespace {

using testing::HasSubstr;

NodeRequest nodes_of(std::map<std::string, std::string> variables) {
  return value_or_throw(read_node_request(environment_of(std::move(variables))));
}

std::string node_errors_of(std::map<std::string, std::string> variables) {
  return render(read_node_request(environment_of(std::move(variables))).diagnostics());
}

TEST(SmallestWorld, IsTheLeastCommonMultipleOfBothProducts) {
  EXPECT_EQ(smallest_world({}), 1);
  EXPECT_EQ(smallest_world({.tensor = 2, .pipeline = 3, .context = 5}), 30);
  EXPECT_EQ(smallest_world({.pipeline = 3, .expert = 8, .expert_tensor = 2}), 48);
  // 4 * 3 * 1 = 12 and 1 * 8 * 3 = 24: the experts span two tensor-parallel groups.
  EXPECT_EQ(smallest_world({.tensor = 4, .pipeline = 3, .expert = 8}), 24);
  // 6 and 4 meet at 12.
  EXPECT_EQ(smallest_world({.tensor = 3, .pipeline = 2, .expert = 2}), 12);
}

TEST(NodeRequest, IsOneNodeWhenTheEnvironmentSaysNothing) {
  const NodeRequest request = nodes_of({});
  EXPECT_EQ(request.num_nodes, 1);
  EXPECT_EQ(request.source, "single node");
  EXPECT_FALSE(request.master_port);
  EXPECT_FALSE(request.ranks_per_node);
}

TEST(NodeRequest, ReadsTheVariablesOfUpstreamsLauncher) {
  const NodeRequest request = nodes_of({{"NNODES", "3"},
                                        {"NODE_RANK", "2"},
                                        {"MASTER_ADDR", "gpu-07.cluster"},
                                        {"MASTER_PORT", "29511"},
                                        {"GPUS_PER_NODE", "7"}});
  EXPECT_EQ(request.num_nodes, 3);
  EXPECT_EQ(request.node_rank, 2);
  EXPECT_EQ(request.master_address, "gpu-07.cluster");
  EXPECT_EQ(request.master_port, 29511);
  EXPECT_EQ(request.ranks_per_node, 7);
}

TEST(NodeRequest, CollectsEveryWrongVariable) {
  const std::string text =
      node_errors_of({{"GPUS_PER_NODE", "73"}, {"MASTER_PORT", "80"}, {"MASTER_ADDR", "a b"}, {"NNODES", "two"}});
  EXPECT_THAT(text, HasSubstr("GPUS_PER_NODE"));
  EXPECT_THAT(text, HasSubstr("1 to 72"));
  EXPECT_THAT(text, HasSubstr("1024 to 65535"));
  EXPECT_THAT(text, HasSubstr("MASTER_ADDR is not a host name"));
  EXPECT_THAT(text, HasSubstr("'two'"));
}

TEST(NodeRequest, RefusesANodeRankThatDoesNotFit) {
  EXPECT_THAT(node_errors_of({{"NNODES", "2"}, {"NODE_RANK", "2"}}), HasSubstr("NODE_RANK is not below NNODES"));
  EXPECT_THAT(node_errors_of({{"NNODES", "2"}}), HasSubstr("NODE_RANK is missing"));
  EXPECT_THAT(node_errors_of({{"NODE_RANK", "1"}}), HasSubstr("NNODES is missing"));
}

TEST(NodeRequest, FollowsSlurmUnlessTheUserSaysOtherwise) {
  const std::map<std::string, std::string> slurm = {
      {"SLURM_STEP_NUM_NODES", "2"},         {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_NODEID", "1"},
      {"SLURM_STEP_NODELIST", "gpu[05-06]"}, {"SLURM_JOB_ID", "41"},        {"SLURM_STEP_ID", "0"}};
  const NodeRequest request = nodes_of(slurm);
  EXPECT_EQ(request.source, "Slurm");
  EXPECT_EQ(request.num_nodes, 2);
  EXPECT_EQ(request.node_rank, 1);
  EXPECT_EQ(request.master_address, "gpu05");
  EXPECT_EQ(request.master_port, 20000 + 41 * 16);

  auto with_explicit = slurm;
  with_explicit["NNODES"] = "1";
  EXPECT_EQ(nodes_of(with_explicit).source, "environment");
  EXPECT_EQ(nodes_of(with_explicit).num_nodes, 1);
}

TEST(NodeRequest, RefusesSeveralLaunchersOnOneNode) {
  EXPECT_THAT(node_errors_of({{"SLURM_STEP_NUM_NODES", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_NODEID", "0"}}),
              HasSubstr("--ntasks-per-node=1"));
}

TEST(World, TakesTheSmallestNumberOfRanksWhenNoneIsGiven) {
  const World world = value_or_throw(plan_world({.layout = {.tensor = 2, .pipeline = 3}, .num_cores = 13}));
  EXPECT_EQ(world.ranks_per_node, 6);
  EXPECT_EQ(world.threads_per_rank, 2);
  EXPECT_TRUE(world.warnings.empty());
  EXPECT_EQ(world.to_string(13), "6 ranks (smallest for this layout), 2 threads each on 13 cores");
}

TEST(World, SharesTheSmallestWorldAmongNodes) {
  NodeRequest nodes{.num_nodes = 4, .node_rank = 3, .master_address = "a"};
  EXPECT_EQ(value_or_throw(plan_world({.nodes = nodes, .layout = {.tensor = 6}, .num_cores = 8})).ranks_per_node, 3);
}

TEST(World, TheOptionBeatsTheVariable) {
  NodeRequest nodes{.ranks_per_node = 5};
  EXPECT_EQ(value_or_throw(plan_world({.nodes = nodes, .num_cores = 8})).ranks_per_node, 5);
  EXPECT_EQ(value_or_throw(plan_world({.nodes = nodes, .ranks_per_node = 3, .num_cores = 8})).ranks_per_node, 3);
}

TEST(World, RefusesANumberOfRanksThatTheLayoutDoesNotDivideAndNamesTheNearest) {
  const auto world = plan_world({.ranks_per_node = 5, .layout = {.tensor = 4}, .num_cores = 8});
  ASSERT_FALSE(world.ok());
  const std::string text = render(world.diagnostics());
  EXPECT_THAT(text, HasSubstr("a multiple of 4"));
  EXPECT_THAT(text, HasSubstr("--nproc 4 or --nproc 8"));
  // Three nodes need 4 ranks each to reach a multiple of 4.
  const auto nodes =
      plan_world({.nodes = {.num_nodes = 3, .master_address = "a"}, .ranks_per_node = 3, .layout = {.tensor = 4}});
  EXPECT_THAT(render(nodes.diagnostics()), HasSubstr("hint:     --nproc 4"));
}

TEST(World, NeverGivesMoreThreadsThanCoresAndSaysWhenRanksTakeTurns) {
  for (int cores = 1; cores <= 9; ++cores) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      const World world = value_or_throw(plan_world({.ranks_per_node = ranks, .num_cores = cores}));
      if (ranks <= cores) {
        EXPECT_LE(world.threads_per_rank * ranks, cores);
        EXPECT_TRUE(world.warnings.empty());
      } else {
        EXPECT_EQ(world.threads_per_rank, 1);
        EXPECT_EQ(world.warnings.size(), 1u);
      }
    }
  }
}

TEST(World, ObeysAnInheritedNumberOfThreadsAndWarnsWhenItIsTooMany) {
  const World fits = value_or_throw(plan_world({.ranks_per_node = 2, .num_cores = 8, .inherited_threads = "3,2"}));
  EXPECT_EQ(fits.threads_per_rank, 3);
  EXPECT_TRUE(fits.warnings.empty());
  const World many = value_or_throw(plan_world({.ranks_per_node = 2, .num_cores = 8, .inherited_threads = "5"}));
  EXPECT_EQ(many.threads_per_rank, 5);
  ASSERT_EQ(many.warnings.size(), 1u);
  EXPECT_THAT(many.warnings[0], HasSubstr("OMP_NUM_THREADS=5 is obeyed"));
  const World odd = value_or_throw(plan_world({.ranks_per_node = 2, .num_cores = 8, .inherited_threads = "all"}));
  EXPECT_EQ(odd.threads_per_rank, 4);
  EXPECT_EQ(odd.warnings.size(), 1u);
}

TEST(World, SeveralNodesNeedAnAddressAndShareTheDefaultPort) {
  const auto lost = plan_world({.nodes = {.num_nodes = 2, .node_rank = 1}});
  EXPECT_THAT(render(lost.diagnostics()), HasSubstr("MASTER_ADDR is missing"));
  for (const int node : {0, 1}) {
    const World world =
        value_or_throw(plan_world({.nodes = {.num_nodes = 2, .node_rank = node, .master_address = "a"}}));
    EXPECT_EQ(world.master_port, kDefaultMasterPort);
  }
  EXPECT_FALSE(value_or_throw(plan_world({})).master_port);
}

}  // namespace
}  // namespace primus::launch
