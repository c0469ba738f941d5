#include "primus/nn/cache.h"

#include <algorithm>

namespace primus::nn {

namespace {

constexpr int64_t kFirstCapacity = 64;

}  // namespace

at::Tensor KeyValueCache::Rows::append(const at::Tensor& more) {
  const int64_t wanted = length + more.size(1);
  if (!values.defined() || values.size(1) < wanted) {
    std::vector<int64_t> shape = more.sizes().vec();
    shape[1] = std::max({wanted, kFirstCapacity, 2 * length});
    const at::Tensor grown = at::empty(shape, more.options());
    if (length > 0) grown.narrow(1, 0, length).copy_(values.narrow(1, 0, length));
    values = grown;
  }
  values.narrow(1, length, more.size(1)).copy_(more);
  length = wanted;
  return values.narrow(1, 0, length);
}

std::pair<at::Tensor, at::Tensor> KeyValueCache::append(const std::string& name, const at::Tensor& first,
                                                        const at::Tensor& second) {
  auto& [one, two] = layers_[name];
  return {one.append(first), two.append(second)};
}

int64_t KeyValueCache::size_bytes() const {
  int64_t bytes = 0;
  for (const auto& [name, rows] : layers_) {
    bytes += static_cast<int64_t>(rows.first.values.nbytes() + rows.second.values.nbytes());
  }
  for (const auto& [name, state] : states_) bytes += static_cast<int64_t>(state.defined() ? state.nbytes() : 0);
  return bytes;
}

}  // namespace primus::nn
