// What a model is, without how it is trained: for comparing a model with its copy in another format.
#pragma once

#include <string>
#include <vector>

#include "primus/spec/model.h"

namespace primus::spec {

// The fields in which the forward passes of two models differ, with the first model's value: "model.layers[0-31].
// attention.qk_norm (null)". Training's own (dropout, balancing, capacity, initial weights, multi-token prediction, the
// padded size) is not compared, and two spellings of one meaning are equal. Numbers are equal within 1e-11 (a root does
// not give back the very number that was squared).
std::vector<std::string> architecture_differences(const Model& wanted, const Model& got);

}  // namespace primus::spec
