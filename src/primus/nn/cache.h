// Keys and values of the tokens that a generating model has read already.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>

#include "primus/tensor/prelude.h"

namespace primus::nn {

class KeyValueCache {
 public:
  // Adds the columns of one layer, [b, t, ...] each (keys and values; with latent attention the latent and the rotated
  // key that all heads share), and returns all columns so far. name: of the attention module.
  std::pair<at::Tensor, at::Tensor> append(const std::string& name, const at::Tensor& first, const at::Tensor& second);
  int64_t size_bytes() const;

 private:
  struct Rows {
    at::Tensor values;  // [b, capacity, ...]
    int64_t length = 0;

    at::Tensor append(const at::Tensor& more);
  };
  std::unordered_map<std::string, std::pair<Rows, Rows>> layers_;
};

}  // namespace primus::nn
