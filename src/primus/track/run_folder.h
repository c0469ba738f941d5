// One folder per run, never mixed up: who may start in it, what is continued, and what is moved aside first.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "primus/base/fs.h"
#include "primus/base/json.h"
#include "primus/base/result.h"
#include "primus/track/run_folder_lock.h"

namespace primus::track {

enum class Resume { Never, Auto, Must };

struct RunFolderRequest {
  fs::path folder;
  Resume resume = Resume::Never;
  bool resume_was_typed = false;  // --resume on the command line: differences are the user's wish, and only reported
  bool overwrite = false;
  Json identity = Json::object();                 // parameter -> value: what makes two experiments the same
  std::optional<int64_t> newest_checkpoint_step;  // complete ones in this folder
  std::string resolved_yaml;                      // config/resolved.yaml
  Json origins = Json::object();                  // config/origin.json
};

struct RunFolderClaim {
  bool resume = false;                        // the newest checkpoint is to be continued
  std::vector<std::string> notes;             // one sentence each: what was found, moved, continued
  std::shared_ptr<const RunFolderLock> lock;  // to be kept until the job ends; set by who locks before claiming
};

// Decides, moves an earlier run's files to previous/<n>/ where the rules say so, and writes config/. One process per
// run calls it. Errors (nothing is changed then): a different experiment, or checkpoints that are not to be resumed,
// both with the ways out; --resume must without a checkpoint; a folder that cannot be written.
Result<RunFolderClaim> claim_run_folder(const RunFolderRequest& request);

// `params` without what may change between two starts of one run: its length, logging, saving, evaluation, overlap,
// threads.
Json identity_of(const std::string& framework, const std::string& model_file, const Json& params);

}  // namespace primus::track
