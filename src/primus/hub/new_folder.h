// A folder that is there complete or not at all: its files are made in a sibling that gets the name at the end.
#pragma once

#include <cstdint>

#include "primus/base/fs.h"
#include "primus/base/result.h"

namespace primus::hub {

class NewFolder {
 public:
  // Errors: the target is a file, or a folder that is not empty. With `replace` a folder that holds `marker` (the file
  // by which folders of this kind are known) gives way at the end, others are refused as well.
  // Throws RunError on I/O failure, as commit() does.
  static Result<NewFolder> create(const fs::path& target, bool replace, const char* marker);
  NewFolder(NewFolder&& other) noexcept;
  NewFolder& operator=(NewFolder&&) = delete;
  ~NewFolder();  // not committed: nothing stays

  const fs::path& path() const { return making_; }  // where the files are made
  void commit();

 private:
  NewFolder() = default;
  fs::path target_, making_;  // making_ is empty once committed or moved from
};

// The rule of create(), for folders that are made elsewhere.
Status check_target(const fs::path& target, bool replace, const char* marker);

// Throws RunError with what is needed and what is free when `target` cannot take so many bytes more.
void require_space(const fs::path& target, uint64_t needed_bytes);

}  // namespace primus::hub
