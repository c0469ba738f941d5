// Where an upstream trainer lies on this machine, and the command that starts it. Nothing here starts a process.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "primus/base/env.h"
#include "primus/base/fs.h"
#include "primus/launch/world.h"

namespace primus::launch {

// One way in which a trainer is started: `marker`, relative to an import root, tells that it is there.
struct TrainerEntry {
  std::string marker;                // "torchtitan/train.py"
  std::vector<std::string> program;  // {"-m", "torchtitan.train"}; a lone "x.py" that equals the marker is run by path
};

struct TrainerRequest {
  std::string name;                   // "TorchTitan": for messages
  std::string package;                // what to install or clone: "torchtitan"
  std::vector<TrainerEntry> entries;  // tried in this order
  std::string backend_path;           // --backend_path; empty: not given
};

struct Trainer {
  std::string python;                // the interpreter
  fs::path import_root;              // goes in front of PYTHONPATH
  std::vector<std::string> program;  // of the entry that was found
  std::string found_by;              // "--backend_path", "BACKEND_PATH" or "installed package"
};

// --backend_path, else BACKEND_PATH, else the packages of the interpreter (PRIMUS_PYTHON, VIRTUAL_ENV, or python3 of
// PATH) and PYTHONPATH. A path that is given is the only place. Throws MissingPartError with every place looked at.
Trainer find_trainer(const TrainerRequest& request, const Environment& environment);

// What it would be on a machine that has it: a tree in /path/to/<name>. For dry runs.
Trainer expected_trainer(const TrainerRequest& request, const Environment& environment);

// How the ranks of this node are started: torchrun with the node variables, or one process (jax).
struct UpstreamCommand {
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
};
UpstreamCommand upstream_command(const Trainer& trainer, const std::vector<std::string>& program_and_arguments,
                                 const World& world, bool by_torchrun, const Environment& environment);

}  // namespace primus::launch
