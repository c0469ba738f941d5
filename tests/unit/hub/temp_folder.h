// A folder of its own for one test, gone at the end.
#pragma once

#include <stdexcept>
#include <stdlib.h>
#include <string>

#include "primus/base/fs.h"

namespace primus::test {

class TempFolder {
 public:
  TempFolder() : TempFolder(fs::temp_directory_path()) {}
  explicit TempFolder(const fs::path& parent) {
    std::string pattern = (parent / "primus_test_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  // Where a file system in memory exists: thousands of fsyncs cost nothing there.
  static TempFolder in_memory() {
    std::error_code code;
    return fs::is_directory("/dev/shm", code) ? TempFolder("/dev/shm") : TempFolder();
  }
  ~TempFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const fs::path& path() const { return path_; }
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

}  // namespace primus::test
