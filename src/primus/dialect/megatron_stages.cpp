// Sizes of the parallel axes, and which layers each pipeline stage holds. Source: Megatron-LM d3528a21, arguments,
// transformer_block and pipeline_parallel_layer_layout.
#include <algorithm>
#include <numeric>

#include "primus/base/strings.h"
#include "primus/dialect/megatron.h"
#include "primus/spec/validate.h"

namespace primus::dialect {

namespace {

using Sizes = std::vector<int64_t>;
constexpr size_t kLongestLayout = 50'000;

// "(text)*n" once, then "c*n" for any character c; commas mean nothing. Nothing: malformed, or far too long.
std::optional<std::string> expand_layout(std::string text) {
  std::erase(text, ',');
  std::erase(text, ' ');
  const auto expand = [](const std::string& in, bool groups) -> std::optional<std::string> {
    std::string out;
    for (size_t i = 0; i < in.size();) {
      std::string unit(1, in[i]);
      size_t next = i + 1;
      if (groups && in[i] == '(') {
        const size_t close = in.find(')', i);
        if (close == std::string::npos) return std::nullopt;
        unit = in.substr(i + 1, close - i - 1);
        next = close + 1;
      }
      int64_t times = 1;
      const bool repeated = next + 1 < in.size() && in[next] == '*' && (!groups || in[i] == '(');
      if (repeated) {
        size_t end = next + 1;
        while (end < in.size() && in[end] >= '0' && in[end] <= '9') ++end;
        const auto number = parse_int(in.substr(next + 1, end - next - 1));
        if (!number) return std::nullopt;
        times = *number;
        next = end;
      }
      if (out.size() + unit.size() * static_cast<size_t>(std::min<int64_t>(times, kLongestLayout)) > kLongestLayout)
        return std::nullopt;
      for (int64_t k = 0; k < times; ++k) out += unit;
      i = next;
    }
    return out;
  };
  const auto once = expand(text, true);
  return once ? expand(*once, false) : std::nullopt;
}

Sizes from_layout(Translation& t, const std::string& text) {
  const char* key = "pipeline_model_parallel_layout";
  const auto layout = expand_layout(text);
  const auto bad = [&](const std::string& what) {
    t.error(key, "the layout '" + text + "' " + what, "stages of E (embedding), t (layer), m (MTP), L (loss) with |",
            "for example 'Et|t*2|t,L'");
    return Sizes{};
  };
  if (!layout || layout->find_first_not_of("EtmL|") != std::string::npos) return bad("cannot be read");
  const auto count = [&](char letter) { return std::count(layout->begin(), layout->end(), letter); };
  const auto layers = static_cast<int64_t>(t.run.model.layers.size());
  const int64_t depth = t.run.model.mtp ? t.run.model.mtp->depth : 0;
  if (!layout->starts_with('E') || count('E') != 1) return bad("does not begin with its one embedding");
  if (layout->find_last_not_of('|') != layout->find('L') || count('L') != 1)
    return bad("does not end with its one loss");
  if (count('t') != layers)
    return bad("has " + std::to_string(count('t')) + " layers, and the model " + std::to_string(layers));
  if (depth > 0 && count('m') == 0)
    t.warning(key,
              "the layout places no layer of multi-token prediction (m), and the model has " + std::to_string(depth) +
                  " of them",
              "write m in front of L");
  else if (count('m') != depth)
    return bad("has " + std::to_string(count('m')) + " layers of multi-token prediction, and the model " +
               std::to_string(depth));
  Sizes sizes;
  for (const std::string& stage : split(*layout, '|')) sizes.push_back(std::count(stage.begin(), stage.end(), 't'));
  if (static_cast<int64_t>(sizes.size()) % t.run.parallel.pipeline != 0)
    return bad("has " + std::to_string(sizes.size()) + " stages, no multiple of " +
               std::to_string(t.run.parallel.pipeline));
  return sizes;
}

Sizes from_list(Translation& t, Sizes sizes) {
  const auto layers = static_cast<int64_t>(t.run.model.layers.size());
  const int64_t sum = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  if (sum != layers || static_cast<int64_t>(sizes.size()) % t.run.parallel.pipeline != 0)
    t.error("decoder_pipeline_manual_split_list",
            std::to_string(sizes.size()) + " stages with " + std::to_string(sum) + " layers together",
            "a multiple of " + std::to_string(t.run.parallel.pipeline) + " stages with " + std::to_string(layers) +
                " layers");
  return sizes;
}

// Stages per rank that the two keys ask for; 1 without them.
int64_t virtual_stages(Translation& t) {
  const auto per_stage = t.keys.maybe_integer("num_layers_per_virtual_pipeline_stage");
  const auto stages = t.keys.maybe_integer("num_virtual_stages_per_pipeline_rank");
  const int64_t pipeline = t.run.parallel.pipeline;
  if (per_stage && stages)
    t.error("num_virtual_stages_per_pipeline_rank", "virtual stages are given twice",
            "num_layers_per_virtual_pipeline_stage or num_virtual_stages_per_pipeline_rank");
  if (pipeline == 1) return 1;
  if (stages) return std::max<int64_t>(1, *stages);
  if (!per_stage) return 1;
  const auto layers = static_cast<int64_t>(t.run.model.layers.size());
  if (layers % (pipeline * *per_stage) != 0)
    t.error("num_layers_per_virtual_pipeline_stage",
            std::to_string(layers) + " layers on " + std::to_string(pipeline) +
                " ranks are no whole virtual stages of " + std::to_string(*per_stage),
            "a divisor of the layers of a rank");
  return std::max<int64_t>(1, layers / (pipeline * *per_stage));
}

// Explicit first and last stages; the others share the rest evenly.
Sizes with_ends(Translation& t, int64_t ranks, int64_t per_rank, std::optional<int64_t> first,
                std::optional<int64_t> last) {
  const auto layers = static_cast<int64_t>(t.run.model.layers.size());
  const int64_t others = ranks - first.has_value() - last.has_value();
  const int64_t rest = layers - first.value_or(0) - last.value_or(0);
  const int64_t middle = others > 0 ? rest / others : 0;
  const bool splits = first.value_or(0) % per_rank == 0 && last.value_or(0) % per_rank == 0 && middle % per_rank == 0;
  if (rest < 0 || (others > 0 ? rest % others != 0 : rest != 0) || !splits) {
    t.error(first ? "decoder_first_pipeline_num_layers" : "decoder_last_pipeline_num_layers",
            std::to_string(rest) + " layers remain for " + std::to_string(others) + " stages" +
                (per_rank > 1 ? " of " + std::to_string(per_rank) + " virtual ones each" : ""),
            "first and last stages that leave a multiple of the others");
    return {};
  }
  Sizes sizes;
  for (int64_t chunk = 0; chunk < per_rank; ++chunk)
    for (int64_t rank = 0; rank < ranks; ++rank)
      sizes.push_back((rank == 0 && first ? *first : rank == ranks - 1 && last ? *last : middle) / per_rank);
  return sizes;
}

Sizes evenly(Translation& t, int64_t stages, bool with_embedding, bool with_loss) {
  const auto layers = static_cast<int64_t>(t.run.model.layers.size());
  const int64_t total = layers + with_embedding + with_loss;
  if (total % stages != 0) {
    t.error("pipeline_model_parallel_size",
            std::to_string(total) + (with_embedding || with_loss ? " layers (embedding and loss counted)" : " layers") +
                " do not divide over " + std::to_string(stages) + " pipeline stages",
            "a divisor of " + std::to_string(total),
            "give pipeline_model_parallel_layout, or decoder_first_pipeline_num_layers and "
            "decoder_last_pipeline_num_layers");
    return {};
  }
  Sizes sizes(static_cast<size_t>(stages), total / stages);
  sizes.front() -= with_embedding;
  sizes.back() -= with_loss;
  return sizes;
}

}  // namespace

std::vector<int64_t> megatron_stage_sizes(Translation& t) {
  const auto layout = t.keys.maybe_text("pipeline_model_parallel_layout");
  Sizes listed = t.keys.integers("decoder_pipeline_manual_split_list");
  const auto first = t.keys.maybe_integer("decoder_first_pipeline_num_layers");
  const auto last = t.keys.maybe_integer("decoder_last_pipeline_num_layers");
  const bool with_embedding = t.keys.flag("account_for_embedding_in_pipeline_split");
  const bool with_loss = t.keys.flag("account_for_loss_in_pipeline_split");
  const int64_t ranks = t.run.parallel.pipeline;
  const int64_t per_rank = virtual_stages(t);
  const auto layers = static_cast<int64_t>(t.run.model.layers.size());
  if (ranks <= 1) return {layers};
  Sizes sizes;
  if (layout && !layout->empty())
    sizes = from_layout(t, *layout);
  else if (!listed.empty())
    sizes = from_list(t, std::move(listed));
  else if (first || last)
    sizes = with_ends(t, ranks, per_rank, first, last);
  else
    sizes = evenly(t, ranks * per_rank, with_embedding, with_loss);
  return sizes.empty() ? Sizes{layers} : sizes;
}

void megatron_stages(Translation& t) {
  const auto stages = static_cast<int64_t>(megatron_stage_sizes(t).size());
  t.run.parallel.stages_per_rank = std::max<int64_t>(1, stages / std::max<int64_t>(1, t.run.parallel.pipeline));
}

void megatron_parallel(Translation& t) {
  spec::Parallel& p = t.run.parallel;
  p.tensor = t.keys.integer("tensor_model_parallel_size");
  p.pipeline = t.keys.integer("pipeline_model_parallel_size");
  p.context = t.keys.integer("context_parallel_size");
  p.expert = t.keys.integer("expert_model_parallel_size");
  const bool has_experts = t.keys.maybe_integer("num_experts").value_or(0) > 0;
  const auto expert_tensor = t.keys.maybe_integer("expert_tensor_parallel_size");
  p.expert_tensor = has_experts ? expert_tensor.value_or(p.tensor) : 1;  // null: cut as the other layers are
  p.overlap_grad_reduce = t.keys.flag("overlap_grad_reduce");
  if (const auto elements = t.keys.maybe_integer("ddp_bucket_size")) p.bucket_elements = *elements;
  p.timeout_minutes = t.keys.number("distributed_timeout_minutes");
  p.deterministic = t.keys.flag("deterministic_mode");

  const bool torch_fsdp = t.keys.flag("use_torch_fsdp2"), megatron_fsdp = t.keys.flag("use_megatron_fsdp");
  const std::string strategy = t.keys.text("data_parallel_sharding_strategy");
  const int64_t copies = t.keys.integer("data_parallel_replicate_degree");
  if (torch_fsdp && megatron_fsdp)
    t.error("use_megatron_fsdp", "two kinds of FSDP at once", "use_torch_fsdp2 or use_megatron_fsdp");
  if (torch_fsdp || (megatron_fsdp && strategy == "optim_grads_params")) {
    const int64_t ranks = std::max<int64_t>(1, spec::data_parallel_size(p, t.options.world_size));
    p.weight_shards = copies > 1 ? std::max<int64_t>(1, ranks / copies) : 0;
  }
  if (megatron_fsdp && strategy != "no_shard") t.run.optimizer.shard_state = true;
  if (copies > 1 && !torch_fsdp)
    t.error("data_parallel_replicate_degree", "copies of a sharded model need a sharded model", "use_torch_fsdp2: true",
            "set use_torch_fsdp2: true, or data_parallel_replicate_degree: 1");
}

}  // namespace primus::dialect
