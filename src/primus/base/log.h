// Logging: one Logger a process, passed by reference. A console sink (stderr) and a file sink, each with its own level.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "primus/base/fs.h"

namespace primus {

enum class LogLevel { Trace, Debug, Info, Success, Warning, Error, Critical, Off };

// "DEBUG", "debug", ... (any case); nothing for other words.
std::optional<LogLevel> parse_log_level(std::string_view name);
std::string_view to_string(LogLevel level);
std::vector<std::string> log_level_names();

struct LogOptions {
  LogLevel console_level = LogLevel::Info;
  LogLevel file_level = LogLevel::Debug;
  fs::path file;        // empty: no file sink
  std::string prefix;   // e.g. "rank 1"; shown on the console when not empty
  bool console = true;  // false: only errors reach the console (ranks other than 0)
};

class Logger {
 public:
  explicit Logger(LogOptions options = {});
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  void log(LogLevel level, std::string_view message);
  void debug(std::string_view message) { log(LogLevel::Debug, message); }
  void info(std::string_view message) { log(LogLevel::Info, message); }
  void success(std::string_view message) { log(LogLevel::Success, message); }
  void warning(std::string_view message) { log(LogLevel::Warning, message); }
  void error(std::string_view message) { log(LogLevel::Error, message); }
  void flush();

 private:
  struct Sinks;
  std::unique_ptr<Sinks> sinks_;
  LogOptions options_;
};

bool stderr_is_terminal();

}  // namespace primus
