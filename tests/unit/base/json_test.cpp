#include "primus/base/json.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace primus {
namespace {

TEST(ParseJson, KeepsTheOrderOfKeys) {
  EXPECT_EQ(dump_json(*parse_json(R"({"z":1,"a":2})", "f")), R"({"z":1,"a":2})");
}

TEST(ParseJson, RefusesAKeyThatOccursTwiceInOneObject) {
  const Result<Json> twice = parse_json(R"({"a":{"k":1},"b":{"k":1,"k":2}})", "f.json");
  ASSERT_FALSE(twice.ok());
  EXPECT_NE(twice.diagnostics()[0].message.find("'k' occurs twice"), std::string::npos);
  EXPECT_TRUE(parse_json(R"({"a":{"k":1},"b":{"k":1}})", "f.json").ok());
  EXPECT_TRUE(parse_json(R"([{"k":1},{"k":2}])", "f.json").ok());
}

TEST(ParseJson, GivesThePlaceOfAMistake) {
  const Result<Json> broken = parse_json("{\n  \"a\": 1,\n  \"b\": oops\n}", "f.json");
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.diagnostics()[0].place.file, "f.json");
  EXPECT_EQ(broken.diagnostics()[0].place.line, 3);
}

TEST(ParseJson, RefusesWhatFollowsTheValueAndWhatIsNotJson) {
  for (const char* text : {"{} x", "[1,]", "{\"a\":1,}", "", "NaN", "nul", "\"\\ud800\"", "01", "'a'"}) {
    EXPECT_FALSE(parse_json(text, "f").ok()) << text;
  }
}

TEST(ParseJson, RefusesDeepNestingWithoutACrash) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parse_json(nested(256), "f").ok());
  EXPECT_FALSE(parse_json(nested(257), "f").ok());
  EXPECT_FALSE(parse_json(std::string(1'000'000, '['), "f").ok());
  EXPECT_TRUE(parse_json("\"" + std::string(1000, '[') + "\"", "f").ok());  // brackets in a string nest nothing
}

TEST(ParseJson, TakesAByteOrderMark) {
  EXPECT_TRUE(parse_json("\xEF\xBB\xBF{}", "f").ok());
}

TEST(DumpJson, WritesNonFiniteNumbersAsText) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Json value = {{"a", std::nan("")}, {"b", {infinity, -infinity, 1.5}}};
  EXPECT_EQ(dump_json(value), R"({"a":"NaN","b":["Infinity","-Infinity",1.5]})");
  EXPECT_EQ(json_number(std::nan("")), Json("NaN"));
  EXPECT_EQ(json_number(-infinity), Json("-Infinity"));
  EXPECT_EQ(json_number(0.25), Json(0.25));
}

TEST(DumpJson, RoundTripsDoubles) {
  for (const double value : {0.1, 1e-300, 123456789.123456789, 5e-324, 1.7976931348623157e308, -0.0}) {
    const Json back = *parse_json(dump_json(Json(value)), "f");
    EXPECT_EQ(back.get<double>(), value);
    EXPECT_EQ(std::signbit(back.get<double>()), std::signbit(value));
  }
}

TEST(DumpJson, ReplacesBytesThatAreNotUtf8) {
  EXPECT_TRUE(parse_json(dump_json(Json("a\xff z")), "f").ok());
}

}  // namespace
}  // namespace primus
