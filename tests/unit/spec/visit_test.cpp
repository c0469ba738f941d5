// The list of fields is complete, and what is made from it.
#include "primus/spec/visit.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <set>
#include <string>

#include "primus/spec/to_json.h"

namespace primus::spec {
namespace {

// Takes the place of any field in braces.
struct AnyField {
  template <class T>
  operator T() const {  // NOLINT: implicit on purpose
    std::abort();
  }
};

template <class T, class... Fields>
constexpr size_t count_fields() {
  if constexpr (requires { T{Fields{}..., AnyField{}}; }) {
    return count_fields<T, Fields..., AnyField>();
  } else {
    return sizeof...(Fields);
  }
}

struct CompletenessCheck {
  std::set<std::string> seen;  // structs

  template <class T>
  void check(const char* where) {
    size_t num_visited = 0;
    std::set<std::string> names;
    T value{};
    visit(
        [&](const char* name, const auto& field) {
          ++num_visited;
          EXPECT_TRUE(names.insert(name).second) << where << '.' << name << " is listed twice";
          field_of<std::remove_cvref_t<decltype(field)>>(name);
        },
        value);
    EXPECT_EQ(num_visited, count_fields<T>()) << "visit() does not list all fields of the struct behind " << where;
  }
  template <class T>
  void field_of(const char* where) {
    if constexpr (requires { typename T::value_type; } && !std::is_same_v<T, std::string>) {
      field_of<typename T::value_type>(where);
    } else if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string>) {
      if (seen.insert(__PRETTY_FUNCTION__).second) check<T>(where);
    }
  }
};

TEST(Visit, ListsEveryFieldOfEveryStructOfARunSpec) {
  CompletenessCheck check;
  check.check<RunSpec>("RunSpec");
  EXPECT_GE(check.seen.size(), 35U);
}

RunSpec sample() {
  RunSpec run;
  run.lr.max_lr = 3e-4;
  run.model.layers.resize(5);
  for (LayerSpec& layer : run.model.layers) layer.attention.rope.emplace().base = 5e5;
  run.model.layers[2].attention.window_keys = 128;
  run.model.layers[4].attention.window_keys = 128;
  return run;
}

TEST(SpecToJson, NamesEnumeratorsAndGroupsEqualLayers) {
  const Json json = to_json(sample());
  EXPECT_EQ(json["loss"], "MicroBatchMean");
  EXPECT_EQ(json["precision"]["compute"], "Float32");
  EXPECT_EQ(json["lr"]["max_lr"].dump(), "0.0003");
  EXPECT_EQ(json["finetune"], nullptr);
  ASSERT_EQ(json["model"]["layers"].size(), 2U);
  EXPECT_EQ(json["model"]["layers"][0]["at"], "0-1, 3");
  EXPECT_EQ(json["model"]["layers"][1]["at"], "2, 4");
  EXPECT_EQ(json["model"]["layers"][1]["attention"]["window_keys"], 128);
  EXPECT_EQ(json["model"]["layers"][0]["mlp"]["activation"], "Silu");
}

TEST(SpecCompare, PrintsExactlyTheFieldsThatDiffer) {
  EXPECT_TRUE(compare(sample(), sample()).empty());
  RunSpec other = sample();
  other.lr.decay = LrDecay::Cosine;
  for (LayerSpec& layer : other.model.layers) layer.attention.rope->base = 1e4;
  other.model.layers[3].moe.emplace().num_experts = 8;
  other.model.mtp = MultiTokenPrediction{};
  const auto found = compare(sample(), other);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].field, "model.layers[0-4].attention.rope.base");
  EXPECT_EQ(found[0].after, 1e4);
  EXPECT_EQ(found[1].field, "model.layers[3].moe");
  EXPECT_EQ(found[1].before, nullptr);
  EXPECT_EQ(found[1].after["num_experts"], 8);
  EXPECT_EQ(found[2].field, "model.mtp");
  EXPECT_EQ(found[3].field, "lr.decay");
  EXPECT_EQ(found[3].before, "Linear");
}

TEST(SpecCompare, TellsTheNumbersOfLayersAndComparesTheCommonOnes) {
  RunSpec other = sample();
  other.model.layers.pop_back();
  const auto found = compare(sample(), other);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].field, "model.layers (count)");
  EXPECT_EQ(found[0].before, 5);
}

TEST(SpecFieldValue, FindsFieldsAsTablesNameThem) {
  EXPECT_EQ(field_value(sample(), "lr.max_lr"), Json(3e-4));
  EXPECT_EQ(field_value(sample(), "model.layers.attention.rope.base"), Json(5e5));
  EXPECT_EQ(field_value(sample(), "model.layers.attention.window_keys"), Json::array({nullptr, 128}));
  EXPECT_EQ(field_value(sample(), "model.layers.moe.num_experts"), Json(nullptr));
  EXPECT_EQ(field_value(sample(), "lr.no_such_field"), std::nullopt);
}

}  // namespace
}  // namespace primus::spec
