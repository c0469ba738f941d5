// Parameter counts and model FLOPs from the architecture alone.
#pragma once

#include <cstdint>

#include "primus/spec/model.h"

namespace primus::spec {

struct ModelSize {
  int64_t embedding = 0;  // token table, and learned positions
  int64_t layers = 0;
  int64_t active_layers = 0;  // of `layers`, what one token passes: top-k of the experts
  int64_t mtp = 0;            // layers of multi-token prediction, shared tables not counted again
  int64_t final_norm = 0;
  int64_t head = 0;  // 0 when tied
  int64_t total() const { return embedding + layers + mtp + final_norm + head; }
  int64_t active() const { return embedding + active_layers + final_norm + head; }  // of one token, without mtp
};

// Parameters as built (padded vocabulary rows count when `padded`; published counts use padded = false). Buffers are no
// parameters: the correction bias of a router is not counted.
// A mixer that has only a name (LayerSpec::other_mixer) is not counted: has_known_size says whether there is one.
ModelSize count_parameters(const Model& model, bool padded);
bool has_known_size(const Model& model);

// What the layers' parameters are made of; the parts add up to ModelSize::layers.
struct LayerParts {
  int64_t attention = 0, other_mixers = 0, dense_mlp = 0, experts = 0, shared_experts = 0, routers = 0, norms = 0;
  int64_t active_experts = 0;  // of `experts`, what one token passes
};
LayerParts count_layer_parts(const Model& model);

// Model FLOPs per token of a forward and backward pass at this sequence length, recomputation never counted, by the
// formula that model.flops_formula names (the trainers differ in what they count: causal halves, routers, padded rows,
// gates). A mixer that has only a name counts as nothing.
double flops_per_token(const Model& model, int64_t sequence_length);

}  // namespace primus::spec
