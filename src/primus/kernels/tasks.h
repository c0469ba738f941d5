// Uneven work for the thread team: tasks are handed out one at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "primus/kernels/parallel.h"
#include "primus/tensor/runtime.h"

namespace primus::kernels {

// body(task, worker) for every task in [0, count), started in increasing order: put heavy tasks first. `worker` is
// below max_workers(count) and picks scratch space. Which worker gets a task differs from run to run: results must not
// depend on it.
inline int64_t max_workers(int64_t count) {
  return std::min<int64_t>(count, tensor::num_threads());
}

template <class F>
void parallel_tasks(int64_t count, const F& body) {
  std::atomic<int64_t> next{0};
  parallel_ranges(max_workers(count), 1, [&](int64_t worker, int64_t) {
    for (int64_t task = next++; task < count; task = next++) body(task, worker);
  });
}

}  // namespace primus::kernels
