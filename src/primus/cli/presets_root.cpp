#include "primus/cli/presets_root.h"

#include "primus/base/error.h"
#include "primus/base/strings.h"

namespace primus::cli {
namespace {

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool holds_presets(const fs::path& root) {
  return is_folder(root / "primus/configs/models") || is_folder(root / "primus/configs/modules");
}

}  // namespace

fs::path presets_tree(const std::string& given) {
  std::error_code error;
  const fs::path folder = fs::path(given).lexically_normal();
  if (holds_presets(folder)) return folder;
  // primus/configs or primus itself; ".." works for relative names too.
  for (const fs::path& root : {folder / "../..", folder / ".."}) {
    const bool is_part =
        fs::equivalent(root / "primus/configs", folder, error) || fs::equivalent(root / "primus", folder, error);
    if (is_part && holds_presets(root)) return fs::weakly_canonical(root, error);
  }
  Diagnostic none = error_at({.file = "command line"}, "--presets " + printable_ascii(given) + " holds no presets");
  none.found = is_folder(folder) ? "a folder without primus/configs" : "no such folder";
  none.expected = "a tree with primus/configs/models and primus/configs/modules, or that primus/configs";
  throw InputError(std::move(none));
}

fs::path presets_root_for(const std::string& given, const fs::path& experiment, const fs::path& install_root) {
  if (!given.empty()) return presets_tree(given);
  std::error_code error;
  const fs::path file = fs::absolute(experiment, error).lexically_normal();
  // A name that only our own tree knows ("examples/..." from another folder) is no place to search from.
  if (error || !fs::exists(file, error)) return install_root;
  for (fs::path folder = file.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
    if (!holds_presets(folder)) continue;
    // Our own tree is named as it was, so that files are shown the same way.
    return fs::equivalent(folder, install_root, error) ? install_root : folder;
  }
  return install_root;
}

}  // namespace primus::cli
