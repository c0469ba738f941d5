// Internal to gated_delta.cpp and ssd.cpp: what scans over chunks of the time axis share. A chunk's positions act on
// each other through decayed products of pairs, and on other chunks through the state at the chunk's start. Legend: B
// batch, T tokens, L chunk, n chunks of the span at hand. Scores and decays are of one head.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "primus/kernels/tasks.h"
#include "primus/tensor/prelude.h"

namespace primus::kernels::scan {

// Chunks that are worked on together: bounds scratch memory and keeps it in the cache.
inline constexpr int64_t kChunksPerSpan = 16;

struct Layout {
  Layout(int64_t num_tokens, int64_t largest_chunk);
  int64_t tokens, chunk, num_chunks;
};

struct Span {
  int64_t first_chunk, num_chunks;
  int64_t first_token, num_tokens;  // the last chunk may be short
};
std::vector<Span> spans_of(const Layout& layout);

// Rows [T, ..] of one head -> [n, L, ..] of `type`, zero past the end: those positions neither decay nor write.
at::Tensor chunks_of(const at::Tensor& rows, const Layout& layout, const Span& span, at::ScalarType type);
// The way back, into the rows of `to`; or added to them.
void put_rows(const at::Tensor& chunks, const Span& span, const at::Tensor& to);
void add_rows(const at::Tensor& chunks, const Span& span, const at::Tensor& to);

// Documents of one row of the batch, [N, ..] over all its chunks; all but `blocked` undefined where there is one.
struct Documents {
  at::Tensor blocked;  // bool [N, L, L] or [1, L, L]: pairs (i, j) with j after i or in another document
  at::Tensor reads;    // [N, L] 1 or 0: no document starts from the chunk's start to here
  at::Tensor writes;   // [N, L]: none starts from here to the chunk's end
  at::Tensor passes;   // [N]: none starts in the chunk
};
std::vector<Documents> documents_of(const at::Tensor& document_start, int64_t num_batch, const Layout& layout,
                                    at::ScalarType type);

struct Decay {
  at::Tensor pair;        // [n, L, L] from j to i >= j, 0 elsewhere
  at::Tensor from_state;  // [n, L, 1] from the state before the chunk
  at::Tensor to_state;    // [n, L, 1] to the state after the chunk
  at::Tensor across;      // [n, 1, 1] from state to state
};
// log_decay [n, L]
Decay decay_of(const at::Tensor& log_decay, const Documents& documents, const Span& span);

// Gradients of the logarithms of Decay's members (each: the gradient times the value) -> of log_decay [n, L].
at::Tensor log_decay_gradient(const at::Tensor& pair, const at::Tensor& from_state, const at::Tensor& to_state,
                              const at::Tensor& across);

// Heads are shared among tasks by a cut that depends on shapes only: B x groups x slabs, a slab being some of the heads
// of a group; gradients that all heads of a group share are added up slab by slab, then by sum_slabs.
struct HeadCut {
  HeadCut(int64_t num_batch, int64_t num_heads, int64_t num_groups)
      : batch(num_batch),
        groups(num_groups),
        per_group(num_heads / num_groups),
        slabs(std::min<int64_t>(8, per_group)) {}
  int64_t batch, groups, per_group, slabs;
};

struct HeadTask {
  int64_t b, group, slab;  // slab: counted over all groups, [0, groups * slabs)
  int64_t first_head, last_head;
};
HeadTask head_task(const HeadCut& cut, int64_t task);

// f(HeadTask) for every task, on the thread team, below autograd. libtorch's operations inside run serially: always in
// a parallel region, unless there is but one thread.
template <class F>
void for_each_head_task(const HeadCut& cut, const F& f) {
  const int64_t count = cut.batch * cut.groups * cut.slabs;
  parallel_tasks(std::max<int64_t>(2, count), [&](int64_t task, int64_t) {
    if (task >= count) return;
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    f(head_task(cut, task));
  });
}

// [B, T, groups * slabs, W] -> [B, T, groups, W] of `type`, slabs added in order.
at::Tensor sum_slabs(const at::Tensor& partial, const HeadCut& cut, at::ScalarType type);

}  // namespace primus::kernels::scan
