// A proxy as an experiment file of its own: the experiment that it shrinks, and the keys that change.
#pragma once

#include <string>
#include <vector>

#include "primus/config/override.h"
#include "primus/dialect/proxy.h"

namespace primus::dialect {

struct ProxyFile {
  std::string source;                   // the experiment, as typed
  std::string output;                   // the file that will hold the text, as typed: `extends` leads from its folder
  std::string command;                  // what makes the file again, for its head
  std::vector<config::Override> given;  // further keys that the command line changes, as they were typed
};

// The file's text. It extends the experiment, and loads to what apply_proxy makes of it, except for its name, which
// gives it a run folder of its own. `experiment`: as loaded with `given`, not yet shrunk.
// Errors: as apply_proxy.
Result<std::string> proxy_file(const config::Experiment& experiment, const ProxyFile& file,
                               const ProxyOptions& options = {});

}  // namespace primus::dialect
