#include "primus/nn/rope_table.h"

#include <algorithm>

#include "primus/base/check.h"

namespace primus::nn {

namespace {

constexpr int64_t kLeastPositions = 256;

}  // namespace

RopeTable::RopeTable(at::Tensor cos, at::Tensor sin) : rows_(std::make_shared<State>()) {
  rows_->options.num_positions = cos.size(0);
  rows_->made = {std::move(cos), std::move(sin)};
}

RopeTable::RopeTable(const kernels::RopeOptions& options) : rows_(std::make_shared<State>()) {
  rows_->options = options;
}

RopeTable::Rows RopeTable::rows(int64_t num_positions) const {
  PRIMUS_CHECK(rows_ != nullptr, "rope rows of a layer that does not rotate");
  Rows& made = rows_->made;
  const int64_t have = made.cos.defined() ? made.cos.size(0) : 0;
  if (have >= num_positions) return made;
  const int64_t most = rows_->options.num_positions;
  PRIMUS_CHECK(num_positions <= most, "a position behind the model's last one");
  kernels::RopeOptions options = rows_->options;
  options.num_positions = std::min(most, std::max({num_positions, 2 * have, kLeastPositions}));
  std::tie(made.cos, made.sin) = kernels::rope_table(options);
  return made;
}

}  // namespace primus::nn
