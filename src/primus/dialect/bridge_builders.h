// The functions behind the recipes of megatron_bridge. Private to the room.
#pragma once

#include "primus/dialect/bridge.h"

namespace primus::dialect {

extern const BridgeBuilder kLlama3Pretrain;
extern const BridgeBuilder kLlama2Pretrain;
extern const BridgeBuilder kQwen3Pretrain;
extern const BridgeBuilder kQwen3MoePretrain;
extern const BridgeBuilder kQwen3Finetune;
extern const BridgeBuilder kLlama3Finetune;
extern const BridgeBuilder kQwen3MoeFinetune;
extern const BridgeBuilder kMambaPretrain;
extern const BridgeBuilder kMambaFinetune;
extern const BridgeBuilder kZebraFinetune;
extern const BridgeBuilder kZebraPretrain;
extern const BridgeBuilder kMlperf;

}  // namespace primus::dialect
