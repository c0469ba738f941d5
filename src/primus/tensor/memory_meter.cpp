#include "primus/tensor/memory_meter.h"

#include <algorithm>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

namespace primus::tensor {

// libtorch tells its profiler about every allocation through this interface; the meter stands in the profiler's place.
struct MemoryMeter::State : c10::MemoryReportingInfoBase {
  void reportMemoryUsage(void*, int64_t size_bytes, size_t, size_t, c10::Device) override {
    current += size_bytes;
    peak = std::max(peak, current);
  }
  bool memoryProfilingEnabled() const override { return true; }

  int64_t current = 0;
  int64_t peak = 0;
};

struct MemoryMeter::Guard {
  explicit Guard(std::shared_ptr<State> state) : guard(c10::DebugInfoKind::PROFILER_STATE, std::move(state)) {}
  c10::DebugInfoGuard guard;
};

MemoryMeter::MemoryMeter() : state_(std::make_shared<State>()), guard_(std::make_unique<Guard>(state_)) {}
MemoryMeter::~MemoryMeter() = default;
int64_t MemoryMeter::current_bytes() const {
  return state_->current;
}
int64_t MemoryMeter::peak_bytes() const {
  return state_->peak;
}

}  // namespace primus::tensor
