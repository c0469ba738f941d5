// One trained tensor: the master that the optimizer owns, the copy that products read, and the fp32 main gradient.
//
// All weight gradients enter through accumulate_* (docs/adr, engine rule 1): ops save a Parameter handle instead of a
// tensor and return an undefined gradient for it, so that data-parallel readiness, sharding and later the split of the
// backward pass count calls here and never depend on autograd hooks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "primus/spec/train.h"
#include "primus/tensor/prelude.h"

namespace primus::nn {

// How fresh values are drawn. Streams are keyed by the piece's own name and the flat index in it.
enum class InitKind {
  Zeros,
  Ones,
  Normal,
  XavierUniform,
  Uniform,       // between the spread's bounds
  LogOfUniform,  // log of such a value: a decay
  StepBias       // softplus of it is a step between the bounds, whose logarithm is uniform
};

// Of a normal law, or the bounds of a uniform one. cut > 0: no value lies outside of +-cut. The law inside is that of
// drawing again until one fits, but every value still takes one element of its stream: the inverse distribution
// function of the part between the cuts. Streams reach 6.34 standard deviations, so a cut beyond that changes nothing.
struct Spread {
  Spread(double standard_deviation = 0, double cut_at = 0) : std(standard_deviation), cut(cut_at) {}
  static Spread between(double low, double high) {
    Spread spread;
    spread.low = low, spread.high = high;
    return spread;
  }
  double std, cut;
  double low = 0, high = 0;
};

// A contiguous range of rows of a fused parameter that has a name of its own (q of qkv, gate of fc1): the unit of
// initialisation, checkpoints and export.
struct Piece {
  std::string name;  // "layer.3.attn.q.weight"
  int64_t num_rows = 0;
  std::optional<Spread> spread = std::nullopt;  // nothing: the parameter's
};

class Parameter {
 public:
  // shape: of the whole tensor; pieces: cover dim 0 in order. spread: read by InitKind::Normal.
  Parameter(std::vector<Piece> pieces, std::vector<int64_t> shape, InitKind init, Spread spread = {});
  Parameter(std::string name, std::vector<int64_t> shape, InitKind init, Spread spread = {});

  const std::string& name() const { return pieces_.front().name; }
  const std::vector<Piece>& pieces() const { return pieces_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t num_elements() const { return num_elements_; }
  int64_t row_elements() const { return num_elements_ / shape_.front(); }
  bool is_vector() const { return shape_.size() == 1; }
  bool is_embedding_or_head = false;  // may have its own learning rate
  bool is_query_key_norm = false;     // may decay where other vectors do not

  // Allocates master (and the compute copy) and draws the values for this seed. stored: type of the master; weights
  // stored in bf16 have no copy in more bits anywhere.
  void initialise(uint64_t seed, spec::Dtype compute_dtype, spec::Dtype stored = spec::Dtype::Float32);
  // Allocation only, values undefined: for loading.
  void allocate(spec::Dtype compute_dtype, spec::Dtype stored = spec::Dtype::Float32);
  // Refreshes the owned rows of the compute copy after the master was written from outside.
  void refresh_compute();
  // Sharded optimizer: from now on this rank updates rows [begin, end) only; a master of its own keeps just these.
  void keep_owned_rows(int64_t begin, int64_t end);
  int64_t owned_begin() const { return owned_begin_; }
  int64_t owned_end() const { return owned_end_; }
  at::Tensor owned_master() const;  // views of the owned rows
  at::Tensor owned_compute() const { return compute.narrow(0, owned_begin_, owned_end_ - owned_begin_); }
  at::Tensor owned_grad() const { return main_grad.narrow(0, owned_begin_, owned_end_ - owned_begin_); }

  at::Tensor master;     // f32 or bf16 [shape], or only the owned rows when sharded and not also the compute tensor
  at::Tensor compute;    // f32, bf16 or f16 [shape]; the master itself where both have one type
  at::Tensor main_grad;  // f32 [shape]; a view of a gradient bucket

  // main_grad += gradient (any float dtype, shape of the parameter).
  void accumulate_grad(const at::Tensor& gradient);
  // Called by ops that wrote into main_grad themselves (a product that accumulates): counts as one contribution.
  void gradient_written() {
    if (on_gradient) on_gradient(*this);
  }
  std::function<void(Parameter&)> on_gradient;

 private:
  std::vector<Piece> pieces_;
  std::vector<int64_t> shape_;
  int64_t num_elements_ = 0;
  int64_t owned_begin_ = 0;
  int64_t owned_end_ = 0;
  InitKind init_;
  Spread spread_;
};

at::ScalarType to_torch(spec::Dtype dtype);

}  // namespace primus::nn
