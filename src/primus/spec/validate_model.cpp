#include "primus/spec/validate_model.h"

#include <algorithm>
#include <set>

#include "primus/base/strings.h"
#include "primus/spec/validate.h"

namespace primus::spec {

namespace {

class ArchitectureChecker {
 public:
  ArchitectureChecker(const RunSpec& run, Diagnostics& out) : run_(run), out_(out) {}

  void check() {
    for (const LayerSpec& layer : run_.model.layers) {
      if (!layer.other_mixer.empty()) continue;
      if (attends(layer)) check_attention(layer.attention);
      check_mixer(layer);
      check_dropout(layer);
      if (!layer.has_mlp) continue;
      if (layer.moe)
        check_experts(*layer.moe);
      else
        check_mlp(layer.mlp);
    }
    check_whole_model();
  }

 private:
  // Once for each field: most layers are alike.
  void error(const char* field, std::string message, std::string expected, std::string suggestion = {}) {
    if (!told_.insert(field).second) return;
    out_.push_back({Severity::Error, {}, field, std::move(message), {}, std::move(expected), std::move(suggestion)});
  }

  void divides(const char* field, const std::string& what, int64_t count, int64_t parts, const std::string& over) {
    if (parts <= 0 || count % parts == 0) return;
    error(field,
          format_thousands(count) + " " + what + " cannot be shared out over " + format_thousands(parts) + " " + over,
          "a divisor of " + format_thousands(count), "use " + nearest_divisors(count, parts));
  }

  void check_attention(const Attention& a) {
    const int64_t tensor = run_.parallel.tensor;
    if (a.num_kv_heads > 0)
      divides("attention.num_kv_heads", "query heads", a.num_heads, a.num_kv_heads, "key/value heads");
    divides("parallel.tensor", "query heads", a.num_heads, tensor, "tensor-parallel ranks");
    if (!a.latent && a.num_kv_heads > 0 && a.num_kv_heads % tensor != 0 && tensor % a.num_kv_heads != 0)
      error("parallel.tensor",
            format_thousands(a.num_kv_heads) + " key/value heads neither divide over " + format_thousands(tensor) +
                " tensor-parallel ranks nor are copied whole times",
            "a divisor or a multiple of " + format_thousands(a.num_kv_heads));
    if (a.rope && !a.latent) {
      const auto width = static_cast<int64_t>(static_cast<double>(a.head_dim) * a.rope->fraction);
      if (width <= 0 || width % 2 != 0)
        error("attention.head_dim",
              "rotary positions turn pairs, and the rotated part of a head is " + format_thousands(width) + " of " +
                  format_thousands(a.head_dim),
              "an even number greater than 0");
    }
    if (a.latent && a.rope && a.latent->rope_head_dim % 2 != 0)
      error(
          "model.layers.attention.latent.rope_head_dim",
          "rotary positions turn pairs, and the rotated part of a head is " + format_thousands(a.latent->rope_head_dim),
          "an even number");
    if (a.chunk_size && a.window_keys)
      error("model.layers.attention.chunk_size", "a layer attends in chunks and in a window", "one of the two");
    if (a.temperature && a.temperature->log_length != 0 && a.temperature->log_length < 2)
      error("model.layers.attention.temperature",
            "scores cannot grow by logarithms to the base " + format_thousands(a.temperature->log_length),
            "a length of at least 2");
    if (a.temperature && a.temperature->log_length == 0 && a.temperature->floor_scale <= 0)
      error("model.layers.attention.temperature", "a floor scale of nothing", "more than 0");
    if (a.dropout >= 1) error("attention.dropout", "a dropout of 1 leaves nothing", "less than 1");
  }

  void at_least(const char* field, const std::string& what, int64_t found, int64_t least) {
    if (found < least) error(field, what + " of " + format_thousands(found), "at least " + format_thousands(least));
  }

  void check_mixer(const LayerSpec& layer) {
    if (layer.short_conv) at_least("model.layers.short_conv", "a convolution", layer.short_conv->kernel_size, 1);
    if (layer.gated_delta) {
      const GatedDelta& g = *layer.gated_delta;
      at_least("model.layers.gated_delta.kernel_size", "a convolution", g.kernel_size, 1);
      at_least("model.layers.gated_delta.key_head_dim", "a key head", g.key_head_dim, 1);
      at_least("model.layers.gated_delta.value_head_dim", "a value head", g.value_head_dim, 1);
      at_least("model.layers.gated_delta.num_key_heads", "a number of key heads", g.num_key_heads, 1);
      divides("model.layers.gated_delta.num_key_heads", "value heads", g.num_value_heads, g.num_key_heads, "key heads");
    }
    if (!layer.mamba2) return;
    const Mamba2& m = *layer.mamba2;
    at_least("model.layers.mamba2.kernel_size", "a convolution", m.kernel_size, 1);
    at_least("model.layers.mamba2.num_heads", "a number of heads", m.num_heads, 1);
    at_least("model.layers.mamba2.head_dim", "a head", m.head_dim, 1);
    at_least("model.layers.mamba2.state_dim", "a state", m.state_dim, 1);
    at_least("model.layers.mamba2.num_groups", "a number of groups", m.num_groups, 1);
    divides("model.layers.mamba2.num_groups", "heads", m.num_heads, m.num_groups, "groups");
  }

