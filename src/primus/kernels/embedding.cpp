#include "primus/kernels/embedding.h"

#include <algorithm>
#include <string>
#include <vector>

#include "primus/kernels/parallel.h"
#include "primus/kernels/tensors.h"

namespace primus::kernels {

namespace {

std::vector<int64_t> checked_ids(const at::Tensor& ids_any, int64_t num_rows) {
  PRIMUS_CHECK(ids_any.is_cpu(), "embedding: ids on the CPU expected");
  const at::Tensor ids = ids_any.to(at::kLong).contiguous();
  const int64_t* data = pointer<int64_t>(ids);
  std::vector<int64_t> rows(data, data + ids.numel());
  for (const int64_t id : rows) {
    PRIMUS_CHECK(id >= 0 && id < num_rows, "embedding: token id " + std::to_string(id) + " with a table of " +
                                               std::to_string(num_rows) + " rows");
  }
  return rows;
}

// Tokens grouped by id, in token order within a group.
struct Groups {
  std::vector<int64_t> tokens;
  std::vector<int64_t> starts;  // of each group in tokens, and the end
  std::vector<int64_t> ids;     // of each group
};

Groups group_by_id(const std::vector<int64_t>& ids) {
  Groups groups;
  groups.tokens.resize(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) groups.tokens[i] = static_cast<int64_t>(i);
  std::sort(groups.tokens.begin(), groups.tokens.end(), [&](int64_t a, int64_t b) {
    const int64_t id_a = ids[static_cast<size_t>(a)];
    const int64_t id_b = ids[static_cast<size_t>(b)];
    return id_a != id_b ? id_a < id_b : a < b;
  });
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t id = ids[static_cast<size_t>(groups.tokens[i])];
    if (groups.ids.empty() || groups.ids.back() != id) {
      groups.ids.push_back(id);
      groups.starts.push_back(static_cast<int64_t>(i));
    }
  }
  groups.starts.push_back(static_cast<int64_t>(ids.size()));
  return groups;
}

}  // namespace

void embedding_forward(at::Tensor out, const at::Tensor& table, const at::Tensor& ids) {
  const int64_t width = table.size(1);
  PRIMUS_CHECK(out.numel() == ids.numel() * width, "embedding: out is ids' shape + [H]");
  if (!is_fast(table) || !is_fast(out) || !table.is_contiguous() || !out.is_contiguous()) {
    reference::embedding_forward(out, table, ids);
    return;
  }
  const std::vector<int64_t> rows = checked_ids(ids, table.size(0));
  with_element(out.scalar_type(), [&](auto t) {
    with_element(table.scalar_type(), [&](auto s) {
      using T = decltype(t);
      using S = decltype(s);
      T* const target = pointer<T>(out);
      const S* const source = pointer<S>(table);
      parallel_ranges(ids.numel(), min_rows(width), [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n) {
          const S* row = source + rows[static_cast<size_t>(n)] * width;
          if constexpr (std::is_same_v<T, float>) {
            simd::loops<S>().to_float(target + n * width, row, width);
          } else {
            simd::loops<S>().to_bf16(target + n * width, row, width);
          }
        }
      });
    });
  });
}

void embedding_backward(at::Tensor main_grad, const at::Tensor& dy_any, const at::Tensor& ids) {
  const int64_t width = main_grad.size(1);
  PRIMUS_CHECK(dy_any.numel() == ids.numel() * width, "embedding backward: dy is ids' shape + [H]");
  if (!is_fast(main_grad) || !is_fast(dy_any)) {
    reference::embedding_backward(main_grad, dy_any, ids);
    return;
  }
  PRIMUS_CHECK(main_grad.is_contiguous(), "embedding backward: a contiguous main gradient expected");
  const at::Tensor dy = dy_any.contiguous();
  const Groups groups = group_by_id(checked_ids(ids, main_grad.size(0)));
  float* const sums = pointer<float>(main_grad);
  with_element(dy.scalar_type(), [&](auto s) {
    using S = decltype(s);
    const S* const source = pointer<S>(dy);
    const auto num_groups = static_cast<int64_t>(groups.ids.size());
    parallel_ranges(num_groups, min_rows(width), [&](int64_t begin, int64_t end) {
      for (auto g = static_cast<size_t>(begin); g < static_cast<size_t>(end); ++g) {
        simd::loops<S>().add_rows(sums + groups.ids[g] * width, source, groups.tokens.data() + groups.starts[g],
                                  groups.starts[g + 1] - groups.starts[g], width);
      }
    });
  });
}

}  // namespace primus::kernels
