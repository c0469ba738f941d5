// What a generating model keeps of the tokens that it has read already: keys and values, or states.
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
  // A mixer's state behind the last token; undefined before the first. name: "layer.3.conv".
  at::Tensor& state(const std::string& name) { return states_[name]; }
  int64_t size_bytes() const;

 private:
  struct Rows {
    at::Tensor values;  // [b, capacity, ...]
    int64_t length = 0;

    at::Tensor append(const at::Tensor& more);
  };
  std::unordered_map<std::string, std::pair<Rows, Rows>> layers_;
  std::unordered_map<std::string, at::Tensor> states_;
};

}  // namespace primus::nn
