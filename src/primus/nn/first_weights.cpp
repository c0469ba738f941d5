#include "primus/nn/first_weights.h"

#include <cmath>

namespace primus::nn {

FirstWeights first_weights(const spec::LayerSpec& layer, const spec::Init& init) {
  const double cut = init.layer_cut;
  if (!layer.init) {
    const Spread inward(init.std, cut), outward(init.residual_output_std, cut);
    return {.law = init.law,
            .q = inward,
            .kv = inward,
            .out = outward,
            .gate = inward,
            .up = inward,
            .down = outward,
            .router = inward,
            .bias = {},
            .sink = {}};
  }
  const spec::LayerInit& own = *layer.init;
  const auto mlp = [&](double std) { return Spread(std, own.mlp_cut > 0 ? own.mlp_cut * std : cut); };
  return {.law = init.law,
          .q = Spread(own.query_std > 0 ? own.query_std : own.qkv_std, cut),
          .kv = Spread(own.qkv_std, cut),
          .out = Spread(own.attention_out_std, cut),
          .gate = mlp(own.mlp_gate_std),
          .up = mlp(own.mlp_up_std),
          .down = mlp(own.mlp_down_std),
          .router = Spread(own.router_std, cut),
          .bias = Spread(own.bias_std, cut),
          .sink = Spread(own.sink_std, cut)};
}

std::unique_ptr<Parameter> norm_gain(const spec::Norm& norm, const std::string& name, int64_t width) {
  return std::make_unique<Parameter>(name + ".weight", std::vector<int64_t>{width},
                                     norm.zero_centered_gain ? InitKind::Zeros : InitKind::Ones);
}

std::unique_ptr<Parameter> norm_bias(const spec::Norm& norm, const std::string& name, int64_t width) {
  return projection_bias(norm.kind == spec::NormKind::LayerNorm, {{name, width}}, {});
}

std::unique_ptr<Parameter> projection(std::vector<Piece> pieces, int64_t input_width, spec::InitLaw law) {
  int64_t width = 0;
  for (Piece& piece : pieces) {
    piece.name += ".weight";
    width += piece.num_rows;
  }
  const InitKind kind = law == spec::InitLaw::Normal ? InitKind::Normal : InitKind::XavierUniform;
  return std::make_unique<Parameter>(std::move(pieces), std::vector<int64_t>{width, input_width}, kind);
}

std::unique_ptr<Parameter> projection_bias(bool wanted, std::vector<Piece> pieces, Spread spread) {
  if (!wanted) return nullptr;
  int64_t width = 0;
  for (Piece& piece : pieces) {
    piece.name += ".bias";
    piece.spread.reset();
    width += piece.num_rows;
  }
  const InitKind kind = spread.std > 0 ? InitKind::Normal : InitKind::Zeros;
  return std::make_unique<Parameter>(std::move(pieces), std::vector<int64_t>{width}, kind, spread);
}

namespace {

Spread within_kernel(int64_t kernel) {
  const double bound = 1 / std::sqrt(static_cast<double>(kernel));
  return Spread::between(-bound, bound);
}

}  // namespace

std::unique_ptr<Parameter> conv_weight(const std::string& name, int64_t channels, int64_t kernel) {
  return std::make_unique<Parameter>(name + ".weight", std::vector<int64_t>{channels, kernel}, InitKind::Uniform,
                                     within_kernel(kernel));
}

std::unique_ptr<Parameter> conv_bias(bool wanted, const std::string& name, int64_t channels, int64_t kernel) {
  if (!wanted) return nullptr;
  return std::make_unique<Parameter>(name + ".bias", std::vector<int64_t>{channels}, InitKind::Uniform,
                                     within_kernel(kernel));
}

}  // namespace primus::nn
