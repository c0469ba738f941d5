// Cosines and sines of a layer's rotary positions.
#pragma once

#include <cstdint>
#include <memory>

#include "primus/kernels/rope.h"
#include "primus/tensor/prelude.h"

namespace primus::nn {

// Copies share their rows. One thread at a time.
class RopeTable {
 public:
  RopeTable() = default;  // of a layer that does not rotate
  RopeTable(at::Tensor cos, at::Tensor sin);
  // Rows are made when they are first asked for: models know more positions (ten millions) than a run reads.
  explicit RopeTable(const kernels::RopeOptions& options);

  bool rotates() const { return rows_ != nullptr; }

  // f32 [at least num_positions, rotary / 2]. num_positions: up to RopeOptions::num_positions.
  struct Rows {
    at::Tensor cos, sin;
  };
  Rows rows(int64_t num_positions) const;

 private:
  struct State {
    kernels::RopeOptions options;
    Rows made;
  };
  std::shared_ptr<State> rows_;
};

}  // namespace primus::nn
