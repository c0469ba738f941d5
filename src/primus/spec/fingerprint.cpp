#include "primus/spec/fingerprint.h"

namespace primus::spec {

Json model_fingerprint(const Model& model) {
  Json layers = Json::array();
  for (const LayerSpec& layer : model.layers) {
    const Attention& a = layer.attention;
    layers.push_back({{"heads", a.num_heads},
                      {"kv_heads", a.num_kv_heads},
                      {"head_dim", a.head_dim},
                      {"qkv_bias", a.qkv_bias},
                      {"out_bias", a.out_bias},
                      {"rope_base", a.rope ? Json(a.rope->base) : Json(nullptr)},
                      {"ffn_size", layer.mlp.ffn_size},
                      {"activation", static_cast<int>(layer.mlp.activation)},
                      {"gated", layer.mlp.gated},
                      {"mlp_bias", layer.mlp.bias},
                      {"layer_norm", layer.input_norm.kind == NormKind::LayerNorm}});
  }
  return {{"hidden_size", model.hidden_size},
          {"vocab_size", model.vocab_size},
          {"num_layers", model.layers.size()},
          {"tied_embeddings", model.tied_embeddings},
          {"learned_positions", model.learned_positions ? Json(model.max_positions) : Json(nullptr)},
          {"layers", layers}};
}

}  // namespace primus::spec
