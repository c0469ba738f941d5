#include "primus/kernels/parallel.h"

#include <algorithm>
#include <atomic>
#include <dlfcn.h>
#include <exception>

namespace primus::kernels {

namespace {

// The three entry points of libgomp; libtorch_cpu depends on it, so they are always loaded with it.
struct Runtime {
  using Parallel = void (*)(void (*)(void*), void*, unsigned, unsigned);
  using Number = int (*)();
  Parallel parallel = reinterpret_cast<Parallel>(dlsym(RTLD_DEFAULT, "GOMP_parallel"));
  Number thread_num = reinterpret_cast<Number>(dlsym(RTLD_DEFAULT, "omp_get_thread_num"));
  Number num_threads = reinterpret_cast<Number>(dlsym(RTLD_DEFAULT, "omp_get_num_threads"));
  bool usable() const { return parallel != nullptr && thread_num != nullptr && num_threads != nullptr; }
};

const Runtime& runtime() {
  static const Runtime found;
  return found;
}

struct Job {
  int64_t count;
  int64_t max_parts;
  RangeBody body;
  void* context;
  std::exception_ptr error;
  // The runtime's own barriers order everything; these two only say so to thread sanitizers, which cannot see into it.
  std::atomic<int> started{0};
  std::atomic<int> finished{0};
  std::atomic_flag has_error = ATOMIC_FLAG_INIT;
};

void run_share(void* data) {
  Job& job = *static_cast<Job*>(data);
  job.started.load(std::memory_order_acquire);
  const int64_t parts = std::min<int64_t>(runtime().num_threads(), job.max_parts);
  const int64_t part = runtime().thread_num();
  if (part < parts) {
    const int64_t begin = job.count * part / parts;
    const int64_t end = job.count * (part + 1) / parts;
    try {
      const c10::ParallelGuard guard(true);
      if (begin < end) job.body(job.context, begin, end);
    } catch (...) {
      if (!job.has_error.test_and_set()) job.error = std::current_exception();
    }
  }
  job.finished.fetch_add(1, std::memory_order_release);
}

}  // namespace

void parallel_ranges(int64_t count, int64_t min_per_thread, RangeBody body, void* context) {
  if (count <= 0) return;
  const int64_t max_parts = std::max<int64_t>(1, count / std::max<int64_t>(1, min_per_thread));
  // at::get_num_threads also applies OMP_NUM_THREADS and friends on its first call. The team is always the whole one:
  // libgomp ends the threads that a smaller team leaves out, and starts them again later.
  if (max_parts == 1 || at::get_num_threads() == 1 || at::in_parallel_region() || !runtime().usable()) {
    body(context, 0, count);
    return;
  }
  Job job{count, max_parts, body, context, nullptr};
  job.started.store(1, std::memory_order_release);
  runtime().parallel(&run_share, &job, 0, 0);
  job.finished.load(std::memory_order_acquire);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace primus::kernels
