#include "primus/cli/claim_run.h"

#include "primus/base/error.h"
#include "primus/config/dump.h"
#include "primus/hub/checkpoint_folder.h"
#include "primus/hub/checkpoint_manifest.h"
#include "primus/spec/fingerprint.h"

namespace primus::cli {

namespace {

// A checkpoint that cannot be resumed is refused here, before the folder's record of what is run there changes. The
// size of the vocabulary is not known yet: the ranks compare it.
void check_model(const hub::FoundCheckpoint& checkpoint, const spec::Model& model) {
  Json wanted = spec::model_fingerprint(model), found = checkpoint.manifest.state.model;
  wanted.erase("vocab_size");
  found.erase("vocab_size");
  if (const Diagnostics findings = hub::compare_fingerprints(wanted, found, checkpoint.path); !findings.empty())
    throw InputError(findings);
}

}  // namespace

track::RunFolderClaim claim_run(const TrainRequest& request, const ResolvedRun& run) {
  const config::Module& module = run.experiment.main_module();
  track::RunFolderRequest claim;
  claim.folder = run.spec.identity.run_folder;
  claim.overwrite = request.overwrite;
  claim.resume_was_typed = !request.resume.empty();
  if (request.resume == "must") claim.resume = track::Resume::Must;
  if (request.resume == "auto") claim.resume = track::Resume::Auto;
  if (request.resume.empty() && run.spec.checkpoint.resume_by_default) claim.resume = track::Resume::Auto;
  claim.identity = track::identity_of(module.framework, module.model, config::to_json(module.params));
  // Before anything is looked at: cleaning up would remove what a running job is writing.
  const auto lock = std::make_shared<const track::RunFolderLock>(claim.folder);
  const fs::path checkpoints = hub::checkpoints_folder(claim.folder);
  if (fs::exists(checkpoints) && !request.overwrite) hub::clean_checkpoints(checkpoints);
  const auto newest = value_or_throw(hub::find_latest(claim.folder));
  if (newest) claim.newest_checkpoint_step = newest->manifest.state.step;
  // Without --resume on the command line a different experiment is refused as such.
  if (newest && claim.resume_was_typed && claim.resume != track::Resume::Never && !claim.overwrite)
    check_model(*newest, run.spec.model);
  claim.resolved_yaml = config::dump_yaml(run.experiment);
  claim.origins = config::origins_json(run.experiment);
  track::RunFolderClaim claimed = value_or_throw(track::claim_run_folder(claim));
  claimed.lock = lock;
  return claimed;
}

}  // namespace primus::cli
