// Elementwise combination of one buffer of every rank, in the documented order. No tensors, no communication.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace primus::dist {

enum class ElementType { Float32, Float64, BFloat16, Float16, Int32, Int64 };
enum class Reduction { Sum, Max };

int64_t element_bytes(ElementType type);

// output[i] = pairwise tree over r of inputs[r][i]: ((0+1)+(2+3))+((4+5)+6); a last one without a partner goes up as it
// is. 16-bit types: each addition is done in f32 and rounded to nearest even. Max: one NaN makes the result NaN.
// output may be one of the inputs; otherwise they do not overlap.
void tree_reduce(Reduction reduction, ElementType type, const std::vector<const std::byte*>& inputs, std::byte* output,
                 int64_t num_elements);

}  // namespace primus::dist
