#include "primus/train/checkpointing.h"

#include <algorithm>
#include <fmt/format.h>

#include "primus/spec/fingerprint.h"
#include "primus/tensor/runtime.h"

namespace primus::train {

namespace {

// The part of `tensor` (owned rows of the parameter) that lies in one piece, as a box of the piece.
void append_piece_shards(std::vector<ckpt::NamedShard>& shards, const std::string& prefix,
                         const nn::Parameter& parameter, const at::Tensor& tensor) {
  int64_t piece_begin = 0;
  for (const nn::Piece& piece : parameter.pieces()) {
    const int64_t piece_end = piece_begin + piece.num_rows;
    const int64_t begin = std::max(piece_begin, parameter.owned_begin());
    const int64_t end = std::min(piece_end, parameter.owned_end());
    if (begin < end) {
      std::vector<int64_t> shape = parameter.shape();
      shape.front() = piece.num_rows;
      std::vector<int64_t> offset(shape.size(), 0);
      offset.front() = begin - piece_begin;
      shards.push_back({.name = prefix + piece.name,
                        .global_shape = shape,
                        .offset = offset,
                        .data = tensor.narrow(0, begin - parameter.owned_begin(), end - begin)});
    }
    piece_begin = piece_end;
  }
}

// State of the model that is not trained.
void append_buffers(std::vector<ckpt::NamedShard>& shards, models::Decoder& model) {
  for (const models::Buffer& buffer : model.buffers())
    shards.push_back(ckpt::whole_shard("buffer." + buffer.name, buffer.values));
}

Json order_json(const data::OrderRule& rule) {
  return {{"cyclic", rule.order == spec::LoaderOrder::Cyclic},
          {"shard_per_rank", rule.shard_per_rank},
          {"micro_batch_size", rule.micro_batch_size},
          {"num_ranks", rule.num_ranks}};
}

// Enums travel as numbers: the checkpoint format's version covers their order.
Json schedule_json(const spec::RunSpec& run) {
  const spec::LrSchedule& lr = run.lr;
  const spec::WeightDecaySchedule& decay = run.weight_decay;
  Json json = {{"lr_decay", static_cast<int>(lr.decay)},
               {"max_lr", lr.max_lr},
               {"min_lr", lr.min_lr},
               {"warmup_init_lr", lr.warmup_init_lr},
               {"warmup_samples", lr.warmup_samples},
               {"decay_samples", lr.decay_samples},
               {"wsd_decay", static_cast<int>(lr.wsd_decay)},
               {"wsd_samples", lr.wsd_samples},
               {"start_weight_decay", decay.start},
               {"end_weight_decay", decay.end},
               {"weight_decay_ramp", static_cast<int>(decay.ramp)},
               {"weight_decay_ramp_samples", decay.ramp_samples}};
  // Only where they are switched on: checkpoints without a word about them have neither.
  if (lr.warmup_ends_at_peak) json["warmup_ends_at_peak"] = true;
  if (lr.ends_at_last_step) json["ends_at_last_step"] = true;
  return json;
}

void take_schedule(spec::RunSpec& run, const Json& json) {
  run.lr = {.decay = static_cast<spec::LrDecay>(json.at("lr_decay").get<int>()),
            .max_lr = json.at("max_lr").get<double>(),
            .min_lr = json.at("min_lr").get<double>(),
            .warmup_init_lr = json.at("warmup_init_lr").get<double>(),
            .warmup_samples = json.at("warmup_samples").get<double>(),
            .decay_samples = json.at("decay_samples").get<double>(),
            .wsd_decay = static_cast<spec::WsdDecay>(json.at("wsd_decay").get<int>()),
            .wsd_samples = json.at("wsd_samples").get<double>(),
            .warmup_counts_this_step = run.lr.warmup_counts_this_step,
            .warmup_ends_at_peak = json.value("warmup_ends_at_peak", false),
            .ends_at_last_step = json.value("ends_at_last_step", false)};
  run.weight_decay = {.start = json.at("start_weight_decay").get<double>(),
                      .end = json.at("end_weight_decay").get<double>(),
                      .ramp = static_cast<spec::WeightDecayRamp>(json.at("weight_decay_ramp").get<int>()),
                      .ramp_samples = json.at("weight_decay_ramp_samples").get<double>()};
}

data::OrderRule order_from_json(const Json& json) {
  return {.order = json.at("cyclic").get<bool>() ? spec::LoaderOrder::Cyclic : spec::LoaderOrder::Single,
          .shard_per_rank = json.at("shard_per_rank").get<bool>(),
          .micro_batch_size = json.at("micro_batch_size").get<int64_t>(),
          .num_ranks = json.at("num_ranks").get<int64_t>()};
}

const char* name_of(spec::Dtype dtype) {
  switch (dtype) {
    case spec::Dtype::Float32:
      return "fp32";
    case spec::Dtype::BFloat16:
      return "bf16";
    case spec::Dtype::Float16:
      return "fp16";
  }
  return "fp32";
}

}  // namespace

std::vector<ckpt::NamedShard> shards_of(Trainer& trainer) {
  std::vector<ckpt::NamedShard> shards;
  const std::vector<nn::Parameter*> parameters = trainer.model.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const nn::Parameter& parameter = *parameters[i];
    // Without a sharded optimizer every rank holds the same; rank 0 writes it.
    const bool whole = parameter.owned_begin() == 0 && parameter.owned_end() == parameter.shape().front();
    const bool sharded = trainer.spec.optimizer.shard_state && trainer.group.size() > 1;
    if (whole && !sharded && trainer.group.rank() != 0) continue;
    append_piece_shards(shards, "master.", parameter, parameter.owned_master());
    for (const auto& [name, tensor] : trainer.optimizer->state(i)) {
      append_piece_shards(shards, fmt::format("optimizer.{}.", name), parameter, tensor);
    }
  }
  if (trainer.group.rank() == 0) append_buffers(shards, trainer.model);
  return shards;
}

