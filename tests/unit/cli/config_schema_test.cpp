// config schema: every key of the table at its place, and nothing that shipped experiments break.
#include "primus/cli/config_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/cli/config_fixture.h"

#include "primus/base/strings.h"
#include "primus/dialect/dialects.h"
#include "primus/dialect/parameter_table.h"

namespace primus::cli {
namespace {

using testing::HasSubstr;

using ConfigSchema = ConfigFixture;

TEST_F(ConfigSchema, HoldsEveryKeyOfEveryTable) {
  for (const dialect::Dialect& one : dialect::all_dialects()) {
    const Json schema = experiment_schema(one.framework, {});
    for (const dialect::Parameter& row : dialect::all_parameters(one.framework)) {
      const Json* at = &schema["$defs"]["parameters"];
      for (const std::string& part : split(row.name, '.')) {
        ASSERT_TRUE(at->contains("properties") && (*at)["properties"].contains(part))
            << one.framework << ' ' << row.name;
        at = &(*at)["properties"][part];
      }
    }
  }
}

TEST_F(ConfigSchema, TellsTypesRangesWordsDefaultsAndDocs) {
  const Outcome found = run({"schema", "--framework", "megatron"});
  ASSERT_EQ(found.code, 0) << found.err;
  const Json schema = json_of(found);
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  const Json& keys = schema["$defs"]["parameters"]["properties"];
  EXPECT_EQ(schema["$defs"]["parameters"]["additionalProperties"], false);
  EXPECT_EQ(keys["lr"]["anyOf"][0]["type"], "number");
  EXPECT_THAT(keys["lr"]["description"].get<std::string>(), HasSubstr("learning rate"));
  EXPECT_EQ(keys["mock_data"]["anyOf"][0]["type"], "boolean");
  EXPECT_EQ(keys["mock_data"]["default"], false);
  EXPECT_EQ(keys["lr_decay_style"]["anyOf"][0]["enum"][0], "constant");
  EXPECT_EQ(schema["properties"]["modules"]["properties"]["pre_trainer"]["$ref"], "#/$defs/module");
  const Json models = schema["$defs"]["module"]["properties"]["model"]["anyOf"][0]["enum"];
  EXPECT_NE(std::find(models.begin(), models.end(), "tinyllama_1.1B.yaml"), models.end());
}

// What a file says that builds on another one may be incomplete; a file that stands alone may not.
TEST_F(ConfigSchema, WantsWholeModulesOnlyWithoutExtends) {
  const Json schema = experiment_schema("maxtext", {});
  EXPECT_FALSE(schema["$defs"]["module"].contains("required"));
  EXPECT_EQ(schema["if"]["required"], Json::array({"extends"}));
  EXPECT_EQ(schema["else"]["required"].size(), 5U);
  EXPECT_EQ(schema["else"]["properties"]["modules"]["additionalProperties"]["required"],
            Json::array({"framework", "config", "model"}));
}

TEST_F(ConfigSchema, RefusesAnUnknownFramework) {
  const Outcome found = run({"schema", "--framework", "megatrn"});
  EXPECT_EQ(found.code, 2);
  EXPECT_THAT(found.err, HasSubstr("did you mean 'megatron'"));
  EXPECT_EQ(run({"schema"}).code, 2);
}

}  // namespace
}  // namespace primus::cli
