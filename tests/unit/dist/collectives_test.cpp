// Every operation on 1 to 4 ranks over both back ends, against sums in the documented tree, bit by bit.
#include <cmath>
#include <map>

#include "support/ranks.h"

#include "primus/dist/tree_reduce.h"
#include "primus/tensor/prelude.h"

namespace primus::dist {
namespace {

using test::expect_all_good;
using test::run_ranks;

struct Case {
  int num_ranks;
  Backend backend;
};

class Collectives : public ::testing::TestWithParam<Case> {
 protected:
  static void run(const std::function<void(Group&)>& body) {
    const auto [num_ranks, backend] = GetParam();
    expect_all_good(run_ranks(num_ranks,
                              [&](const Endpoint& endpoint) {
                                at::set_num_threads(1);
                                const std::unique_ptr<Group> group = connect(endpoint);
                                body(*group);
                                return 0;
                              },
                              {.backend = backend}));
  }
};

// Values of very different sizes: another order of summation gives other bits.
at::Tensor input(int rank, int64_t n, at::ScalarType type) {
  const at::Tensor i = at::arange(n, at::kDouble);
  return (at::sin(i * 3 + rank * 11 + 1) / (at::remainder(i + rank, 5) + 0.003)).to(type);
}

at::Tensor tree(const std::vector<at::Tensor>& x) {
  std::vector<at::Tensor> level = x;
  while (level.size() > 1) {
    std::vector<at::Tensor> next;
    for (size_t i = 0; i + 1 < level.size(); i += 2) next.push_back(level[i] + level[i + 1]);
    if (level.size() % 2 == 1) next.push_back(level.back());
    level = next;
  }
  return level.front();
}

std::vector<at::Tensor> inputs(const Group& group, int64_t n, at::ScalarType type) {
  std::vector<at::Tensor> all;
  for (int rank = 0; rank < group.size(); ++rank) all.push_back(input(rank, n, type));
  return all;
}

TEST_P(Collectives, SumInThePairwiseTree) {
  run([](Group& group) {
    for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
      for (const int64_t n : {1, 7, 100'003, 600'001}) {
        if (n > 200'000 && type != at::kFloat) continue;
        const at::Tensor x = input(group.rank(), n, type);
        group.all_reduce_sum(x)->wait();
        EXPECT_TRUE(at::equal(x, tree(inputs(group, n, type)))) << at::toString(type) << " " << n;
      }
    }
    const at::Tensor none = at::zeros({0});
    group.all_reduce_sum(none)->wait();
    const at::Tensor count = at::full({3}, group.rank() + 1, at::kLong);
    group.all_reduce_sum(count)->wait();
    EXPECT_EQ(count[2].item<int64_t>(), group.size() * (group.size() + 1) / 2);
  });
}

TEST_P(Collectives, TakeTheMaximum) {
  run([](Group& group) {
    for (const int64_t n : {1, 100'003}) {
      const at::Tensor x = input(group.rank(), n, at::kFloat);
      group.all_reduce_max(x)->wait();
      EXPECT_TRUE(at::equal(x, at::stack(inputs(group, n, at::kFloat)).amax(0)));
    }
  });
}

TEST_P(Collectives, BroadcastFromEveryRoot) {
  run([](Group& group) {
    for (int root = 0; root < group.size(); ++root) {
      for (const int64_t n : {1, 7, 300'007}) {
        const at::Tensor x = input(group.rank(), n, at::kDouble);
        group.broadcast(x, root)->wait();
        EXPECT_TRUE(at::equal(x, input(root, n, at::kDouble)));
      }
    }
  });
}

TEST_P(Collectives, GatherPartsOfDifferentSizes) {
  run([](Group& group) {
    for (const int64_t base : {0, 3, 400'001}) {
      std::vector<at::Tensor> parts;
      for (int rank = 0; rank < group.size(); ++rank) parts.push_back(at::zeros({base * rank, 1}));
      parts[static_cast<size_t>(group.rank())].copy_(input(group.rank(), base * group.rank(), at::kFloat).unsqueeze(1));
      group.all_gather(parts)->wait();
      for (int rank = 0; rank < group.size(); ++rank) {
        EXPECT_TRUE(at::equal(parts[static_cast<size_t>(rank)].flatten(), input(rank, base * rank, at::kFloat)));
      }
    }
  });
}

TEST_P(Collectives, GatherTextsOfAnyLength) {
  run([](Group& group) {
    for (const size_t base : {0, 1, 5, 1'200'000}) {
      const auto text = [&](int rank) {
        return std::string(base * static_cast<size_t>(rank), static_cast<char>('a' + rank));
      };
      const std::vector<std::string> all = group.all_gather_text(text(group.rank()));
      ASSERT_EQ(all.size(), static_cast<size_t>(group.size()));
      for (int rank = 0; rank < group.size(); ++rank) EXPECT_EQ(all[static_cast<size_t>(rank)], text(rank));
    }
  });
}

TEST_P(Collectives, RunInTheOrderOfTheCallsAndCanBeAwaitedInAnyOrder) {
  run([](Group& group) {
    std::vector<at::Tensor> tensors;
    std::vector<std::unique_ptr<Work>> works;
    const at::Tensor running = at::ones({5}, at::kDouble);
    for (int64_t i = 0; i < 60; ++i) {
      tensors.push_back(input(group.rank(), 1 + i * i * 7, at::kFloat));
      works.push_back(group.all_reduce_sum(tensors.back()));
      works.push_back(group.all_reduce_sum(running));  // each multiplies by the number of ranks
      if (i % 20 == 3) group.barrier();
    }
    for (size_t i = works.size(); i > 0; --i) works[i - 1]->wait();
    for (int64_t i = 0; i < 60; ++i) {
      EXPECT_TRUE(at::equal(tensors[static_cast<size_t>(i)], tree(inputs(group, 1 + i * i * 7, at::kFloat))));
    }
    EXPECT_EQ(running[4].item<double>(), std::pow(group.size(), 60));
  });
}

TEST_P(Collectives, ADroppedWorkHasBeenDone) {
  run([](Group& group) {
    const at::Tensor x = at::ones({200'000});
    group.all_reduce_sum(x).reset();
    EXPECT_EQ(x[199'999].item<float>(), static_cast<float>(group.size()));
  });
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const int num_ranks : {1, 2, 3, 4}) {
    all.push_back({num_ranks, Backend::SharedMemory});
    if (num_ranks > 1) all.push_back({num_ranks, Backend::Gloo});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, ::testing::ValuesIn(cases()), [](const auto& info) {
  return std::to_string(info.param.num_ranks) + (info.param.backend == Backend::Gloo ? "OverGloo" : "OverSharedMemory");
});

}  // namespace
}  // namespace primus::dist
