// What the trainer hands to the writer and the loader: local tensors with their place in the global ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "primus/hub/box.h"
#include "primus/hub/dtype.h"
#include "primus/tensor/prelude.h"

namespace primus::ckpt {

// One box of a globally named tensor. Names: "model.<parameter>", "master.<parameter>",
// "optimizer.exp_avg.<parameter>", "optimizer.exp_avg_sq.<parameter>"; the parameter's name is the unfused, unsharded
// one.
struct NamedShard {
  std::string name;
  std::vector<int64_t> global_shape;  // whole tensor, unpadded
  std::vector<int64_t> offset;        // of `data` in it, one per dim
  at::Tensor data;                    // contiguous, on the CPU; data.sizes() is the box's size
};

// A shard that is the whole tensor.
NamedShard whole_shard(std::string name, const at::Tensor& data);

hub::Box box_of(const NamedShard& shard);

// Throws InternalError for a number format that no checkpoint holds.
hub::Dtype dtype_of(const at::Tensor& tensor);

}  // namespace primus::ckpt
