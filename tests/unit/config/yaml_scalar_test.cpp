// Plain scalars as PyYAML reads them: golden rows of tests/cases/config/yaml11_scalars.json, and the rows users meet.
#include "primus/config/yaml_scalar.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "primus/base/fs.h"
#include "primus/base/json.h"
#include "primus/base/strings.h"

namespace primus::config {
namespace {

std::string kind_of(const ScalarReading& reading) {
  if (reading.problem != nullptr || reading.is_reserved) return "error";
  if (reading.is_date) return "date";
  switch (reading.value.kind()) {
    case Kind::Null:
      return "null";
    case Kind::Bool:
      return "bool";
    case Kind::Int:
      return "int";
    case Kind::Double:
      return "float";
    default:
      return "text";
  }
}

bool same_number(double mine, const std::string& python) {
  if (python == "inf" || python == "-inf") return std::isinf(mine) && (mine < 0) == (python[0] == '-');
  if (python == "nan") return std::isnan(mine);
  return parse_double(python) && *parse_double(python) == mine && std::signbit(mine) == (python[0] == '-');
}

TEST(YamlScalar, ReadsEveryGoldenRowAsPyYamlDoes) {
  const auto text = read_text_file("tests/cases/config/yaml11_scalars.json");
  ASSERT_TRUE(text.ok());
  const auto rows = parse_json(*text, "yaml11_scalars.json");
  ASSERT_TRUE(rows.ok());
  ASSERT_GT(rows->size(), 500u);
  for (const Json& row : *rows) {
    const std::string scalar = row[0], kind = row[1], value = row[2];
    const ScalarReading reading = read_plain_scalar(scalar);
    ASSERT_EQ(kind_of(reading), kind) << "'" << scalar << "'";
    if (kind == "int") {
      EXPECT_EQ(std::to_string(reading.value.as_int()), value) << scalar;
    }
    if (kind == "bool") {
      EXPECT_EQ(reading.value.as_bool(), value == "true") << scalar;
    }
    if (kind == "float") {
      EXPECT_TRUE(same_number(reading.value.as_double(), value)) << scalar << " " << value;
    }
    if (kind == "text") {
      EXPECT_EQ(reading.value.as_string(), scalar);
    }
  }
}

TEST(YamlScalar, RefusesNumbersThatItCannotHold) {
  EXPECT_THAT(read_plain_scalar("9223372036854775808").problem, testing::HasSubstr("64 bits"));
  EXPECT_THAT(read_plain_scalar("-9223372036854775809").problem, testing::HasSubstr("64 bits"));
  EXPECT_THAT(read_plain_scalar("0xFFFFFFFFFFFFFFFFF").problem, testing::HasSubstr("64 bits"));
  EXPECT_THAT(read_plain_scalar("1.0e+999").problem, testing::HasSubstr("range"));
}

TEST(YamlScalar, KnowsWhichTextsNeedQuotes) {
  for (const char* text :
       {"true", "3", "null", "1e-3", "", "yes", "0o17", "1e5", "None", "y", ".5", "-.5", "2024-01-02", "=", "0x1F"}) {
    EXPECT_TRUE(looks_like_another_type(text)) << text;
  }
  for (const char* text : {"llama3.1_8B.yaml", "99,1,0", "/mnt/x", "amd", "v1", "tatsu-lab/alpaca"}) {
    EXPECT_FALSE(looks_like_another_type(text)) << text;
  }
}

}  // namespace
}  // namespace primus::config
