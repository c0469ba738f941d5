#include "primus/base/json_file.h"

#include <fmt/format.h>

#include "primus/base/strings.h"

namespace primus {

Result<Json> read_json_file(const fs::path& path, size_t most_bytes) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    const auto size = fs::file_size(path, error);
    if (!error && size > most_bytes) {
      Diagnostic finding =
          error_at({path.string()}, fmt::format("the file holds {}, which is too much to be one of its kind",
                                                format_bytes(static_cast<double>(size))));
      finding.expected = "at most " + format_bytes(static_cast<double>(most_bytes));
      return finding;
    }
  }
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) return text.diagnostics();
  return parse_json(*text, path.string());
}

}  // namespace primus
