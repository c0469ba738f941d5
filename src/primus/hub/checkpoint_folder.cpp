#include "primus/hub/checkpoint_folder.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

#include "primus/base/strings.h"
#include "primus/hub/checkpoint_reader.h"

namespace primus::hub {

namespace {

constexpr std::string_view kStepPrefix = "step_";
constexpr std::string_view kPartialPrefix = ".partial-";

std::optional<int64_t> step_of(const std::string& folder_name) {
  if (!folder_name.starts_with(kStepPrefix)) return std::nullopt;
  const std::optional<int64_t> step = parse_int(std::string_view(folder_name).substr(kStepPrefix.size()));
  if (!step || step_folder_name(*step) != folder_name) return std::nullopt;
  return step;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code code;
  for (fs::directory_iterator next(folder, code), end; !code && next != end; next.increment(code))
    paths.push_back(next->path());
  std::ranges::sort(paths);
  return paths;
}

Diagnostic note_at(const fs::path& path, std::string message) {
  Diagnostic note = error_at({path.string()}, std::move(message));
  note.severity = Severity::Note;
  return note;
}

CheckpointListing look_at(const fs::path& folder, int64_t step) {
  CheckpointListing listing{.step = step, .path = folder};
  for (const fs::path& path : entries_of(folder)) {
    std::error_code code;
    const uintmax_t size_bytes = fs::file_size(path, code);
    if (!code) listing.size_bytes += size_bytes;
  }
  std::error_code code;
  if (!fs::exists(folder / kManifestName, code)) {
    listing.problem = fmt::format("incomplete: {} is missing", kManifestName);
    return listing;
  }
  Result<Manifest> manifest = read_manifest(folder);
  if (!manifest) {
    listing.problem = fmt::format("{} is damaged: {}", kManifestName, manifest.diagnostics().front().message);
    return listing;
  }
  listing.problem = missing_files(folder, *manifest);
  if (manifest->state.step != step) listing.problem = fmt::format("the manifest is of step {}", manifest->state.step);
  listing.manifest = std::move(manifest).value();
  return listing;
}

void rename_durably(const fs::path& from, const fs::path& to) {
  fault_point("rename", to);
  std::error_code code;
  fs::rename(from, to, code);
  if (code) throw RunError(fmt::format("cannot rename '{}' to '{}': {}", from.string(), to.string(), code.message()));
  sync_folder(to.parent_path());
}

void delete_tree(const fs::path& folder) {
  std::error_code code;
  const auto remove = [&](const fs::path& path) {
    fault_point("unlink", path);
    fs::remove_all(path, code);
    if (code) throw RunError(fmt::format("cannot remove '{}': {}", path.string(), code.message()));
  };
  if (fs::is_directory(fs::symlink_status(folder, code))) {
    for (const fs::path& path : entries_of(folder)) remove(path);
  }
  remove(folder);
}

}  // namespace

fs::path checkpoints_folder(const fs::path& run_folder) {
  return run_folder / "checkpoints";
}

std::string step_folder_name(int64_t step) {
  return fmt::format("{}{}", kStepPrefix, step);
}

std::string partial_folder_name(int64_t step, const std::string& save_id) {
  return fmt::format("{}{}-{}", kPartialPrefix, step_folder_name(step), save_id);
}

std::vector<CheckpointListing> list_checkpoints(const fs::path& checkpoints) {
  std::vector<CheckpointListing> listings;
  for (const fs::path& path : entries_of(checkpoints)) {
    std::error_code code;
    const std::optional<int64_t> step = step_of(path.filename().string());
    if (step && fs::is_directory(path, code)) listings.push_back(look_at(path, *step));
  }
  std::ranges::sort(listings, {}, &CheckpointListing::step);
  return listings;
}

namespace {

std::optional<FoundCheckpoint> newest_complete(const fs::path& checkpoints, Diagnostics& notes) {
  for (const fs::path& path : entries_of(checkpoints)) {
    if (path.filename().string().starts_with(kPartialPrefix))
      notes.push_back(note_at(path, "skipped: an unfinished save"));
  }
  std::vector<CheckpointListing> listings = list_checkpoints(checkpoints);
  for (auto listing = listings.rbegin(); listing != listings.rend(); ++listing) {
    if (listing->complete()) return FoundCheckpoint{listing->path, std::move(*listing->manifest)};
    notes.push_back(note_at(listing->path, "skipped: " + listing->problem));
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<FoundCheckpoint>> find_latest(const fs::path& run_folder) {
  Diagnostics notes;
  std::optional<FoundCheckpoint> found = newest_complete(checkpoints_folder(run_folder), notes);
  return {std::move(found), std::move(notes)};
}

Result<FoundCheckpoint> find_checkpoint(const fs::path& path) {
  std::error_code code;
  if (fs::exists(path / kManifestName, code)) {
    Result<Manifest> manifest = read_manifest(path);
    if (!manifest) return manifest.diagnostics();
    if (const std::string problem = missing_files(path, *manifest); !problem.empty()) {
      return error_at({path.string()}, "the checkpoint is not complete: " + problem);
    }
    return FoundCheckpoint{path, std::move(manifest).value()};
  }
  Diagnostics notes;
  for (const fs::path& folder : {path, checkpoints_folder(path)}) {
    if (std::optional<FoundCheckpoint> found = newest_complete(folder, notes))
      return {std::move(*found), std::move(notes)};
  }
  Diagnostic finding = error_at({path.string()}, "no complete checkpoint here");
  std::vector<std::string> seen;
  for (const Diagnostic& note : notes) seen.push_back(fmt::format("{} ({})", note.place.file, note.message));
  if (!fs::exists(path, code)) seen.push_back("the folder does not exist");
  finding.found = join(seen, ", ");
  finding.expected = fmt::format("{} in '{}', or folders step_<N> that hold one in '{}' or '{}'", kManifestName,
                                 path.string(), path.string(), checkpoints_folder(path).string());
  return finding;
}

Diagnostics clean_checkpoints(const fs::path& checkpoints) {
  Diagnostics notes;
  for (const fs::path& path : entries_of(checkpoints)) {
    const std::string name = path.filename().string();
    if (name.starts_with(kPartialPrefix)) {
      Result<Manifest> manifest = read_manifest(path);
      if (manifest.ok() && missing_files(path, *manifest).empty()) {
        const fs::path target = checkpoints / step_folder_name(manifest->state.step);
        std::error_code code;
        const bool exists = fs::exists(target, code);
        if (!exists || !look_at(target, manifest->state.step).complete()) {
          if (exists) remove_checkpoint(target);
          rename_durably(path, target);
          notes.push_back(note_at(target, "finished a save that was complete but for its name"));
          continue;
        }
      }
      delete_tree(path);
      notes.push_back(note_at(path, "removed an unfinished save"));
    } else if (name.starts_with(".failed-") || name.starts_with(".trash-")) {
      delete_tree(path);
      notes.push_back(note_at(path, "removed what an earlier run left here"));
    }
  }
  if (!notes.empty()) sync_folder(checkpoints);
  return notes;
}

std::vector<int64_t> apply_retention(const fs::path& checkpoints, const Retention& retention, int64_t saved_step) {
  if (retention.keep_last <= 0) return {};
  std::vector<CheckpointListing> listings = list_checkpoints(checkpoints);
  std::erase_if(listings,
                [&](const CheckpointListing& listing) { return !listing.complete() || listing.step > saved_step; });
  std::vector<int64_t> removed;
  const auto num_old = static_cast<int64_t>(listings.size()) - retention.keep_last;
  for (int64_t i = 0; i < num_old; ++i) {
    const CheckpointListing& listing = listings[static_cast<size_t>(i)];
    if (retention.keep_every > 0 && listing.step % retention.keep_every == 0) continue;
    remove_checkpoint(listing.path);
    removed.push_back(listing.step);
  }
  return removed;
}

void remove_checkpoint(const fs::path& folder) {
  // The clock makes the name new: process ids repeat when containers restart.
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const fs::path trash = folder.parent_path() / fmt::format(".trash-{}-{}", folder.filename().string(), now.count());
  rename_durably(folder, trash);
  delete_tree(trash);
}

}  // namespace primus::hub
