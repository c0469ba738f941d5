// Where the golden files lie, and how failures name a text.
#pragma once

#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <string>

#include "primus/base/fs.h"
#include "primus/base/json.h"
#include "primus/tokenizer/tokenizer.h"

namespace primus::tokenizer {

inline fs::path golden_folder() {
  return "tests/golden/tokenizer";
}  // tests run in the repository root

// Read once a process: the files are parsed for many tests.
inline const Json& read_golden(const std::string& name) {
  static std::map<std::string, Json> read;
  if (const auto found = read.find(name); found != read.end()) return found->second;
  const fs::path path = golden_folder() / name;
  return read[name] = value_or_throw(parse_json(value_or_throw(read_text_file(path)), path.string()));
}

inline fs::path assets_folder() {
  if (const char* folder = std::getenv("PRIMUS_ASSETS"); folder && *folder) return folder;
  const char* home = std::getenv("HOME");
  return fs::path(home ? home : ".") / ".cache" / "primus" / "assets";
}

inline bool in_ci() {
  const char* ci = std::getenv("CI");
  return ci && *ci && std::string(ci) != "false";
}

inline std::vector<int32_t> ids_of(const Json& list) {
  return list.get<std::vector<int32_t>>();
}

}  // namespace primus::tokenizer

// Leaves the test when an asset is absent: a failure in CI for the small set, whose fetch step must have brought it; a
// skip on a developer's machine. --all assets are fetched only by the full test run, which sets PRIMUS_ASSETS_ALL=1.
#define PRIMUS_NEED_ASSET(path, is_small)                                                                          \
  do {                                                                                                             \
    if (!::primus::fs::exists(path)) {                                                                             \
      const bool must = ::primus::tokenizer::in_ci() && ((is_small) || std::getenv("PRIMUS_ASSETS_ALL"));          \
      if (must) FAIL() << (path).string() << " is missing: the fetch step tests/assets/fetch.sh did not bring it"; \
      GTEST_SKIP() << (path).string() << " is missing: run tests/assets/fetch.sh" << ((is_small) ? "" : " --all"); \
    }                                                                                                              \
  } while (false)
