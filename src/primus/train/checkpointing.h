// Parameters, optimizer state and counters as named shards of a checkpoint, and back.
#pragma once

#include <vector>

#include "primus/ckpt/loader.h"
#include "primus/ckpt/writer.h"
#include "primus/train/trainer.h"

namespace primus::train {

// This rank's part: the owned rows of every master ("master.<piece>") and of every optimizer state tensor
// ("optimizer.<state>.<piece>"), by piece, unfused.
std::vector<ckpt::NamedShard> shards_of(Trainer& trainer);

ckpt::SaveRequest save_request(Trainer& trainer);

// Restores weights, optimizer state and counters. weights_only: step 0, fresh optimizer ("finetune").
// Errors: InputError naming what does not fit.
void restore(Trainer& trainer, const hub::FoundCheckpoint& checkpoint, bool weights_only);

}  // namespace primus::train
