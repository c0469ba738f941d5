// The loss scale of fp16 training: constant, or doubled after a run of good steps and halved after bad ones.
#pragma once

#include "primus/base/json.h"
#include "primus/spec/train.h"

namespace primus::optim {

class LossScaler {
 public:
  // Scale 1 and never changing unless the compute dtype is fp16.
  explicit LossScaler(const spec::Precision& precision);

  double scale() const { return scale_; }
  bool is_dynamic() const { return dynamic_; }
  // After every step: whether its gradients were finite. (Megatron's DynamicGradScaler: hysteresis counts bad steps
  // before the scale is halved; `window` good steps double it and restore the hysteresis.)
  void update(bool gradients_are_finite);

  Json state() const;
  void restore(const Json& state);

 private:
  spec::LossScale rule_;
  bool dynamic_ = false;
  double scale_ = 1;
  int64_t good_steps_ = 0;
  int64_t hysteresis_left_ = 0;
};

}  // namespace primus::optim
