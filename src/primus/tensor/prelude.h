// The only door to libtorch's headers, and the precompiled header of every torch target. <torch/torch.h> is never
// included: it is slow to parse, and nn, data and optim are our own.
#pragma once

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>
