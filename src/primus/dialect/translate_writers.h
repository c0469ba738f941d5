// The two halves of a translation: keys of the architecture, keys of the training. Private to the room.
#pragma once

#include <string>
#include <string_view>

#include "primus/dialect/translate.h"
#include "primus/spec/run_spec.h"

namespace primus::dialect {

// Keys with dots make maps.
class KeyWriter {
 public:
  KeyWriter(config::Map& params, std::vector<std::string>& notes) : params_(params), notes_(notes) {}

  void set(std::string_view key, config::Value value);
  void set(std::string_view key, bool value) { set(key, config::Value(value)); }
  void set(std::string_view key, int64_t value) { set(key, config::Value(value)); }
  void set(std::string_view key, double value) { set(key, config::Value(value)); }
  void set(std::string_view key, const std::string& value) { set(key, config::Value(value)); }
  void set(std::string_view key, const char* value) { set(key, config::Value(value)); }
  void note(std::string words) { notes_.push_back(std::move(words)); }
  const config::Map& params() const { return params_; }

 private:
  config::Map& params_;
  std::vector<std::string>& notes_;
};

// Keys of every module, whatever its dialect (module_keys.h), but its log levels.
void write_module(const spec::RunSpec& run, KeyWriter& keys);

void write_megatron_training(const spec::RunSpec& run, KeyWriter& keys);
void write_titan_training(const spec::RunSpec& run, KeyWriter& keys);
void write_maxtext_training(const spec::RunSpec& run, KeyWriter& keys);
void write_bridge_training(const spec::RunSpec& run, KeyWriter& keys);

// Post-training: megatron's keys of it, a part of write_megatron_training ...
void write_megatron_finetune(const spec::RunSpec& run, KeyWriter& keys);
// ... and one error a key of `module` where the other dialect's trainer has no such thing.
Diagnostics finetuning_lost(const config::Module& module, const spec::RunSpec& run, std::string_view framework);

// Paths of data, each behind its weight where there are weights.
config::Value paths_of(const spec::DataBlend& blend);

// The flavor with the fewest differences, and arguments for the rest.
void write_titan_model(const spec::RunSpec& run, KeyWriter& keys);

// By model_name where one has this architecture, else size by size.
void write_maxtext_model(const spec::RunSpec& run, KeyWriter& keys);
// The recipe that has this architecture and trains in the same way; false: none has.
bool write_bridge_model(const spec::RunSpec& run, KeyWriter& keys);
// Names the nearest recipe and the fields that it has differently.
Diagnostic no_such_recipe(const spec::RunSpec& run);

// MaxText puts the softmax's scale into the first query weights: the same function once they are scaled. A rope factor
// of 1 scales nothing.
spec::Model canonical_model(spec::Model model);

// Whole steps of a number of samples, at least 0.
int64_t steps_of(const spec::RunSpec& run, double samples);

}  // namespace primus::dialect
