#include "primus/config/read_file.h"

#include <fmt/format.h>
#include <fstream>

#include "primus/base/strings.h"

namespace primus::config {
namespace {

Diagnostic too_large(const fs::path& path, const std::string& size) {
  return error_at({.file = path.string()},
                  fmt::format("the file holds {}, and a configuration at most {}", size, format_bytes(kMostFileBytes)));
}

}  // namespace

Result<std::string> read_config_file(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    const auto size = fs::file_size(path, error);
    if (!error && size > kMostFileBytes) return too_large(path, format_bytes(static_cast<double>(size)));
    return read_text_file(path);
  }
  if (!fs::exists(path, error) || fs::is_directory(path, error)) return read_text_file(path);
  // A pipe or a device may never end.
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return read_text_file(path);
  std::string text;
  std::string block(1 << 16, '\0');
  while (stream.read(block.data(), static_cast<std::streamsize>(block.size())), stream.gcount() > 0) {
    text.append(block, 0, static_cast<size_t>(stream.gcount()));
    if (text.size() > kMostFileBytes) return too_large(path, "more than can be read");
  }
  return text;
}

}  // namespace primus::config
