// The memory that the ranks of one machine share. It has no name in the file system, so nothing is left behind however
// a rank ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace primus::dist {

// A counter that one rank raises and the others wait for (a shared futex). Counts wrap around.
class SharedCounter {
 public:
  uint32_t value() const { return value_.load(std::memory_order_acquire); }
  bool reached(uint32_t target) const { return static_cast<int32_t>(value() - target) >= 0; }
  void set(uint32_t value);
  // Waits until reached(target), a short time at most. Spins for some microseconds, then sleeps. Returns
  // reached(target).
  bool wait_briefly(uint32_t target);

 private:
  std::atomic<uint32_t> value_{0};
  std::atomic<uint32_t> num_sleepers_{0};
};

constexpr size_t kOperationTextBytes = 160;

// Status of one rank; one writer. `version` is odd while it writes.
struct SharedStatus {
  std::atomic<uint32_t> version{0};
  std::atomic<uint32_t> waiting{0};
  std::atomic<uint32_t> left{0};
  std::atomic<uint64_t> num_beats{0};
  std::atomic<int64_t> step{0};
  std::atomic<uint64_t> sequence{0};
  std::atomic<char> operation[kOperationTextBytes]{};
};

struct alignas(128) SharedRank {
  SharedCounter filled;                // rounds whose buffer this rank has filled
  alignas(128) SharedCounter reduced;  // rounds whose slice this rank has combined
  alignas(128) SharedStatus status;
  char announced[2][kOperationTextBytes]{};  // operations of even and odd sequence numbers
};

class ShmSegment {
 public:
  // Rank 0 makes it. address() is what the others need to open it.
  static std::unique_ptr<ShmSegment> create(int num_ranks, const std::string& session);
  // Throws RunError when it cannot be seen from this process (another container).
  static std::unique_ptr<ShmSegment> open(const std::string& address, int num_ranks, const std::string& session);
  ShmSegment(const ShmSegment&) = delete;
  ShmSegment& operator=(const ShmSegment&) = delete;
  ~ShmSegment();

  const std::string& address() const { return address_; }
  SharedRank& rank(int index);
  // One of two buffers of a rank; buffer_bytes() each.
  std::byte* buffer(int rank, uint32_t which);
  static constexpr int64_t buffer_bytes() { return int64_t{1} << 20; }

  // The system drops the claim when the process ends, however it ends.
  void claim(int rank);
  // Whether no living process holds the claim of that rank. Never call it for the own one.
  bool unclaimed(int rank) const;

 private:
  ShmSegment(int fd, int num_ranks);
  int fd_ = -1;
  int num_ranks_ = 0;
  size_t num_bytes_ = 0;
  std::byte* memory_ = nullptr;
  std::string address_;
};

}  // namespace primus::dist
