#include <gtest/gtest.h>

#include "primus/train/generate.h"

namespace primus::train {
namespace {

TEST(SampleText, HoldsNothingThatATerminalWouldObey) {
  EXPECT_EQ(without_controls("a\tb\nc \xC3\xA9 \xE4\xB8\xAD"), "a\tb\nc \xC3\xA9 \xE4\xB8\xAD");
  const std::string unknown = "\xEF\xBF\xBD";
  for (const std::string& control : {std::string("\x1b"), std::string("\x07"), std::string("\r"), std::string("\x7f"),
                                     std::string(1, '\0'), std::string("\xC2\x9B"), std::string("\xC2\x80")})
    EXPECT_EQ(without_controls("x" + control + "[2J"), "x" + unknown + "[2J");
  EXPECT_EQ(without_controls("\xC2\xA0"), "\xC2\xA0");
}

}  // namespace
}  // namespace primus::train
