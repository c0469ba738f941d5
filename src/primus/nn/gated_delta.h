// The gated delta net in the place of attention (arXiv 2412.06464, as Qwen3-Next has it).
#pragma once

#include "primus/nn/mixer.h"

namespace primus::nn {

class GatedDeltaNet : public Mixer {
 public:
  GatedDeltaNet(const spec::GatedDelta& shape, int64_t hidden, const FirstWeights& first, const MixerOptions& options);
  at::Tensor forward(const at::Tensor& x_bth, const Context& context) override;
  std::vector<Parameter*> parameters() override;

 private:
  spec::GatedDelta shape_;
  std::string name_;
  std::unique_ptr<Parameter> qkv_, z_, ba_, conv_, a_log_, dt_bias_, norm_, out_;
};

}  // namespace primus::nn
