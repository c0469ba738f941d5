// Multi-token prediction: depth d predicts the token d + 1 places ahead (arXiv 2412.19437, section 2.2).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "primus/nn/block.h"

namespace primus::models {

class MtpDepth {
 public:
  // prefix: "mtp.0"; index: number of its layer over the whole model. The layer is like the model's last one.
  // recompute: its activations are not kept.
  MtpDepth(const spec::Model& model, const std::string& prefix, int64_t index, const nn::RopeTable& rope,
           const nn::BlockOptions& options, bool recompute);

  // h^d from h^(d-1) and the embedding of the tokens d places further: equations 21 to 23. [b, t, h] each.
  at::Tensor forward(const at::Tensor& previous_bth, const at::Tensor& embedded_bth, const nn::Context& context);

  std::vector<nn::Parameter*> parameters();  // forward order
  nn::Block& block() { return *block_; }

 private:
  at::Tensor run_layer(const at::Tensor& x_bth, const nn::Context& context);  // the summed stream

  spec::Norm norm_, final_norm_kind_;
  nn::BlockOptions options_;
  bool recompute_;
  std::unique_ptr<nn::Parameter> embedding_norm_, embedding_norm_bias_, hidden_norm_, hidden_norm_bias_, projection_;
  std::unique_ptr<nn::Block> block_;
  std::unique_ptr<nn::Parameter> final_norm_, final_norm_bias_;
};

// Row by row one place to the left; the last place is filled.  [b, t]
at::Tensor rolled_left(const at::Tensor& x_bt, double fill);

}  // namespace primus::models
