// What the families share: the llama skeleton, the forms of rope, layer types, experts.
#include <algorithm>
#include <cmath>

#include "primus/base/strings.h"
#include "primus/hub/hf_config_reader.h"

namespace primus::hub {

namespace {

double magnitude(double factor, double scale) {
  return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1;
}

// The block that describes the scaling, and the type; {} without one. New: rope_parameters holds everything. Old:
// rope_scaling, with `type` in oldest files.
std::string rope_type(HfReader& r, const Json* block, const char* name) {
  if (block == nullptr) return "default";
  if (!block->is_object()) {
    r.error(name, std::string("'") + name + "' is no map", "a map, or null");
    return "default";
  }
  const auto word = [&](const char* key) {
    const auto it = block->find(key);
    return it != block->end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  const std::string now = word("rope_type"), old = word("type");
  if (!now.empty() && !old.empty() && now != old)
    r.error(name, "'rope_type: " + now + "' and 'type: " + old + "' contradict each other", "one of the two");
  if (!now.empty() || !old.empty()) return now.empty() ? old : now;
  if (std::any_of(block->begin(), block->end(), [](const Json& item) { return item.is_object(); }))
    r.error(name, "rotations that differ by layer type are not built", "one rotation");
  return "default";
}

// The block that counts: to the reference, rope_scaling when it says anything, else rope_parameters. Null: neither.
std::pair<const Json*, const char*> rope_block(HfReader& r) {
  const Json* now = r.find("rope_parameters");
  const Json* old = r.find("rope_scaling");
  const bool old_counts = old != nullptr && !old->empty();
  if (old_counts && now != nullptr && !now->empty() && *now != *old)
    r.error("rope_scaling", "'rope_scaling' and 'rope_parameters' are two names of one thing and differ",
            "one of the two");
  if (old_counts) return {old, "rope_scaling"};
  return {now, "rope_parameters"};
}

// Families whose heads rotate in whole: the reference reads no fraction for the plain rotation, and cannot compute it
// for the others.
void demand_whole_heads(HfReader& r, const std::string& type, double fraction) {
  if (fraction == 1) return;
  if (type == "default")
    r.decide("(partial_rotary_factor)", format_double(fraction), "heads of this family rotate in whole");
  else
    r.error("partial_rotary_factor", "'partial_rotary_factor' is not of this family: its heads rotate in whole", "1");
}

// What a scaling cannot do without; the reference refuses such a file too.
void demand_keys(HfReader& r, const char* name, const std::string& type, const Json& block,
                 std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (!block.contains(key))
      r.error(name, "the rope scaling '" + type + "' says nothing of its '" + key + "'", "a number");
}

spec::YarnRopeScaling read_yarn(HfReader& part, int64_t max_positions, double* score_factor) {
  spec::YarnRopeScaling y;
  const auto original = part.maybe_integer({"original_max_position_embeddings"}, "rope.yarn.original_max_positions");
  y.original_max_positions = original.value_or(max_positions);
  if (!original)
    part.decide("rope.yarn.original_max_positions", std::to_string(max_positions), "max_position_embeddings stands in");
  const auto factor = part.maybe_number({"factor"}, "rope.yarn.factor");
  y.factor = factor.value_or(static_cast<double>(max_positions) / static_cast<double>(y.original_max_positions));
  // Null and 0 mean the default to the reference.
  const auto or_default = [&](const char* key, double otherwise, const char* field) {
    const double value = part.number({key}, otherwise, field);
    return value == 0 ? otherwise : value;
  };
  y.beta_fast = or_default("beta_fast", 32, "rope.yarn.beta_fast");
  y.beta_slow = or_default("beta_slow", 1, "rope.yarn.beta_slow");
  y.whole_bounds = part.flag({"truncate"}, true, "rope.yarn.whole_bounds");
  const auto given = part.maybe_number({"attention_factor"}, "rope.yarn.cos_sin_factor");
  const double mscale = part.maybe_number({"mscale"}, "").value_or(0);
  const double all_dim = part.maybe_number({"mscale_all_dim"}, "").value_or(0);
  const bool both = mscale != 0 && all_dim != 0;
  y.cos_sin_factor =
      given.value_or(both ? magnitude(y.factor, mscale) / magnitude(y.factor, all_dim) : magnitude(y.factor, 1));
  if (!given)
    part.decide("rope.yarn.cos_sin_factor", format_double(y.cos_sin_factor),
                both ? "m(mscale) / m(mscale_all_dim) with m(s) = 0.1 s ln(factor) + 1" : "0.1 ln(factor) + 1");
  if (score_factor != nullptr && all_dim != 0) {
    *score_factor = magnitude(y.factor, all_dim) * magnitude(y.factor, all_dim);
    part.decide("attention.softmax_scale", format_double(*score_factor) + " / sqrt(nope + rope)",
                "mscale_all_dim scales the scores by (0.1 mscale_all_dim ln(factor) + 1)^2");
  }
  return y;
}

}  // namespace

spec::Rope read_rope(HfReader& r, const HfDefaults& defaults, int64_t max_positions, double* score_factor) {
  spec::Rope rope;
  const auto [block, name] = rope_block(r);
  const std::string type = rope_type(r, block, name);
  const Json none = Json::object();
  const Json& says = block != nullptr && block->is_object() ? *block : none;
  HfReader part = r.part(says);
  const auto top_theta = r.maybe_number({"rope_theta"}, says.contains("rope_theta") ? "" : "rope.base");
  const auto theta = part.maybe_number({"rope_theta"}, "rope.base");
  if (top_theta && theta && *top_theta != *theta)
    r.error("rope_theta",
            "'rope_theta' is " + format_double(*top_theta) + " at the top and " + format_double(*theta) + " in " + name,
            "one value");
  rope.base = theta.value_or(top_theta.value_or(defaults.theta));
  if (!theta && !top_theta)
    r.decide("rope.base", format_double(rope.base), "rope_theta is absent: the default of the family");
  const auto fraction = part.maybe_number({"partial_rotary_factor"}, "rope.fraction");
  const auto top_fraction = r.maybe_number({"partial_rotary_factor"}, "");
  rope.fraction = fraction.value_or(top_fraction.value_or(defaults.fraction));
  if (defaults.fraction == 1) {
    demand_whole_heads(r, type, rope.fraction);
    rope.fraction = 1;
  }
  if (type == "linear") {
    demand_keys(r, name, type, says, {"factor"});
    rope.position_divisor = part.number({"factor"}, 1, "rope.position_divisor");
  } else if (type == "llama3") {
    demand_keys(r, name, type, says, {"factor", "low_freq_factor", "high_freq_factor"});
    spec::Llama3RopeScaling l;
    l.factor = part.number({"factor"}, 8, "rope.llama3.factor");
    l.low_freq_factor = part.number({"low_freq_factor"}, 1, "rope.llama3.low_freq_factor");
    l.high_freq_factor = part.number({"high_freq_factor"}, 4, "rope.llama3.high_freq_factor");
    l.original_max_positions =
        part.integer({"original_max_position_embeddings"}, max_positions, "rope.llama3.original_max_positions", 1);
    rope.llama3 = l;
  } else if (type == "yarn") {
    demand_keys(r, name, type, says, {"factor"});
    rope.yarn = read_yarn(part, max_positions, score_factor);
  } else if (defaults.yarn && block == nullptr) {
    rope.yarn = defaults.yarn;
    rope.yarn->cos_sin_factor = magnitude(rope.yarn->factor, 1);
    r.decide("rope.yarn", format_double(rope.yarn->factor), "nothing is said of rope: the default of the family");
  } else if (type == "dynamic") {
    demand_keys(r, name, type, says, {"factor"});
    part.ignore({"factor"}, "rope of the type dynamic differs from the plain one only beyond max_position_embeddings");
  } else if (type != "default") {
    r.error(name, "the rope scaling '" + type + "' is not built", "default, dynamic, linear, llama3, yarn");
  }
  r.decide("rope", rope.yarn ? "yarn" : type,
           block == nullptr ? "no rope_scaling and no rope_parameters" : std::string(name));
  return rope;
}

namespace {

// Negative ids count from the end, as in torch.nn.Embedding.
void read_padding_range(HfReader& r, spec::Model& model, bool is_default) {
  if (!model.padding_id) return;
  const int64_t given = *model.padding_id, vocab = model.vocab_size;
  if (given < 0 && given >= -vocab) {
    model.padding_id = given + vocab;
    return r.decide("model.padding_id", std::to_string(given + vocab), "a negative pad_token_id counts from the end");
  }
  if (given >= 0 && given < vocab) return;
  model.padding_id.reset();
  if (!is_default)
    r.error("pad_token_id", "'pad_token_id' is outside of the vocabulary: " + std::to_string(given),
            "an id below " + std::to_string(vocab) + ", or null");
}

}  // namespace

spec::Activation read_activation(HfReader& r, std::initializer_list<const char*> names, const std::string& otherwise) {
  const std::string word = r.text(names, otherwise, "mlp.activation");
  if (word == "silu" || word == "swish") return spec::Activation::Silu;
  if (word == "gelu") return spec::Activation::Gelu;
  if (word == "gelu_new" || word == "gelu_pytorch_tanh" || word == "gelu_fast") return spec::Activation::GeluTanh;
  if (word == "quick_gelu") return spec::Activation::QuickGelu;
  r.error(*names.begin(), "the activation '" + word + "' is not built",
          "silu, gelu, gelu_new, gelu_pytorch_tanh, quick_gelu");
  return spec::Activation::Silu;
}

void read_skeleton(HfReader& r, spec::Model& model, const HfDefaults& d, double* score_factor) {
  model.hidden_size = r.integer({"hidden_size"}, d.hidden, "model.hidden_size", 1);
  model.vocab_size = model.padded_vocab_size = r.integer({"vocab_size"}, d.vocab, "model.vocab_size", 1);
  model.vocab_divisor = 1;
  model.max_positions = r.integer({"max_position_embeddings"}, d.max_positions, "model.max_positions", 1);
  const int64_t layers = r.num_layers({"num_hidden_layers"}, d.layers);
  spec::LayerSpec layer;
  spec::Norm norm;
  norm.eps = r.number({d.eps_key}, d.eps, "norm.eps");
  layer.input_norm = layer.post_attention_norm = model.final_norm = norm;

  spec::Attention& a = layer.attention;
  a.num_heads = r.integer({"num_attention_heads"}, d.heads, "attention.num_heads", 1);
  const bool absent = !r.is_given("num_key_value_heads") && !r.is_null("num_key_value_heads");
  const auto groups = r.maybe_integer({"num_key_value_heads"}, "attention.num_kv_heads");
  a.num_kv_heads = groups.value_or(absent && d.kv_heads > 0 ? d.kv_heads : a.num_heads);
  if (absent)
    r.decide("attention.num_kv_heads", std::to_string(a.num_kv_heads),
             d.kv_heads > 0 ? "num_key_value_heads is absent: the default of the family"
                            : "num_key_value_heads is absent: one per head");
  const auto head = r.maybe_integer({"head_dim"}, "attention.head_dim");
  a.head_dim = head.value_or(d.head_dim > 0 ? d.head_dim : model.hidden_size / a.num_heads);
  if (!head)
    r.decide("attention.head_dim", std::to_string(a.head_dim),
             d.head_dim > 0 ? "head_dim is absent: the default of the family"
                            : "head_dim is absent: hidden_size / num_attention_heads");
  if (a.num_kv_heads < 1 || a.num_heads % a.num_kv_heads != 0)
    r.error("num_key_value_heads",
            std::to_string(a.num_heads) + " query heads cannot be shared out over " + std::to_string(a.num_kv_heads) +
                " key/value heads",
            "a divisor of " + std::to_string(a.num_heads));
  if (a.head_dim < 1) r.error("head_dim", "heads without width", "at least 1");
  a.softmax_scale = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, a.head_dim)));
  a.dropout = r.number({"attention_dropout"}, 0, "attention.dropout");
  a.rope = read_rope(r, d, model.max_positions, score_factor);

  layer.mlp.ffn_size = r.integer({"intermediate_size"}, d.ffn, "mlp.ffn_size", 1);
  model.tied_embeddings = r.flag({"tie_word_embeddings"}, d.tied, "model.tied_embeddings");
  const bool pad_absent = !r.find("pad_token_id");
  model.padding_id = r.maybe_integer({"pad_token_id"}, "model.padding_id");
  if (pad_absent && !r.is_null("pad_token_id")) model.padding_id = d.padding_id;
  read_padding_range(r, model, pad_absent);
  model.init.std = model.init.embedding_std = model.init.residual_output_std =
      r.number({"initializer_range"}, 0.02, "init.std");
  model.layers.assign(static_cast<size_t>(layers), layer);
}

