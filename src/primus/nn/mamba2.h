// Mamba 2's state space in the place of attention (arXiv 2405.21060, section 7).
#pragma once

#include "primus/nn/mixer.h"

namespace primus::nn {

class Mamba2 : public Mixer {
 public:
  Mamba2(const spec::Mamba2& shape, int64_t hidden, const FirstWeights& first, const MixerOptions& options);
  at::Tensor forward(const at::Tensor& x_bth, const Context& context) override;
  std::vector<Parameter*> parameters() override;

 private:
  spec::Mamba2 shape_;
  std::string name_;
  std::unique_ptr<Parameter> in_, in_bias_, conv_, conv_bias_, a_log_, dt_bias_, skip_, norm_, out_, out_bias_;
};

}  // namespace primus::nn
