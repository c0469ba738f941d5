// What happens when a rank dies, hangs, leaves or does something else.
#include <filesystem>
#include <gmock/gmock.h>

#include "support/ranks.h"

#include "primus/tensor/prelude.h"

namespace primus::dist {
namespace {

using test::RankResult;
using test::run_ranks;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class Failures : public ::testing::TestWithParam<Backend> {
 protected:
  // Long enough for a machine that does much else.
  static Endpoint base(double heartbeat_seconds = 30) {
    return {.timeout_minutes = 1, .startup_seconds = 40, .heartbeat_seconds = heartbeat_seconds, .backend = GetParam()};
  }
};

void sleep_seconds(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

TEST_P(Failures, DifferentOperationsNameBothSides) {
  const auto results = run_ranks(
      3,
      [](const Endpoint& endpoint) {
        const auto group = connect(endpoint);
        group->barrier();
        group->all_reduce_sum(at::ones({group->rank() == 1 ? 41 : 40}))->wait();
        return 0;
      },
      base());
  int num_reports = 0;
  for (const RankResult& result : results) {
    EXPECT_EQ(result.exit_code, 98) << result;
    if (result.output.find("rank 1 in all_reduce_sum Float [41]") == std::string::npos) continue;
    ++num_reports;
    EXPECT_THAT(result.output, AllOf(HasSubstr("different operations"), HasSubstr("all_reduce_sum Float [40]"),
                                     HasSubstr("group world")));
  }
  EXPECT_GE(num_reports, 1);
}

TEST_P(Failures, AKilledRankEndsAWaitThatNamesIt) {
  const auto results = run_ranks(
      3,
      [](const Endpoint& endpoint) {
        const auto group = connect(endpoint);
        group->set_step(17);
        group->barrier();
        if (group->rank() == 1) ::raise(SIGKILL);
        group->all_reduce_max(at::ones({7}))->wait();
        return 0;
      },
      base(), 60);
  EXPECT_EQ(results[1].signal, SIGKILL);
  for (const size_t rank : {0, 2}) {
    EXPECT_EQ(results[rank].exit_code, 98) << results[rank];
    EXPECT_THAT(
        results[rank].output,
        AllOf(HasSubstr("lost peer rank"), HasSubstr("all_reduce_max Float [7] of group world"), HasSubstr("step 17")));
  }
  EXPECT_THAT(results[0].output + results[2].output, HasSubstr("lost peer rank 1"));
}

TEST_P(Failures, ARankThatEndsByAnErrorIsALostPeerToTheOthers) {
  const auto results = run_ranks(
      2,
      [](const Endpoint& endpoint) {
        const auto group = connect(endpoint);
        group->barrier();
        if (group->rank() == 1) throw RunError("my own mistake");
        group->barrier();
        return 0;
      },
      base(), 60);
  EXPECT_THAT(results[1].output, HasSubstr("my own mistake"));
  EXPECT_EQ(results[0].exit_code, 98) << results[0];
  EXPECT_THAT(results[0].output, HasSubstr("lost peer rank 1"));
}

TEST_P(Failures, AStoppedRankEndsTheOthersWithinTheHeartbeatLimit) {
  const auto results = run_ranks(
      2,
      [](const Endpoint& endpoint) {
        const auto group = connect(endpoint);
        group->set_step(5);
        group->barrier();
        if (group->rank() == 1) {
          sleep_seconds(0.6);
          ::raise(SIGSTOP);
        }
        group->all_reduce_sum(at::ones({9}))->wait();
        return 0;
      },
      base(2), 60);
  EXPECT_TRUE(results[1].was_stopped);
  EXPECT_EQ(results[0].exit_code, 1) << results[0];
  EXPECT_THAT(results[0].output,
              AllOf(HasSubstr("rank 1 is stuck: no heartbeat"), HasSubstr("step 5"),
                    HasSubstr("group world, rank 0: step 5, in all_reduce_sum Float [9] (operation")));
}

TEST_P(Failures, AStoppedRank0EndsTheOthersToo) {
  const auto results = run_ranks(
      2,
      [](const Endpoint& endpoint) {
        const auto group = connect(endpoint);
        group->set_step(5);
        group->barrier();
        if (group->rank() == 0) ::raise(SIGSTOP);
        sleep_seconds(90);  // computes, so that no operation tells
        return 0;
      },
      base(2), 60);
  EXPECT_TRUE(results[0].was_stopped);
  EXPECT_EQ(results[1].exit_code, 1) << results[1];
  EXPECT_THAT(results[1].output, AnyOf(HasSubstr("rank 0 is stuck: no heartbeat"), HasSubstr("lost peer rank 0")));
  EXPECT_THAT(results[1].output, HasSubstr("step 5"));
}

TEST_P(Failures, ARankThatComputesForLongIsLeftAlone) {
  const auto results = run_ranks(
      2,
      [](const Endpoint& endpoint) {
        const auto group = connect(endpoint);
        if (group->rank() == 1) sleep_seconds(3.2);
        group->barrier();
        return 0;
      },
      base(2), 60);
  test::expect_all_good(results);
}

TEST_P(Failures, AnOperationThatWaitsTooLongNamesWhoIsMissing) {
  Endpoint endpoint = base(6);
  endpoint.timeout_minutes = 3.0 / 60;
  const auto results = run_ranks(
      3,
      [](const Endpoint& own) {
        const auto group = connect(own);
        group->set_step(3);
        group->barrier();
        if (group->rank() == 2) sleep_seconds(90);
        group->all_reduce_sum(at::ones({9}))->wait();
        return 0;
      },
      endpoint, 60);
  // A rank may lose another one that has reported before its own limit passes.
  const auto names_rank_2 = AllOf(HasSubstr("all_reduce_sum Float [9] has waited"),
                                  HasSubstr("longer than distributed_timeout_minutes allows"),
                                  HasSubstr("rank 2 (step 3, computing since barrier (operation "));
  int num_reports = 0;
  for (const size_t rank : {0, 1}) {
    EXPECT_THAT(results[rank].exit_code, AnyOf(1, 98)) << results[rank];
    num_reports += ::testing::Value(results[rank].output, names_rank_2) ? 1 : 0;
  }
  EXPECT_GE(num_reports, 1) << results[0] << results[1];
}

TEST_P(Failures, AfterAFailureEveryOperationFailsAtOnce) {
  const auto results = run_ranks(
      2,
      [](const Endpoint& endpoint) {
        const auto group = connect(endpoint);
        group->barrier();
        if (group->rank() == 1) ::raise(SIGKILL);
        std::vector<std::unique_ptr<Work>> works;
        for (int i = 0; i < 5; ++i) works.push_back(group->all_reduce_sum(at::ones({3})));
        for (auto& work : works) EXPECT_THROW(work->wait(), RunError);
        EXPECT_THROW(group->barrier(), RunError);
        return 0;
      },
      base(), 60);
  EXPECT_EQ(results[0].exit_code, 0) << results[0];
}

TEST_P(Failures, ARankThatDoesNotComeIsNamed) {
  Endpoint endpoint = base();
  endpoint.startup_seconds = 3;
  const auto results = run_ranks(
      4,
      [](const Endpoint& own) {
        if (own.rank == 1 || own.rank == 3) return 0;
        connect(own);
        return 0;
      },
      endpoint, 60);
  EXPECT_EQ(results[0].exit_code, 98) << results[0];
  EXPECT_THAT(results[0].output, AllOf(HasSubstr("of 4 ranks, these did not come"), HasSubstr(": 1, 3")));
  EXPECT_EQ(results[2].exit_code, 98) << results[2];
}

TEST_P(Failures, LeaveNothingInTheFileSystem) {
  const auto names = [] {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) all.insert(entry.path().filename());
    return all;
  };
  const auto before = names();
  run_ranks(
      3,
      [](const Endpoint& endpoint) {
        const auto group = connect(endpoint);
        group->barrier();
        ::raise(SIGKILL);
        return 0;
      },
      base(), 60);
  std::vector<std::string> left;
  for (const std::string& name : names()) {
    if (!before.contains(name) && name.find("primus") != std::string::npos) left.push_back(name);
  }
  EXPECT_TRUE(left.empty());
}

INSTANTIATE_TEST_SUITE_P(Backends, Failures, ::testing::Values(Backend::SharedMemory, Backend::Gloo),
                         [](const auto& info) { return info.param == Backend::Gloo ? "Gloo" : "SharedMemory"; });

TEST(Connect, ATensorThatIsNotOnTheCpuIsRefused) {
  test::expect_all_good(run_ranks(2, [](const Endpoint& endpoint) {
    const auto group = connect(endpoint);
    try {
      group->all_reduce_sum(at::empty({3}, at::TensorOptions().device(at::kMeta)));
      ADD_FAILURE() << "it was taken";
    } catch (const RunError& error) {
      EXPECT_THAT(error.what(), HasSubstr("NCCL/RCCL"));
    }
    try {
      group->all_reduce_sum(at::ones({3}, at::kBool));
      ADD_FAILURE() << "it was taken";
    } catch (const RunError& error) {
      EXPECT_THAT(error.what(), HasSubstr("Bool cannot be reduced"));
    }
    group->barrier();
    return 0;
  }));
}

TEST(Connect, RanksOnSeveralMachinesTalkOverTheNetwork) {
  test::expect_all_good(run_ranks(3, [](const Endpoint& endpoint) {
    Endpoint own = endpoint;
    own.local_world_size = 1;
    own.master_address = "localhost";
    const auto group = connect(own);
    const at::Tensor x = at::full({5}, group->rank() + 1);
    group->all_reduce_sum(x)->wait();
    EXPECT_EQ(x[4].item<int64_t>(), 6);
    ::setenv("PRIMUS_DIST_BACKEND", "shm", 1);
    EXPECT_THROW(connect(own), InputError);
    return 0;
  }));
}

TEST(Connect, APortThatIsTakenIsSaidByRank0) {
  test::HeldPort other;
  other.listen();
  const auto results = run_ranks(1,
                                 [&](const Endpoint& endpoint) {
                                   Endpoint own = endpoint;
                                   own.world_size = own.local_world_size = 2;
                                   own.master_port = other.port();
                                   connect(own);
                                   return 0;
                                 },
                                 {.startup_seconds = 2});
  EXPECT_EQ(results[0].exit_code, 98) << results[0];
  EXPECT_THAT(results[0].output, AllOf(HasSubstr("rank 0 cannot listen on port"), HasSubstr("MASTER_PORT")));
}

TEST(Connect, VariablesThatMakeNoSenseAreRefusedTogether) {
  const auto results = run_ranks(1, [](const Endpoint& endpoint) {
    ::setenv("PRIMUS_DIST_BACKEND", "mpi", 1);
    ::setenv("PRIMUS_HEARTBEAT_SECONDS", "-3", 1);
    connect(endpoint);
    return 0;
  });
  EXPECT_EQ(results[0].exit_code, 98) << results[0];
  EXPECT_THAT(results[0].output, AllOf(HasSubstr("PRIMUS_DIST_BACKEND"), HasSubstr("PRIMUS_HEARTBEAT_SECONDS")));
}

}  // namespace
}  // namespace primus::dist
