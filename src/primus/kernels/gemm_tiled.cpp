#include "primus/kernels/gemm_tiled.h"

#include <algorithm>

#include "primus/base/check.h"
#include "primus/kernels/gemm_panels.h"
#include "primus/kernels/loops.h"
#include "primus/kernels/tasks.h"
#include "primus/tensor/runtime.h"

namespace primus::kernels {
namespace tiled {
namespace {

using panels::Kernels;
using panels::kRowPanel;
using panels::kTileColumns;
using panels::kTileRows;
using panels::Word;

// Blocks for 1 MiB of L2: kDepthWords x kStreamColumns words of b stay there while all rows pass by.
constexpr int64_t kDepthWords = 384;
constexpr int64_t kStreamColumns = 6 * kTileColumns;
constexpr int64_t kBlockRows = 256;                   // of a, packed at a time where it is packed
constexpr int64_t kBlockColumns = 11 * kTileColumns;  // of b, packed at a time and shared by all rows of a task;
                                                      // twice as many for many rows, which are read again less often
constexpr int64_t kTaskRows = 4 * kBlockRows;
constexpr int64_t kTaskRowsWithSums = 2 * kBlockRows;  // where sums of 16-bit results wait in scratch
constexpr int64_t kSerialProducts = int64_t{1} << 18;  // multiply-adds that are not worth waking the team

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
int64_t round_up(int64_t a, int64_t step) {
  return ceil_div(a, step) * step;
}

// One product in plain numbers.
struct Plan {
  panels::Source a, b;
  int64_t rows = 0, columns = 0, depth = 0, block_depth = 0;
  const float* bias = nullptr;
  float* sum = nullptr;     // f32 result, or
  char* rounded = nullptr;  // 16-bit result
  int64_t stride = 0;
  bool accumulate = false;
  bool packs_a = false;

