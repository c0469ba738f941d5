#include "primus/nn/parameter.h"

#include <cmath>
#include <numeric>

#include "primus/base/check.h"
#include "primus/kernels/philox.h"

namespace primus::nn {

at::ScalarType to_torch(spec::Dtype dtype) {
  switch (dtype) {
    case spec::Dtype::Float32:
      return at::kFloat;
    case spec::Dtype::BFloat16:
      return at::kBFloat16;
    case spec::Dtype::Float16:
      return at::kHalf;
  }
  return at::kFloat;
}

Parameter::Parameter(std::vector<Piece> pieces, std::vector<int64_t> shape, InitKind init, double std)
    : pieces_(std::move(pieces)), shape_(std::move(shape)), init_(init), std_(std) {
  int64_t num_rows = 0;
  for (const Piece& piece : pieces_) num_rows += piece.num_rows;
  PRIMUS_CHECK(!pieces_.empty() && num_rows == shape_.front(),
               "pieces do not cover the rows of " + pieces_.front().name);
  num_elements_ = std::accumulate(shape_.begin(), shape_.end(), int64_t{1}, std::multiplies<>());
  owned_end_ = shape_.front();
}

Parameter::Parameter(std::string name, std::vector<int64_t> shape, InitKind init, double std)
    : Parameter({Piece{std::move(name), shape.front()}}, shape, init, std) {}

void Parameter::allocate(spec::Dtype compute_dtype) {
  master = at::empty(shape_, at::kFloat);
  compute = compute_dtype == spec::Dtype::Float32 ? master : at::empty(shape_, to_torch(compute_dtype));
}

void Parameter::initialise(uint64_t seed, spec::Dtype compute_dtype) {
  allocate(compute_dtype);
  if (init_ == InitKind::Zeros) master.zero_();
  if (init_ == InitKind::Ones) master.fill_(1.0);
  int64_t row = 0;
  for (const Piece& piece : pieces_) {
    at::Tensor values = master.narrow(0, row, piece.num_rows);
    row += piece.num_rows;
    const kernels::PhiloxKey key = kernels::philox_key(seed, piece.name, 0);
    if (init_ == InitKind::Normal) kernels::fill_normal(values, key, 0, 0, std_);
    if (init_ == InitKind::XavierUniform) {
      const double fan_sum = static_cast<double>(piece.num_rows + row_elements());
      const double limit = std::sqrt(6.0 / fan_sum);
      kernels::fill_uniform(values, key, 0, -limit, limit);
    }
  }
  refresh_compute();
}

void Parameter::refresh_compute() {
  if (!compute.is_same(master)) owned_compute().copy_(owned_master());
}

void Parameter::keep_owned_rows(int64_t begin, int64_t end) {
  owned_begin_ = begin;
  owned_end_ = end;
  if (!compute.is_same(master)) master = master.narrow(0, begin, end - begin).clone();
}

at::Tensor Parameter::owned_master() const {
  return master.size(0) == shape_.front() ? master.narrow(0, owned_begin_, owned_end_ - owned_begin_) : master;
}

void Parameter::accumulate_grad(const at::Tensor& gradient) {
  main_grad.add_(gradient.scalar_type() == at::kFloat ? gradient : gradient.to(at::kFloat));
  gradient_written();
}

}  // namespace primus::nn
