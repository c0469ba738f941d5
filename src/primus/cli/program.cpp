#include "primus/cli/program.h"

#include <climits>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <unistd.h>

#include "primus/base/check.h"
#include "primus/base/error.h"
#include "primus/base/log.h"

namespace primus::cli {

namespace {

fs::path program_file() {
  char buffer[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", buffer, sizeof buffer);
  return size > 0 ? fs::path(std::string(buffer, static_cast<size_t>(size))) : fs::path("primus");
}

// The nearest folder above the program that holds the presets; a build outside the repository uses where it was made
// from.
fs::path find_install_root(const fs::path& program_folder) {
  for (fs::path folder = program_folder; folder.has_relative_path(); folder = folder.parent_path()) {
    if (fs::exists(folder / "primus/configs")) return folder;
  }
  return PRIMUS_SOURCE_TEXT;
}

int report(const std::string& text, ExitCode code) {
  std::cout.flush();
  std::cerr << text << std::endl;
  return static_cast<int>(code);
}

}  // namespace

int run_program(int argc, char** argv, AppFunction app) {
  Context context;
  context.out = &std::cout;
  context.err = &std::cerr;
  context.program_folder = program_file().parent_path();
  context.install_root = find_install_root(context.program_folder);
  context.out_is_terminal = ::isatty(STDOUT_FILENO) == 1;
  context.colour = stderr_is_terminal() && std::getenv("NO_COLOR") == nullptr;
  const bool colour = context.colour;
  try {
    const ExitCode code = app(std::move(context), std::vector<std::string>(argv + 1, argv + argc));
    std::cout.flush();
    if (!std::cout) return report("primus: error: standard output could not be written", ExitCode::RunFailed);
    return static_cast<int>(code);
  } catch (const InputError& error) {
    return report(render(error.diagnostics(), colour), error.code());
  } catch (const Error& error) {
    return report(std::string("primus: error: ") + error.what(), error.code());
  } catch (const InternalError& error) {
    return report(std::string("primus: this is a bug, please report it: ") + error.what(), ExitCode::RunFailed);
  } catch (const std::exception& error) {
    return report(std::string("primus: error: ") + error.what(), ExitCode::RunFailed);
  }
}

}  // namespace primus::cli
