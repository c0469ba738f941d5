#include "primus/hub/hf_weights.h"

#include <algorithm>
#include <fmt/format.h>

#include "primus/base/strings.h"
#include "primus/hub/dtype.h"
#include "primus/hub/hf_config.h"
#include "primus/hub/hf_weights_mixers.h"

namespace primus::hub {

namespace {

using spec::LayerSpec;
using spec::Model;

// Where gate, up and down of expert e lie in tensors stacked over experts of width f in a model of width h.
struct StackedForm {
  std::vector<int64_t> gate_up_shape, down_shape;
  int64_t up_offset, gate_up_row, gate_up_col, down_row, down_col, bias_up_offset, bias_row;
};

StackedForm stacked_form(int64_t e, int64_t f, int64_t h, bool inputs_first, bool interleaved) {
  StackedForm form;
  form.bias_up_offset = interleaved ? 1 : f;
  form.bias_row = interleaved ? 2 : 1;
  if (inputs_first) {
    form.gate_up_shape = {e, h, 2 * f}, form.down_shape = {e, f, h};
    form.up_offset = form.bias_up_offset;
    form.gate_up_row = form.bias_row, form.gate_up_col = 2 * f;
    form.down_row = 1, form.down_col = h;
  } else {
    form.gate_up_shape = {e, 2 * f, h}, form.down_shape = {e, h, f};
    form.up_offset = form.bias_up_offset * h;
    form.gate_up_row = form.bias_row * h, form.gate_up_col = 1;
    form.down_row = f, form.down_col = 1;
  }
  return form;
}

class Emitter {
 public:
  Emitter(const Model& model, const HfNaming& naming, const HasTensor& has)
      : model_(model), naming_(naming), has_(has) {}

  Result<std::vector<HfTensor>> run() {
    check_sizes();
    if (has_errors(errors_)) return std::move(errors_);
    const bool is_gpt2 = std::string_view(naming_.family) == "gpt2";
    is_gpt2 ? gpt2() : skeleton();
    if (has_errors(errors_)) return std::move(errors_);
    return std::move(out_);
  }

 private:
  // A stranger's config.json must not make products overflow or ask for more tensors than memory holds.
  void check_sizes() {
    constexpr int64_t kMost = int64_t{1} << 30, kMostTensors = 20'000'000;
    const auto check = [&](const char* what, std::initializer_list<int64_t> sizes) {
      const auto count = std::all_of(sizes.begin(), sizes.end(), [](int64_t n) { return n >= 0 && n <= kMost; })
                             ? num_elements(sizes)
                             : std::nullopt;
      if (!count) errors_.push_back(error_at({}, fmt::format("{} of this size cannot be", what)));
      return count.value_or(0);
    };
    const int64_t h = model_.hidden_size;
    check("an embedding", {model_.vocab_size, h});
    check("positions", {model_.max_positions, h});
    const int64_t depth = model_.mtp ? model_.mtp->depth : 0;
    int64_t tensors = check("a model", {static_cast<int64_t>(model_.layers.size()) + depth, 16});
    for (const LayerSpec& layer : model_.layers) {
      const spec::Attention& a = layer.attention;
      check("attention", {3, a.num_heads, a.head_dim, h});
      if (a.latent)
        for (const int64_t width : {a.latent->nope_head_dim, a.latent->rope_head_dim, a.latent->v_head_dim})
          for (const int64_t rank : {a.latent->q_lora_rank, a.latent->kv_lora_rank})
            check("latent attention", {2, a.num_heads, width, rank});
      check("an MLP", {2, layer.mlp.ffn_size, h});
      if (layer.moe) check("a shared expert", {layer.moe->shared_ffn_size, h});
      if (layer.moe) check("experts", {2, layer.moe->num_experts, layer.moe->expert.ffn_size, h});
      if (layer.moe) tensors += 6 * std::min(layer.moe->num_experts, kMost);
      if (has_errors(errors_)) return;
    }
    if (tensors > kMostTensors) errors_.push_back(error_at({}, fmt::format("a model of {} tensors", tensors)));
  }

  void refuse(const std::string& what) {
    Diagnostic finding = error_at({}, fmt::format("the family {} has no tensor for {}", naming_.family, what));
    for (const Diagnostic& known : errors_)
      if (known.message == finding.message) return;
    errors_.push_back(std::move(finding));
  }
  bool is_there(const std::string& name) const { return !spelled(name).empty(); }
  std::string spelled(const std::string& name) const {
    if (has_)
      for (std::string& spelling : hf_spellings(naming_, name))
        if (has_(spelling)) return std::move(spelling);
    return {};
  }

