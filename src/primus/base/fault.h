// Faults on purpose, for tests of whole programs: the process ends, or the disk is full, at a chosen step of a write.
#pragma once

#include "primus/base/env.h"

namespace primus {

// Reads PRIMUS_FAULT=<n>[:kill|:enospc][:<text>] and arms fault_point (fs.h): at the n-th step (from 1) whose path
// holds <text> the process is ended by SIGKILL (the default), or that step and every later one of this kind fails as on
// a full disk. For tests only; unset: nothing happens. Throws InputError when the variable makes no sense.
void install_fault_from_environment(const Environment& environment);

}  // namespace primus
