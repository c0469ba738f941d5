// Devices: the ici_ and dcn_ axes, and the batch that they carry. Source: MaxText's types and max_utils, 0.2.5.
#include <algorithm>
#include <array>
#include <cmath>

#include "primus/base/strings.h"
#include "primus/dialect/maxtext.h"

namespace primus::dialect {

namespace {

enum class Axis : uint8_t { Data, Weights, Context, Tensor, Pipeline, Expert };

struct AxisName {
  std::string_view name;
  Axis axis;
};

constexpr AxisName kAxes[] = {
    {"data", Axis::Data},
    {"fsdp", Axis::Weights},
    {"fsdp_transpose", Axis::Weights},
    {"sequence", Axis::Context},
    {"context", Axis::Context},
    {"context_usp_ulysses", Axis::Context},
    {"context_autoregressive", Axis::Context},
    {"tensor", Axis::Tensor},
    {"tensor_sequence", Axis::Tensor},
    {"autoregressive", Axis::Tensor},
    {"pipeline", Axis::Pipeline},
    {"expert", Axis::Expert},
};

std::string key_of(std::string_view group, std::string_view axis) {
  return std::string(group) + "_" + std::string(axis) + "_parallelism";
}

// One group: "ici" inside a slice, "dcn" across slices.
struct Group {
  std::string open_key;  // the axis that takes what is left over; empty: none
  Axis open_axis = Axis::Data;
  int64_t product = 1;  // of the others
  std::array<int64_t, 6> sizes = {1, 1, 1, 1, 1, 1};
};

Group read_group(Translation& t, std::string_view group) {
  Group result;
  for (const AxisName& axis : kAxes) {
    const std::string key = key_of(group, axis.name);
    const int64_t size = t.keys.integer(key);
    if (size == -1 && !result.open_key.empty())
      t.error(key, "both " + result.open_key + " and " + key + " are -1, and only one axis can take what is left over",
              "one -1 per group");
    if (size == 0) t.error(key, "an axis of no devices", "-1, or at least 1");
    if (size == -1 && result.open_key.empty()) {
      result.open_key = key;
      result.open_axis = axis.axis;
    }
    constexpr int64_t kMostDevices = 1'000'000;
    const int64_t factor = std::clamp<int64_t>(size, 1, kMostDevices);
    result.product = std::min(result.product * factor, kMostDevices);
    result.sizes[static_cast<size_t>(axis.axis)] *= factor;
  }
  return result;
}

struct Mesh {
  Group ici, dcn;
  int64_t devices = 1;
  bool resolved = false;  // every axis is known for the number of ranks that is asked for
};

// On one slice (or an unknown number of them) a -1 across slices is 1, and the one inside takes the ranks.
Mesh read_mesh(Translation& t) {
  Mesh mesh{read_group(t, "ici"), read_group(t, "dcn")};
  const int64_t world = std::max<int64_t>(1, t.options.world_size);
  const int64_t fixed = mesh.ici.product * mesh.dcn.product;
  const bool open = !mesh.ici.open_key.empty() || !mesh.dcn.open_key.empty();
  mesh.resolved = open ? world % fixed == 0 : world == fixed;
  mesh.devices = mesh.resolved ? world : fixed;
  if (mesh.resolved && open) {
    Group& taker = mesh.ici.open_key.empty() ? mesh.dcn : mesh.ici;
    taker.sizes[static_cast<size_t>(taker.open_axis)] *= world / fixed;
  }
  return mesh;
}

// The settings without saying again what is wrong with them.
Mesh read_mesh_silently(Translation& t) {
  Diagnostics told;
  Translation silent{t.keys, t.run, told, t.options};
  return read_mesh(silent);
}

std::string first_wide_axis(Translation& t, const Mesh& mesh) {
  for (const char* group : {"ici", "dcn"})
    for (const AxisName& axis : kAxes)
      if (t.keys.integer(key_of(group, axis.name)) > 1) return key_of(group, axis.name);
  return mesh.ici.open_key.empty() ? "ici_fsdp_parallelism" : mesh.ici.open_key;
}

void pipeline_stages(Translation& t) {
  spec::Parallel& p = t.run.parallel;
  const int64_t per_stage = t.keys.integer("num_layers_per_pipeline_stage");
  const int64_t repeats = t.keys.integer("num_pipeline_repeats");
  if (p.pipeline <= 1) return;
  const auto layers = static_cast<int64_t>(t.run.model.layers.size());
  const int64_t round = p.pipeline * per_stage;
  if (repeats > 0 && round * repeats != layers)
    t.error("num_pipeline_repeats",
            std::to_string(p.pipeline) + " stages x " + std::to_string(per_stage) + " layers x " +
                std::to_string(repeats) + " repeats are not the model's " + std::to_string(layers) + " layers",
            "-1, or what comes out");
  else if (layers % round != 0)
    t.error("num_layers_per_pipeline_stage",
            std::to_string(layers) + " layers are no whole number of rounds of " + std::to_string(round),
            "stages x layers per stage that divide the layers");
  else
    p.stages_per_rank = layers / round;
}

}  // namespace

void maxtext_parallel(Translation& t) {
  const Mesh mesh = read_mesh(t);
  const auto size = [&](Axis axis) {
    return mesh.ici.sizes[static_cast<size_t>(axis)] * mesh.dcn.sizes[static_cast<size_t>(axis)];
  };
  spec::Parallel& p = t.run.parallel;
  p.tensor = size(Axis::Tensor);
  p.pipeline = size(Axis::Pipeline);
  p.context = size(Axis::Context);
  p.expert = size(Axis::Expert);
  p.weight_shards = size(Axis::Weights);
  for (const Group* group : {&mesh.ici, &mesh.dcn})
    if (!mesh.resolved && !group->open_key.empty() && group->open_axis == Axis::Weights) p.weight_shards = 0;
  t.run.optimizer.shard_state = t.keys.flag("shard_optimizer_over_data");
  if (mesh.resolved || !t.options.for_training) return;
  const bool open = !mesh.ici.open_key.empty() || !mesh.dcn.open_key.empty();
  const std::string devices = format_thousands(mesh.devices);
  t.error(first_wide_axis(t, mesh),
          "the ici_ and dcn_ axes multiply to " + devices + " devices, and the run has " +
              format_thousands(t.options.world_size) + (t.options.world_size == 1 ? " rank" : " ranks"),
          open ? "a multiple of " + devices + " ranks" : devices + " ranks",
          "start " + devices + " ranks, or set ici_fsdp_parallelism: -1 and the other axes to 1");
}

// A device trains per_device_batch_size sequences at a time; devices that share one model train theirs together.
void maxtext_batch(Translation& t) {
  const Mesh mesh = read_mesh_silently(t);
  const spec::Parallel& p = t.run.parallel;
  const double per_device = t.keys.number("per_device_batch_size");
  const int64_t passes = t.keys.integer("gradient_accumulation_steps");
  const int64_t in_pipeline = t.keys.integer("num_pipeline_microbatches");
  const int64_t parts = p.pipeline <= 1 ? 1 : in_pipeline > 0 ? in_pipeline : p.pipeline;
  const int64_t replicas = std::max<int64_t>(1, mesh.devices / std::max<int64_t>(1, p.tensor * p.pipeline * p.context));
  constexpr double kMostSequences = 1e9;
  const auto together = static_cast<int64_t>(std::min(static_cast<double>(mesh.devices) * per_device, kMostSequences));
  const bool whole = together >= 1 && together % (replicas * parts) == 0;
  if (!whole && t.options.for_training)
    t.error(
        "per_device_batch_size",
        "'per_device_batch_size: " + format_double(per_device) + "' on " + format_thousands(mesh.devices) +
            (mesh.devices == 1 ? " device" : " devices") + " makes " + format_thousands(together) +
            (together == 1 ? " sequence" : " sequences") + " a pass, and they are not shared out evenly over " +
            format_thousands(replicas * parts) + (parts > 1 ? " replicas and pipeline micro-batches" : " replicas"),
        "a whole number of sequences for each",
        "set per_device_batch_size: " +
            format_double(static_cast<double>(std::max<int64_t>(1, together / (replicas * parts)) * replicas * parts) /
                          static_cast<double>(mesh.devices)));
  spec::Batch& batch = t.run.batch;
  batch.micro_batch_size = std::max<int64_t>(1, together / (replicas * parts));
  batch.global_batch_size = batch.micro_batch_size * replicas * parts * passes;
  pipeline_stages(t);
}

}  // namespace primus::dialect