  void add_all(std::vector<HfTensor> tensors) {
    for (HfTensor& tensor : tensors) add(tensor.name, std::move(tensor.shape), std::move(tensor.parts));
  }
  HfTensor& add(const std::string& name, std::vector<int64_t> shape, std::vector<WeightPart> parts) {
    const std::string found = spelled(name);
    out_.push_back({.name = found.empty() ? name : found, .shape = std::move(shape), .parts = std::move(parts)});
    return out_.back();
  }
  HfTensor& vector(const std::string& name, const std::string& piece, int64_t size) {
    return add(name, {size}, {{piece, {size}, 0, 1, 0}});
  }
  void matrix(const std::string& name, const std::string& piece, int64_t rows, int64_t cols) {
    add(name, {rows, cols}, {{piece, {rows, cols}, 0, cols, 1}});
  }
  // Stored with the inputs first.
  void turned(const std::string& name, const std::string& piece, int64_t rows, int64_t cols) {
    add(name, {cols, rows}, {{piece, {rows, cols}, 0, 1, rows}});
  }
  void linear(const std::string& name, const std::string& piece, int64_t rows, int64_t cols, bool bias) {
    matrix(name + ".weight", piece + ".weight", rows, cols);
    if (bias) vector(name + ".bias", piece + ".bias", rows);
  }
  void norm(const std::string& prefix, const char* name, const std::string& piece, const spec::Norm& kind,
            int64_t width) {
    if (*name == '\0') return refuse("the norm '" + piece.substr(piece.rfind('.') + 1) + "'");
    vector(prefix + name + "." + naming_.norm_gain, piece + ".weight", width);
    if (kind.kind == spec::NormKind::LayerNorm) vector(prefix + name + ".bias", piece + ".bias", width);
  }

  void head(const std::string& embedding) {
    const int64_t v = model_.vocab_size, h = model_.hidden_size;
    // A tied table may be stored under the head's name only.
    const bool as_head = model_.tied_embeddings && !is_there(embedding) && is_there("lm_head.weight");
    matrix(as_head ? "lm_head.weight" : embedding, "embed.weight", v, h);
  }

  void skeleton() {
    const int64_t h = model_.hidden_size;
    if (model_.learned_positions) refuse("learned positions");
    const std::string root = naming_.root;
    head(root + naming_.embedding + ".weight");
    for (size_t i = 0; i < model_.layers.size(); ++i)
      layer(model_.layers[i], fmt::format("{}layers.{}.", root, i), fmt::format("layer.{}.", i));
    norm(root, naming_.final_norm, "final_norm", model_.final_norm, h);
    if (!model_.tied_embeddings) matrix("lm_head.weight", "head.weight", model_.vocab_size, h);
    if (!model_.mtp || !naming_.further_predictions || model_.layers.empty()) return;
    for (int64_t d = 0; d < model_.mtp->depth; ++d) {
      const std::string prefix = fmt::format("model.layers.{}.", static_cast<int64_t>(model_.layers.size()) + d);
      const std::string piece = fmt::format("mtp.{}.", d);
      norm(prefix, "enorm", piece + "enorm", model_.final_norm, h);
      norm(prefix, "hnorm", piece + "hnorm", model_.final_norm, h);
      matrix(prefix + "eh_proj.weight", piece + "proj.weight", h, 2 * h);
      layer(model_.layers.back(), prefix, piece + "layer.");
      norm(prefix, "shared_head.norm", piece + "final_norm", model_.final_norm, h);
    }
  }

  void layer(const LayerSpec& layer, const std::string& hf, const std::string& piece) {
    const int64_t h = model_.hidden_size;
    if (!layer.other_mixer.empty()) return refuse("the mixer '" + layer.other_mixer + "'");
    if (!layer.has_mixer) return refuse("a layer without a mixer");
    if (layer.norms_in_front) {
      norm(hf, naming_.attn_norm, piece + "attn_norm", layer.input_norm, h);
      if (layer.has_mlp) norm(hf, naming_.mlp_norm, piece + "mlp_norm", layer.post_attention_norm, h);
    }
    if (layer.attention_output_norm)
      norm(hf, naming_.attn_post_norm, piece + "attn_post_norm", *layer.attention_output_norm, h);
    if (layer.mlp_output_norm) norm(hf, naming_.mlp_post_norm, piece + "mlp_post_norm", *layer.mlp_output_norm, h);
    mixer(layer, hf, piece);
    if (!layer.has_mlp) return;
    if (layer.moe)
      experts(*layer.moe, hf, piece + "moe.");
    else
      mlp(layer.mlp, hf + naming_.mlp + ".", piece + "mlp.");
  }

