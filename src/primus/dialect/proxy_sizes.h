// The sizes of a run, and those of its proxy: one set of rules for all dialects. Private to the room.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "primus/spec/run_spec.h"

namespace primus::dialect {

enum class Size : uint8_t {
  Layers,
  Hidden,
  Heads,
  Groups,  // key and value heads
  HeadDim,
  GlobalHeadDim,  // of layers whose heads differ from the others'
  GlobalGroups,
  Ffn,
  FfnUnit,  // what a computed MLP width is rounded up to
  QueryRank,
  KeyValueRank,
  NopeDim,
  RopeDim,
  ValueDim,
  Experts,
  ExpertFfn,
  SharedFfn,
  ExpertWidth,  // routed experts that work in another width than the model's
  Window,
  Chunk,
  Vocab,
  Sequence,
  Positions,
  YarnStart,  // sequences up to this length have no YaRN
  Micro,
  MicroBatches,  // of a step, on each replica
  Global,
  Steps,
  Samples,  // of the whole run
};
inline constexpr size_t kNumSizes = static_cast<size_t>(Size::Samples) + 1;

class Sizes {
 public:
  int64_t& operator[](Size size) { return values_[static_cast<size_t>(size)]; }
  int64_t operator[](Size size) const { return values_[static_cast<size_t>(size)]; }

 private:
  std::array<int64_t, kNumSizes> values_{};  // 0: this run has no such thing
};

// Of the run as it is written. A vocabulary that the tokenizer decides is guessed.
Sizes full_sizes(const spec::RunSpec& run);

struct ProxyLimits {
  double flops = 0;  // of the whole run (a multiply-add is 2, backward twice forward); 10 steps are always taken
  int64_t least_layers = 1;  // as many as one layer of the rarest kind takes
  int64_t most_steps = 50;
};
// Of its proxy; nothing is larger than in the run.
Sizes proxy_sizes(const spec::RunSpec& run, const ProxyLimits& limits);

// One sentence that says how a size shrinks.
std::string_view rule_of(Size size);

}  // namespace primus::dialect
