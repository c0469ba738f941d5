// The folder `<run>/checkpoints/`: which checkpoints are there, which one to resume from, which ones to remove.
// Complete ones are `step_<N>/`; `.partial-*`, `.failed-*` and `.trash-*` are what a save or a removal left in the
// middle.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "primus/base/fs.h"
#include "primus/base/result.h"
#include "primus/hub/checkpoint_manifest.h"

namespace primus::hub {

struct CheckpointListing {
  int64_t step = 0;
  fs::path path;
  uint64_t size_bytes = 0;           // of the files that are there
  std::optional<Manifest> manifest;  // nothing when it is missing or damaged
  std::string problem;               // empty: complete (every file is there with its size; contents are not read)

  bool complete() const { return problem.empty(); }
};

fs::path checkpoints_folder(const fs::path& run_folder);  // <run>/checkpoints
std::string step_folder_name(int64_t step);               // "step_120"
// Where a save collects its files until it is complete: ".partial-step_120-<save_id>".
std::string partial_folder_name(int64_t step, const std::string& save_id);

// Every step folder by ascending step. `checkpoints` may be missing: then there are none.
std::vector<CheckpointListing> list_checkpoints(const fs::path& checkpoints);

struct FoundCheckpoint {
  fs::path path;
  Manifest manifest;
};

// The newest complete checkpoint of a run, or nothing when there is none; the notes name every newer one that was
// skipped and why. Never an error: whether "nothing" may start afresh is the caller's decision.
Result<std::optional<FoundCheckpoint>> find_latest(const fs::path& run_folder);

// What the user means by a path: a checkpoint's folder, a folder of step_<N> folders, or a run folder (newest complete
// one). Errors: nothing complete there; names every folder that was tried.
Result<FoundCheckpoint> find_checkpoint(const fs::path& path);

// Called once by one rank before a run reads or writes checkpoints: finishes a save that was complete but not yet
// renamed, removes unfinished saves and removals. Returns what it did, one note each. Throws RunError when it cannot.
Diagnostics clean_checkpoints(const fs::path& checkpoints);

struct Retention {
  int64_t keep_last = 0;   // newest complete checkpoints to keep; 0: all
  int64_t keep_every = 0;  // steps that are multiples of this always stay; 0: none
};
// Removes complete checkpoints older than `saved_step`; never that one, newer ones (of a run that went back) or
// incomplete ones. Returns the removed steps. Throws RunError.
std::vector<int64_t> apply_retention(const fs::path& checkpoints, const Retention& retention, int64_t saved_step);

// Renames the folder to `.trash-...` first, so that a crash in the middle leaves no half checkpoint, then deletes it.
void remove_checkpoint(const fs::path& folder);

}  // namespace primus::hub
