// What this program was built from and with: for --version and doctor.
#pragma once

#include <optional>
#include <string>

#include "primus/cli/command.h"

namespace primus::cli {

const char* version();        // "0.1.0"
std::string compiler_name();  // "g++ 12.2.0"

// The folder with torch's include/ and lib/ that the build was configured with; empty for a build without torch.
fs::path configured_torch_root();

// "2.15.0" from a torch folder's own version header; nothing when there is none.
std::optional<std::string> torch_version(const fs::path& torch_root);

// Three lines: version, compiler, torch.
std::string version_text(const Context& context);

}  // namespace primus::cli