std::vector<ckpt::NamedShard> weight_shards(models::Decoder& model) {
  std::vector<ckpt::NamedShard> shards;
  for (const nn::Parameter* parameter : model.parameters())
    append_piece_shards(shards, "master.", *parameter, parameter->owned_master());
  append_buffers(shards, model);
  return shards;
}

void read_weights(models::Decoder& model, const hub::FoundCheckpoint& checkpoint) {
  value_or_throw(ckpt::load(checkpoint, weight_shards(model), {.model = spec::model_fingerprint(model.spec())}));
  for (nn::Parameter* parameter : model.parameters()) parameter->refresh_compute();
}

ckpt::SaveRequest save_request(Trainer& trainer) {
  hub::CheckpointState state;
  state.step = trainer.state.step;
  state.consumed_samples = trainer.state.consumed_samples;
  state.consumed_tokens = trainer.state.consumed_tokens;
  state.seed = static_cast<uint64_t>(trainer.spec.seed);
  state.model = spec::model_fingerprint(trainer.spec.model);
  state.layout = {{"data_parallel", trainer.group.size()}};
  state.extra = {{"train_state", to_json(trainer.state)},
                 {"loss_scaler", trainer.loss_scaler.state()},
                 {"optimizer_updates", trainer.optimizer->num_updates()},
                 {"sample_order", order_json(trainer.order_rule)},
                 {"schedule", schedule_json(trainer.spec)},
                 {"attention_route", trainer.machine.routes.attention.to_string()}};
  state.precision = name_of(trainer.spec.precision.compute);
  state.gemm_route = trainer.machine.routes.gemm.to_string();
  state.torch_version = tensor::versions();
  return {.state = std::move(state), .shards = shards_of(trainer)};
}

