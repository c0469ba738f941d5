#include "primus/base/fault.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <unistd.h>

#include "primus/base/error.h"
#include "primus/base/fs.h"
#include "primus/base/strings.h"

namespace primus {

namespace {

struct Fault {
  int64_t step = 1;
  bool disk_full = false;
  std::string path_part;
};

Fault read_fault(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  const auto step = parse_int(parts.front());
  const std::string kind = parts.size() > 1 ? parts[1] : "kill";
  if (!step || *step < 1 || (kind != "kill" && kind != "enospc") || parts.size() > 3) {
    Diagnostic error = error_at({"environment"}, "PRIMUS_FAULT is not usable");
    error.found = "'" + printable_ascii(text) + "'";
    error.expected = "<n>[:kill|:enospc][:<part of a path>], n from 1";
    throw InputError(error);
  }
  return {.step = *step, .disk_full = kind == "enospc", .path_part = parts.size() > 2 ? parts[2] : ""};
}

}  // namespace

void install_fault_from_environment(const Environment& environment) {
  const auto text = environment("PRIMUS_FAULT");
  if (!text || text->empty()) return;
  // Shared: the hook is copied, and background writers call it too.
  const auto steps_left = std::make_shared<std::atomic<int64_t>>(0);
  const Fault fault = read_fault(*text);
  *steps_left = fault.step;
  set_fault_hook([fault, steps_left](std::string_view step, const fs::path& path) {
    if (path.string().find(fault.path_part) == std::string::npos) return;
    if (--*steps_left > 0) return;
    if (!fault.disk_full) ::kill(::getpid(), SIGKILL);
    // A full disk refuses new bytes; names can still be changed and files removed.
    if (step == "open" || step == "write" || step == "mkdir") {
      throw RunError(fmt::format("cannot write '{}': {}", path.string(), std::strerror(ENOSPC)));
    }
  });
}

}  // namespace primus