  int64_t num_blocks() const { return std::max<int64_t>(1, ceil_div(depth, block_depth)); }
  bool needs_sums() const { return sum == nullptr && num_blocks() > 1; }
};

struct Task {
  const Plan* plan;
  int64_t row, rows, column, columns;
};

// What one worker holds: a block of a, a block of b, sums of a 16-bit result.
struct Scratch {
  Word* a;
  Word* b;
  float* sums;
};
struct ScratchSizes {
  int64_t a = 0, b = 0, sums = 0;
  int64_t total() const { return a + b + sums; }
};

panels::Source source(const at::Tensor& t, int64_t lane_dim) {
  const int64_t depth_dim = 1 - lane_dim;
  panels::Source from{t.const_data_ptr(), t.stride(lane_dim), t.stride(depth_dim)};
  // The stride of a dim of one element says nothing.
  if (from.lane_stride != 1 && t.size(depth_dim) == 1) from.depth_stride = 1;
  if (from.depth_stride != 1 && t.size(lane_dim) == 1) from.lane_stride = 1;
  return from;
}

at::Tensor with_a_unit_stride(const at::Tensor& t) {
  return t.stride(0) == 1 || t.stride(1) == 1 || t.size(0) == 1 || t.size(1) == 1 ? t : t.contiguous();
}

Plan plan_of(const TiledProduct& p, const at::Tensor& a, const at::Tensor& b, const Kernels& kernels) {
  const bool to_float = p.out.scalar_type() == at::kFloat;
  PRIMUS_CHECK(a.dim() == 2 && b.dim() == 2 && p.out.dim() == 2 && a.size(1) == b.size(0) &&
                   p.out.size(0) == a.size(0) && p.out.size(1) == b.size(1),
               "tiled product: a [M, K], b [K, N] and out [M, N] do not fit");
  PRIMUS_CHECK(p.out.stride(1) == 1 || p.out.size(1) <= 1, "tiled product: out needs contiguous rows");
  PRIMUS_CHECK(a.scalar_type() == b.scalar_type() && (to_float || p.out.scalar_type() == a.scalar_type()),
               "tiled product: types do not fit");
  PRIMUS_CHECK(to_float || !p.accumulate, "tiled product: only f32 can be added to");
  PRIMUS_CHECK(!p.bias.defined() || (!p.accumulate && p.bias.scalar_type() == at::kFloat && p.bias.is_contiguous() &&
                                     p.bias.numel() == b.size(1)),
               "tiled product: bias must be f32 [N], of a result that is not added to");
  Plan plan{.a = source(a, 0), .b = source(b, 1), .rows = a.size(0), .columns = b.size(1), .depth = a.size(1)};
  plan.stride = p.out.stride(0);
  // Whole words of a row of a are read where they lie; with a last half word, b's zero would meet what lies behind it.
  plan.packs_a = plan.a.depth_stride != 1 || plan.depth % kernels.per_word != 0 || plan.a.lane_stride <= 0;
  plan.accumulate = p.accumulate;
  if (p.bias.defined()) plan.bias = p.bias.const_data_ptr<float>();
  const int64_t words = std::max<int64_t>(1, ceil_div(plan.depth, kernels.per_word));
  plan.block_depth = round_up(ceil_div(words, ceil_div(words, kDepthWords)), 16) * kernels.per_word;
  if (to_float) {
    plan.sum = p.out.mutable_data_ptr<float>();
  } else {
    plan.rounded = static_cast<char*>(p.out.mutable_data_ptr());
  }
  return plan;
}

void add_tasks(const Plan& plan, int64_t shrink, std::vector<Task>& tasks) {
  if (plan.rows == 0 || plan.columns == 0) return;
  const int64_t most_rows = (plan.needs_sums() ? kTaskRowsWithSums : kTaskRows) / shrink;
  const int64_t rows = round_up(ceil_div(plan.rows, ceil_div(plan.rows, most_rows)), kTileRows);
  const int64_t most_columns = rows > kTaskRowsWithSums ? 2 * kBlockColumns : kBlockColumns;
  const int64_t columns = round_up(ceil_div(plan.columns, ceil_div(plan.columns, most_columns)), kTileColumns);
  for (int64_t row = 0; row < plan.rows; row += rows) {
    for (int64_t column = 0; column < plan.columns; column += columns) {
      tasks.push_back({&plan, row, std::min(rows, plan.rows - row), column, std::min(columns, plan.columns - column)});
    }
  }
}

// Tasks of about equal size, or enough of them, for the team; the largest first.
std::vector<Task> cut(const std::vector<Plan>& plans) {
  const int64_t threads = tensor::num_threads();
  std::vector<Task> tasks;
  for (int64_t shrink = 1; shrink <= 16; shrink *= 2) {
    tasks.clear();
    for (const Plan& plan : plans) add_tasks(plan, shrink, tasks);
    const auto count = static_cast<int64_t>(tasks.size());
    if (count >= 4 * threads || (plans.size() == 1 && count % threads == 0)) break;
  }
  std::sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) {
    return a.rows * a.columns * a.plan->depth > b.rows * b.columns * b.plan->depth;
  });
  return tasks;
}

ScratchSizes scratch_for(const std::vector<Task>& tasks, const Kernels& kernels) {
  ScratchSizes sizes;
  for (const Task& task : tasks) {
    const int64_t words = task.plan->block_depth / kernels.per_word;
    if (task.plan->packs_a) sizes.a = std::max(sizes.a, round_up(std::min(task.rows, kBlockRows), kRowPanel) * words);
    sizes.b = std::max(sizes.b, round_up(task.columns, kTileColumns) * words);
    if (task.plan->needs_sums()) {
      sizes.sums = std::max(sizes.sums, task.rows * round_up(task.columns, kTileColumns));
    }
  }
  return sizes;
}

panels::Source moved(panels::Source from, int64_t lane, int64_t k, const Kernels& kernels) {
  const int64_t elements = lane * from.lane_stride + k * from.depth_stride;
  from.data = static_cast<const char*>(from.data) + elements * 4 / kernels.per_word;
  return from;
}

// Where the tiles of a task go in one block of the summed dim: the place of its first element.
panels::Target target(const Task& task, const Scratch& scratch, bool first, bool last) {
  const Plan& plan = *task.plan;
  const int64_t at = task.row * plan.stride + task.column;
  const float* bias = plan.bias == nullptr ? nullptr : plan.bias + task.column;
  if (plan.sum != nullptr) {
    float* sum = plan.sum + at;
    if (first && !plan.accumulate) return {bias, sum, nullptr, 0, plan.stride};
    return {sum, sum, nullptr, plan.stride, plan.stride};
  }
  const int64_t width = round_up(task.columns, kTileColumns);
  const float* before = first ? bias : scratch.sums;
  const int64_t before_stride = first ? 0 : width;
  if (!last) return {before, scratch.sums, nullptr, before_stride, width};
  return {before, nullptr, plan.rounded + at * 2, before_stride, plan.stride};
}

panels::Target moved(panels::Target to, int64_t row, int64_t column) {
  if (to.add != nullptr) to.add += row * to.add_stride + column;
  if (to.sum != nullptr) to.sum += row * to.stride + column;
  if (to.rounded != nullptr) to.rounded = static_cast<char*>(to.rounded) + (row * to.stride + column) * 2;
  return to;
}

struct RowsOfA {
  const void* data;
  int64_t bytes;  // from row to row, or 0: panels

