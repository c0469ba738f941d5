// Takes keys of a config.json, with defaults, and remembers which were taken and why. Private to the room.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>

#include "primus/hub/hf_config.h"

namespace primus::hub {

class HfReader {
 public:
  HfReader(const Json& config, std::string file, HfModel& out) : config_(config), file_(std::move(file)), out_(out) {}

  // Each records a decision for `field` (none when `field` is empty); the first of the names that is there counts.
  using Names = std::initializer_list<const char*>;
  int64_t integer(Names names, int64_t otherwise, std::string_view field, int64_t least = 0);
  // The layers of a model, 1 to spec::kMostLayers: beyond, an error, and 1.
  int64_t num_layers(Names names, int64_t otherwise);
  std::optional<int64_t> maybe_integer(Names names, std::string_view field);
  double number(Names names, double otherwise, std::string_view field);
  std::optional<double> maybe_number(Names names, std::string_view field);
  bool flag(Names names, bool otherwise, std::string_view field);
  std::string text(Names names, const std::string& otherwise, std::string_view field);
  // Empty when absent or null.
  std::vector<int64_t> integers(const char* name, std::string_view field);
  std::vector<std::string> texts(const char* name, std::string_view field);
  // 'layer_types', one of `known` for each of `count` layers; empty when absent, or after an error.
  std::vector<std::string> layer_types(size_t count, std::string_view field, const std::vector<std::string>& known);
  const Json* find(const char* name);     // null when absent or null; counts as taken
  bool is_given(const char* name) const;  // with a value other than null
  bool is_null(const char* name) const { return config_.contains(name) && config_.at(name).is_null(); }

  void decide(std::string field, std::string value, std::string reason);
  // Taken, and without an influence on the model, for the reason given.
  void ignore(Names names, const std::string& reason);
  // Refused unless absent, null or equal to `only`.
  void demand(const char* name, const Json& only, const std::string& reason);
  void error(const char* key, std::string message, std::string expected = {}, std::string suggestion = {});
  void check_unknown_keys();

  // A part of the file under the same names: rope_parameters, rope_scaling.
  HfReader part(const Json& object) const { return {object, file_, out_, errors_}; }
  Diagnostics& errors() { return *errors_; }

 private:
  HfReader(const Json& config, std::string file, HfModel& out, std::shared_ptr<Diagnostics> errors)
      : config_(config), file_(std::move(file)), out_(out), errors_(std::move(errors)) {}
  const Json* first(Names names, std::string& name);
  void wrong(const std::string& name, const Json& value, const char* expected);
  void took(const std::string& name, std::string_view field, const std::string& value);

