#include "primus/base/result.h"

#include <gtest/gtest.h>
#include <memory>

namespace primus {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) {
    Diagnostic error = error_at({"numbers.txt", 3, 7}, "not even");
    error.found = std::to_string(number);
    error.expected = "an even number";
    return error;
  }
  return number / 2;
}

TEST(Result, HoldsAValueOrEveryReason) {
  EXPECT_TRUE(half(4).ok());
  EXPECT_EQ(*half(4), 2);
  EXPECT_FALSE(half(5));
  EXPECT_EQ(half(5).diagnostics().size(), 1U);
}

TEST(Result, CarriesWarningsBesideAValue) {
  const Result<std::string> result("ab", {warning_at({}, "old")});
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result->size(), 2U);
  EXPECT_EQ(result.diagnostics()[0].message, "old");
}

TEST(Result, MovesItsValueOut) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> value = std::move(result).value();
  EXPECT_EQ(*value, 7);
}

TEST(Result, IsAProgrammingErrorWithoutAnError) {
  EXPECT_THROW((void)Result<int>(Diagnostics{}), InternalError);
  EXPECT_THROW((void)Result<int>(Diagnostics{warning_at({}, "only a warning")}), InternalError);
  EXPECT_THROW((void)half(5).value(), InternalError);
}

TEST(ValueOrThrow, BecomesAnInputErrorWithAllReasons) {
  EXPECT_EQ(value_or_throw(half(8)), 4);
  try {
    value_or_throw(Result<int>(Diagnostics{error_at({"a"}, "first"), error_at({"b"}, "second")}));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.code(), ExitCode::BadInput);
    EXPECT_EQ(error.diagnostics().size(), 2U);
    EXPECT_NE(std::string(error.what()).find("first"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("second"), std::string::npos);
  }
}

TEST(Diagnostic, ShowsPlaceFoundAndExpected) {
  const std::string text = render(half(5).diagnostics());
  EXPECT_EQ(text.find("numbers.txt:3:7: error: not even"), 0U);
  EXPECT_NE(text.find("5"), std::string::npos);
  EXPECT_NE(text.find("an even number"), std::string::npos);
}

TEST(Diagnostic, OfAWordOfMegabytesShowsTheBeginning) {
  Diagnostic finding = error_at({"a.json"}, "there is no '" + std::string(5'000'000, 'x') + "'");
  finding.found = std::string(399, 'y') + "\xC3\xA4" + std::string(9'000, 'y');
  const std::string text = render(finding);
  EXPECT_LT(text.size(), 1000U);
  EXPECT_NE(text.find("... (4999614 more bytes)"), std::string::npos) << text;
  EXPECT_NE(text.find(std::string(399, 'y') + "... ("), std::string::npos) << "a code point is never cut";
}

}  // namespace
}  // namespace primus
