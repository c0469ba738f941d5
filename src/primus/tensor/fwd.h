// How headers of torch rooms name tensors without paying for libtorch's headers.
#pragma once

namespace at {
class Tensor;
}  // namespace at
