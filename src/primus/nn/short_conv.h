// LFM2's gated short convolution in the place of attention.
#pragma once

#include "primus/nn/mixer.h"

namespace primus::nn {

class ShortConv : public Mixer {
 public:
  ShortConv(const spec::ShortConv& shape, int64_t hidden, const FirstWeights& first, const MixerOptions& options);
  at::Tensor forward(const at::Tensor& x_bth, const Context& context) override;
  std::vector<Parameter*> parameters() override;

 private:
  std::string name_;
  std::unique_ptr<Parameter> in_, in_bias_, conv_, conv_bias_, out_, out_bias_;
};

}  // namespace primus::nn
