#include "primus/cli/build_facts.h"

#include <fmt/format.h>

#include "primus/base/strings.h"

#ifndef PRIMUS_VERSION_TEXT
#define PRIMUS_VERSION_TEXT "unknown"
#endif
#ifndef PRIMUS_TORCH_ROOT_TEXT
#define PRIMUS_TORCH_ROOT_TEXT ""
#endif

namespace primus::cli {
namespace {

// The number after "#define <name> "; -1 when it is not there.
int64_t defined_number(std::string_view header, std::string_view name) {
  const size_t at = header.find(name);
  if (at == std::string_view::npos) return -1;
  const auto words = split_whitespace(header.substr(at + name.size(), 16));
  return words.empty() ? -1 : parse_int(words.front()).value_or(-1);
}

}  // namespace

const char* version() {
  return PRIMUS_VERSION_TEXT;
}

std::string compiler_name() {
#ifdef __clang__
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

fs::path configured_torch_root() {
  return PRIMUS_TORCH_ROOT_TEXT;
}

std::optional<std::string> torch_version(const fs::path& torch_root) {
  for (const char* header : {"include/torch/headeronly/version.h", "include/torch/csrc/api/include/torch/version.h"}) {
    const auto text = read_text_file(torch_root / header);
    if (!text.ok()) continue;
    const int64_t major = defined_number(*text, "define TORCH_VERSION_MAJOR ");
    if (major < 0) continue;
    return fmt::format("{}.{}.{}", major, defined_number(*text, "define TORCH_VERSION_MINOR "),
                       defined_number(*text, "define TORCH_VERSION_PATCH "));
  }
  return std::nullopt;
}

std::string version_text(const Context& context) {
  const fs::path root = configured_torch_root();
  std::string torch = "none: this build cannot train";
  if (!root.empty()) {
    const auto found = torch_version(root);
    torch = found ? *found + " in " + root.string() : "not found any more in " + root.string();
  }
  const bool has_engine = fs::exists(context.program_folder / "primus-train");
  return fmt::format("primus {}\ncompiler {}\nlibtorch {}\nengine {}\n", version(), compiler_name(), torch,
                     has_engine ? (context.program_folder / "primus-train").string() : "primus-train is not built");
}

}  // namespace primus::cli
