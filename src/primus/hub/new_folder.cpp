#include "primus/hub/new_folder.h"

#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

#include "primus/base/check.h"
#include "primus/base/error.h"
#include "primus/base/strings.h"

namespace primus::hub {

namespace {

fs::path whole_path(const fs::path& target) {
  const fs::path path = fs::absolute(target).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

void move_folder(const fs::path& from, const fs::path& to) {
  std::error_code code;
  fs::rename(from, to, code);
  if (code) throw RunError(fmt::format("cannot rename '{}' to '{}': {}", from.string(), to.string(), code.message()));
}

}  // namespace

Status check_target(const fs::path& target, bool replace, const char* marker) {
  std::error_code code;
  if (!fs::exists(target, code)) return Done{};
  if (!fs::is_directory(target, code)) {
    Diagnostic finding = error_at({target.string()}, "this is a file, a folder is to be written");
    finding.suggestion = "give another folder";
    return finding;
  }
  if (fs::is_empty(target, code)) return Done{};
  const bool is_known = fs::exists(target / marker, code);
  if (replace && is_known) return Done{};
  Diagnostic finding = error_at({target.string()}, "the folder exists and is not empty");
  if (replace) finding.found = fmt::format("a folder without {}: it holds something else", marker);
  finding.suggestion = is_known ? "give another folder, or --overwrite" : "give another folder";
  return finding;
}

void require_space(const fs::path& target, uint64_t needed_bytes) {
  fs::path place = whole_path(target);
  std::error_code code;
  while (!fs::exists(place, code) && place.has_relative_path()) place = place.parent_path();
  const fs::space_info space = fs::space(place, code);
  if (code || space.available >= needed_bytes) return;
  throw RunError(fmt::format("not enough space for '{}': it needs {}, free in '{}': {}", target.string(),
                             format_bytes(static_cast<double>(needed_bytes)), place.string(),
                             format_bytes(static_cast<double>(space.available))));
}

Result<NewFolder> NewFolder::create(const fs::path& target, bool replace, const char* marker) {
  if (const Status status = check_target(target, replace, marker); !status) return status.diagnostics();
  NewFolder folder;
  folder.target_ = whole_path(target);
  const fs::path making =
      folder.target_.parent_path() / fmt::format(".{}.{}.making", folder.target_.filename().string(), ::getpid());
  std::error_code code;
  fs::remove_all(making, code);  // of an earlier process that had the same number
  create_folders(making);
  folder.making_ = making;
  return folder;
}

NewFolder::NewFolder(NewFolder&& other) noexcept
    : target_(std::move(other.target_)), making_(std::move(other.making_)) {
  other.making_.clear();
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!making_.empty()) fs::remove_all(making_, ignored);
}

void NewFolder::commit() {
  PRIMUS_CHECK(!making_.empty(), "the folder is committed already");
  sync_folder(making_);
  fault_point("rename", target_);
  std::error_code code;
  fs::path leftover = making_;  // what making_ is after an exchange: the old folder
  const bool had_one = fs::exists(target_, code);
  const bool exchanged =
      had_one && ::renameat2(AT_FDCWD, making_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0;
  if (!exchanged) {
    // Nothing is there, or a file system without exchange.
    leftover = fs::path(making_).replace_extension(".old");
    if (had_one) move_folder(target_, leftover);
    try {
      move_folder(making_, target_);
    } catch (...) {
      if (had_one) fs::rename(leftover, target_, code);
      throw;
    }
  }
  making_ = leftover;  // removed by the destructor should the next line fail
  sync_folder(target_.parent_path());
  fs::remove_all(std::exchange(making_, {}), code);
}

}  // namespace primus::hub
