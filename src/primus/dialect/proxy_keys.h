// Which keys of each dialect a proxy changes, and where they are written. Private to the room.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "primus/config/load.h"
#include "primus/dialect/proxy_sizes.h"
#include "primus/dialect/typed_value.h"

namespace primus::dialect {

enum class ProxyRule : uint8_t {
  To,              // becomes the proxy's size, if it was the run's; null becomes it too
  ToWhereGiven,    // the same, but null stays: it follows from others
  InStep,          // keeps its distance from the size: a window that does not count the token itself
  MockVocab,       // made-up data: at most the proxy's vocabulary
  WithTraining,    // steps: scaled like the length of training
  WithEvaluation,  // the same, where the run evaluates
  WithSaving,      // the same, where the run saves
  Warmup,          // the same, and shorter than the decay
  SamplesOfRun,    // sequences of the whole run, scaled
  WithHeads,       // of mixers other than attention: scaled like the heads
  AtMostLayers,    // no more than there are layers
  LayersOnly,      // a list of layers' numbers: those that are left
  Pattern,         // one entry a layer: the first ones
  PerStage,        // layers of one pipeline stage
  Stages,          // which layers each pipeline stage holds, as a list or as text: the same number each
  ToNothing,       // null, or false: layers are shared out evenly
  AtMost,          // `limit`
  OfMixer,         // the same, in models that mix in another way than by attention
  OfEvaluation,    // the same, where the run evaluates
  Window,          // [keys before, keys after]
  Ramp,            // [start, increment, samples] of a growing batch
};

struct ProxyKey {
  std::string_view key;
  ProxyRule rule = ProxyRule::To;
  Size size = Size::Layers;
  int64_t limit = 0;
};

// Empty: a framework without dialect.
std::span<const ProxyKey> proxy_keys(std::string_view framework);

// A module's keys as its dialect understands them. Keys are named as in the parameter table, in sections where the
// dialect has any ("model.num_layers").
class ProxyView {
 public:
  explicit ProxyView(const config::Module& module);
  ~ProxyView();
  ProxyView(const ProxyView&) = delete;
  ProxyView& operator=(const ProxyView&) = delete;

  // What counts for the run: flavor, model_name or recipe included; the table's default where nobody says anything.
  TypedValue value(std::string_view key) const;
  std::optional<int64_t> integer(std::string_view key) const;
  double number(std::string_view key) const;  // 0 when it is none
  // As it is written, for lists and patterns; null when it is not.
  const config::Value* written(std::string_view key) const;

  // Where a new value goes so that it counts, as dotted keys of the module; empty: this model has no such key.
  std::vector<std::string> places(std::string_view key) const;
  // A switch that must be on before a key of the model may differ from what its name says; empty: none, or it is on.
  std::string permission() const;
  // False for a recipe of megatron_bridge that fine-tunes.
  bool pretrains() const;

 private:
  struct Resolved;
  const config::Module& module_;
  std::unique_ptr<Resolved> resolved_;
};

}  // namespace primus::dialect
