// Mamba 2. What its reference does: transformers 5.24, modeling_mamba2.py.
#include <cmath>

#include "primus/base/strings.h"
#include "primus/hub/hf_config_reader.h"

namespace primus::hub {

namespace {

using spec::LayerSpec;
using spec::Model;

constexpr int64_t kAnyLength = 1 << 20;

// [least, longest]; infinity is written as a number too large, or as text.
void read_step_bounds(HfReader& r, spec::Mamba2& mamba) {
  const Json* bounds = r.find("time_step_limit");
  if (bounds == nullptr) return;
  const auto number = [](const Json& one) -> std::optional<double> {
    if (one.is_number()) return one.get<double>();
    if (one.is_string() && one.get<std::string>() == "Infinity") return HUGE_VAL;
    if (one.is_object() && one.value("__float__", "") == "Infinity") return HUGE_VAL;
    return std::nullopt;
  };
  const bool is_pair = bounds->is_array() && bounds->size() == 2;
  const auto least = is_pair ? number((*bounds)[0]) : std::nullopt;
  const auto longest = is_pair ? number((*bounds)[1]) : std::nullopt;
  if (!least || !longest || *least < 0 || *longest <= *least)
    return r.error("time_step_limit", "'time_step_limit' is no pair of bounds", "[0.0, Infinity]");
  mamba.least_step = *least;
  mamba.longest_step = std::isinf(*longest) ? 0 : *longest;
  r.decide("mamba2.least_step", format_double(mamba.least_step), "time_step_limit");
}

}  // namespace

void read_mamba2(HfReader& r, Model& m) {
  m.hidden_size = r.integer({"hidden_size"}, 4096, "model.hidden_size", 1);
  m.vocab_size = m.padded_vocab_size = r.integer({"vocab_size"}, 32768, "model.vocab_size", 1);
  m.vocab_divisor = 1;
  m.max_positions = kAnyLength;
  r.decide("model.max_positions", std::to_string(kAnyLength), "a state space has no positions: any length will do");
  const int64_t layers = r.num_layers({"num_hidden_layers"}, 64);
  LayerSpec layer;
  layer.has_mlp = false;
  m.final_norm.eps = r.number({"layer_norm_epsilon"}, 1e-5, "norm.eps");
  layer.input_norm = m.final_norm;
  spec::Mamba2 mamba;
  mamba.num_heads = r.integer({"num_heads"}, 128, "mamba2.num_heads", 1);
  mamba.head_dim = r.integer({"head_dim"}, 64, "mamba2.head_dim", 1);
  mamba.num_groups = r.integer({"n_groups"}, 8, "mamba2.num_groups", 1);
  mamba.state_dim = r.integer({"state_size"}, 128, "mamba2.state_dim", 1);
  mamba.kernel_size = r.integer({"conv_kernel"}, 4, "mamba2.kernel_size", 1);
  mamba.bias = r.flag({"use_bias"}, false, "mamba2.bias");
  mamba.conv_bias = r.flag({"use_conv_bias"}, true, "mamba2.conv_bias");
  mamba.output_norm.eps = m.final_norm.eps;
  read_step_bounds(r, mamba);
  const double expand = r.number({"expand"}, 2, "");
  if (expand * static_cast<double>(m.hidden_size) != static_cast<double>(mamba.num_heads * mamba.head_dim))
    r.error("expand",
            std::to_string(mamba.num_heads) + " heads of " + std::to_string(mamba.head_dim) + " are not " +
                format_double(expand) + " times a width of " + std::to_string(m.hidden_size),
            "num_heads x head_dim = expand x hidden_size");
  if (mamba.num_heads % mamba.num_groups != 0)
    r.error("n_groups",
            std::to_string(mamba.num_heads) + " heads cannot be shared out over " + std::to_string(mamba.num_groups) +
                " groups",
            "a divisor of " + std::to_string(mamba.num_heads));
  r.demand("hidden_act", "silu", "another activation");
  m.fp32_residual = r.flag({"residual_in_fp32"}, true, "model.fp32_residual");
  r.ignore({"chunk_size"}, "how the reference cuts its sums, not what they are");
  r.ignore({"time_step_rank", "time_step_min", "time_step_max", "time_step_floor", "rescale_prenorm_residual"},
           "first weights only");
  r.ignore({"pad_token_id"}, "mamba2 trains every row of its embedding");
  m.tied_embeddings = r.flag({"tie_word_embeddings"}, false, "model.tied_embeddings");
  m.init.std = m.init.embedding_std = m.init.residual_output_std = r.number({"initializer_range"}, 0.1, "init.std");
  layer.mamba2 = mamba;
  m.layers.assign(static_cast<size_t>(layers), layer);
}

Json write_mamba2(const Model& m) {
  const LayerSpec& layer = m.layers.front();
  const spec::Mamba2 mamba = layer.mamba2.value_or(spec::Mamba2{});
  const double inner = static_cast<double>(mamba.num_heads * mamba.head_dim);
  const Json expand = whole_if_near(inner / static_cast<double>(std::max<int64_t>(1, m.hidden_size)));
  Json out = {{"architectures", Json::array({"Mamba2ForCausalLM"})},
              {"model_type", "mamba2"},
              {"vocab_size", m.vocab_size},
              {"hidden_size", m.hidden_size},
              {"num_hidden_layers", m.layers.size()},
              {"num_heads", mamba.num_heads},
              {"head_dim", mamba.head_dim},
              {"n_groups", mamba.num_groups},
              {"state_size", mamba.state_dim},
              {"conv_kernel", mamba.kernel_size},
              {"expand", expand},
              {"use_bias", mamba.bias},
              {"use_conv_bias", mamba.conv_bias},
              {"hidden_act", "silu"},
              {"layer_norm_epsilon", m.final_norm.eps},
              {"residual_in_fp32", m.fp32_residual},
              {"initializer_range", m.init.std},
              {"tie_word_embeddings", m.tied_embeddings},
              {"use_cache", true}};
  const Json longest = mamba.longest_step > 0 ? Json(mamba.longest_step) : Json{{"__float__", "Infinity"}};
  if (mamba.longest_step > 0 || mamba.least_step > 0) out["time_step_limit"] = Json::array({mamba.least_step, longest});
  return out;
}

}  // namespace primus::hub
