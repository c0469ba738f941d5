// What a run on several ranks leaves behind, brought home from forked processes through files, and compared.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <unistd.h>
#include <vector>

#include "support/ranks.h"

#include "primus/train/trainer.h"

namespace primus::test {

struct Outcome {
  std::vector<double> losses, norms;
  std::vector<double> weights;  // masters, then compute copies, of all parameters
};

// All rows of a master of which every rank may hold only its own.
inline at::Tensor whole_master(const train::Trainer& trainer, const nn::Parameter& parameter) {
  const at::Tensor whole = at::zeros(parameter.shape());
  std::vector<at::Tensor> parts;
  const bool shard = trainer.spec.optimizer.shard_state && trainer.group.size() > 1;
  if (!shard) return parameter.master;
  for (int rank = 0; rank < trainer.group.size(); ++rank) {
    const parallel::RowRange rows = parallel::owned_rows(parameter.shape().front(), rank, trainer.group.size());
    parts.push_back(whole.narrow(0, rows.begin, rows.end - rows.begin));
  }
  parts[static_cast<size_t>(trainer.group.rank())].copy_(parameter.owned_master());
  trainer.group.all_gather(parts)->wait();
  return whole;
}

inline void append(const at::Tensor& tensor, std::vector<double>& values) {
  const at::Tensor doubles = tensor.to(at::kDouble).contiguous();
  values.insert(values.end(), doubles.const_data_ptr<double>(), doubles.const_data_ptr<double>() + doubles.numel());
}

inline void append_weights(train::Trainer& trainer, Outcome& outcome) {
  for (const nn::Parameter* parameter : trainer.model.parameters())
    append(whole_master(trainer, *parameter), outcome.weights);
  for (const nn::Parameter* parameter : trainer.model.parameters()) append(parameter->compute, outcome.weights);
}

inline void write_outcome(const std::string& path, const Outcome& outcome) {
  std::ofstream out(path, std::ios::binary);
  for (const std::vector<double>* values : {&outcome.losses, &outcome.norms, &outcome.weights}) {
    const uint64_t size = values->size();
    out.write(reinterpret_cast<const char*>(&size), sizeof size);
    out.write(reinterpret_cast<const char*>(values->data()), static_cast<std::streamsize>(size * sizeof(double)));
  }
}

inline Outcome read_outcome(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  Outcome outcome;
  for (std::vector<double>* values : {&outcome.losses, &outcome.norms, &outcome.weights}) {
    uint64_t size = 0;
    in.read(reinterpret_cast<char*>(&size), sizeof size);
    values->resize(size);
    in.read(reinterpret_cast<char*>(values->data()), static_cast<std::streamsize>(size * sizeof(double)));
  }
  return outcome;
}

inline void expect_equal_bits(const Outcome& actual, const Outcome& expected, const std::string& what) {
  EXPECT_EQ(actual.losses, expected.losses) << what;
  EXPECT_EQ(actual.norms, expected.norms) << what;
  ASSERT_EQ(actual.weights.size(), expected.weights.size()) << what;
  size_t num_different = 0;
  for (size_t i = 0; i < expected.weights.size(); ++i) num_different += actual.weights[i] != expected.weights[i];
  EXPECT_EQ(num_different, 0u) << what << ": weights of " << expected.weights.size();
}

inline double largest_relative(const std::vector<double>& actual, const std::vector<double>& expected) {
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) largest = std::max(largest, std::abs(actual[i] / expected[i] - 1));
  return largest;
}

struct Tolerance {
  double loss = 0, norm = 0;  // relative
  double weight = 0;          // absolute
};

inline void expect_close(const Outcome& actual, const Outcome& expected, const Tolerance& tolerance,
                         const std::string& what) {
  ASSERT_EQ(actual.losses.size(), expected.losses.size()) << what;
  EXPECT_LE(largest_relative(actual.losses, expected.losses), tolerance.loss) << what;
  EXPECT_LE(largest_relative(actual.norms, expected.norms), tolerance.norm) << what << ": gradient norms";
  ASSERT_EQ(actual.weights.size(), expected.weights.size()) << what;
  double largest = 0;
  for (size_t i = 0; i < expected.weights.size(); ++i)
    largest = std::max(largest, std::abs(actual.weights[i] - expected.weights[i]));
  EXPECT_LE(largest, tolerance.weight) << what << ": weights";
}

// Runs on that many ranks; all of them must say the same, about that many steps.
inline Outcome outcome_on(int num_ranks, dist::Backend backend, size_t num_steps,
                          const std::function<void(const dist::Endpoint&, Outcome&)>& body) {
  const std::string base = ::testing::TempDir() + "outcome_" + std::to_string(::getpid()) + "_";
  const auto results = run_ranks(
      num_ranks,
      [&](const dist::Endpoint& endpoint) {
        Outcome outcome;
        body(endpoint, outcome);
        write_outcome(base + std::to_string(endpoint.rank), outcome);
        return 0;
      },
      {.backend = backend}, 120);
  expect_all_good(results);
  const Outcome first = read_outcome(base + "0");
  EXPECT_EQ(first.losses.size(), num_steps);
  for (int rank = 0; rank < num_ranks; ++rank) {
    const std::string path = base + std::to_string(rank);
    if (rank > 0) expect_equal_bits(read_outcome(path), first, "rank " + std::to_string(rank) + " against rank 0");
    std::remove(path.c_str());
  }
  return first;
}

}  // namespace primus::test
