// What is said about final values that are not what their file suggests.
#pragma once

#include "primus/base/diagnostic.h"
#include "primus/config/value.h"

namespace primus::config {

// A warning for a number that YAML 1.1 reads as octal or to the base of sixty; a note for a model preset's value that
// lost against a different one of the module preset.
void note_surprises(const MapEntry& parameter, Diagnostics& diagnostics);

}  // namespace primus::config
