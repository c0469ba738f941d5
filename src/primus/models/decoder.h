// A decoder-only language model built from spec::Model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "primus/models/mtp.h"
#include "primus/nn/block.h"

namespace primus::models {

// One micro-batch. All [b, t]. weights: what each token's loss is multiplied by in the step's total (mask and
// normalisation in one number), so the sum over all micro-batches and ranks is the loss whose gradient is taken.
struct MicroBatch {
  at::Tensor tokens;   // i64
  at::Tensor labels;   // i64
  at::Tensor weights;  // f32
  // The weights are those of a mean over this micro-batch's own tokens, not over all of the step: what further
  // predictions, which have fewer tokens, are divided by.
  bool mean_of_its_own = false;
};

// One prediction depth of a micro-batch: sum of unweighted losses and the number of tokens they stand for.
struct DepthLoss {
  double loss = 0, num_tokens = 0;
};

// State that is saved with the weights but not trained.
struct Buffer {
  std::string name;  // "layer.3.moe.router.score_bias"
  at::Tensor values;
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
  std::vector<Buffer> buffers();              // forward order; written in place by their owners
  std::vector<nn::MoeLayer*> moe_layers();    // in layer order, prediction depths last

  // Adds the micro-batch's gradient to every main_grad. loss_scale multiplies the loss before differentiation (fp16).
  // Returns the unweighted token losses [b, t] f32. depth_losses, if wanted: one entry per prediction depth.
  at::Tensor forward_backward(const MicroBatch& batch, const nn::Context& context, double loss_scale = 1,
                              std::vector<DepthLoss>* depth_losses = nullptr);

  // Token losses [b, t] f32 without gradients (evaluation: dropout off when context.training is false).
  at::Tensor token_losses(const MicroBatch& batch, const nn::Context& context);

  // Without gradients, f32. Logits of the last position of every row: tokens [b, t] -> [b, V]; of all: [b, t, V].
  at::Tensor last_logits(const at::Tensor& tokens, const nn::Context& context);
  at::Tensor logits(const at::Tensor& tokens, const nn::Context& context);

  const spec::Model& spec() const { return model_; }

 private:
  at::Tensor embed(const at::Tensor& tokens, const nn::Context& context);
  void embed_backward(const at::Tensor& tokens, const at::Tensor& d_embedded, const nn::Context& context);
  at::Tensor hidden_states(const at::Tensor& embedded_bth, const nn::Context& context);
  void run_layers(nn::Stream& stream, const nn::Context& context);
  bool is_recomputed(int64_t layer) const;  // as a whole; layer: prediction depths count on
  at::Tensor head_input(const at::Tensor& x_bth) const;
  at::Tensor head_logits(const at::Tensor& x_bth, const nn::Context& context);
  at::Tensor prediction_losses(const MicroBatch& batch, const at::Tensor& hidden_bth, const nn::Context& context,
                               double loss_scale, std::vector<at::Tensor>& embedded,
                               std::vector<DepthLoss>* depth_losses);
  nn::Parameter& head() { return head_ ? *head_ : *embedding_; }

  spec::Model model_;
  spec::Dtype compute_dtype_, stored_;
  spec::Recompute recompute_;
  std::unique_ptr<nn::Parameter> embedding_, positions_, final_norm_, final_norm_bias_, head_;
  std::vector<std::unique_ptr<nn::Block>> blocks_;
  std::vector<std::unique_ptr<MtpDepth>> depths_;
};

}  // namespace primus::models
