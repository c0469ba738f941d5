#include "primus/base/diagnostic.h"

#include <algorithm>
#include <fmt/format.h>

namespace primus {

std::string Place::to_string() const {
  if (line <= 0) return file;
  return column > 0 ? fmt::format("{}:{}:{}", file, line, column) : fmt::format("{}:{}", file, line);
}

Diagnostic error_at(Place place, std::string message) {
  return {.severity = Severity::Error, .place = std::move(place), .message = std::move(message)};
}

Diagnostic warning_at(Place place, std::string message) {
  return {.severity = Severity::Warning, .place = std::move(place), .message = std::move(message)};
}

bool has_errors(const Diagnostics& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& d) { return d.severity == Severity::Error; });
}

namespace {

struct Look {
  const char* word;
  const char* colour;
};

Look look_of(Severity severity) {
  switch (severity) {
    case Severity::Note:
      return {"note", "\033[36m"};
    case Severity::Warning:
      return {"warning", "\033[33m"};
    case Severity::Error:
      return {"error", "\033[31m"};
  }
  return {"error", ""};
}

// A file of strangers may hold a word of megabytes; nobody reads it.
std::string shortened(const std::string& part) {
  constexpr size_t kMost = 8000, kShown = 400;
  if (part.size() <= kMost) return part;
  size_t end = kShown;
  while (end > 0 && (static_cast<unsigned char>(part[end]) & 0xC0) == 0x80) --end;  // not inside a code point
  return part.substr(0, end) + fmt::format("... ({} more bytes)", part.size() - end);
}

}  // namespace

std::string render(const Diagnostic& d, bool colour) {
  const Look look = look_of(d.severity);
  std::string text = d.place.to_string();
  if (!text.empty()) text += ": ";
  text += colour ? fmt::format("{}{}\033[0m: ", look.colour, look.word) : fmt::format("{}: ", look.word);
  text += shortened(d.message);
  if (!d.key.empty() && d.message.find(d.key) == std::string::npos) text += fmt::format(" [{}]", shortened(d.key));
  if (!d.found.empty()) text += "\n    found:    " + shortened(d.found);
  if (!d.expected.empty()) text += "\n    expected: " + shortened(d.expected);
  if (!d.suggestion.empty()) text += "\n    hint:     " + shortened(d.suggestion);
  return text;
}

std::string render(const Diagnostics& diagnostics, bool colour) {
  std::string text;
  size_t num_errors = 0;
  size_t num_warnings = 0;
  for (const Diagnostic& d : diagnostics) {
    if (!text.empty()) text += '\n';
    text += render(d, colour);
    num_errors += d.severity == Severity::Error;
    num_warnings += d.severity == Severity::Warning;
  }
  if (diagnostics.size() > 1 && num_errors + num_warnings > 0) {
    text += fmt::format("\n{} error{}, {} warning{}", num_errors, num_errors == 1 ? "" : "s", num_warnings,
                        num_warnings == 1 ? "" : "s");
  }
  return text;
}

}  // namespace primus
