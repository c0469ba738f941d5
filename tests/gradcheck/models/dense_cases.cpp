#include "gradcheck/models/decoder_cases.h"

namespace primus::test {

spec::Model llama() {
  spec::LayerSpec layer;
  layer.attention = {
      .num_heads = 6, .num_kv_heads = 2, .head_dim = 10, .softmax_scale = 0.29, .rope = spec::Rope{.base = 500}};
  layer.mlp = {.ffn_size = 44};
  spec::Model model;
  model.hidden_size = 28;
  model.vocab_size = model.padded_vocab_size = kVocab;
  model.max_positions = kPositions;
  model.layers.assign(3, layer);
  model.init = {.std = 0.3, .embedding_std = 0.9, .residual_output_std = 0.2};
  return model;
}

spec::Model gpt2() {
  spec::Model model = llama();
  model.learned_positions = true;
  model.tied_embeddings = true;
  for (spec::LayerSpec& layer : model.layers) {
    layer.input_norm.kind = layer.post_attention_norm.kind = spec::NormKind::LayerNorm;
    layer.attention = {
        .num_heads = 4, .num_kv_heads = 4, .head_dim = 7, .qkv_bias = true, .out_bias = true, .softmax_scale = 0.4};
    layer.mlp = {.ffn_size = 53, .activation = spec::Activation::Gelu, .gated = false, .bias = true};
  }
  model.final_norm.kind = spec::NormKind::LayerNorm;
  return model;
}

spec::Model changed(spec::Model model, const std::function<void(spec::Model&, spec::LayerSpec&)>& change) {
  for (spec::LayerSpec& layer : model.layers) change(model, layer);
  return model;
}

void add_dropout(spec::Model& model, spec::LayerSpec& layer) {
  model.embedding_dropout = 0.3;
  layer.hidden_dropout = 0.2;
  layer.attention.dropout = 0.25;
}

spec::Recompute recomputed_blocks() {
  return {.kind = spec::RecomputeKind::Full, .layer_ids = {0, 1, 2, 3, 4}, .layers_per_block = 2};
}

spec::Recompute recomputed_parts() {
  return {.kind = spec::RecomputeKind::Selective, .modules = {"core_attn", "layernorm", "mla_up_proj", "mlp", "moe"}};
}

spec::Recompute recomputed_inner_parts() {
  return {.kind = spec::RecomputeKind::Selective, .modules = {"layernorm", "mla_up_proj", "moe_act", "shared_experts"}};
}

std::vector<Case> dense_cases() {
  using M = spec::Model;
  using L = spec::LayerSpec;
  M uneven = llama();  // every layer its own shape, one without rotary positions
  uneven.layers[0].mlp.ffn_size = 31;
  uneven.layers[1].attention.rope.reset();
  uneven.layers[1].mlp.activation = spec::Activation::Gelu;
  uneven.layers[2].attention.num_kv_heads = 3;
  M bases = llama();  // rotary tables differ from layer to layer
  bases.layers[1].attention.rope->base = 7;
  bases.layers[2].attention.rope->fraction = 0.4;
  return {
      {"Llama", llama()},
      {"LlamaTied", changed(llama(), [](M& m, L&) { m.tied_embeddings = true; })},
      {"Gpt2", gpt2()},
      {"Gpt2Untied", changed(gpt2(), [](M& m, L&) { m.tied_embeddings = false; })},
      {"OneKeyHead", changed(llama(), [](M&, L& l) { l.attention.num_kv_heads = 1; })},
      {"GatedGeluWithBias",
       changed(llama(),
               [](M&, L& l) { l.mlp = {.ffn_size = 41, .activation = spec::Activation::Gelu, .bias = true}; })},
      {"QuickGelu",
       changed(llama(),
               [](M&, L& l) { l.mlp = {.ffn_size = 41, .activation = spec::Activation::QuickGelu, .gated = false}; })},
      {"GeluTanh", changed(gpt2(), [](M&, L& l) { l.mlp.activation = spec::Activation::GeluTanh; })},
      {"SquaredRelu", changed(gpt2(), [](M&, L& l) { l.mlp.activation = spec::Activation::SquaredRelu; })},
      {"GatedSquaredRelu", changed(llama(), [](M&, L& l) { l.mlp.activation = spec::Activation::SquaredRelu; })},
      {"ClampedWithOffset",  // gpt-oss
       changed(
           llama(),
           [](M&, L& l) {
             l.mlp = {
                 .ffn_size = 41, .activation = spec::Activation::QuickGelu, .bias = true, .clamp = 0.9, .up_offset = 1};
           })},
      {"ClampedUngated", changed(gpt2(), [](M&, L& l) { l.mlp.clamp = 0.8; })},
      {"QkvBiasOnly", changed(llama(), [](M&, L& l) { l.attention.qkv_bias = true; })},
      {"OutBiasOnly", changed(llama(), [](M&, L& l) { l.attention.out_bias = true; })},
      {"LayersOfManyShapes", uneven},
      {"LayersOfManyRopes", bases},
      {"Documents", llama(), {}, true},
      {"DocumentsWithLearnedPositions", gpt2(), {}, true},
      {"Dropout", changed(llama(), add_dropout)},
      {"DropoutInDocuments", changed(gpt2(), add_dropout), {}, true},
      {"Fp32Residual", changed(llama(), [](M& m, L&) { m.fp32_residual = true; })},
      {"LossScale", llama(), {}, false, 1024},
      {"FullRecomputation", changed(llama(), add_dropout), recomputed_blocks(), true},
      {"FullRecomputationFp32Residual",
       changed(gpt2(),
               [](M& m, L& l) {
                 add_dropout(m, l);
                 m.fp32_residual = true;
               }),
       recomputed_blocks()},
      {"SelectiveRecomputation", changed(gpt2(), add_dropout), recomputed_parts(), true, 64},
  };
}

}  // namespace primus::test
