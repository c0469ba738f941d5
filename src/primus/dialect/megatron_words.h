// What the megatron and megatron_bridge dialects read alike. Private to the room.
#pragma once

#include <string>
#include <vector>

#include "primus/dialect/translation.h"

namespace primus::dialect {

// Words of lr_decay_style and lr_wsd_decay_style; an unknown one was reported with its row and reads as the default.
spec::LrDecay lr_decay_style(const std::string& word);
spec::WsdDecay wsd_decay_style(const std::string& word);
const char* lr_decay_word(spec::LrDecay decay);

// [p1 p2 ...] or [w1 p1 w2 p2 ...]: an odd number of words or a first word that is no number means no weights.
spec::DataBlend data_blend(Translation& t, const char* key, const std::vector<std::string>& words);

}  // namespace primus::dialect
