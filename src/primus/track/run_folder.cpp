#include "primus/track/run_folder.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "primus/base/strings.h"

namespace primus::track {

namespace {

constexpr const char* kIdentityFile = "config/identity.json";

// A key that starts with one of these says how a run is watched, saved or sped up, not what is trained.
constexpr std::array kVolatile = {"train_iters",
                                  "train_samples",
                                  "exit_",
                                  "log_",
                                  "tensorboard",
                                  "disable_tensorboard",
                                  "wandb",
                                  "disable_wandb",
                                  "mlflow",
                                  "disable_mlflow",
                                  "save",
                                  "load",
                                  "finetune",
                                  "auto_continue_train",
                                  "disable_last_saving",
                                  "keep_last",
                                  "eval_",
                                  "ckpt_",
                                  "async_save",
                                  "overlap_",
                                  "num_workers",
                                  "file_sink_level",
                                  "stderr_sink_level",
                                  "sink_level",
                                  "use_rocm_mem_info",
                                  "profile",
                                  "torch_profiler",
                                  "distributed_timeout_minutes",
                                  "timing_",
                                  "use_distributed_optimizer",
                                  "override_opt_param_scheduler",
                                  "use_checkpoint_opt_param_scheduler",
                                  "exit_on_missing_checkpoint",
                                  "iterations_to_skip",
                                  "check_for_nan",
                                  "manual_gc",
                                  "recompute_",
                                  "dataloader_mp_context",
                                  "data_cache_path",
                                  "prepare_data",
                                  "init_from",
                                  "export_every"};

bool may_change(const std::string& key) {
  return std::any_of(kVolatile.begin(), kVolatile.end(), [&](const char* start) { return key.starts_with(start); });
}

std::vector<std::string> differences(const Json& before, const Json& now) {
  std::vector<std::string> lines;
  const auto text = [](const Json& map, const std::string& key) {
    return map.contains(key) ? map[key].dump() : "not set";
  };
  for (const auto& [key, value] : now.items()) {
    if (!before.contains(key) || before[key] != value) {
      lines.push_back(fmt::format("{}: {} before, {} now", key, text(before, key), value.dump()));
    }
  }
  for (const auto& [key, value] : before.items()) {
    if (!now.contains(key)) lines.push_back(fmt::format("{}: {} before, not set now", key, value.dump()));
  }
  return lines;
}

std::string first_lines(const std::vector<std::string>& lines, size_t most = 6) {
  std::vector<std::string> shown(lines.begin(),
                                 lines.begin() + static_cast<std::ptrdiff_t>(std::min(most, lines.size())));
  if (lines.size() > most) shown.push_back(fmt::format("and {} more", lines.size() - most));
  return join(shown, "; ");
}

Diagnostic refusal(const RunFolderRequest& request, std::string message, std::string found, std::string suggestion) {
  Diagnostic error = error_at({request.folder.string()}, std::move(message));
  error.found = std::move(found);
  error.suggestion = std::move(suggestion);
  return error;
}

// Everything of an earlier run but its own earlier ones and what the launcher has open, into previous/<n>/.
std::string move_aside(const fs::path& folder, const std::vector<std::string>& names) {
  int number = 1;
  while (fs::exists(folder / "previous" / std::to_string(number))) ++number;
  const fs::path target = folder / "previous" / std::to_string(number);
  create_folders(target);
  for (const std::string& name : names) {
    if (!fs::exists(folder / name)) continue;
    std::error_code code;
    fs::rename(folder / name, target / name, code);
    if (code)
      throw RunError(
          fmt::format("cannot move '{}' to '{}': {}", (folder / name).string(), target.string(), code.message()));
  }
  return target.string();
}

std::vector<std::string> all_entries(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename() != "previous") names.push_back(entry.path().filename().string());
  }
  return names;
}

void write_record(const RunFolderRequest& request) {
  create_folders(request.folder / "config");
  write_file_atomic(request.folder / "config/resolved.yaml", request.resolved_yaml);
  write_file_atomic(request.folder / "config/origin.json", dump_json(request.origins, 1) + "\n");
  write_file_atomic(request.folder / kIdentityFile, dump_json(request.identity, 1) + "\n");
}

