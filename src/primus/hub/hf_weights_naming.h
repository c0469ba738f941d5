// How the families name and arrange their tensors, as data. Private to the room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace primus::hub {

enum class ExpertLayout {
  PerExpert,          // experts.E.gate [f, h], up [f, h], down [h, f]
  InputsFirst,        // gate_up_proj [E, h, 2f]: gate columns, then up columns; down_proj [E, f, h]
  InputsInterleaved,  // the same with gate and up columns taking turns; biases [E, 2f], [E, h]
};

// Empty: the family has no such tensor.
struct HfNaming {
  const char* family;
  const char *root = "model.", *embedding = "embed_tokens", *final_norm = "norm";
  const char* attention = "self_attn";
  const char *attention_out = "o_proj", *q_norm = "q_norm", *k_norm = "k_norm";
  bool gate_in_queries = false;  // q_proj [heads x 2 d, h]: the queries of a head, then its output gate
  const char *short_conv = "", *gated_delta = "", *mamba2 = "";
  bool delta_by_heads = false;  // in_proj_qkvz and in_proj_ba, key head by key head
  const char* attn_norm = "input_layernorm";
  const char* mlp_norm = "post_attention_layernorm";
  const char* attn_post_norm = "";
  const char* mlp_post_norm = "";
  const char* norm_gain = "weight";
  const char* mlp = "mlp";
  bool fused_gate_up = false;  // mlp.gate_up_proj [2f, h], gate first
  const char* moe = "";
  const char* router = "gate";
  const char* score_bias = "";
  const char* shared = "";
  bool shared_beside_moe = false;  // <layer>.<shared>, not <layer>.<moe>.<shared>
  const char* shared_gate = "";
  ExpertLayout layout = ExpertLayout::PerExpert;
  const char *gate = "gate_proj", *up = "up_proj", *down = "down_proj";              // of an expert
  const char *mlp_gate = "gate_proj", *mlp_up = "up_proj", *mlp_down = "down_proj";  // of a dense MLP
  bool latent_attention = false, further_predictions = false;
};

// Nullptr for an unknown family. gpt2 is there for its name only: nothing in it follows the skeleton.
const HfNaming* find_hf_naming(std::string_view family);

// The names under which checkpoints hold the tensor that is saved as `name`; the saved one first.
std::vector<std::string> hf_spellings(const HfNaming& naming, const std::string& name);

// For messages: "a, b, c", at most twenty and how many more.
std::string first_names(const std::vector<std::string>& names);

}  // namespace primus::hub
