#include "primus/config/yaml_syntax_error.h"

#include <algorithm>
#include <fmt/format.h>
#include <new>

#include "primus/base/strings.h"
#include "primus/config/secret.h"

namespace primus::config {
namespace {

std::string_view line_of(std::string_view text, size_t line) {
  for (; line > 0; --line) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

// Bytes that are no text. libyaml gives only their offset.
Diagnostic describe_reader_error(const yaml_parser_t& parser, std::string_view text, const std::string& file) {
  const std::string_view before = text.substr(0, std::min(parser.problem_offset, text.size()));
  const size_t newline = before.rfind('\n');
  const std::string_view in_line = before.substr(newline == std::string_view::npos ? 0 : newline + 1);
  Diagnostic found;
  found.place.file = file;
  found.place.line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
  found.place.column = static_cast<int>(num_code_points(in_line)) + 1;
  found.message = "the text is not readable: " + to_lower(parser.problem ? parser.problem : "bad bytes");
  found.expected = "UTF-8 without control characters";
  return found;
}

}  // namespace

Diagnostic describe_syntax_error(const yaml_parser_t& parser, std::string_view text, const std::string& file) {
  if (parser.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
  if (parser.error == YAML_READER_ERROR) return describe_reader_error(parser, text, file);
  const std::string problem = parser.problem ? parser.problem : "unreadable text";
  const std::string_view line = line_of(text, parser.problem_mark.line);
  Diagnostic found;
  found.place.file = file;
  found.place.line = static_cast<int>(parser.problem_mark.line) + 1;
  found.place.column = static_cast<int>(parser.problem_mark.column) + 1;
  found.message = "bad YAML: " + problem;
  if (parser.context != nullptr) {
    found.message += fmt::format(" ({} that starts at line {})", parser.context, parser.context_mark.line + 1);
  }
  const std::string_view indent = line.substr(0, std::min(line.find_first_not_of(" \t"), line.size()));
  if (indent.find('\t') != std::string_view::npos || problem.find("tab") != std::string::npos) {
    found.message = "a tab where YAML allows only blanks";
    found.suggestion = "indent with blanks";
  } else if (problem.find("mapping values are not allowed") != std::string::npos) {
    found.suggestion = "put a value that holds ': ' into quotes, or check the indentation";
  } else if (line.find("${") != std::string_view::npos) {
    found.suggestion = "put a ${...} inside [ ] or { } into quotes";
  } else if (line.find('\t') != std::string_view::npos) {
    found.suggestion = "the line holds a tab; use blanks";
  }
  if (!line.empty() && !names_a_secret(trim(line.substr(0, line.find(':'))))) {
    found.found = printable_ascii(line.substr(0, 100));
  }
  return found;
}

}  // namespace primus::config
