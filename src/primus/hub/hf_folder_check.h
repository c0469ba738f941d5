// Whether a Hugging Face folder is whole: a config.json that is understood, every tensor of the model, no other numbers
// than it should hold.
#pragma once

#include <functional>
#include <string>

#include "primus/base/fs.h"
#include "primus/base/result.h"
#include "primus/hub/hf_weights_source.h"

namespace primus::hub {

// True for a folder with a config.json or Hugging Face weights in it; no file is read.
bool is_hf_folder(const fs::path& folder);

struct HfFolderCheck {
  std::string family;    // empty: config.json was not understood
  LoadReport report;     // empty when the weights did not fit
  Diagnostics findings;  // all of them; warnings leave the folder whole
  bool ok() const { return !has_errors(findings); }
};

// Names, shapes, number formats, index and copies; with `values` also every number: NaN and infinities are findings.
// `progress` gets the bytes of stored tensors looked at so far, and of all.
HfFolderCheck check_hf_folder(const fs::path& folder, bool values = false,
                              const std::function<void(uint64_t, uint64_t)>& progress = {});

}  // namespace primus::hub
