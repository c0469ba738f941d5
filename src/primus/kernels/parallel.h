// Shares loops over the threads of libtorch's own pool. at::parallel_for would be the obvious way, but it is a header
// template that runs serially unless the including file is compiled with OpenMP, and clang cannot compile OpenMP for
// libgomp, the runtime libtorch brings. So this door calls the runtime itself: one pool, the team size of
// at::set_num_threads, the same with every compiler.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace primus::kernels {

using RangeBody = void (*)(void* context, int64_t begin, int64_t end);

// Calls body(context, begin, end) on disjoint ranges that cover [0, count), at most one a thread and none shorter than
// min_per_thread (unless it is the only one). Serial inside another parallel region. The first exception of a body is
// rethrown here. Where the ranges are cut depends on the number of threads: results must not (reduce over fixed
// blocks).
void parallel_ranges(int64_t count, int64_t min_per_thread, RangeBody body, void* context);

// The same for a callable f(int64_t begin, int64_t end).
template <class F>
void parallel_ranges(int64_t count, int64_t min_per_thread, F&& f) {
  using Callable = std::remove_reference_t<F>;
  parallel_ranges(
      count, min_per_thread,
      [](void* context, int64_t begin, int64_t end) { (*static_cast<Callable*>(context))(begin, end); },
      const_cast<void*>(static_cast<const void*>(std::addressof(f))));
}

}  // namespace primus::kernels
