// Saving: every rank writes the files of its own shards; rank 0 adds the manifest when all have reported. The ranks
// agree through small files in the checkpoint's folder, so a save in the background never meets the trainer's
// collectives.
#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include "primus/base/diagnostic.h"
#include "primus/base/fs.h"
#include "primus/ckpt/shard.h"
#include "primus/hub/checkpoint_folder.h"

namespace primus::ckpt {

struct WriterOptions {
  fs::path checkpoints;  // <run>/checkpoints, the same folder on every rank
  int rank = 0;
  int world_size = 1;
  std::string session;        // equal on all ranks, different at every start of the job; may be empty in a world of one
  bool in_background = true;  // false: save() returns when the checkpoint is complete
  hub::Retention retention;   // applied by rank 0 after each complete save
  std::chrono::milliseconds rank_timeout = std::chrono::minutes(10);  // longest wait for another rank's files
};

struct SaveRequest {
  hub::CheckpointState state;
  std::vector<NamedShard> shards;  // of this rank; over all ranks they must fill every tensor exactly once
};

struct SaveReport {
  int64_t step = -1;
  double seconds = 0;  // from the start of the writing to the durable manifest
  uint64_t bytes = 0;  // written by this rank
  Diagnostics notes;   // checkpoints that retention removed or could not remove
};

class Writer {
 public:
  // Throws InternalError for a bad rank or a missing session.
  explicit Writer(WriterOptions options);
  // Waits for a running save; its failure is lost here, so call wait() before.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Saves into <checkpoints>/step_<N>. Every rank calls it for the same steps in the same order. In the background:
  // waits for the save before, copies the shards to buffers that are reused (cost: bytes / memory bandwidth), starts
  // one thread. Throws RunError when this save (not in the background) or the one before failed on any rank; the older
  // checkpoints are untouched then, and the message says what was needed and free on the disk.
  void save(const SaveRequest& request);

  // Makes the buffers of background saves now, so that the first one is as quick as the others.
  void reserve(const std::vector<NamedShard>& shards);

  // Joins the running save. When it returns, the checkpoint is complete on all ranks. Throws RunError as above.
  void wait();
  // True while a save runs in the background.
  bool busy() const;

  // Of the newest save that save() or wait() saw end well.
  const SaveReport& last_report() const { return last_report_; }

 private:
  std::vector<NamedShard> snapshot(const std::vector<NamedShard>& shards);

  WriterOptions options_;
  int64_t num_saves_ = 0;
  std::vector<at::Tensor> staging_;  // one buffer a shard
  std::future<SaveReport> running_;
  SaveReport last_report_;
};

}  // namespace primus::ckpt
