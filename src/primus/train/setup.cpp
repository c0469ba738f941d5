#include "primus/train/setup.h"

#include <fmt/format.h>

#include "primus/base/fs.h"
#include "primus/base/json.h"
#include "primus/kernels/probe.h"
#include "primus/tensor/runtime.h"
#include "primus/train/checkpointing.h"
#include "primus/train/hf_weights.h"

namespace primus::train {

namespace {

void log_all(Logger& log, const Diagnostics& findings) {
  for (const Diagnostic& finding : findings) {
    log.log(finding.severity == Severity::Warning ? LogLevel::Warning : LogLevel::Info, render(finding));
  }
}

// The measured choice is kept beside the one for products, so that every start on this machine computes the same bits.
kernels::AttentionRoute chosen_attention_route(const fs::path& cache_file) {
  const tensor::CpuFeatures& cpu = tensor::cpu_features();
  const std::string key =
      fmt::format("{} [{}], {}, {} threads", cpu.model, cpu.to_string(), tensor::versions(), tensor::num_threads());
  Json all = Json::object();
  if (const Result<std::string> text = read_text_file(cache_file); text.ok()) {
    const Result<Json> stored = parse_json(*text, cache_file.string());
    if (stored.ok() && stored->is_object()) all = *stored;
  }
  if (all.contains(key) && all[key].is_string()) {
    const Result<kernels::AttentionRoute> route = kernels::AttentionRoute::parse(all[key].get<std::string>());
    if (route.ok()) return *route;
  }
  const kernels::AttentionRoute route = kernels::choose_attention_route();
  if (cache_file.empty()) return route;
  all[key] = route.to_string();
  try {
    create_folders(cache_file.parent_path());
    write_file_atomic(cache_file, dump_json(all, 2) + "\n");
  } catch (const RunError&) {
    return route;  // the cache for products has said already that the folder cannot be written
  }
  return route;
}

nn::Routes chosen_routes(Logger& log, const fs::path& cache_folder, const std::string& pinned_route) {
  nn::Routes routes;
  if (!pinned_route.empty()) {
    routes.gemm = value_or_throw(kernels::GemmRoute::parse(pinned_route));
    return routes;
  }
  const kernels::GemmChoice choice =
      kernels::choose_gemm_route(cache_folder.empty() ? fs::path() : cache_folder / "gemm-route.json");
  if (!choice.note.empty()) log.info(choice.note);
  routes.gemm = choice.route;
  routes.attention = chosen_attention_route(cache_folder.empty() ? fs::path() : cache_folder / "attention-route.json");
  return routes;
}

Result<hub::FoundCheckpoint> find_load(const spec::Checkpoint& rule) {
  const fs::path folder = rule.load_folder;
  if (!rule.load_step) return hub::find_checkpoint(folder);
  const std::string step = hub::step_folder_name(*rule.load_step);
  const fs::path below = hub::checkpoints_folder(folder) / step;
  return hub::find_checkpoint(fs::exists(below) ? below : folder / step);
}

}  // namespace

std::optional<double> measured_peak(spec::Dtype dtype) {
  if (dtype == spec::Dtype::Float16) return std::nullopt;
  const auto type = dtype == spec::Dtype::BFloat16 ? kernels::ProbeType::BFloat16 : kernels::ProbeType::Float32;
  const std::optional<double> gflops = kernels::measure_peak(type);
  return gflops ? std::optional(*gflops * 1e9) : std::nullopt;
}

Machine prepare_machine(dist::Group& world, Logger& log, const spec::RunSpec& spec, const fs::path& cache_folder,
                        const std::string& pinned_route) {
  Machine machine;
  machine.num_threads = tensor::num_threads();
  std::string mine;
  if (world.rank() == 0) {
    const nn::Routes routes = chosen_routes(log, cache_folder, pinned_route);
    mine = routes.gemm.to_string() + ";" + routes.attention.to_string();
  }
  const std::string chosen = world.all_gather_text(mine).front();
  const size_t middle = chosen.find(';');
  machine.routes.gemm = value_or_throw(kernels::GemmRoute::parse(chosen.substr(0, middle)));
  machine.routes.attention = value_or_throw(kernels::AttentionRoute::parse(chosen.substr(middle + 1)));
  machine.peak_flops = measured_peak(spec.precision.compute);
  if (spec.precision.compute == spec::Dtype::Float16) {
    log.warning(
        "fp16 products run in software on CPUs and can be ten times slower than bf16; bf16: true needs no loss "
        "scaling");
  }
  return machine;
}

void open_data(Trainer& trainer) {
  const spec::RunSpec& spec = trainer.spec;
  const auto open = [&] {
    const int64_t eod = trainer.tokenizer ? trainer.tokenizer->special().eod.value_or(-1) : -1;
    Result<data::Datasets> opened =
        data::open_datasets(spec, eod, spec.model.vocab_size, data::split_sizes(spec, data::train_samples(spec)),
                            {.tokenizer = trainer.tokenizer.get()});
    if (trainer.group.rank() == 0) log_all(trainer.log, opened.ok() ? opened.diagnostics() : Diagnostics{});
    data::Datasets sets = value_or_throw(std::move(opened));
    trainer.train_data = std::move(sets.train);
    trainer.valid_data = std::move(sets.valid);
    trainer.test_data = std::move(sets.test);
  };
  if (trainer.group.rank() == 0) open();
  trainer.group.barrier();
  if (trainer.group.rank() != 0) open();
  // One order for every layout: megatron's with one rank.
  trainer.order_rule = data::order_rule(spec, 1);
}

Start find_start(const spec::RunSpec& spec, bool resume, Logger& log) {
  Start start;
  if (resume) {
    Result<std::optional<hub::FoundCheckpoint>> found = hub::find_latest(spec.identity.run_folder);
    log_all(log, found.diagnostics());
    start.resume = value_or_throw(std::move(found));
  }
  if (start.resume && !spec.checkpoint.init_from.empty())
    log.info(
        fmt::format("init_from: {} is not read: the run goes on from its own checkpoint", spec.checkpoint.init_from));
  if (!start.resume && !spec.checkpoint.load_folder.empty()) {
    Result<hub::FoundCheckpoint> found = find_load(spec.checkpoint);
    if (!found.ok() && !spec.checkpoint.missing_load_is_error) {
      log.warning(fmt::format(
          "load: {}: no complete checkpoint there; weights start fresh, as exit_on_missing_checkpoint: false allows",
          spec.checkpoint.load_folder));
      return start;
    }
    start.load = value_or_throw(std::move(found));
  }
  return start;
}

void apply_start(Trainer& trainer, const Start& start) {
  if (start.resume) {
    restore(trainer, *start.resume, /*weights_only=*/false);
  } else if (start.load) {
    restore(trainer, *start.load, trainer.spec.checkpoint.load_weights_only);
  } else if (start.init) {
    read_hf_weights(trainer.model, *start.init);
    trainer.data_parallel->gather_updated_rows();
    trainer.log.info(fmt::format("weights from {}: {}; step, optimizer and random streams start fresh",
                                 trainer.spec.checkpoint.init_from, start.init->report().summary()));
  } else {
    trainer.log.info(fmt::format("fresh weights from seed {}", trainer.spec.seed));
  }
}

}  // namespace primus::train