  void mixer(const LayerSpec& layer, const std::string& hf, const std::string& piece) {
    if (!attends(layer)) {
      const auto tensors = mixer_tensors(layer, model_.hidden_size, naming_, hf, piece);
      if (!tensors) return refuse("this kind of layer");
      return add_all(*tensors);
    }
    const std::string attention = hf + naming_.attention + ".";
    layer.attention.latent ? latent_attention(layer.attention, attention, piece + "attn.")
                           : plain_attention(layer.attention, attention, piece + "attn.");
    if (layer.attention.output_gate != naming_.gate_in_queries)
      refuse(layer.attention.output_gate ? "the gate on attention's output" : "attention without a gate on its output");
    if (layer.attention.sink == spec::Sink::Learned)
      vector(attention + "sinks", piece + "attn.sinks", layer.attention.num_heads);
  }

  void plain_attention(const spec::Attention& a, const std::string& hf, const std::string& piece) {
    const int64_t h = model_.hidden_size, q = a.num_heads * a.head_dim, kv = a.num_kv_heads * a.head_dim;
    if (a.values_are_keys) refuse("values that are the keys");
    if (a.value_norm && a.value_norm->has_gain) refuse("the norm of the values");
    if (naming_.gate_in_queries)
      add_all(gated_queries(a, h, hf, piece));
    else
      linear(hf + "q_proj", piece + "q", q, h, a.qkv_bias);
    linear(hf + "k_proj", piece + "k", kv, h, a.qkv_bias);
    linear(hf + "v_proj", piece + "v", kv, h, a.qkv_bias);
    linear(hf + naming_.attention_out, piece + "o", h, q, a.out_bias);
    if (!a.qk_norm || !a.qk_norm->has_gain) return;
    const bool per_head = a.qk_norm->scope == spec::QkNormScope::PerHead;
    norm(hf, naming_.q_norm, piece + "q_norm", a.qk_norm->norm, per_head ? a.head_dim : q);
    norm(hf, naming_.k_norm, piece + "k_norm", a.qk_norm->norm, per_head ? a.head_dim : kv);
  }

  void latent_attention(const spec::Attention& a, const std::string& hf, const std::string& piece) {
    if (!naming_.latent_attention) return refuse("latent attention");
    const spec::LatentAttention& m = *a.latent;
    const int64_t h = model_.hidden_size, q = a.num_heads * (m.nope_head_dim + m.rope_head_dim);
    const spec::Norm kind;
    if (m.q_lora_rank == 0) {
      linear(hf + "q_proj", piece + "q", q, h, false);
    } else {
      linear(hf + "q_a_proj", piece + "q_a", m.q_lora_rank, h, a.qkv_bias);
      if (m.norm_latents) norm(hf, "q_a_layernorm", piece + "q_a_norm", kind, m.q_lora_rank);
      linear(hf + "q_b_proj", piece + "q_b", q, m.q_lora_rank, false);
    }
    linear(hf + "kv_a_proj_with_mqa", piece + "kv_a", m.kv_lora_rank + m.rope_head_dim, h, a.qkv_bias);
    if (m.norm_latents) norm(hf, "kv_a_layernorm", piece + "kv_a_norm", kind, m.kv_lora_rank);
    linear(hf + "kv_b_proj", piece + "kv_b", a.num_heads * (m.nope_head_dim + m.v_head_dim), m.kv_lora_rank, false);
    linear(hf + "o_proj", piece + "o", h, a.num_heads * m.v_head_dim, a.out_bias);
  }