  void check_dropout(const LayerSpec& layer) {
    if (layer.hidden_dropout >= 1) error("layer.hidden_dropout", "a dropout of 1 leaves nothing", "less than 1");
  }

  void check_mlp(const Mlp& mlp) {
    divides("parallel.tensor", "columns of the MLP", mlp.ffn_size, run_.parallel.tensor, "tensor-parallel ranks");
  }

  void check_experts(const Moe& moe) {
    const Parallel& p = run_.parallel;
    divides("parallel.expert", "experts", moe.num_experts, p.expert, "expert-parallel ranks");
    divides("parallel.expert_tensor", "columns of an expert", moe.expert.ffn_size, p.expert_tensor,
            "ranks that share an expert");
    if (moe.top_k > moe.num_experts)
      error("model.layers.moe.top_k",
            "a token cannot have " + format_thousands(moe.top_k) + " of " + format_thousands(moe.num_experts) +
                " experts",
            "at most " + format_thousands(moe.num_experts));
    if (moe.shared_gate && moe.shared_ffn_size == 0)
      error("model.layers.moe.shared_gate", "there is no shared expert for the gate", "a shared expert, or no gate");
    if (!moe.router.groups) return;
    const GroupLimit& g = *moe.router.groups;
    if (g.num_groups < 1 || g.top_groups < 1)
      error("model.layers.moe.router.groups", "no groups of experts to choose from", "at least 1");
    divides("model.layers.moe.router.groups", "experts", moe.num_experts, g.num_groups, "groups");
    if (g.top_groups > g.num_groups)
      error("model.layers.moe.router.groups",
            "a token cannot choose " + format_thousands(g.top_groups) + " of " + format_thousands(g.num_groups) +
                " groups",
            "at most " + format_thousands(g.num_groups));
    else if (g.num_groups > 0 && moe.num_experts / g.num_groups * g.top_groups < moe.top_k)
      error("model.layers.moe.router.groups",
            format_thousands(g.top_groups) + " groups hold fewer than " + format_thousands(moe.top_k) + " experts",
            "more groups a token");
  }

  void check_whole_model() {
    const Model& model = run_.model;
    const Parallel& p = run_.parallel;
    const int64_t length = run_.data.sequence_length;
    if (length > model.max_positions && model.max_positions > 0)
      error("data.sequence_length",
            "sequences of " + format_thousands(length) + " tokens are longer than the model's " +
                format_thousands(model.max_positions) + " positions",
            "at most " + format_thousands(model.max_positions),
            "shorten the sequences, or raise the positions to at least " + std::to_string(length));
    if (p.context > 1) divides("data.sequence_length", "tokens", length, 2 * p.context, "parts (two a context rank)");
    if (model.vocab_size > 0 && model.padded_vocab_size > 0 && model.padded_vocab_size < model.vocab_size)
      error("model.padded_vocab_size",
            "the embedding has " + format_thousands(model.padded_vocab_size) + " rows, the vocabulary " +
                format_thousands(model.vocab_size) + " ids",
            "at least " + format_thousands(model.vocab_size));
    if (model.padded_vocab_size > 0)
      divides("model.padded_vocab_size", "rows of the embedding", model.padded_vocab_size, p.tensor,
              "tensor-parallel ranks");
    const bool has_experts = std::any_of(model.layers.begin(), model.layers.end(),
                                         [](const LayerSpec& layer) { return layer.moe.has_value(); });
    if (p.expert > 1 && !has_experts && !model.layers.empty())
      error("parallel.expert", "expert-parallel ranks, and no experts", "1");
  }

  const RunSpec& run_;
  Diagnostics& out_;
  std::set<std::string> told_;
};

}  // namespace

std::string nearest_divisors(int64_t n, int64_t k) {
  int64_t below = 0, above = 0;
  for (int64_t d = std::min(k, n); d >= 1 && below == 0; --d)
    if (n % d == 0) below = d;
  for (int64_t d = k + 1; d <= n && above == 0; ++d)
    if (n % d == 0) above = d;
  return above == 0 ? std::to_string(below) : std::to_string(below) + " or " + std::to_string(above);
}

Diagnostics validate_model(const Model& model) {
  RunSpec run;
  run.model = model;
  run.data.sequence_length = 0;
  Diagnostics out;
  check_architecture(run, out);
  return out;
}

void check_architecture(const RunSpec& run, Diagnostics& out) {
  ArchitectureChecker(run, out).check();
}

}  // namespace primus::spec
