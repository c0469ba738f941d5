// Normalisation of a vector of features.
#pragma once

namespace primus::spec {

enum class NormKind { RmsNorm, LayerNorm };

struct Norm {
  NormKind kind = NormKind::RmsNorm;
  double eps = 1e-5;
  bool zero_centered_gain = false;  // y * (1 + g), g starts at 0
};

}  // namespace primus::spec