std::optional<int64_t> read_window(HfReader& r, bool on, std::string_view field) {
  const auto window = r.maybe_integer({"sliding_window"}, field);
  if (!on || !window || *window >= 1) return window;
  r.error("sliding_window", "a window of " + std::to_string(*window) + " keys leaves nothing to attend to",
          "at least 1, or null for none");
  return std::nullopt;
}

void read_attention_bias(HfReader& r, spec::Model& model, bool otherwise, bool on_output) {
  const bool bias = r.flag({"attention_bias"}, otherwise, "attention.qkv_bias");
  for (spec::LayerSpec& layer : model.layers) {
    layer.attention.qkv_bias = bias;
    layer.attention.out_bias = bias && on_output;
  }
  if (bias)
    r.decide("attention.out_bias", on_output ? "true" : "false",
             on_output ? "attention_bias means the output projection too" : "attention_bias means q, k and v only");
}

void read_layer_types(HfReader& r, spec::Model& model, int64_t window, const std::function<bool(int64_t)>& is_sliding) {
  const std::vector<std::string> types =
      r.layer_types(model.layers.size(), "attention.window_keys", {"full_attention", "sliding_attention"});
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (types.empty() ? !is_sliding(static_cast<int64_t>(i)) : types[i] != "sliding_attention") continue;
    if (window <= 0)
      return r.error("layer_types", "layer " + std::to_string(i) + " is a sliding_attention, and there is no window",
                     "a sliding_window, switched on where there is a switch; or full_attention");
    model.layers[i].attention.window_keys = window;
  }
}

