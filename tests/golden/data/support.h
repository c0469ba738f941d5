// What the golden tests of this folder share: a scratch folder and little-endian digests.
#pragma once

#include <atomic>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "primus/base/fs.h"
#include "primus/base/hash.h"
#include "primus/base/json.h"

namespace primus::data::test {

inline const fs::path kGoldenFolder = "tests/golden/data";  // tests run in the project's folder

// A folder that is removed again.
class Scratch {
 public:
  Scratch() {
    static std::atomic<int> counter{0};
    path_ = fs::temp_directory_path() / fmt::format("primus-data-{}-{}", ::getpid(), counter++);
    fs::create_directories(path_);
  }
  ~Scratch() {
    std::error_code code;
    fs::remove_all(path_, code);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

inline std::string bytes_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  return std::move(bytes).str();
}

inline Json golden(const std::string& name) {
  return parse_json(bytes_of(kGoldenFolder / name), name).value();
}

template <class T>
std::string digest(const std::vector<T>& values) {
  return sha256_hex({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

template <class T>
std::vector<T> numbers(const Json& list) {
  return list.get<std::vector<T>>();
}

}  // namespace primus::data::test
