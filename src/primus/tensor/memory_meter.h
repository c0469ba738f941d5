// Counts the bytes of tensors that the calling thread allocates and frees: structural facts for tests and benches.
#pragma once

#include <cstdint>
#include <memory>

namespace primus::tensor {

// From construction to destruction, allocations of libtorch's CPU allocator in this thread (kernels allocate before
// they go parallel). Buffers that were allocated before and are freed meanwhile count negative.
class MemoryMeter {
 public:
  MemoryMeter();
  ~MemoryMeter();
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;

  int64_t current_bytes() const;  // allocated minus freed
  int64_t peak_bytes() const;     // the largest value of current_bytes so far

 private:
  struct State;
  std::shared_ptr<State> state_;
  struct Guard;
  std::unique_ptr<Guard> guard_;
};

}  // namespace primus::tensor
