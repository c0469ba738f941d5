#include "primus/hub/hf_config_reader.h"

#include <algorithm>
#include <cmath>

#include "primus/base/strings.h"

namespace primus::hub {

namespace {

// Of the tokenizer, of generation, of the program that wrote the file, or of how it computes: not of the model.
constexpr const char* kHarmless[] = {"architectures",
                                     "model_type",
                                     "transformers_version",
                                     "torch_dtype",
                                     "dtype",
                                     "use_cache",
                                     "bos_token_id",
                                     "eos_token_id",
                                     "auto_map",
                                     "_name_or_path",
                                     "_attn_implementation",
                                     "attn_implementation",
                                     "_attn_implementation_autoset",
                                     "attn_implementation_internal",
                                     "experts_implementation",
                                     "id2label",
                                     "label2id",
                                     "return_dict",
                                     "output_attentions",
                                     "output_hidden_states",
                                     "chunk_size_feed_forward",
                                     "problem_type",
                                     "is_encoder_decoder",
                                     "pretraining_tp",
                                     "ep_size",
                                     "task_specific_params",
                                     "summary_type",
                                     "summary_use_proj",
                                     "summary_activation",
                                     "summary_proj_to_labels",
                                     "summary_first_dropout",
                                     "n_ctx",
                                     "reorder_and_upcast_attn",
                                     "hybrid_cache",
                                     "cache_implementation",
                                     "for_llm_compressor",
                                     "unsloth_fixed",
                                     "unsloth_version",
                                     "base_model_tp_plan",
                                     "initial_context_length",
                                     "use_bfloat16",
                                     "return_dict_in_generate",
                                     "tokenizer_class",
                                     "prefix"};

std::string short_text(const Json& value) {
  std::string text = dump_json(value);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

}  // namespace

bool HfReader::is_given(const char* name) const {
  const auto it = config_.find(name);
  return it != config_.end() && !it->is_null();
}

const Json* HfReader::find(const char* name) {
  taken_.insert(name);
  const auto it = config_.find(name);
  return it == config_.end() || it->is_null() ? nullptr : &*it;
}

const Json* HfReader::first(Names names, std::string& name) {
  name = *names.begin();
  const Json* found = nullptr;
  for (const char* candidate : names) {
    const Json* value = find(candidate);
    if (value == nullptr) continue;
    if (found == nullptr) {
      found = value;
      name = candidate;
    } else if (*found != *value) {
      error(candidate, std::string("'") + candidate + "' and '" + name + "' are two names of one thing and differ",
            "one value");
    }
  }
  return found;
}

void HfReader::error(const char* key, std::string message, std::string expected, std::string suggestion) {
  Diagnostic finding = error_at({file_, 0, 0}, std::move(message));
  finding.key = key;
  finding.expected = std::move(expected);
  finding.suggestion = std::move(suggestion);
  errors_->push_back(std::move(finding));
}

void HfReader::wrong(const std::string& name, const Json& value, const char* expected) {
  Diagnostic finding = error_at({file_, 0, 0}, "'" + name + "' has a value of the wrong kind");
  finding.key = name;
  finding.found = short_text(value);
  finding.expected = expected;
  errors_->push_back(std::move(finding));
}

void HfReader::decide(std::string field, std::string value, std::string reason) {
  if (!field.empty()) out_.decisions.push_back({std::move(field), std::move(value), std::move(reason)});
}

void HfReader::took(const std::string& name, std::string_view field, const std::string& value) {
  decide(std::string(field), value, is_given(name.c_str()) ? name : name + " is absent: the default of " + out_.family);
}

int64_t HfReader::num_layers(Names names, int64_t otherwise) {
  const int64_t layers = integer(names, otherwise, "model.layers", 1);
  if (layers <= spec::kMostLayers) return layers;
  std::string name = *names.begin();
  first(names, name);
  error(name.c_str(), "a model of " + format_thousands(layers) + " layers",
        "at most " + format_thousands(spec::kMostLayers));
  return 1;
}

std::optional<int64_t> HfReader::maybe_integer(Names names, std::string_view field) {
  std::string name;
  const Json* value = first(names, name);
  if (value == nullptr) return std::nullopt;
  constexpr double kExact = 9007199254740992.0;
  const bool whole = value->is_number_integer() ||
                     (value->is_number_float() && value->get<double>() == std::floor(value->get<double>()));
  if (!whole || std::abs(value->get<double>()) > kExact) return wrong(name, *value, "an integer"), std::nullopt;
  const auto number = static_cast<int64_t>(value->get<double>());
  took(name, field, std::to_string(number));
  return number;
}

int64_t HfReader::integer(Names names, int64_t otherwise, std::string_view field, int64_t least) {
  const auto got = maybe_integer(names, field);
  if (!got) took(*names.begin(), field, std::to_string(otherwise));
  const int64_t value = got.value_or(otherwise);
  if (value < least) {
    error(*names.begin(), std::string("'") + *names.begin() + "' is out of range: " + std::to_string(value),
          "at least " + std::to_string(least));
    return least;
  }
  return value;
}

std::optional<double> HfReader::maybe_number(Names names, std::string_view field) {
  std::string name;
  const Json* value = first(names, name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) return wrong(name, *value, "a number"), std::nullopt;
  took(name, field, format_double(value->get<double>()));
  return value->get<double>();
}

double HfReader::number(Names names, double otherwise, std::string_view field) {
  const auto got = maybe_number(names, field);
  if (!got) took(*names.begin(), field, format_double(otherwise));
  return got.value_or(otherwise);
}

bool HfReader::flag(Names names, bool otherwise, std::string_view field) {
  std::string name;
  const Json* value = first(names, name);
  if (value != nullptr && !value->is_boolean()) {
    wrong(name, *value, "true or false");
    value = nullptr;
  }
  const bool result = value == nullptr ? otherwise : value->get<bool>();
  took(name, field, result ? "true" : "false");
  return result;
}

std::string HfReader::text(Names names, const std::string& otherwise, std::string_view field) {
  std::string name;
  const Json* value = first(names, name);
  if (value != nullptr && !value->is_string()) {
    wrong(name, *value, "text");
    value = nullptr;
  }
  std::string result = value == nullptr ? otherwise : value->get<std::string>();
  took(name, field, result);
  return result;
}

std::vector<int64_t> HfReader::integers(const char* name, std::string_view field) {
  const Json* value = find(name);
  if (value == nullptr) return {};
  std::vector<int64_t> out;
  for (const Json& item : *value) {
    if (!value->is_array() || !item.is_number_integer()) return wrong(name, *value, "a list of integers"), out;
    out.push_back(item.get<int64_t>());
  }
  took(name, field, short_text(*value));
  return out;
}

std::vector<std::string> HfReader::texts(const char* name, std::string_view field) {
  const Json* value = find(name);
  if (value == nullptr) return {};
  std::vector<std::string> out;
  if (!value->is_array()) return wrong(name, *value, "a list of texts"), out;
  for (const Json& item : *value) {
    if (!item.is_string()) return wrong(name, *value, "a list of texts"), out;
    out.push_back(item.get<std::string>());
  }
  took(name, field, short_text(*value));
  return out;
}

std::vector<std::string> HfReader::layer_types(size_t count, std::string_view field,
                                               const std::vector<std::string>& known) {
  std::vector<std::string> types = texts("layer_types", field);
  if (!types.empty() && types.size() != count) {
    error("layer_types", "'layer_types' names " + std::to_string(types.size()) + " layers of " + std::to_string(count),
          "one type a layer");
    return {};
  }
  for (const std::string& type : types) {
    if (std::find(known.begin(), known.end(), type) != known.end()) continue;
    error("layer_types", "layers of the type '" + type + "' are not built", join(known, ", "));
    return {};
  }
  return types;
}

void HfReader::ignore(Names names, const std::string& reason) {
  for (const char* name : names) {
    taken_.insert(name);
    if (is_given(name)) decide(std::string("(") + name + ")", short_text(config_.at(name)), reason);
  }
}

void HfReader::demand(const char* name, const Json& only, const std::string& reason) {
  const Json* value = find(name);
  if (value == nullptr || *value == only) return;
  error(name, "'" + std::string(name) + ": " + short_text(*value) + "' is not built: " + reason, short_text(only));
}

void HfReader::check_unknown_keys() {
  for (const auto& [key, value] : config_.items()) {
    const bool harmless =
        std::any_of(std::begin(kHarmless), std::end(kHarmless), [&key = key](const char* word) { return key == word; });
    if (harmless || taken_.count(key) > 0) continue;
    // Off, nothing or none: a switch of another family that is not on.
    if (value.is_null() || value == Json(false)) continue;
    error(key.c_str(),
          "'" + key + ": " + short_text(value) + "' is unknown in the family " + out_.family +
              ", and may change the model",
          {}, did_you_mean(key, {taken_.begin(), taken_.end()}));
  }
}

}  // namespace primus::hub
