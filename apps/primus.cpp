// The light program: no libtorch. Finds its folders, runs one command, maps errors to exit codes (docs/cli.md).
#include <climits>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <unistd.h>
#include <vector>

#include "primus/base/check.h"
#include "primus/base/error.h"
#include "primus/base/log.h"
#include "primus/cli/app.h"

namespace {

using primus::fs::path;

path program_file() {
  char buffer[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", buffer, sizeof buffer);
  return size > 0 ? path(std::string(buffer, static_cast<size_t>(size))) : path("primus");
}

// The nearest folder above the program that holds the presets; a build outside the repository uses where it was made
// from.
path find_install_root(const path& program_folder) {
  for (path folder = program_folder; folder.has_relative_path(); folder = folder.parent_path()) {
    if (primus::fs::exists(folder / "primus/configs")) return folder;
  }
  return PRIMUS_SOURCE_TEXT;
}

int report(const std::string& text, primus::ExitCode code) {
  std::cout.flush();
  std::cerr << text << std::endl;
  return static_cast<int>(code);
}

}  // namespace

int main(int argc, char** argv) {
  primus::cli::Context context;
  context.out = &std::cout;
  context.err = &std::cerr;
  context.program_folder = program_file().parent_path();
  context.install_root = find_install_root(context.program_folder);
  context.colour = primus::stderr_is_terminal() && std::getenv("NO_COLOR") == nullptr;
  const bool colour = context.colour;
  try {
    const auto code = primus::cli::run_app(std::move(context), std::vector<std::string>(argv + 1, argv + argc));
    std::cout.flush();
    if (!std::cout) return report("primus: error: standard output could not be written", primus::ExitCode::RunFailed);
    return static_cast<int>(code);
  } catch (const primus::InputError& error) {
    return report(primus::render(error.diagnostics(), colour), error.code());
  } catch (const primus::Error& error) {
    return report(std::string("primus: error: ") + error.what(), error.code());
  } catch (const primus::InternalError& error) {
    return report(std::string("primus: this is a bug, please report it: ") + error.what(), primus::ExitCode::RunFailed);
  } catch (const std::exception& error) {
    return report(std::string("primus: error: ") + error.what(), primus::ExitCode::RunFailed);
  }
}
