// Keys that every module of an experiment has, whatever its dialect. Private to the room.
#pragma once

#include "primus/dialect/rows.h"
#include "primus/dialect/translation.h"

namespace primus::dialect {

std::span<const Parameter> module_rows();
// init_from, export_every; sink_level, stderr_sink_level, file_sink_level: names in any case; the first replaces both
// others.
void module_to_spec(Translation& t);

}  // namespace primus::dialect