  const void* row(int64_t r, int64_t words) const {
    if (bytes != 0) return static_cast<const char*>(data) + r * bytes;
    return static_cast<const Word*>(data) + r / kRowPanel * kRowPanel * words + r % kRowPanel;
  }
};

void multiply_block(const Kernels& kernels, const RowsOfA& a, int64_t rows, const Word* b, int64_t columns,
                    int64_t words, const panels::Target& to) {
  for (int64_t stream = 0; stream < columns; stream += kStreamColumns) {
    const int64_t end = std::min(columns, stream + kStreamColumns);
    for (int64_t row = 0; row < rows; row += kTileRows) {
      for (int64_t column = stream; column < end; column += kTileColumns) {
        kernels.multiply(a.row(row, words), a.bytes, b + column * words, words, moved(to, row, column),
                         std::min(kTileRows, rows - row), std::min(kTileColumns, end - column));
      }
    }
  }
}

void run(const Task& task, const Kernels& kernels, const Scratch& scratch) {
  const Plan& plan = *task.plan;
  for (int64_t block = 0; block < plan.num_blocks(); ++block) {  // one block of nothing where nothing is summed
    const int64_t k = block * plan.block_depth;
    const int64_t depth = std::min(plan.block_depth, plan.depth - k);
    const int64_t words = ceil_div(depth, kernels.per_word);
    const panels::Target whole = target(task, scratch, block == 0, block + 1 == plan.num_blocks());
    kernels.pack(moved(plan.b, task.column, k, kernels), task.columns, kTileColumns, depth, scratch.b);
    for (int64_t from = 0; from < task.rows; from += kBlockRows) {
      const int64_t rows = std::min(kBlockRows, task.rows - from);
      RowsOfA a{moved(plan.a, task.row + from, k, kernels).data, plan.a.lane_stride * 4 / kernels.per_word};
      if (plan.packs_a) {
        kernels.pack(moved(plan.a, task.row + from, k, kernels), rows, kRowPanel, depth, scratch.a);
        a = {scratch.a, 0};
      }
      multiply_block(kernels, a, rows, scratch.b, task.columns, words, moved(whole, from, 0));
    }
  }
}

const Kernels* kernels_for(bool bf16) {
#if defined(__x86_64__)
  if (!simd::has_avx512()) return nullptr;
  if (!bf16) return &panels::avx512_float_kernels();
  if (tensor::cpu_features().avx512_bf16) return &panels::avx512_bf16_kernels();
#endif
  (void)bf16;
  return nullptr;
}

}  // namespace
}  // namespace tiled

bool has_tiled_products(bool bf16) {
  return tiled::kernels_for(bf16) != nullptr;
}

void tiled_products(const std::vector<TiledProduct>& products) {
  using namespace tiled;
  if (products.empty()) return;
  const at::ScalarType type = products.front().a.scalar_type();
  PRIMUS_CHECK(type == at::kFloat || type == at::kBFloat16, "tiled product: f32 or bf16 expected");
  const Kernels* kernels = kernels_for(type == at::kBFloat16);
  PRIMUS_CHECK(kernels != nullptr, "tiled product: this CPU has no instructions for it");
  std::vector<at::Tensor> operands;  // keeps copies alive
  std::vector<Plan> plans;
  double work = 0;
  for (const TiledProduct& p : products) {
    PRIMUS_CHECK(p.a.scalar_type() == type, "tiled product: all of one type");
    operands.push_back(with_a_unit_stride(p.a));
    operands.push_back(with_a_unit_stride(p.b));
    plans.push_back(plan_of(p, operands.end()[-2], operands.back(), *kernels));
    work += static_cast<double>(plans.back().rows * plans.back().columns * plans.back().depth);
  }
  const std::vector<Task> tasks = cut(plans);
  if (tasks.empty()) return;
  const ScratchSizes sizes = scratch_for(tasks, *kernels);
  const bool serial = work < static_cast<double>(kSerialProducts);
  const auto count = static_cast<int64_t>(tasks.size());
  const at::Tensor memory = at::empty({(serial ? 1 : max_workers(count)) * sizes.total()}, at::kFloat);
  const auto run_one = [&](int64_t task, int64_t worker) {
    float* own = memory.mutable_data_ptr<float>() + worker * sizes.total();
    run(tasks[task], *kernels,
        {reinterpret_cast<Word*>(own), reinterpret_cast<Word*>(own) + sizes.a, own + sizes.a + sizes.b});
  };
  if (serial) {
    for (int64_t task = 0; task < count; ++task) run_one(task, 0);
  } else {
    parallel_tasks(count, run_one);
  }
}

}  // namespace primus::kernels
