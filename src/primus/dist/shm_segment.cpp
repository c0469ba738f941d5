#include "primus/dist/shm_segment.h"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "primus/base/error.h"

namespace primus::dist {

namespace {

constexpr int kNumSpins = 200;
constexpr long kSleepNanoseconds = 20'000'000;
constexpr size_t kSessionBytes = 128;

struct Header {
  char session[kSessionBytes];
};

constexpr size_t kPageBytes = 4096;  // the header has a page of its own

size_t segment_bytes(int num_ranks) {
  const size_t facts = kPageBytes + static_cast<size_t>(num_ranks) * sizeof(SharedRank);
  const size_t buffers = 2 * static_cast<size_t>(num_ranks) * static_cast<size_t>(ShmSegment::buffer_bytes());
  return (facts + kPageBytes - 1) / kPageBytes * kPageBytes + buffers;
}

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);

void futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* timeout) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

}  // namespace

void SharedCounter::set(uint32_t value) {
  value_.store(value, std::memory_order_seq_cst);
  if (num_sleepers_.load(std::memory_order_seq_cst) != 0) futex(value_, FUTEX_WAKE, INT32_MAX, nullptr);
}

bool SharedCounter::wait_briefly(uint32_t target) {
  for (int i = 0; i < kNumSpins; ++i) {
    if (reached(target)) return true;
    pause_briefly();
  }
  // A sleeper costs nobody a core; that matters when there are more ranks than cores.
  num_sleepers_.fetch_add(1, std::memory_order_seq_cst);
  const uint32_t seen = value_.load(std::memory_order_seq_cst);
  if (static_cast<int32_t>(seen - target) < 0) {
    const timespec timeout{.tv_sec = 0, .tv_nsec = kSleepNanoseconds};
    futex(value_, FUTEX_WAIT, seen, &timeout);
  }
  num_sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  return reached(target);
}

ShmSegment::ShmSegment(int fd, int num_ranks) : fd_(fd), num_ranks_(num_ranks), num_bytes_(segment_bytes(num_ranks)) {
  void* const memory = ::mmap(nullptr, num_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) {
    const int reason = errno;
    ::close(fd_);
    throw RunError(fmt::format("shared memory of {} bytes cannot be mapped: {}", num_bytes_, std::strerror(reason)));
  }
  memory_ = static_cast<std::byte*>(memory);
}

ShmSegment::~ShmSegment() {
  ::munmap(memory_, num_bytes_);
  ::close(fd_);
}

std::unique_ptr<ShmSegment> ShmSegment::create(int num_ranks, const std::string& session) {
  const int fd = ::memfd_create("primus-ranks", MFD_CLOEXEC);
  if (fd < 0) throw RunError(fmt::format("shared memory cannot be made: {}", std::strerror(errno)));
  // Pages are taken now: later, a lack of memory would end the process with SIGBUS.
  if (const int reason = ::posix_fallocate(fd, 0, static_cast<off_t>(segment_bytes(num_ranks))); reason != 0) {
    ::close(fd);
    throw RunError(fmt::format("no memory for the {} MiB that {} ranks share: {}", segment_bytes(num_ranks) >> 20,
                               num_ranks, std::strerror(reason)));
  }
  std::unique_ptr<ShmSegment> segment(new ShmSegment(fd, num_ranks));
  auto* const header = new (segment->memory_) Header{};
  std::strncpy(header->session, session.c_str(), kSessionBytes - 1);
  for (int rank = 0; rank < num_ranks; ++rank) new (&segment->rank(rank)) SharedRank;
  segment->address_ = fmt::format("/proc/{}/fd/{}", ::getpid(), fd);
  return segment;
}

std::unique_ptr<ShmSegment> ShmSegment::open(const std::string& address, int num_ranks, const std::string& session) {
  const auto fail = [&](const std::string& reason) -> RunError {
    return RunError("this rank cannot see the shared memory of rank 0 (" + reason +
                    "); ranks in separate containers need PRIMUS_DIST_BACKEND=gloo");
  };
  const int fd = ::open(address.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) throw fail(fmt::format("{}: {}", address, std::strerror(errno)));
  struct stat facts{};
  if (::fstat(fd, &facts) != 0 || static_cast<size_t>(facts.st_size) != segment_bytes(num_ranks)) {
    ::close(fd);
    throw fail(address + " is something else");
  }
  std::unique_ptr<ShmSegment> segment(new ShmSegment(fd, num_ranks));
  const auto* const header = reinterpret_cast<const Header*>(segment->memory_);
  if (std::strncmp(header->session, session.c_str(), kSessionBytes - 1) != 0)
    throw fail(address + " belongs to another job");
  segment->address_ = address;
  return segment;
}

SharedRank& ShmSegment::rank(int index) {
  return *reinterpret_cast<SharedRank*>(memory_ + kPageBytes + static_cast<size_t>(index) * sizeof(SharedRank));
}

std::byte* ShmSegment::buffer(int rank, uint32_t which) {
  const int64_t all = 2 * static_cast<int64_t>(num_ranks_) * buffer_bytes();
  return memory_ + static_cast<int64_t>(num_bytes_) - all +
         (2 * rank + static_cast<int64_t>(which % 2)) * buffer_bytes();
}

void ShmSegment::claim(int rank) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = rank;
  lock.l_len = 1;
  if (::fcntl(fd_, F_SETLK, &lock) != 0) {
    throw RunError(fmt::format("two processes of this job say that they are rank {}: {}", rank, std::strerror(errno)));
  }
}

bool ShmSegment::unclaimed(int rank) const {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = rank;
  lock.l_len = 1;
  return ::fcntl(fd_, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

}  // namespace primus::dist
