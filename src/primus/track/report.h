// report.html: one self-contained page about a run.
#pragma once

#include "primus/base/fs.h"

namespace primus::track {

// Reads config/ and metrics.jsonl of a run folder and writes report.html beside them: curves of loss, validation loss,
// learning rate, gradient norm, throughput and memory as inline SVG, header facts, a link to the resolved
// configuration. No network, readable on a phone and in dark mode. Throws RunError when the folder holds no run.
fs::path write_report(const fs::path& run_folder);

}  // namespace primus::track
