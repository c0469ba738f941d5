#include "primus/nn/short_conv.h"

#include "primus/nn/sequence.h"

namespace primus::nn {

ShortConv::ShortConv(const spec::ShortConv& shape, int64_t hidden, const FirstWeights& first,
                     const MixerOptions& options)
    : name_(options.name) {
  const std::vector<Piece> in = {
      {name_ + ".b", hidden, first.q}, {name_ + ".c", hidden, first.q}, {name_ + ".x", hidden, first.q}};
  const std::vector<Piece> out = {{name_ + ".o", hidden, first.out}};
  in_ = projection(in, hidden, first.law);
  in_bias_ = projection_bias(shape.bias, in, first.bias);
  conv_ = conv_weight(name_ + ".conv", hidden, shape.kernel_size);
  conv_bias_ = conv_bias(shape.bias, name_ + ".conv", hidden, shape.kernel_size);
  out_ = projection(out, hidden, first.law);
  out_bias_ = projection_bias(shape.bias, out, first.bias);
}

at::Tensor ShortConv::forward(const at::Tensor& x_bth, const Context& context) {
  const std::vector<at::Tensor> bcx = linear(x_bth, *in_, in_bias_.get(), context).chunk(3, 2);
  const at::Tensor mixed = short_conv(bcx[0] * bcx[2], *conv_, conv_bias_.get(), /*silu=*/false, name_, context);
  return linear((bcx[1] * mixed).contiguous(), *out_, out_bias_.get(), context);
}

std::vector<Parameter*> ShortConv::parameters() {
  std::vector<Parameter*> all;
  append_parameters(all, in_, in_bias_, conv_, conv_bias_, out_, out_bias_);
  return all;
}

}  // namespace primus::nn
