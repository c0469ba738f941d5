#include "primus/base/json_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace primus {
namespace {

TEST(JsonFile, IsRefusedUnreadWhenItIsTooLarge) {
  const fs::path file = fs::path(testing::TempDir()) / ("json_file_" + std::to_string(::getpid()) + ".json");
  write_file_atomic(file, R"({"a": [1, 2]})");
  ASSERT_TRUE(read_json_file(file).ok());
  EXPECT_EQ((*read_json_file(file))["a"][1], 2);
  EXPECT_TRUE(read_json_file(file, 13).ok());
  const Result<Json> large = read_json_file(file, 12);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.diagnostics()[0].place.file, file.string());
  EXPECT_NE(large.diagnostics()[0].found.find("13"), std::string::npos) << large.diagnostics()[0].found;
  EXPECT_NE(large.diagnostics()[0].expected.find("at most 12"), std::string::npos);
  fs::remove(file);
  EXPECT_FALSE(read_json_file(file).ok());
  EXPECT_FALSE(read_json_file(testing::TempDir()).ok());
}

TEST(JsonFile, OfADeviceWithoutEndIsRefused) {
  EXPECT_FALSE(read_json_file("/dev/zero").ok());
}

}  // namespace
}  // namespace primus
