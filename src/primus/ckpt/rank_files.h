// What one rank puts into a checkpoint, and how ranks learn of each other's part without a collective: by files in the
// folder that collects the save. `rank-<r>.json` says that a rank is done; renaming the folder to `.failed-...` says
// that one gave up (a rename works on a full disk, where no message could be written).
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "primus/base/fs.h"
#include "primus/ckpt/shard.h"
#include "primus/hub/checkpoint_manifest.h"

namespace primus::ckpt {

// The folders of one save.
struct SaveFolders {
  SaveFolders(const fs::path& checkpoints, int64_t step, const std::string& save_id);

  fs::path checkpoints;
  fs::path partial;  // collects the files
  fs::path failed;   // what `partial` becomes when a rank gives up
  fs::path final;    // what it becomes when everything is there
};

// Bytes of the shards' data.
uint64_t total_bytes(const std::vector<NamedShard>& shards);

// Writes model-<rank>.safetensors ("model.*") and optimizer-<rank>.safetensors (the rest), checksums computed on the
// way. Returns a partial manifest without state. Throws RunError.
hub::Manifest write_rank_files(const fs::path& folder, int rank, const std::vector<NamedShard>& shards);

void write_report(const SaveFolders& folders, int rank, const hub::Manifest& part);
// Waits for the reports of the ranks 1 .. world_size-1. Throws RunError when a rank gave up or the time is over.
std::vector<hub::Manifest> collect_reports(const SaveFolders& folders, int world_size,
                                           std::chrono::milliseconds timeout);
// Waits until rank 0 has made the checkpoint complete. Throws as above.
void await_commit(const SaveFolders& folders, const std::string& save_id, std::chrono::milliseconds timeout);

// Joins the parts of all ranks; `parts` in rank order. Throws RunError when ranks disagree on a tensor or its shards do
// not fill it exactly once.
hub::Manifest merge_parts(hub::Manifest whole, const std::vector<hub::Manifest>& parts);

// Why a rank gave up this save; empty when none did. Never throws.
std::string reason_of_failure(const SaveFolders& folders) noexcept;

// Tells the other ranks that this one gave up, and frees the space. Never throws.
void abandon(const SaveFolders& folders, int rank, int world_size, const std::string& reason) noexcept;

}  // namespace primus::ckpt
