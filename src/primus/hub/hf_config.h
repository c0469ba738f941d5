// Hugging Face's config.json and our Model: read with the reason of every decision, and written back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "primus/base/fs.h"
#include "primus/base/json.h"
#include "primus/base/result.h"
#include "primus/spec/model.h"

namespace primus::hub {

// One thing that was read or concluded: "model.hidden_size", "4096", "hidden_size".
struct HfDecision {
  std::string field, value, reason;
};

struct HfModel {
  std::string family;  // "qwen3_moe", one of hf_families()
  spec::Model model;   // vocabulary as published: padded_vocab_size is vocab_size, vocab_divisor 1
  std::vector<HfDecision> decisions;
};

// The families that are read, sorted: values of model_type, but for grok-2, whose files bear another model's.
std::vector<std::string> hf_families();
// The family that a config.json names, read here or not; empty: none.
std::string hf_family_of(const Json& config);

// `path`: the file, or a folder that holds config.json. Absent keys take the family's own default (transformers 5.24).
// Errors, all together: no such file, no JSON, another family (with the list), values of the wrong kind, and keys that
// nobody here knows: they may change the model.
// Source: transformers 5.24.0, configuration_*.py and modeling_*.py of each family; the remote code of grok-1;
// sglang's models/grok.py for grok-2.
Result<HfModel> read_hf_config(const fs::path& path);
Result<HfModel> read_hf_config(const Json& config, const std::string& file);

// A config.json of this family (or, with an empty name, of the first family that can hold the model). It is read back
// and compared: a model that the family cannot express is refused with the fields that would be lost. What only
// training knows (dropout in some families, balancing, initial weights, multi-token prediction) is not compared.
Result<Json> write_hf_config(const spec::Model& model, std::string_view family = {});

}  // namespace primus::hub