namespace {

// What this rank must read: also rows and buffers that another rank writes.
std::vector<ckpt::NamedShard> destinations(Trainer& trainer, bool with_optimizer) {
  std::vector<ckpt::NamedShard> shards = weight_shards(trainer.model);
  if (!with_optimizer) return shards;
  const std::vector<nn::Parameter*> parameters = trainer.model.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    for (const auto& [name, tensor] : trainer.optimizer->state(i)) {
      append_piece_shards(shards, fmt::format("optimizer.{}.", name), *parameters[i], tensor);
    }
  }
  return shards;
}

// A resume computes with the routines of the run that it continues: others round differently.
void take_routes(Trainer& trainer, const hub::CheckpointState& state) {
  const Result<kernels::GemmRoute> gemm = kernels::GemmRoute::parse(state.gemm_route);
  const Result<kernels::AttentionRoute> attention =
      kernels::AttentionRoute::parse(state.extra.at("attention_route").get<std::string>());
  if (gemm.ok() && attention.ok()) {
    trainer.machine.routes = {.gemm = *gemm, .attention = *attention};
  } else {
    trainer.log.warning("this version has not the routines that the checkpoint was computed with (" + state.gemm_route +
                        "): losses go on, but not bit by bit");
  }
  if (state.torch_version != tensor::versions()) {
    trainer.log.warning("the checkpoint was computed with " + state.torch_version + ", this is " + tensor::versions() +
                        ": losses go on, but not bit by bit");
  }
}

// Whose schedule goes on: the checkpoint's or the configuration's. Different ones without a word about it are an error.
void choose_schedule(Trainer& trainer, const Json& saved, const fs::path& checkpoint) {
  const spec::Checkpoint& rule = trainer.spec.checkpoint;
  const Json mine = schedule_json(trainer.spec);
  if (saved == mine || rule.override_schedule) return;
  if (rule.use_checkpoint_schedule) return take_schedule(trainer.spec, saved);
  Diagnostic error = error_at({checkpoint.string()}, "the checkpoint was trained with another schedule");
  for (const auto& [key, value] : mine.items()) {
    if (saved.value(key, Json()) == value) continue;
    error.found += fmt::format("{}{}: {} in the checkpoint, {} now", error.found.empty() ? "" : "; ", key,
                               saved.value(key, Json()).dump(), value.dump());
  }
  error.suggestion =
      "override_opt_param_scheduler: true takes the new one, use_checkpoint_opt_param_scheduler: true the old one";
  throw InputError(error);
}

}  // namespace

void restore(Trainer& trainer, const hub::FoundCheckpoint& checkpoint, bool weights_only) {
  // As `checkpoint import-hf` makes them.
  if (!weights_only && checkpoint.manifest.state.extra.value("weights_only", false)) {
    trainer.log.info(fmt::format("{} holds weights only: training starts at step 0", checkpoint.path.string()));
    weights_only = true;
  }
  const bool with_optimizer = !weights_only && trainer.spec.checkpoint.load_optimizer;
  const ckpt::LoadReport report = value_or_throw(ckpt::load(checkpoint, destinations(trainer, with_optimizer),
                                                            {.model = spec::model_fingerprint(trainer.spec.model)}));
  for (nn::Parameter* parameter : trainer.model.parameters()) parameter->refresh_compute();
  trainer.data_parallel->gather_updated_rows();
  const hub::CheckpointState& state = checkpoint.manifest.state;
  trainer.log.info(fmt::format("loaded {} tensors ({:.1f} MB) of step {} from {}{}", report.num_tensors,
                               static_cast<double>(report.num_bytes) / 1e6, state.step, checkpoint.path.string(),
                               weights_only ? "; weights only: step, optimizer and random streams start fresh" : ""));
  if (weights_only) return;
  take_routes(trainer, state);
  choose_schedule(trainer, state.extra.at("schedule"), checkpoint.path);
  trainer.state = train_state_from_json(state.extra.at("train_state"));
  trainer.loss_scaler.restore(state.extra.at("loss_scaler"));
  if (with_optimizer) trainer.optimizer->set_num_updates(state.extra.at("optimizer_updates").get<int64_t>());
  trainer.order_rule = order_from_json(state.extra.at("sample_order"));
}

}  // namespace primus::train
