// The command line of `train`: what the launcher reads itself, and what it passes on to every rank as it was typed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "primus/cli/command.h"

namespace primus::cli {

struct TrainRequest {
  std::string config;             // --config F
  std::optional<int> nproc;       // --nproc N
  std::string resume;             // --resume auto|never|must; empty: the experiment decides
  std::string init_from;          // --init-from DIR; also the last of the overrides, absolute
  std::string presets;            // --presets DIR; empty: the built-in ones
  std::string format = "text";    // of --dry-run
  std::string engine = "native";  // --engine native|upstream
  std::string backend_path;       // --backend_path DIR, of --engine upstream
  std::string stage = "pretrain";
  bool dry_run = false;
  bool overwrite = false;
  bool proxy = false;
  bool allow_precision_fallback = false;  // fp8 and fp4, which are not built, become bf16
  std::vector<std::string> overrides;     // in order, as typed
  std::vector<std::string> for_ranks;     // all arguments but --nproc, --dry-run and --format, byte by byte
};

// Nothing when --help was asked for and printed. Throws InputError.
std::optional<TrainRequest> read_train_request(Context& context);

}  // namespace primus::cli
