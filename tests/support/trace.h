// What a few steps of a run leave behind, compared bit by bit.
#pragma once

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "support/tiny_run.h"

#include "primus/train/step.h"

namespace primus::test {

struct Trace {
  std::vector<double> losses, grad_norms;
  std::vector<at::Tensor> weights;  // masters, in parameter order
};

inline std::vector<at::Tensor> weights_of(train::Trainer& trainer) {
  std::vector<at::Tensor> weights;
  for (const nn::Parameter* parameter : trainer.model.parameters()) weights.push_back(parameter->master.clone());
  return weights;
}

// Steps of `tiny` from where it stands, on CountingData.
inline Trace train_steps(TinyTrainer& tiny, int64_t num_steps) {
  const spec::RunSpec& run = tiny.trainer().spec;
  data::BatchLoader loader =
      tiny.loader(std::make_shared<CountingData>(400, run.data.sequence_length, run.model.vocab_size));
  Trace trace;
  for (int64_t i = 0; i < num_steps; ++i) {
    const train::StepResult step = train::train_step(tiny.trainer(), loader);
    trace.losses.push_back(step.loss);
    trace.grad_norms.push_back(step.grad_norm);
  }
  trace.weights = weights_of(tiny.trainer());
  return trace;
}

inline Trace train_fresh(const spec::RunSpec& run, int64_t num_steps) {
  TinyTrainer tiny(run);
  return train_steps(tiny, num_steps);
}

inline void expect_equal_weights(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  std::vector<size_t> different;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!at::equal(a[i], b[i])) different.push_back(i);
  }
  EXPECT_TRUE(different.empty()) << different.size() << " of " << a.size() << " parameters differ, first number "
                                 << different.front();
}

// Equal bits; a NaN equals a NaN.
inline void expect_equal_numbers(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const bool both_nan = std::isnan(a[i]) && std::isnan(b[i]);
    EXPECT_TRUE(both_nan || a[i] == b[i])
        << "number " << i << ": " << a[i] << " and " << b[i] << ", difference " << a[i] - b[i];
  }
}

inline void expect_equal_bits(const Trace& a, const Trace& b) {
  expect_equal_numbers(a.losses, b.losses);
  expect_equal_numbers(a.grad_norms, b.grad_norms);
  expect_equal_weights(a.weights, b.weights);
}

}  // namespace primus::test
