#include "primus/launch/upstream.h"

#include <algorithm>
#include <unistd.h>

#include "primus/base/error.h"
#include "primus/base/strings.h"

namespace primus::launch {
namespace {

std::string value_of(const Environment& environment, const char* name) {
  return environment(name).value_or("");
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

std::string find_python(const Environment& environment) {
  if (const std::string given = value_of(environment, "PRIMUS_PYTHON"); !given.empty()) return given;
  if (const std::string venv = value_of(environment, "VIRTUAL_ENV"); !venv.empty())
    if (const fs::path inside = fs::path(venv) / "bin" / "python"; is_file(inside)) return inside.string();
  for (const std::string& folder : split(value_of(environment, "PATH"), ':'))
    for (const char* name : {"python3", "python"})
      if (const fs::path inside = fs::path(folder) / name; !folder.empty() && ::access(inside.c_str(), X_OK) == 0)
        return inside.string();
  return "python3";
}

// Folders named `name` below folders like lib/python3.11, in order.
void add_versions(const fs::path& lib, const char* name, std::vector<fs::path>& roots) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(lib, error))
    if (entry.path().filename().string().starts_with("python3") && fs::is_directory(entry.path() / name, error))
      found.push_back(entry.path() / name);
  std::sort(found.begin(), found.end());
  roots.insert(roots.end(), found.begin(), found.end());
}

// Where the interpreter would import from.
std::vector<fs::path> import_roots(const std::string& python, const Environment& environment) {
  std::vector<fs::path> roots;
  for (const std::string& folder : split(value_of(environment, "PYTHONPATH"), ':'))
    if (!folder.empty()) roots.emplace_back(folder);
  const fs::path prefix = fs::path(python).parent_path().parent_path();
  for (const char* name : {"site-packages", "dist-packages"}) {
    if (prefix == "/usr") add_versions("/usr/local/lib", name, roots);
    if (!prefix.empty()) add_versions(prefix / "lib", name, roots);
  }
  return roots;
}

const TrainerEntry* entry_below(const fs::path& root, const TrainerRequest& request) {
  for (const TrainerEntry& entry : request.entries)
    if (is_file(root / entry.marker)) return &entry;
  return nullptr;
}

[[noreturn]] void nothing_found(const TrainerRequest& request, const std::vector<std::string>& places,
                                const std::string& python, const std::string& advice) {
  std::vector<std::string> markers;
  for (const TrainerEntry& entry : request.entries) markers.push_back(entry.marker);
  throw MissingPartError(
      request.name + " is not on this machine: no " + join(markers, " or ") + " in " +
      (places.empty() ? "the package folders of " + python + ", of which none was found" : join(places, ", ")) +
      "\n  " + advice);
}

// A script lies in its tree, not in the folder of the run.
void set_program(Trainer& trainer, const TrainerEntry& entry) {
  trainer.program = entry.program;
  if (trainer.program.size() == 1 && trainer.program[0] == entry.marker)
    trainer.program[0] = (trainer.import_root / entry.marker).string();
}

}  // namespace

Trainer expected_trainer(const TrainerRequest& request, const Environment& environment) {
  Trainer trainer;
  trainer.python = find_python(environment);
  std::string folder = request.name;
  std::replace(folder.begin(), folder.end(), ' ', '-');
  trainer.import_root = fs::path("/path/to") / folder;
  trainer.found_by = "not on this machine";
  set_program(trainer, request.entries.front());
  return trainer;
}

Trainer find_trainer(const TrainerRequest& request, const Environment& environment) {
  Trainer trainer;
  trainer.python = find_python(environment);
  std::vector<fs::path> roots;
  const std::string from_environment = value_of(environment, "BACKEND_PATH");
  const std::string given = request.backend_path.empty() ? from_environment : request.backend_path;
  trainer.found_by = !request.backend_path.empty() ? "--backend_path"
                     : !from_environment.empty()   ? "BACKEND_PATH"
                                                   : "installed package";
  if (given.empty())
    roots = import_roots(trainer.python, environment);
  else
    for (const fs::path& below : {fs::path(given), fs::path(given) / "src"}) roots.push_back(below);
  std::vector<std::string> places;
  for (const fs::path& root : roots) {
    places.push_back(root.string());
    const TrainerEntry* entry = entry_below(root, request);
    if (entry == nullptr) continue;
    std::error_code error;
    trainer.import_root = fs::absolute(root, error).lexically_normal();
    set_program(trainer, *entry);
    return trainer;
  }
  nothing_found(request, places, trainer.python,
                given.empty()
                    ? "give its source tree with --backend_path DIR or BACKEND_PATH, or install the package '" +
                          request.package + "' for " + trainer.python
                    : trainer.found_by + " must name the tree of " + request.name);
}

UpstreamCommand upstream_command(const Trainer& trainer, const std::vector<std::string>& program_and_arguments,
                                 const World& world, bool by_torchrun, const Environment& environment) {
  const std::string port = world.master_port ? std::to_string(*world.master_port) : "0";
  UpstreamCommand command;
  command.arguments = {trainer.python};
  if (by_torchrun) {
    for (const std::string& word : std::vector<std::string>{
             "-m", "torch.distributed.run", "--nproc_per_node", std::to_string(world.ranks_per_node), "--nnodes",
             std::to_string(world.num_nodes), "--node_rank", std::to_string(world.node_rank), "--master_addr",
             world.master_address, "--master_port", port})
      command.arguments.push_back(word);
  }
  command.arguments.insert(command.arguments.end(), program_and_arguments.begin(), program_and_arguments.end());
  const std::string inherited = value_of(environment, "PYTHONPATH");
  command.environment = {
      {"PYTHONPATH", trainer.import_root.string() + (inherited.empty() ? "" : ":" + inherited)},
      {"NNODES", std::to_string(world.num_nodes)},
      {"NODE_RANK", std::to_string(world.node_rank)},
      {"GPUS_PER_NODE", std::to_string(world.ranks_per_node)},
      {"MASTER_ADDR", world.master_address},
      {"MASTER_PORT", port},
  };
  if (!by_torchrun && world.num_nodes > 1) {
    command.environment.emplace_back("JAX_COORDINATOR_IP", world.master_address);
    command.environment.emplace_back("JAX_COORDINATOR_PORT", port);
  }
  return command;
}

}  // namespace primus::launch