  const Json& config_;
  std::string file_;
  HfModel& out_;
  std::shared_ptr<Diagnostics> errors_ = std::make_shared<Diagnostics>();
  std::set<std::string> taken_;
};

struct HfFamily {
  const char* name;
  void (*read)(HfReader&, spec::Model&);
  Json (*write)(const spec::Model&);
  bool tied = false;  // tie_word_embeddings when absent
};
const std::vector<HfFamily>& hf_family_table();
const HfFamily* find_hf_family(std::string_view name);

// Numbers that a family's class fills in when the key is absent.
struct HfDefaults {
  int64_t vocab, hidden, ffn, layers, heads;
  int64_t kv_heads;  // 0: as many as heads
  int64_t head_dim;  // 0: hidden over heads
  int64_t max_positions;
  double eps, theta;
  bool tied = false;
  std::optional<int64_t> padding_id = std::nullopt;
  double fraction = 1;
  std::optional<spec::YarnRopeScaling> yarn = std::nullopt;  // where the file says nothing about rotation
  const char* eps_key = "rms_norm_eps";
};

// The llama skeleton: sizes, norms, rotation, gated MLP, vocabulary; every layer alike, no biases.
// score_factor: DeepSeek's reading of YaRN, whose factor on the scores is put there.
void read_skeleton(HfReader& r, spec::Model& model, const HfDefaults& defaults, double* score_factor = nullptr);
spec::Rope read_rope(HfReader& r, const HfDefaults& defaults, int64_t max_positions, double* score_factor);
spec::Activation read_activation(HfReader& r, std::initializer_list<const char*> names, const std::string& otherwise);
void read_attention_bias(HfReader& r, spec::Model& model, bool otherwise, bool on_output);
// sliding_window; refused below 1 when it is `on`.
std::optional<int64_t> read_window(HfReader& r, bool on, std::string_view field);
// Per layer "full_attention" or "sliding_attention"; without the list `is_sliding` decides.
void read_layer_types(HfReader& r, spec::Model& model, int64_t window, const std::function<bool(int64_t)>& is_sliding);
// The reference's balancing losses are no part of its forward pass; noise on the router's input neither.
void ignore_balance(HfReader& r);
void use_experts(spec::Model& model, const spec::Moe& moe, const std::function<bool(int64_t)>& has_experts);

// A whole number where the value is one up to rounding: the reference demands it of some keys.
Json whole_if_near(double value);
// The experts of the first layer that has some, or sizes of 1.
const spec::Moe& some_moe(const spec::Model& model);
Json write_skeleton(const spec::Model& model, const char* model_type, const char* architecture);
void write_rope(const spec::Model& model, Json& out, bool deepseek);

void read_llama(HfReader& r, spec::Model& m);
void read_mistral(HfReader& r, spec::Model& m);
void read_qwen2(HfReader& r, spec::Model& m);
void read_qwen3(HfReader& r, spec::Model& m);
void read_olmo2(HfReader& r, spec::Model& m);
void read_gemma(HfReader& r, spec::Model& m);
void read_gemma2(HfReader& r, spec::Model& m);
void read_glm4(HfReader& r, spec::Model& m);
void read_gpt2(HfReader& r, spec::Model& m);
void read_mixtral(HfReader& r, spec::Model& m);
void read_qwen3_moe(HfReader& r, spec::Model& m);
void read_deepseek_v2(HfReader& r, spec::Model& m);
void read_deepseek_v3(HfReader& r, spec::Model& m);
void read_gpt_oss(HfReader& r, spec::Model& m);
void read_llama4(HfReader& r, spec::Model& m);
void read_glm4_moe(HfReader& r, spec::Model& m);
void read_grok1(HfReader& r, spec::Model& m);
void read_grok2(HfReader& r, spec::Model& m);
void read_lfm2(HfReader& r, spec::Model& m);
void read_lfm2_moe(HfReader& r, spec::Model& m);
void read_qwen3_next(HfReader& r, spec::Model& m);
void read_qwen3_5(HfReader& r, spec::Model& m);
void read_qwen3_5_moe(HfReader& r, spec::Model& m);
void read_mamba2(HfReader& r, spec::Model& m);

Json write_llama(const spec::Model& m);
Json write_mistral(const spec::Model& m);
Json write_qwen2(const spec::Model& m);
Json write_qwen3(const spec::Model& m);
Json write_olmo2(const spec::Model& m);
Json write_gemma(const spec::Model& m);
Json write_gemma2(const spec::Model& m);
Json write_glm4(const spec::Model& m);
Json write_gpt2(const spec::Model& m);
Json write_mixtral(const spec::Model& m);
Json write_qwen3_moe(const spec::Model& m);
Json write_deepseek_v2(const spec::Model& m);
Json write_deepseek_v3(const spec::Model& m);
Json write_kimi_k2(const spec::Model& m);
Json write_gpt_oss(const spec::Model& m);
Json write_llama4(const spec::Model& m);
Json write_glm4_moe(const spec::Model& m);
Json write_grok1(const spec::Model& m);
Json write_grok2(const spec::Model& m);
Json write_lfm2(const spec::Model& m);
Json write_lfm2_moe(const spec::Model& m);
Json write_qwen3_next(const spec::Model& m);
Json write_qwen3_5(const spec::Model& m);
Json write_qwen3_5_moe(const spec::Model& m);
Json write_mamba2(const spec::Model& m);

}  // namespace primus::hub
