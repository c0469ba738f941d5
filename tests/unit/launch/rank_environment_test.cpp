#include "primus/launch/rank_environment.h"

#include <gmock/gmock.h>

#include "primus/launch/slurm_nodes.h"

namespace primus::launch {
namespace {

using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

const Variables kSlurm = {
    {"SLURM_PROCID", "5"},  {"SLURM_NTASKS", "8"},  {"SLURM_LOCALID", "1"},           {"SLURM_NODELIST", "n[08-09]"},
    {"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "2"}, {"SLURM_TASKS_PER_NODE", "4(x2)"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "3"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"},
                            {"PMIX_NAMESPACE", "job-1"}};

Variables joined(Variables base, const Variables& added) {
  for (const auto& [name, value] : added) base[name] = value;
  return base;
}
RankEnvironment read(const Variables& variables) {
  return value_or_throw(read_rank_environment(environment_of(variables)));
}
std::string errors_of(const Variables& variables) {
  return render(read_rank_environment(environment_of(variables)).diagnostics());
}

TEST(RankEnvironment, IsOneRankWithoutAnyVariable) {
  const RankEnvironment one = read({});
  EXPECT_EQ(one.rank, 0);
  EXPECT_EQ(one.world_size, 1);
  EXPECT_EQ(one.master_port, 0);
  EXPECT_EQ(one.source, "single");
}

TEST(RankEnvironment, ReadsWhatTorchrunSets) {
  const RankEnvironment rank = read({{"RANK", "6"},
                                     {"WORLD_SIZE", "8"},
                                     {"LOCAL_RANK", "2"},
                                     {"LOCAL_WORLD_SIZE", "4"},
                                     {"MASTER_ADDR", "host"},
                                     {"MASTER_PORT", "29517"}});
  EXPECT_EQ(rank.rank, 6);
  EXPECT_EQ(rank.world_size, 8);
  EXPECT_EQ(rank.local_rank, 2);
  EXPECT_EQ(rank.local_world_size, 4);
  EXPECT_EQ(rank.master_address, "host");
  EXPECT_EQ(rank.master_port, 29517);
}

TEST(RankEnvironment, ReadsWhatSrunSets) {
  const RankEnvironment rank = read(kSlurm);
  EXPECT_EQ(rank.source, "Slurm");
  EXPECT_EQ(rank.rank, 5);
  EXPECT_EQ(rank.world_size, 8);
  EXPECT_EQ(rank.local_rank, 1);
  EXPECT_EQ(rank.local_world_size, 4);
  EXPECT_EQ(rank.master_address, "n08");
  EXPECT_EQ(rank.master_port, 20000 + 77 * 16 + 2);
}

TEST(RankEnvironment, TheStepCountsNotTheWholeSlurmJob) {
  EXPECT_EQ(read(joined(kSlurm, {{"SLURM_STEP_NUM_TASKS", "6"}})).world_size, 6);
}

TEST(RankEnvironment, ReadsWhatMpirunSets) {
  const RankEnvironment rank = read(kOpenMpi);
  EXPECT_EQ(rank.source, "Open MPI");
  EXPECT_EQ(rank.rank, 1);
  EXPECT_EQ(rank.world_size, 3);
  EXPECT_EQ(rank.master_address, "127.0.0.1");
  EXPECT_GE(rank.master_port, 20000);
  EXPECT_NE(rank.master_port, read(joined(kOpenMpi, {{"PMIX_NAMESPACE", "job-2"}})).master_port);
}

TEST(RankEnvironment, ExplicitBeatsSlurmBeatsOpenMpi) {
  const Variables all =
      joined(joined(kSlurm, kOpenMpi), {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "29500"}});
  EXPECT_EQ(read(all).world_size, 2);
  EXPECT_EQ(read(joined(kSlurm, kOpenMpi)).world_size, 8);
}

TEST(RankEnvironment, AnExplicitMeetingPointWinsOverTheSchedulers) {
  const RankEnvironment rank = read(joined(kSlurm, {{"MASTER_ADDR", "10.1.2.3"}, {"MASTER_PORT", "4711"}}));
  EXPECT_EQ(rank.rank, 5);
  EXPECT_EQ(rank.master_address, "10.1.2.3");
  EXPECT_EQ(rank.master_port, 4711);
}

TEST(RankEnvironment, RefusesHalfOfAPair) {
  EXPECT_THAT(errors_of({{"RANK", "1"}}), HasSubstr("RANK is set, WORLD_SIZE is not"));
  EXPECT_THAT(errors_of({{"WORLD_SIZE", "2"}}), HasSubstr("WORLD_SIZE is set, RANK is not"));
}

TEST(RankEnvironment, RefusesNumbersThatDoNotFit) {
  EXPECT_THAT(errors_of({{"RANK", "4"}, {"WORLD_SIZE", "4"}, {"MASTER_PORT", "29500"}}),
              HasSubstr("RANK is not below WORLD_SIZE"));
  EXPECT_THAT(errors_of({{"RANK", "-1"}, {"WORLD_SIZE", "4"}}), HasSubstr("'-1'"));
  EXPECT_THAT(errors_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "x"}}), HasSubstr("MASTER_PORT"));
  EXPECT_THAT(errors_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "3"}, {"LOCAL_WORLD_SIZE", "2"}}),
              HasSubstr("local rank"));
}

TEST(RankEnvironment, SeveralRanksNeedAMeetingPoint) {
  EXPECT_THAT(errors_of({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), HasSubstr("MASTER_PORT is missing"));
  EXPECT_THAT(errors_of({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"LOCAL_WORLD_SIZE", "2"}, {"MASTER_PORT", "29500"}}),
              HasSubstr("MASTER_ADDR is missing"));
}

TEST(SlurmNodes, FirstHostExpandsTheFirstBracketOnly) {
  EXPECT_EQ(first_host("gpu[03-05,9],login"), "gpu03");
  EXPECT_EQ(first_host("login,gpu[1-2]"), "login");
  EXPECT_EQ(first_host("rack[2,4]node[07-09]-ib"), "rack2node07-ib");
  EXPECT_EQ(first_host("single"), "single");
  EXPECT_EQ(first_host(""), "");
}

TEST(SlurmNodes, NeighbouringJobsAndStepsUseOtherPorts) {
  EXPECT_NE(slurm_port("100", "0"), slurm_port("101", "0"));
  EXPECT_NE(slurm_port("100", "0"), slurm_port("100", "1"));
  EXPECT_EQ(slurm_port("100", "0"), slurm_port(" 100", "0"));
  EXPECT_LT(slurm_port("123456789", "3"), 40000);
}

}  // namespace
}  // namespace primus::launch
