#include "primus/optim/loss_scaler.h"

#include <algorithm>

namespace primus::optim {

LossScaler::LossScaler(const spec::Precision& precision) : rule_(precision.loss_scale) {
  if (precision.compute != spec::Dtype::Float16) return;
  dynamic_ = !rule_.constant.has_value();
  scale_ = rule_.constant.value_or(rule_.initial);
  hysteresis_left_ = rule_.hysteresis;
}

void LossScaler::update(bool gradients_are_finite) {
  if (!dynamic_) return;
  if (!gradients_are_finite) {
    good_steps_ = 0;
    if (--hysteresis_left_ <= 0) scale_ = std::max(scale_ * 0.5, rule_.minimum);
    return;
  }
  if (++good_steps_ == rule_.window_steps) {
    good_steps_ = 0;
    hysteresis_left_ = rule_.hysteresis;
    scale_ *= 2;
  }
}

Json LossScaler::state() const {
  return {{"scale", scale_}, {"good_steps", good_steps_}, {"hysteresis_left", hysteresis_left_}};
}

void LossScaler::restore(const Json& state) {
  scale_ = state.at("scale").get<double>();
  good_steps_ = state.at("good_steps").get<int64_t>();
  hysteresis_left_ = state.at("hysteresis_left").get<int64_t>();
}

}  // namespace primus::optim
