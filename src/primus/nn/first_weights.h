// The parameters of a layer as they are made: their names, shapes and the law of their first values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "primus/nn/parameter.h"
#include "primus/spec/model.h"

namespace primus::nn {

// Spreads of a layer's first weights, from the layer's own law or the model's.
struct FirstWeights {
  spec::InitLaw law = spec::InitLaw::Normal;
  Spread q, kv, out;              // attention; q and kv stand for the latent projections too
  Spread gate, up, down, router;  // MLP, every expert
  Spread bias, sink;              // zero where the standard deviation is 0
};
FirstWeights first_weights(const spec::LayerSpec& layer, const spec::Init& init);

// `name`.weight [width]: ones, or zeros where the norm adds 1 itself.
std::unique_ptr<Parameter> norm_gain(const spec::Norm& norm, const std::string& name, int64_t width);
// `name`.bias [width] of a LayerNorm; null for an RMS norm.
std::unique_ptr<Parameter> norm_bias(const spec::Norm& norm, const std::string& name, int64_t width);

// <piece>.weight of every piece, one below the other: [sum of rows, input_width]. Pieces carry their spread.
std::unique_ptr<Parameter> projection(std::vector<Piece> pieces, int64_t input_width, spec::InitLaw law);
// <piece>.bias of the same pieces: [sum of rows]; null unless wanted.
std::unique_ptr<Parameter> projection_bias(bool wanted, std::vector<Piece> pieces, Spread spread);

// `name`.weight [channels, kernel] of a convolution of every channel by itself, and `name`.bias [channels] or null:
// uniform within 1 / sqrt(kernel), as torch's Conv1d starts.
std::unique_ptr<Parameter> conv_weight(const std::string& name, int64_t channels, int64_t kernel);
std::unique_ptr<Parameter> conv_bias(bool wanted, const std::string& name, int64_t channels, int64_t kernel);

// Appends what is there.
template <class... Owners>
void append_parameters(std::vector<Parameter*>& all, const Owners&... owners) {
  for (Parameter* parameter : {owners.get()...}) {
    if (parameter) all.push_back(parameter);
  }
}

}  // namespace primus::nn