  void mlp(const spec::Mlp& mlp, const std::string& hf, const std::string& piece) {
    const int64_t h = model_.hidden_size, f = mlp.ffn_size;
    if (naming_.fused_gate_up && mlp.gated) {
      add(hf + "gate_up_proj.weight", {2 * f, h},
          {{piece + "gate.weight", {f, h}, 0, h, 1}, {piece + "up.weight", {f, h}, f * h, h, 1}});
      if (mlp.bias)
        add(hf + "gate_up_proj.bias", {2 * f},
            {{piece + "gate.bias", {f}, 0, 1, 0}, {piece + "up.bias", {f}, f, 1, 0}});
    } else {
      if (mlp.gated) linear(hf + naming_.mlp_gate, piece + "gate", f, h, mlp.bias);
      linear(hf + naming_.mlp_up, piece + "up", f, h, mlp.bias);
    }
    linear(hf + naming_.mlp_down, piece + "down", h, f, mlp.bias);
  }

  void experts(const spec::Moe& moe, const std::string& layer, const std::string& piece) {
    if (*naming_.moe == '\0') return refuse("experts");
    const int64_t h = model_.hidden_size, e = moe.num_experts;
    const std::string hf = layer + naming_.moe + ".";
    linear(hf + naming_.router, piece + "router", e, h, moe.router.bias);
    if (moe.router.expert_bias) {
      if (*naming_.score_bias == '\0') return refuse("the bias on the choice of experts");
      vector(hf + naming_.score_bias, piece + "router.score_bias", e).buffer = true;
    }
    if (moe.latent_size > 0) refuse("the projections around the experts");
    if (!moe.expert.gated) refuse("experts without a gate");
    if (moe.shared_ffn_size > 0) {
      if (*naming_.shared == '\0') return refuse("the shared expert");
      const std::string shared = (naming_.shared_beside_moe ? layer : hf) + naming_.shared + ".";
      linear(shared + "gate_proj", piece + "shared.gate", moe.shared_ffn_size, h, moe.expert.bias);
      linear(shared + "up_proj", piece + "shared.up", moe.shared_ffn_size, h, moe.expert.bias);
      linear(shared + "down_proj", piece + "shared.down", h, moe.shared_ffn_size, moe.expert.bias);
    }
    if (moe.shared_gate != (*naming_.shared_gate != '\0'))
      refuse(moe.shared_gate ? "the gate of the shared expert" : "experts without the gate of a shared one");
    else if (moe.shared_gate)
      matrix(hf + naming_.shared_gate + ".weight", piece + "shared_gate.weight", 1, h);
    if (naming_.layout != ExpertLayout::PerExpert) {
      const std::string stack = hf + "experts.gate_up_proj";
      const bool mxfp4 = is_there(stack + "_blocks");
      const bool interleaved = naming_.layout == ExpertLayout::InputsInterleaved;
      return stacked(moe, hf, piece, stacked_form(e, moe.expert.ffn_size, h, !mxfp4, interleaved), mxfp4);
    }
    if (is_there(hf + "experts.gate_up_proj"))
      return stacked(moe, hf, piece, stacked_form(e, moe.expert.ffn_size, h, false, false), false);
    for (int64_t i = 0; i < e; ++i) {
      const std::string one = fmt::format("{}experts.{}.", hf, i), own = fmt::format("{}expert.{}.", piece, i);
      linear(one + naming_.gate, own + "gate", moe.expert.ffn_size, h, moe.expert.bias);
      linear(one + naming_.up, own + "up", moe.expert.ffn_size, h, moe.expert.bias);
      linear(one + naming_.down, own + "down", h, moe.expert.ffn_size, moe.expert.bias);
    }
  }

