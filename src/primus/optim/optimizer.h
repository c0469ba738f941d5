// AdamW, Adam with L2, or SGD with momentum over the rows that this rank owns.
#pragma once

#include <vector>

#include "primus/nn/parameter.h"
#include "primus/spec/train.h"

namespace primus::optim {

struct GradientNorm {
  double norm = 0;  // L2 over all parameters, of main_grad * inverse_scale
  bool finite = true;
};

// Sums of squares in double over fixed blocks in parameter order: equal bits whatever the number of threads or ranks.
GradientNorm gradient_norm(const std::vector<nn::Parameter*>& parameters, double inverse_scale);

// max_norm / (norm + 1e-6) when that is below one, otherwise 1; max_norm 0 never clips. exactly: max_norm / norm, as
// optax.clip_by_global_norm has it.
double clip_coefficient(double norm, double max_norm, bool exactly = false);

struct UpdateInputs {
  double lr = 0;
  double embedding_and_head_lr = 0;
  double weight_decay = 0;
  double gradient_scale = 1;  // clip coefficient / loss scale
};

class Optimizer {
 public:
  // Call after the parameters know their owned rows. Allocates the state with zeros.
  Optimizer(std::vector<nn::Parameter*> parameters, const spec::Optimizer& rules);

  // Updates owned rows of master and compute copy from main_grad. Counts one update.
  void update(const UpdateInputs& inputs);

  int64_t num_updates() const { return num_updates_; }
  void set_num_updates(int64_t count) { num_updates_ = count; }

  // State tensors of parameter i, shape of its owned rows; names as in checkpoints ("exp_avg", "exp_avg_sq",
  // "momentum").
  struct NamedState {
    const char* name;
    at::Tensor tensor;
  };
  std::vector<NamedState> state(size_t parameter_index) const;

  // Whether weight decay applies: matrices do, vectors (norm gains, biases) do not, unless the rule says so.
  bool decays(const nn::Parameter& parameter) const {
    if (rules_.decay_query_key_norms && parameter.is_query_key_norm) return true;
    return rules_.decay_vectors || !parameter.is_vector();
  }

 private:
  struct Spans {
    at::Tensor master, grad, first, second;
  };
  bool rounds(const Spans& spans) const;
  // num_updates_ counts this one already.
  void step(const Spans& spans, const at::Tensor& bf16_copy, double lr, double weight_decay, double scale);
  // Weights and state that are stored in fewer than 32 bits: the step is computed in fp32, what it leaves is rounded to
  // nearest, and nothing remembers the rest.
  void step_rounded(const Spans& stored, double lr, double weight_decay, double scale);

  std::vector<nn::Parameter*> parameters_;
  spec::Optimizer rules_;
  std::vector<at::Tensor> first_moment_, second_moment_;
  int64_t num_updates_ = 0;
};

}  // namespace primus::optim
