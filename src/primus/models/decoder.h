// A decoder-only language model built from spec::Model.
#pragma once

#include <memory>
#include <vector>

#include "primus/nn/block.h"

namespace primus::models {

// One micro-batch. All [b, t]. weights: what each token's loss is multiplied by in the step's total (mask and
// normalisation in one number), so the sum over all micro-batches and ranks is the loss whose gradient is taken.
struct MicroBatch {
  at::Tensor tokens;   // i64
  at::Tensor labels;   // i64
  at::Tensor weights;  // f32
};

class Decoder {
 public:
  // stored: type of the weights between steps.
  Decoder(const spec::Model& model, spec::Dtype compute_dtype, const spec::Recompute& recompute,
          spec::Dtype stored = spec::Dtype::Float32);

  // Draws all weights for this seed: the same values on every rank and layout.
  void initialise(uint64_t seed);

  std::vector<nn::Parameter*> parameters();   // forward order
  std::vector<int> gradient_contributions();  // per parameter and backward pass: 2 for a tied embedding

  // Adds the micro-batch's gradient to every main_grad. loss_scale multiplies the loss before differentiation (fp16).
  // Returns the unweighted token losses [b, t] f32.
  at::Tensor forward_backward(const MicroBatch& batch, const nn::Context& context, double loss_scale = 1);

  // Token losses [b, t] f32 without gradients (evaluation: dropout off when context.training is false).
  at::Tensor token_losses(const MicroBatch& batch, const nn::Context& context);

  // Logits of the last position of every row: tokens [b, t] -> [b, V] f32, without gradients.
  at::Tensor last_logits(const at::Tensor& tokens, const nn::Context& context);

  const spec::Model& spec() const { return model_; }

 private:
  at::Tensor embed(const at::Tensor& tokens, const nn::Context& context);
  void embed_backward(const at::Tensor& tokens, const at::Tensor& d_embedded, const nn::Context& context);
  at::Tensor hidden_states(const at::Tensor& embedded_bth, const nn::Context& context);
  void run_layers(nn::Stream& stream, const nn::Context& context);
  nn::Parameter& head() { return head_ ? *head_ : *embedding_; }

  spec::Model model_;
  spec::Dtype compute_dtype_, stored_;
  spec::Recompute recompute_;
  std::unique_ptr<nn::Parameter> embedding_, positions_, final_norm_, final_norm_bias_, head_;
  std::vector<std::unique_ptr<nn::Block>> blocks_;
};

}  // namespace primus::models