void use_experts(spec::Model& model, const spec::Moe& moe, const std::function<bool(int64_t)>& has_experts) {
  for (size_t i = 0; i < model.layers.size(); ++i)
    if (has_experts(static_cast<int64_t>(i))) model.layers[i].moe = moe;
}

Json whole_if_near(double value) {
  if (std::abs(value - std::round(value)) < 1e-9 * std::abs(value)) return static_cast<int64_t>(std::round(value));
  return value;
}

void write_rope(const spec::Model& model, Json& out, bool deepseek) {
  const spec::Attention* a = &model.layers.front().attention;
  for (const spec::LayerSpec& layer : model.layers)
    if (layer.attention.rope) {
      a = &layer.attention;
      break;
    }
  if (!a->rope) return;
  const spec::Rope& rope = *a->rope;
  out["rope_theta"] = rope.base;
  Json& scaling = out["rope_scaling"] = nullptr;
  if (rope.fraction != 1) out["partial_rotary_factor"] = rope.fraction;
  if (rope.position_divisor != 1) scaling = {{"rope_type", "linear"}, {"factor", rope.position_divisor}};
  if (rope.llama3)
    scaling = {{"rope_type", "llama3"},
               {"factor", rope.llama3->factor},
               {"low_freq_factor", rope.llama3->low_freq_factor},
               {"high_freq_factor", rope.llama3->high_freq_factor},
               {"original_max_position_embeddings", rope.llama3->original_max_positions}};
  if (!rope.yarn) return;
  const spec::YarnRopeScaling& y = *rope.yarn;
  scaling = {{"rope_type", "yarn"},
             {"factor", y.factor},
             {"beta_fast", y.beta_fast},
             {"beta_slow", y.beta_slow},
             {"original_max_position_embeddings", y.original_max_positions}};
  if (!y.whole_bounds) scaling["truncate"] = false;
  if (!deepseek) {
    if (y.cos_sin_factor != magnitude(y.factor, 1)) scaling["attention_factor"] = y.cos_sin_factor;
    return;
  }
  // The magnitude of the scores, and from it the one of cosine and sine.
  const double width = static_cast<double>(a->head_dim);
  const double of_scores = std::sqrt(a->softmax_scale * std::sqrt(width));
  const double log_factor = 0.1 * std::log(y.factor);
  if (of_scores != 1 && log_factor > 0) {
    // Twelve digits: the root does not give back the very number that was read.
    const double all_dim = std::round((of_scores - 1) / log_factor * 1e12) / 1e12;
    scaling["mscale_all_dim"] = all_dim;
    const double mscale = std::round((y.cos_sin_factor * magnitude(y.factor, all_dim) - 1) / log_factor * 1e12) / 1e12;
    scaling["mscale"] = mscale;
  } else if (y.cos_sin_factor != magnitude(y.factor, 1)) {
    scaling["attention_factor"] = y.cos_sin_factor;
  }
}

