// Matrix products of our own for CPUs with AVX-512 (f32) and avx512_bf16 (bf16, summed in f32): operands are copied
// into panels that stay in the caches, and tiles of the result stay in registers. No code is made for a shape, results
// are rounded once, and every element is summed in an order that depends on the summed dim alone.
// Source of the blocking: Van Zee and van de Geijn, "BLIS: A Framework for Rapidly Instantiating BLAS Functionality",
// ACM TOMS 41 (2015).
#pragma once

#include <vector>

#include "primus/tensor/fwd.h"

namespace primus::kernels {

// Whether this CPU has them for f32 or bf16 operands.
bool has_tiled_products(bool bf16);

// out [M, N] = or += a [M, K] b [K, N]; a and b both f32 or both bf16, any strides (a copy is made where neither is 1);
// out f32 or of their type, with contiguous rows. Only f32 can be added to. A bias [N] f32, where defined, is added
// before the result is rounded.
struct TiledProduct {
  at::Tensor a, b, out;
  bool accumulate = false;
  at::Tensor bias = {};
};

// All products, of one type, in one parallel region. No two of them may write to the same place.
void tiled_products(const std::vector<TiledProduct>& products);

}  // namespace primus::kernels