  void stacked(const spec::Moe& moe, const std::string& hf, const std::string& piece, const StackedForm& form,
               bool mxfp4) {
    const int64_t h = model_.hidden_size, f = moe.expert.ffn_size, e = moe.num_experts;
    std::vector<WeightPart> gate_up, down, gate_up_bias, down_bias;
    for (int64_t i = 0; i < e; ++i) {
      const std::string own = fmt::format("{}expert.{}.", piece, i);
      const int64_t start = i * 2 * f * h;
      gate_up.push_back({own + "gate.weight", {f, h}, start, form.gate_up_row, form.gate_up_col});
      gate_up.push_back({own + "up.weight", {f, h}, start + form.up_offset, form.gate_up_row, form.gate_up_col});
      down.push_back({own + "down.weight", {h, f}, i * f * h, form.down_row, form.down_col});
      gate_up_bias.push_back({own + "gate.bias", {f}, i * 2 * f, form.bias_row, 0});
      gate_up_bias.push_back({own + "up.bias", {f}, i * 2 * f + form.bias_up_offset, form.bias_row, 0});
      down_bias.push_back({own + "down.bias", {h}, i * h, 1, 0});
    }
    const std::string experts = hf + "experts.";
    const auto weight = [&](const char* name, const std::vector<int64_t>& shape, std::vector<WeightPart> parts) {
      HfTensor& tensor = add(experts + name, shape, std::move(parts));
      if (!mxfp4) return;
      const std::string blocks = spelled(experts + name + "_blocks");
      if (!blocks.empty()) tensor.name = blocks.substr(0, blocks.size() - std::string_view("_blocks").size());
      tensor.storage = HfStorage::Mxfp4;
    };
    weight("gate_up_proj", form.gate_up_shape, std::move(gate_up));
    if (moe.expert.bias) add(experts + "gate_up_proj_bias", {e, 2 * f}, std::move(gate_up_bias));
    weight("down_proj", form.down_shape, std::move(down));
    if (moe.expert.bias) add(experts + "down_proj_bias", {e, h}, std::move(down_bias));
  }

  // Conv1D: inputs first; q, k and v are thirds of the outputs.
  void gpt2() {
    const int64_t h = model_.hidden_size;
    head("transformer.wte.weight");
    if (!model_.learned_positions) refuse("positions that are not learned");
    matrix("transformer.wpe.weight", "embed.position.weight", model_.max_positions, h);
    for (size_t i = 0; i < model_.layers.size(); ++i) {
      const LayerSpec& layer = model_.layers[i];
      const spec::Attention& a = layer.attention;
      const int64_t q = a.num_heads * a.head_dim, f = layer.mlp.ffn_size;
      if (layer.moe || layer.mlp.gated || a.latent || a.qk_norm || !a.qkv_bias || !a.out_bias || !layer.mlp.bias ||
          a.num_heads != a.num_kv_heads || !layer.norms_in_front || !attends(layer) || !layer.has_mlp)
        return refuse("a layer other than gpt2's own");
      const std::string hf = fmt::format("transformer.h.{}.", i), piece = fmt::format("layer.{}.", i);
      norm(hf, "ln_1", piece + "attn_norm", layer.input_norm, h);
      std::vector<WeightPart> weights, biases;
      int64_t third = 0;
      for (const char* part : {"q", "k", "v"}) {
        weights.push_back({piece + "attn." + part + ".weight", {q, h}, third, 1, 3 * q});
        biases.push_back({piece + "attn." + part + ".bias", {q}, third, 1, 0});
        third += q;
      }
      add(hf + "attn.c_attn.weight", {h, 3 * q}, std::move(weights));
      add(hf + "attn.c_attn.bias", {3 * q}, std::move(biases));
      turned(hf + "attn.c_proj.weight", piece + "attn.o.weight", h, q);
      vector(hf + "attn.c_proj.bias", piece + "attn.o.bias", h);
      norm(hf, "ln_2", piece + "mlp_norm", layer.post_attention_norm, h);
      turned(hf + "mlp.c_fc.weight", piece + "mlp.up.weight", f, h);
      vector(hf + "mlp.c_fc.bias", piece + "mlp.up.bias", f);
      turned(hf + "mlp.c_proj.weight", piece + "mlp.down.weight", h, f);
      vector(hf + "mlp.c_proj.bias", piece + "mlp.down.bias", h);
    }
    norm("transformer.", "ln_f", "final_norm", model_.final_norm, h);
    if (!model_.tied_embeddings) matrix("lm_head.weight", "head.weight", model_.vocab_size, h);
  }

  const Model& model_;
  const HfNaming& naming_;
  const HasTensor& has_;
  std::vector<HfTensor> out_;
  Diagnostics errors_;
};

}  // namespace

Result<std::vector<HfTensor>> hf_weights_in(const Model& model, std::string_view family, const HasTensor& has) {
  const HfNaming* naming = find_hf_naming(family);
  if (naming == nullptr) {
    Diagnostic finding = error_at({}, fmt::format("weights of the family '{}' are not known", family));
    finding.expected = join(hf_families(), ", ");
    finding.suggestion = did_you_mean(family, hf_families());
    return finding;
  }
  return Emitter(model, *naming, has).run();
}

Result<std::vector<HfTensor>> hf_weights(const Model& model, std::string_view family) {
  return hf_weights_in(model, family, {});
}

}  // namespace primus::hub
