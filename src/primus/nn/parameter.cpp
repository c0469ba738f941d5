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

Parameter::Parameter(std::vector<Piece> pieces, std::vector<int64_t> shape, InitKind init, Spread spread)
    : pieces_(std::move(pieces)), shape_(std::move(shape)), init_(init), spread_(spread) {
  int64_t num_rows = 0;
  for (const Piece& piece : pieces_) num_rows += piece.num_rows;
  PRIMUS_CHECK(!pieces_.empty() && num_rows == shape_.front(),
               "pieces do not cover the rows of " + pieces_.front().name);
  num_elements_ = std::accumulate(shape_.begin(), shape_.end(), int64_t{1}, std::multiplies<>());
  owned_end_ = shape_.front();
}

Parameter::Parameter(std::string name, std::vector<int64_t> shape, InitKind init, Spread spread)
    : Parameter({Piece{std::move(name), shape.front()}}, shape, init, spread) {}

void Parameter::allocate(spec::Dtype compute_dtype, spec::Dtype stored) {
  master = at::empty(shape_, to_torch(stored));
  compute = compute_dtype == stored ? master : at::empty(shape_, to_torch(compute_dtype));
}

namespace {

constexpr double kFarthestNormal = 6.4;  // standard deviations that a normal stream never reaches

void draw_normal(const at::Tensor& values, kernels::PhiloxKey key, const Spread& spread) {
  const double cut_stds = spread.cut > 0 && spread.std > 0 ? spread.cut / spread.std : kFarthestNormal;
  if (cut_stds >= kFarthestNormal) {
    kernels::fill_normal(values, key, 0, 0, spread.std);
  } else {
    kernels::fill_truncated_normal(values, key, 0, 0, spread.std, -cut_stds, cut_stds);
  }
}

void draw_between(const at::Tensor& values, kernels::PhiloxKey key, InitKind kind, const Spread& spread) {
  if (kind != InitKind::StepBias) {
    kernels::fill_uniform(values, key, 0, spread.low, spread.high);
    if (kind == InitKind::LogOfUniform) values.log_();
    return;
  }
  kernels::fill_uniform(values, key, 0, std::log(spread.low), std::log(spread.high));
  const at::Tensor steps = values.to(at::kDouble).exp();
  values.copy_(steps + (-at::expm1(-steps)).log());  // the inverse of softplus
}

}  // namespace

void Parameter::initialise(uint64_t seed, spec::Dtype compute_dtype, spec::Dtype stored) {
  allocate(compute_dtype, stored);
  if (init_ == InitKind::Zeros) master.zero_();
  if (init_ == InitKind::Ones) master.fill_(1.0);
  int64_t row = 0;
  for (const Piece& piece : pieces_) {
    at::Tensor values = master.narrow(0, row, piece.num_rows);
    row += piece.num_rows;
    const kernels::PhiloxKey key = kernels::philox_key(seed, piece.name, 0);
    if (init_ == InitKind::Normal) draw_normal(values, key, piece.spread.value_or(spread_));
    if (init_ == InitKind::Uniform || init_ == InitKind::LogOfUniform || init_ == InitKind::StepBias)
      draw_between(values, key, init_, piece.spread.value_or(spread_));
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
