// Parameters, optimizer state and counters as named shards of a checkpoint, and back.
#pragma once

#include <vector>

#include "primus/ckpt/loader.h"
#include "primus/ckpt/writer.h"
#include "primus/train/trainer.h"

namespace primus::train {

// This rank's part: the owned rows of every master ("master.<piece>") and of every optimizer state tensor
// ("optimizer.<state>.<piece>"), by piece, unfused; from rank 0 the buffers ("buffer.<name>").
std::vector<ckpt::NamedShard> shards_of(Trainer& trainer);

ckpt::SaveRequest save_request(Trainer& trainer);

// Owned rows of the masters and all buffers, named as above.
std::vector<ckpt::NamedShard> weight_shards(models::Decoder& model);
// Fills them from a checkpoint of the same model. Throws InputError naming what does not fit.
void read_weights(models::Decoder& model, const hub::FoundCheckpoint& checkpoint);

// Restores weights, optimizer state and counters. weights_only: step 0, fresh optimizer ("finetune").
// Errors: InputError naming what does not fit.
void restore(Trainer& trainer, const hub::FoundCheckpoint& checkpoint, bool weights_only);

}  // namespace primus::train
