#include "primus/ckpt/shard.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "primus/base/check.h"
#include "primus/tensor/prelude.h"

namespace primus::ckpt {

NamedShard whole_shard(std::string name, const at::Tensor& data) {
  return {std::move(name), data.sizes().vec(), std::vector<int64_t>(static_cast<size_t>(data.dim()), 0), data};
}

hub::Box box_of(const NamedShard& shard) {
  return {.offset = shard.offset, .size = shard.data.sizes().vec()};
}

hub::Dtype dtype_of(const at::Tensor& tensor) {
  static constexpr std::array kTable = {
      std::pair{at::kBool, hub::Dtype::Bool},
      std::pair{at::kByte, hub::Dtype::U8},
      std::pair{at::kChar, hub::Dtype::I8},
      std::pair{at::kFloat8_e5m2, hub::Dtype::F8E5M2},
      std::pair{at::kFloat8_e4m3fn, hub::Dtype::F8E4M3},
      std::pair{at::kShort, hub::Dtype::I16},
      std::pair{at::kHalf, hub::Dtype::F16},
      std::pair{at::kBFloat16, hub::Dtype::BF16},
      std::pair{at::kInt, hub::Dtype::I32},
      std::pair{at::kFloat, hub::Dtype::F32},
      std::pair{at::kDouble, hub::Dtype::F64},
      std::pair{at::kLong, hub::Dtype::I64},
  };
  const auto* row = std::ranges::find(kTable, tensor.scalar_type(), [](const auto& pair) { return pair.first; });
  PRIMUS_CHECK(row != kTable.end(),
               fmt::format("no checkpoint holds tensors of type {}", c10::toString(tensor.scalar_type())));
  return row->second;
}

}  // namespace primus::ckpt
