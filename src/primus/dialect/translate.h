// The same run in the words of another dialect, as far as the meaning allows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "primus/base/result.h"
#include "primus/config/load.h"
#include "primus/dialect/export.h"

namespace primus::dialect {

struct Translated {
  config::Experiment experiment;        // complete: its `params` need no presets
  std::vector<NotCarried> not_carried;  // fields of the run whose value the other dialect cannot have
  std::vector<std::string> notes;
};

// Errors: what is wrong with the experiment; a framework that does not exist; an architecture that the other dialect
// cannot express, with the fields that would be lost. The result is translated to a run again and compared: what
// differs is in not_carried.
Result<Translated> translate_experiment(const config::Experiment& experiment, std::string_view module_name,
                                        std::string_view framework);

}  // namespace primus::dialect
