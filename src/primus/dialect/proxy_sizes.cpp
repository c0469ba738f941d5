#include "primus/dialect/proxy_sizes.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <set>
#include <string>

#include "primus/spec/model_size.h"
#include "primus/spec/validate.h"

namespace primus::dialect {

namespace {

constexpr int64_t kLayers = 4, kMostLayers = 12, kHeadDim = 32, kLeastHeadDim = 8, kLeastHidden = 128,
                  kWideHidden = 512, kExperts = 8;
constexpr int64_t kUnit = 32;    // widths are multiples of it
constexpr int64_t kDimUnit = 8;  // parts of a head
constexpr int64_t kSequence = 256, kWindows = 4, kMicro = 2, kMicroBatches = 4, kMockVocab = 2048;
constexpr int64_t kUsefulSteps = 25, kLeastSteps = 10;
constexpr int64_t kGuessedVocab = 131072, kByteVocab = 512;

double wide(int64_t value) {
  return static_cast<double>(value);
}

// The nearest multiple of the unit to `value` x `ratio`, at least one of them, never more than `value`.
int64_t shrunk(int64_t value, double ratio, int64_t unit) {
  const auto units = static_cast<int64_t>(std::llround(wide(value) * ratio / wide(unit)));
  return std::min(value, std::max<int64_t>(1, units) * unit);
}

int64_t round_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Layers with the same text are of the same kind.
std::string kind_of(const spec::LayerSpec& layer) {
  const spec::Attention& a = layer.attention;
  const int mixer = layer.short_conv ? 1 : layer.gated_delta ? 2 : layer.mamba2 ? 3 : layer.has_mixer ? 0 : 4;
  return fmt::format("{} {} {} {} {} {} {} {} {}", mixer, layer.has_mlp, layer.other_mixer, layer.moe.has_value(),
                     a.rope.has_value(), a.window_keys.value_or(0), a.chunk_size.value_or(0), a.head_dim,
                     a.num_kv_heads);
}

// The first layer that attends; the first of all in a model that has none.
const spec::LayerSpec& attending_layer(const spec::Model& model) {
  const auto found = std::find_if(model.layers.begin(), model.layers.end(), spec::attends);
  return found == model.layers.end() ? model.layers.front() : *found;
}

bool has_other_heads(const spec::LayerSpec& layer, const spec::Attention& usual) {
  return spec::attends(layer) &&
         (layer.attention.head_dim != usual.head_dim || layer.attention.num_kv_heads != usual.num_kv_heads);
}

void attention_sizes(const spec::Model& model, Sizes& s) {
  const spec::Attention& a = attending_layer(model).attention;
  s[Size::Heads] = a.num_heads;
  s[Size::Groups] = a.num_kv_heads;
  s[Size::HeadDim] = a.head_dim;
  if (a.latent) {
    s[Size::QueryRank] = a.latent->q_lora_rank;
    s[Size::KeyValueRank] = a.latent->kv_lora_rank;
    s[Size::NopeDim] = a.latent->nope_head_dim;
    s[Size::RopeDim] = a.latent->rope_head_dim;
    s[Size::ValueDim] = a.latent->v_head_dim;
  }
  for (const spec::LayerSpec& layer : model.layers) {
    s[Size::Window] = std::max(s[Size::Window], layer.attention.window_keys.value_or(0));
    s[Size::Chunk] = std::max(s[Size::Chunk], layer.attention.chunk_size.value_or(0));
    if (!has_other_heads(layer, a)) continue;
    s[Size::GlobalHeadDim] = layer.attention.head_dim;
    s[Size::GlobalGroups] = layer.attention.num_kv_heads;
  }
  if (a.rope && a.rope->yarn) s[Size::YarnStart] = a.rope->yarn->original_max_positions;
}

void feed_forward_sizes(const spec::Model& model, Sizes& s) {
  s[Size::Ffn] = model.layers.front().mlp.ffn_size;
  for (const spec::LayerSpec& layer : model.layers) {
    if (!layer.moe) continue;
    s[Size::Experts] = layer.moe->num_experts;
    s[Size::ExpertFfn] = layer.moe->expert.ffn_size;
    s[Size::SharedFfn] = layer.moe->shared_ffn_size;
    s[Size::ExpertWidth] = layer.moe->latent_size;
    return;
  }
}

int64_t replicas(const spec::RunSpec& run) {
  const int64_t least = spec::data_parallel_size(run.parallel, spec::smallest_world(run.parallel));
  return std::max<int64_t>({1, least, run.parallel.weight_shards});
}

// As many first layers as hold every kind, in whole pipeline stages.
int64_t kept_layers(const spec::RunSpec& run, int64_t least_layers) {
  const std::vector<spec::LayerSpec>& layers = run.model.layers;
  std::set<std::string> kinds, met;
  for (const spec::LayerSpec& layer : layers) kinds.insert(kind_of(layer));
  const auto count = static_cast<int64_t>(layers.size());
  const int64_t least = std::min(kMostLayers, std::max(kLayers, least_layers));
  int64_t kept = 0;
  while (kept < count && (kept < least || (met.size() < kinds.size() && kept < kMostLayers)))
    met.insert(kind_of(layers[static_cast<size_t>(kept++)]));
  const int64_t stages = std::max<int64_t>(1, run.parallel.pipeline * run.parallel.stages_per_rank);
  return std::min(count, round_up(kept, stages));
}

// More than a token chooses, whole groups that still offer enough, the same number on each rank.
int64_t kept_experts(const spec::RunSpec& run, const Sizes& full) {
  const auto layer = std::find_if(run.model.layers.begin(), run.model.layers.end(),
                                  [](const spec::LayerSpec& l) { return l.moe.has_value(); });
  if (layer == run.model.layers.end()) return 0;
  const spec::Moe& moe = *layer->moe;
  const spec::GroupLimit groups = moe.router.groups.value_or(spec::GroupLimit{});
  const int64_t num_groups = std::max<int64_t>(1, groups.num_groups);
  const int64_t unit = std::lcm(num_groups, std::max<int64_t>(1, run.parallel.expert));
  const auto enough = [&](int64_t experts) {
    const int64_t of_group = experts / num_groups;
    return experts >= kExperts && experts > moe.top_k && of_group * groups.top_groups >= moe.top_k &&
           (num_groups == 1 || of_group >= std::max<int64_t>(2, groups.sum_of));
  };
  int64_t experts = unit;
  while (experts < full[Size::Experts] && !enough(experts)) experts *= 2;
  return std::min(experts, full[Size::Experts]);
}

void proxy_heads(const spec::RunSpec& run, const Sizes& full, int64_t groups, int64_t head_dim, Sizes& s) {
  const int64_t ratio = std::max<int64_t>(1, full[Size::Heads] / std::max<int64_t>(1, full[Size::Groups]));
  s[Size::Groups] = groups;
  s[Size::Heads] = std::min(full[Size::Heads], groups * ratio);
  s[Size::HeadDim] = std::min(full[Size::HeadDim], head_dim);
  int64_t value_dim = s[Size::HeadDim], full_value_dim = full[Size::HeadDim];
  if (full[Size::ValueDim] > 0) {
    full_value_dim = full[Size::ValueDim];
    const double part = std::min(1.0, wide(head_dim) / wide(full_value_dim));
    for (const Size dim : {Size::NopeDim, Size::RopeDim, Size::ValueDim}) s[dim] = shrunk(full[dim], part, kDimUnit);
    value_dim = s[Size::ValueDim];
    s[Size::HeadDim] = s[Size::NopeDim] + s[Size::RopeDim];
  }
  const double widths = wide(full[Size::Hidden]) / wide(full[Size::Heads] * full_value_dim);
  const int64_t of_heads = s[Size::Heads] * value_dim;
  const int64_t unit = std::lcm(kUnit, std::max<int64_t>(1, run.parallel.tensor));
  s[Size::Hidden] =
      widths == 1 ? of_heads : std::min(full[Size::Hidden], round_up(std::llround(widths * wide(of_heads)), unit));
  if (full[Size::GlobalHeadDim] == 0) return;
  s[Size::GlobalHeadDim] = shrunk(full[Size::GlobalHeadDim], wide(s[Size::HeadDim]) / wide(full[Size::HeadDim]), 2);
  const int64_t wanted = full[Size::GlobalGroups] * s[Size::Heads] / std::max<int64_t>(1, full[Size::Heads]);
  s[Size::GlobalGroups] = std::clamp<int64_t>(wanted, 1, s[Size::Heads]);
  while (s[Size::Heads] % s[Size::GlobalGroups] != 0) --s[Size::GlobalGroups];
}

// The proxy's model with so many key and value heads.
Sizes with_groups(const spec::RunSpec& run, const Sizes& full, const Sizes& fixed, int64_t groups, int64_t head_dim) {
  Sizes s = fixed;
  proxy_heads(run, full, groups, head_dim, s);
  const double narrower = wide(s[Size::Hidden]) / wide(full[Size::Hidden]);
  const int64_t unit = std::lcm(kUnit, std::max<int64_t>(1, run.parallel.tensor * run.parallel.expert_tensor));
  for (const Size width : {Size::Ffn, Size::ExpertFfn, Size::SharedFfn, Size::ExpertWidth})
    s[width] = full[width] > 0 ? shrunk(full[width], narrower, unit) : 0;
  for (const Size rank : {Size::QueryRank, Size::KeyValueRank})
    s[rank] = full[rank] > 0 ? shrunk(full[rank], narrower, kUnit) : 0;
  const bool whole_experts = full[Size::ExpertFfn] > 0 && full[Size::SharedFfn] % full[Size::ExpertFfn] == 0;
  if (whole_experts) s[Size::SharedFfn] = full[Size::SharedFfn] / full[Size::ExpertFfn] * s[Size::ExpertFfn];
  return s;
}

void resize(const Sizes& full, const Sizes& s, spec::LayerSpec& layer) {
  // Mixers that are no attention shrink by rules of their own (proxy_keys.cpp) and are left out of the budget.
  if (!spec::attends(layer)) layer.has_mixer = false;
  layer.short_conv.reset(), layer.gated_delta.reset(), layer.mamba2.reset();
  spec::Attention& a = layer.attention;
  const bool is_global = a.head_dim != full[Size::HeadDim] || a.num_kv_heads != full[Size::Groups];
  a.num_heads = s[Size::Heads];
  a.num_kv_heads = s[is_global ? Size::GlobalGroups : Size::Groups];
  a.head_dim = s[is_global ? Size::GlobalHeadDim : Size::HeadDim];
  if (a.latent) {
    a.latent->q_lora_rank = s[Size::QueryRank];
    a.latent->kv_lora_rank = s[Size::KeyValueRank];
    a.latent->nope_head_dim = s[Size::NopeDim];
    a.latent->rope_head_dim = s[Size::RopeDim];
    a.latent->v_head_dim = s[Size::ValueDim];
  }
  layer.mlp.ffn_size = s[Size::Ffn];
  if (!layer.moe) return;
  layer.moe->num_experts = s[Size::Experts];
  layer.moe->expert.ffn_size = s[Size::ExpertFfn];
  layer.moe->shared_ffn_size = s[Size::SharedFfn];
  layer.moe->latent_size = s[Size::ExpertWidth];
}

// By one formula for all dialects, so that a model shrinks alike in each.
double step_flops(const spec::RunSpec& run, const Sizes& full, const Sizes& s) {
  spec::Model model;
  model.flops_formula = spec::FlopsFormula::Megatron;
  model.hidden_size = s[Size::Hidden];
  model.vocab_size = model.padded_vocab_size = s[Size::Vocab];
  model.mtp = run.model.mtp;
  const auto kept = std::min(run.model.layers.size(), static_cast<size_t>(s[Size::Layers]));
  for (size_t i = 0; i < kept; ++i) {
    model.layers.push_back(run.model.layers[i]);
    resize(full, s, model.layers.back());
  }
  return spec::flops_per_token(model, s[Size::Sequence]) * wide(s[Size::Sequence] * s[Size::Global]);
}

Sizes lengths(const spec::RunSpec& run, const Sizes& full) {
  Sizes s = full;
  s[Size::Sequence] = std::min(full[Size::Sequence], kSequence);
  s[Size::Positions] = std::min(full[Size::Positions], s[Size::Sequence]);
  for (const Size keys : {Size::Window, Size::Chunk})
    s[keys] = std::min(full[keys], std::max<int64_t>(1, s[Size::Sequence] / kWindows));
  if (full[Size::Sequence] > 0) s[Size::YarnStart] = full[Size::YarnStart] * s[Size::Sequence] / full[Size::Sequence];
  if (run.data.mock) s[Size::Vocab] = std::min(full[Size::Vocab], kMockVocab);
  s[Size::FfnUnit] = kUnit;
  s[Size::Micro] = std::min(full[Size::Micro], kMicro);
  s[Size::MicroBatches] = std::min(full[Size::MicroBatches], std::max(kMicroBatches, run.parallel.pipeline));
  s[Size::Global] = s[Size::Micro] * s[Size::MicroBatches] * replicas(run);
  return s;
}

}  // namespace

Sizes full_sizes(const spec::RunSpec& run) {
  Sizes s;
  s[Size::Layers] = static_cast<int64_t>(run.model.layers.size());
  s[Size::Hidden] = run.model.hidden_size;
  attention_sizes(run.model, s);
  feed_forward_sizes(run.model, s);
  const bool bytes = run.tokenizer.type == "ByteTokenizer" || run.tokenizer.type == "CharTokenizer";
  s[Size::Vocab] = run.model.vocab_size > 0 ? run.model.vocab_size : bytes ? kByteVocab : kGuessedVocab;
  s[Size::Sequence] = run.data.sequence_length;
  s[Size::Positions] = run.model.max_positions;
  s[Size::Micro] = std::max<int64_t>(1, run.batch.micro_batch_size);
  s[Size::Global] = std::max(s[Size::Micro], run.batch.global_batch_size);
  s[Size::MicroBatches] = std::max<int64_t>(1, s[Size::Global] / (s[Size::Micro] * replicas(run)));
  s[Size::Steps] = run.exit.train_steps;
  s[Size::Samples] = s[Size::Steps] * s[Size::Global];
  s[Size::FfnUnit] = kUnit;
  return s;
}

Sizes proxy_sizes(const spec::RunSpec& run, const ProxyLimits& limits) {
  const Sizes full = full_sizes(run);
  Sizes fixed = lengths(run, full);
  fixed[Size::Layers] = kept_layers(run, limits.least_layers);
  fixed[Size::Experts] = kept_experts(run, full);

  const int64_t wanted = std::min(full[Size::Steps], limits.most_steps);
  // Heads that the tensor-parallel ranks share evenly, where they did.
  const int64_t tensor = std::max<int64_t>(1, run.parallel.tensor), groups = std::max<int64_t>(1, full[Size::Groups]);
  const int64_t ratio = std::max<int64_t>(1, full[Size::Heads] / groups);
  const int64_t unit = groups % tensor == 0 ? tensor : std::max<int64_t>(1, tensor / std::gcd(tensor, ratio));
  // Of a usual step, so that a model shrinks alike whatever the batch.
  const auto is_too_much = [&](const Sizes& sizes) {
    const double usual = wide(kMicro * kMicroBatches) / wide(sizes[Size::Global]);
    return step_flops(run, full, sizes) * usual * wide(kUsefulSteps) > limits.flops;
  };
  int64_t head_dim = kHeadDim;
  Sizes s = with_groups(run, full, fixed, std::min(unit, groups), head_dim);
  while (head_dim > kLeastHeadDim && s[Size::Hidden] > kWideHidden && is_too_much(s))
    s = with_groups(run, full, fixed, std::min(unit, groups), head_dim /= 2);
  for (int64_t more = 2 * unit; more <= groups; more *= 2) {
    const Sizes larger = with_groups(run, full, fixed, more, head_dim);
    if (s[Size::Hidden] >= kLeastHidden && is_too_much(larger)) break;
    s = larger;
  }
  const auto affordable = static_cast<int64_t>(limits.flops / step_flops(run, full, s));
  s[Size::Steps] = std::min(wanted, std::max(kLeastSteps, affordable));
  s[Size::Samples] = s[Size::Steps] * s[Size::Global];
  return s;
}

std::string_view rule_of(Size size) {
  switch (size) {
    case Size::Layers:
      return "the first layers that hold every kind, at least 4, whole pipeline stages";
    case Size::Hidden:
      return "follows heads and head width";
    case Size::Heads:
      return "few heads, the same number per key/value head";
    case Size::Groups:
      return "few key/value heads, as many as the budget allows";
    case Size::HeadDim:
      return "heads of at most 32, less where many are needed";
    case Size::GlobalHeadDim:
    case Size::GlobalGroups:
      return "the same part of the other layers' heads";
    case Size::Ffn:
      return "the same multiple of the hidden size, in steps of 32";
    case Size::FfnUnit:
      return "the MLP's width in steps of 32";
    case Size::QueryRank:
    case Size::KeyValueRank:
      return "the same part of the hidden size, in steps of 32";
    case Size::NopeDim:
    case Size::RopeDim:
    case Size::ValueDim:
      return "values of at most 32 a head, the other parts alike";
    case Size::Experts:
      return "few experts: more than a token chooses, in the same groups";
    case Size::ExpertFfn:
    case Size::SharedFfn:
    case Size::ExpertWidth:
      return "the same part of the hidden size, in steps of 32";
    case Size::Window:
    case Size::Chunk:
      return "at most a quarter of a sequence";
    case Size::Vocab:
      return "mock data: at most 2,048 ids";
    case Size::Sequence:
      return "at most 256 tokens";
    case Size::Positions:
      return "as long as the sequences";
    case Size::YarnStart:
      return "the same part of a sequence";
    case Size::Micro:
      return "at most 2 sequences";
    case Size::MicroBatches:
    case Size::Global:
      return "at most 4 micro-batches, or one a pipeline stage";
    case Size::Steps:
    case Size::Samples:
      return "at most 50 steps, within the budget of floating point operations";
  }
  return {};
}

}  // namespace primus::dialect