Json write_skeleton(const spec::Model& model, const char* model_type, const char* architecture) {
  const spec::LayerSpec& layer = model.layers.front();
  const spec::Attention& a = layer.attention;
  Json out = {{"architectures", Json::array({architecture})},
              {"model_type", model_type},
              {"vocab_size", model.vocab_size},
              {"hidden_size", model.hidden_size},
              {"intermediate_size", layer.mlp.ffn_size},
              {"num_hidden_layers", model.layers.size()},
              {"num_attention_heads", a.num_heads},
              {"num_key_value_heads", a.num_kv_heads},
              {"head_dim", a.head_dim},
              {"hidden_act", "silu"},
              {"max_position_embeddings", model.max_positions},
              {"rms_norm_eps", model.final_norm.eps}};
  write_rope(model, out, false);
  out["attention_dropout"] = a.dropout;
  out["tie_word_embeddings"] = model.tied_embeddings;
  out["initializer_range"] = model.init.std;
  out["pad_token_id"] = model.padding_id ? Json(*model.padding_id) : Json(nullptr);
  out["use_cache"] = true;
  return out;
}

void ignore_balance(HfReader& r) {
  r.ignore({"router_aux_loss_coef", "aux_loss_alpha", "seq_aux"},
           "weighs a loss of training; set it in the experiment");
  r.ignore({"output_router_logits"}, "adds the balancing loss to what the reference reports");
  r.ignore({"router_jitter_noise"}, "noise of training only; set it in the experiment");
}

const spec::Moe& some_moe(const spec::Model& m) {
  // Of a model with dense layers only: sizes that the file must name all the same.
  static const spec::Moe kNone = [] {
    spec::Moe moe;
    moe.num_experts = moe.top_k = moe.expert.ffn_size = 1;
    return moe;
  }();
  const auto first = std::find_if(m.layers.begin(), m.layers.end(),
                                  [](const spec::LayerSpec& layer) { return layer.moe.has_value(); });
  return first == m.layers.end() ? kNone : *first->moe;
}

}  // namespace primus::hub
