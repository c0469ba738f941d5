#include "primus/base/log.h"

#include <array>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "primus/base/strings.h"

namespace primus {

namespace {

struct LevelName {
  LogLevel level;
  const char* name;
};
constexpr std::array kLevels = {
    LevelName{LogLevel::Trace, "TRACE"},       LevelName{LogLevel::Debug, "DEBUG"},
    LevelName{LogLevel::Info, "INFO"},         LevelName{LogLevel::Success, "SUCCESS"},
    LevelName{LogLevel::Warning, "WARNING"},   LevelName{LogLevel::Error, "ERROR"},
    LevelName{LogLevel::Critical, "CRITICAL"},
};

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view name) {
  for (const LevelName& entry : kLevels) {
    if (to_lower(name) == to_lower(entry.name)) return entry.level;
  }
  return std::nullopt;
}

std::string_view to_string(LogLevel level) {
  for (const LevelName& entry : kLevels) {
    if (entry.level == level) return entry.name;
  }
  return "OFF";
}

std::vector<std::string> log_level_names() {
  std::vector<std::string> names;
  for (const LevelName& entry : kLevels) names.emplace_back(entry.name);
  return names;
}

bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

struct Logger::Sinks {
  std::shared_ptr<spdlog::sinks::sink> console;
  std::shared_ptr<spdlog::sinks::sink> file;
};

Logger::Logger(LogOptions options) : sinks_(std::make_unique<Sinks>()), options_(std::move(options)) {
  sinks_->console = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  sinks_->console->set_pattern("%v");
  if (!options_.file.empty()) {
    create_folders(options_.file.parent_path());
    sinks_->file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(options_.file.string(), false);
    sinks_->file->set_pattern("%Y-%m-%d %H:%M:%S.%e %v");
  }
}

Logger::~Logger() {
  flush();
}

void Logger::log(LogLevel level, std::string_view message) {
  const auto emit = [](spdlog::sinks::sink& sink, const std::string& text) {
    sink.log(spdlog::details::log_msg("primus", spdlog::level::info, text));
    sink.flush();
  };
  const LogLevel console_level =
      options_.console ? options_.console_level : std::max(options_.console_level, LogLevel::Error);
  if (level >= console_level) {
    std::string text = options_.prefix.empty() ? "" : "[" + options_.prefix + "] ";
    if (level >= LogLevel::Warning || level <= LogLevel::Debug) text += fmt::format("{}: ", to_lower(to_string(level)));
    emit(*sinks_->console, text + std::string(message));
  }
  if (sinks_->file && level >= options_.file_level) {
    emit(*sinks_->file, fmt::format("{:<8} {}", to_string(level), message));
  }
}

void Logger::flush() {
  if (sinks_->console) sinks_->console->flush();
  if (sinks_->file) sinks_->file->flush();
}

}  // namespace primus
