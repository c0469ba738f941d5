// The configuration container of megatron_bridge: what recipe, keyword arguments and maps made of it. Private to the
// room.
#pragma once

#include <map>

#include "primus/dialect/bridge.h"

namespace primus::dialect {

class BridgeConfig {
 public:
  explicit BridgeConfig(Translation& t) : t_(t) {}

  // ---- the recipe
  const BridgeRecipe* recipe = nullptr;
  const BridgeModel* model = nullptr;
  std::string hf_path;  // weights and tokenizer; empty: none
  bool mock = false;    // pre-training without data
  bool packed = false;
  std::string adapter;  // "lora", "dora", or empty: all weights are trained
  int64_t adapter_rank = 32;
  double adapter_alpha = 32, adapter_dropout = 0;
  std::vector<std::string> adapter_targets;

  // ---- keyword arguments
  void set_argument(std::string_view name, TypedValue value) { arguments_[name] = std::move(value); }
  void set_arguments(std::string_view settings, bool only_null = false);
  const TypedValue* argument(std::string_view name) const;  // null: the recipe has no such argument
  bool argument_flag(std::string_view name) const;
  std::string argument_text(std::string_view name) const;  // empty when null
  std::vector<std::string> argument_texts(std::string_view name) const;
  std::vector<std::string_view> argument_names() const;

  // ---- the container
  void set(std::string_view path, TypedValue value);
  void set_all(std::string_view settings, std::string_view prefix = {});
  TypedValue value(std::string_view path) const;  // the table's default where nothing set it

  // Reads for the spec: each path is remembered as taken.
  bool flag(std::string_view path);
  std::optional<int64_t> maybe_integer(std::string_view path);
  int64_t integer(std::string_view path) { return maybe_integer(path).value_or(0); }
  std::optional<double> maybe_number(std::string_view path);
  double number(std::string_view path) { return maybe_number(path).value_or(0); }
  std::optional<std::string> maybe_text(std::string_view path);
  std::string text(std::string_view path) { return maybe_text(path).value_or(""); }
  std::vector<std::string> texts(std::string_view path);
  std::vector<int64_t> integers(std::string_view path);

 private:
  TypedValue take(std::string_view path);

  Translation& t_;
  std::map<std::string_view, TypedValue> arguments_;
  std::map<std::string, TypedValue, std::less<>> values_;
};

constexpr int64_t kNullTokenizerIds = 32000;  // of the recipes that take none

// Steps 1 to 4 of upstream: recipe, keyword arguments, maps, flat keys. What upstream drops or skips is a warning.
// A recipe that does not exist is an error; the container is then some other recipe's, so that the rest is checked.
void resolve_bridge(Translation& t, BridgeConfig& config);
// Where a keyword argument lands in the container; empty: nowhere by itself. Several arguments land in two places.
std::string bridge_argument_path(std::string_view name);
void merge_bridge_maps(Translation& t, BridgeConfig& config);  // step 3
void report_dropped_arguments(Translation& t, const BridgeConfig& config);

void bridge_model(Translation& t, BridgeConfig& config);
void bridge_parallel(Translation& t, BridgeConfig& config);
void bridge_train(Translation& t, BridgeConfig& config);
void bridge_data(Translation& t, BridgeConfig& config);
void bridge_rest(Translation& t, BridgeConfig& config);

}  // namespace primus::dialect
