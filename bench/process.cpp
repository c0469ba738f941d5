#include "bench/process.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "primus/base/error.h"
#include "primus/base/strings.h"

extern char** environ;

namespace primus::bench {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> merged_environment(const Command& command) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view name = std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
    bool replaced = false;
    for (const auto& [key, value] : command.environment) replaced = replaced || key == name;
    if (!replaced) all.emplace_back(*entry);
  }
  for (const auto& [key, value] : command.environment) all.push_back(key + "=" + value);
  return all;
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
}

std::string last_line(const std::string& text) {
  std::string last;
  for (const std::string& line : split(text, '\n')) {
    if (!trim(line).empty()) last = trim(line);
  }
  return last;
}

// Standard input from nowhere, output into the pipe, errors into a file: no second pipe that could fill up.
pid_t spawn(const Command& command, int out_fd, int error_fd) {
  std::vector<std::string> words = command.words, environment = merged_environment(command);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out_fd, 1);
  posix_spawn_file_actions_adddup2(&actions, error_fd, 2);
  pid_t pid = -1;
  const int code =
      posix_spawnp(&pid, words[0].c_str(), &actions, nullptr, pointers(words).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  return code == 0 ? pid : -1;
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string name = (fs::temp_directory_path() / "primus-bench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    throw RunError("cannot create a folder in " + fs::temp_directory_path().string());
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Ended run_process(const Command& command) {
  if (command.prints_command) fmt::print(stderr, "  $ {}\n", join(command.words, " "));
  int pipe_fds[2];
  FILE* errors = std::tmpfile();
  if (errors == nullptr || pipe2(pipe_fds, O_CLOEXEC) != 0) throw RunError("no pipe or temporary file can be opened");
  Ended ended;
  const auto start = std::chrono::steady_clock::now();
  const pid_t pid = spawn(command, pipe_fds[1], fileno(errors));
  close(pipe_fds[1]);
  if (pid < 0) {
    ended.exit_code = 127;
    ended.error_tail = "cannot start " + command.words[0];
  } else {
    ended.out = read_all(pipe_fds[0]);
    int status = 0;
    rusage usage{};
    while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    ended.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ended.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    ended.peak_bytes = int64_t{usage.ru_maxrss} * 1024;
    lseek(fileno(errors), 0, SEEK_SET);
    ended.error_tail = last_line(read_all(fileno(errors)));
  }
  close(pipe_fds[0]);
  std::fclose(errors);
  return ended;
}

fs::path beside_this_program(const std::string& name) {
  return fs::read_symlink("/proc/self/exe").parent_path() / name;
}

}  // namespace primus::bench
