#include "primus/base/json_file.h"

#include <fstream>

#include "primus/base/strings.h"

namespace primus {

namespace {

Diagnostic too_much(const fs::path& path, size_t most_bytes) {
  Diagnostic finding = error_at({path.string()}, "the file holds too much to be one of its kind");
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (!error) finding.found = format_bytes(static_cast<double>(size));
  finding.expected = "at most " + format_bytes(static_cast<double>(most_bytes));
  return finding;
}

}  // namespace

Result<Json> read_json_file(const fs::path& path, size_t most_bytes) {
  std::error_code error;
  std::ifstream stream(path, std::ios::binary);
  if (!stream || fs::is_directory(path, error)) return read_text_file(path).diagnostics();  // says why
  // A pipe or a device may never end, and a file may have grown: what is read counts.
  std::string text;
  std::string block(1 << 16, '\0');
  while (stream.read(block.data(), static_cast<std::streamsize>(block.size())), stream.gcount() > 0) {
    text.append(block, 0, static_cast<size_t>(stream.gcount()));
    if (text.size() > most_bytes) return too_much(path, most_bytes);
  }
  return parse_json(text, path.string());
}

}  // namespace primus