Diagnostics check_writable(const RunFolderRequest& request) {
  std::error_code code;
  fs::create_directories(request.folder, code);
  if (!code) {
    try {
      write_file_atomic(request.folder / ".writable", "");
      fs::remove(request.folder / ".writable", code);
      return {};
    } catch (const RunError& error) {
      return {
          refusal(request, "the run folder cannot be written", error.what(), "choose another place: workspace=DIR")};
    }
  }
  return {refusal(request, "the run folder cannot be created", code.message(), "choose another place: workspace=DIR")};
}

// What an earlier run left, and whether it is this experiment.
struct Earlier {
  bool exists = false;
  bool has_results = false;  // steps or checkpoints; a start that was refused leaves none
  std::vector<std::string> differences;
};

Earlier look_at_earlier_run(const RunFolderRequest& request) {
  Earlier earlier;
  const fs::path record = request.folder / kIdentityFile;
  std::error_code code;
  const auto metrics_bytes = fs::file_size(request.folder / "metrics.jsonl", code);
  earlier.has_results = (!code && metrics_bytes > 0) || request.newest_checkpoint_step.has_value();
  earlier.exists =
      fs::exists(record) || fs::exists(request.folder / "metrics.jsonl") || request.newest_checkpoint_step.has_value();
  if (!fs::exists(record)) return earlier;
  const Result<std::string> text = read_text_file(record);
  if (!text.ok()) return earlier;
  const Result<Json> before = parse_json(*text, record.string());
  if (before.ok()) earlier.differences = differences(*before, request.identity);
  return earlier;
}

constexpr const char* kWaysOut =
    "continue it with --resume auto, start elsewhere with --exp_name NAME, or move it aside with --overwrite";

}  // namespace

Json identity_of(const std::string& framework, const std::string& model_file, const Json& params) {
  Json identity = {{"framework", framework}, {"model", model_file}};
  for (const auto& [key, value] : params.items()) {
    if (key != "model" && !may_change(key)) identity[key] = value;
  }
  return identity;
}

Result<RunFolderClaim> claim_run_folder(const RunFolderRequest& request) {
  RunFolderClaim claim;
  const Earlier earlier = fs::exists(request.folder) ? look_at_earlier_run(request) : Earlier{};
  if (request.resume == Resume::Must && (!request.newest_checkpoint_step || request.overwrite)) {
    return refusal(
        request, "--resume must, but there is no complete checkpoint to resume", "",
        "leave --resume out to start afresh, or look with: checkpoint list --run " + request.folder.string());
  }
  const bool wants_resume = request.resume != Resume::Never && request.newest_checkpoint_step && !request.overwrite;
  if (earlier.exists && !request.overwrite) {
    if (!earlier.differences.empty() && earlier.has_results && !(wants_resume && request.resume_was_typed)) {
      return refusal(request, "this folder holds a run of a different experiment", first_lines(earlier.differences),
                     kWaysOut);
    }
    if (request.newest_checkpoint_step && !wants_resume) {
      return refusal(request,
                     "this folder holds checkpoints of this experiment, and a fresh start would overwrite them",
                     fmt::format("step {}", *request.newest_checkpoint_step), kWaysOut);
    }
  }
  if (Diagnostics problems = check_writable(request); !problems.empty()) return problems;
  if (earlier.exists && request.overwrite) {
    claim.notes.push_back("--overwrite: the earlier run was moved to " +
                          move_aside(request.folder, all_entries(request.folder)));
  } else if (wants_resume) {
    claim.resume = true;
    claim.notes.push_back(
        fmt::format("resuming from step {} in {}", *request.newest_checkpoint_step, request.folder.string()));
    if (!earlier.differences.empty()) claim.notes.push_back("changed since: " + first_lines(earlier.differences, 20));
  } else if (earlier.exists) {
    claim.notes.push_back("an earlier run left no checkpoint to resume; its metrics and logs were moved to " +
                          move_aside(request.folder, all_entries(request.folder)));
  } else if (request.resume == Resume::Auto) {
    claim.notes.push_back("nothing to resume in " + request.folder.string() + ": a fresh start");
  }
  write_record(request);
  return claim;
}

}  // namespace primus::track
