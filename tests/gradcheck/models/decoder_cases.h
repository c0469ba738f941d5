// Small decoders, one for each option of a layer and some for options together.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "primus/spec/model.h"
#include "primus/spec/train.h"

namespace primus::test {

constexpr int64_t kBatch = 3, kTokens = 19, kVocab = 37, kPositions = 23;

spec::Model llama();  // grouped-query attention, rotary positions, SwiGLU
spec::Model gpt2();   // learned positions, LayerNorms, biases, tied

struct Case {
  std::string name;
  spec::Model model;
  spec::Recompute recompute = {};
  bool documents = false;  // attention stays inside documents, positions start again
  double loss_scale = 1;
  bool mean_of_its_own = false;  // of the micro-batch's weights
  // Of bf16 gradients. A mixture needs more: a rounded score may choose another expert.
  double bf16_tolerance = 0.2;

  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

// `model` with every layer changed.
spec::Model changed(spec::Model model, const std::function<void(spec::Model&, spec::LayerSpec&)>& change);
inline spec::Model with_attention(spec::Model model, const std::function<void(spec::Attention&)>& change) {
  return changed(std::move(model), [&](spec::Model&, spec::LayerSpec& layer) { change(layer.attention); });
}
void add_dropout(spec::Model& model, spec::LayerSpec& layer);
void make_latent(spec::Attention& attention, const spec::LatentAttention& latent);

spec::Recompute recomputed_blocks();       // all layers and prediction depths, two layers at a time
spec::Recompute recomputed_parts();        // attention and feed-forward network
spec::Recompute recomputed_inner_parts();  // what is inside of them and can be computed again alone

std::vector<Case> dense_cases();      // dense_cases.cpp
std::vector<Case> attention_cases();  // attention_cases.cpp
std::vector<Case> mixture_cases();    // mixture_cases.cpp
std::vector<Case> head_cases();       // head_cases.cpp: embedding, norms, logits, predictions further ahead
std::vector<Case> mixer_cases();      // mixer_cases.cpp: what stands in the place of attention
std::vector<Case> family_cases();     // family_cases.cpp: published families

}  // namespace primus::test
