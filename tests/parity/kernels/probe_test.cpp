#include "primus/kernels/probe.h"

#include <cmath>
#include <gtest/gtest.h>

#include "primus/tensor/runtime.h"

namespace primus::kernels {
namespace {

TEST(Probe, GivesAFinitePositivePeakForFloat32) {
  const std::optional<double> peak = measure_peak(ProbeType::Float32, 1, 1.0);
  ASSERT_TRUE(peak.has_value());
  EXPECT_TRUE(std::isfinite(*peak));
  EXPECT_GT(*peak, 0);
}

TEST(Probe, HasABFloat16PeakExactlyWhereTheCpuHasTheInstruction) {
  EXPECT_EQ(measure_peak(ProbeType::BFloat16, 1, 1.0).has_value(), tensor::cpu_features().avx512_bf16);
}

}  // namespace
}  // namespace primus::kernels
