#include "primus/hub/checkpoint_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/hub/sample_checkpoint.h"

namespace primus::hub {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Manifest whole_manifest() {
  Manifest manifest = test::sample_manifest(7);
  manifest.files = {{"model-00000.safetensors", 99, 0xFEDCBA9876543210ULL}};
  return manifest;
}

std::string refusal(const std::function<void(Json&)>& change, bool partial = false) {
  Json json = to_json(whole_manifest());
  change(json);
  Result<Manifest> manifest = manifest_from_json(json, "manifest.json", partial);
  return manifest.ok() ? "accepted" : render(manifest.diagnostics());
}

TEST(CheckpointManifest, ComesBackFromItsTextUnchanged) {
  const Manifest manifest = whole_manifest();
  const std::string text = dump_json(to_json(manifest), 1);
  const Manifest back = value_or_throw(manifest_from_json(value_or_throw(parse_json(text, "m")), "m"));
  EXPECT_EQ(dump_json(to_json(back), 1), text);
  EXPECT_EQ(back.state.seed, 18446744073709551615ULL);
  EXPECT_EQ(back.files[0].header_xxh64, 0xFEDCBA9876543210ULL);
  EXPECT_EQ(back.tensors[0].shards[1].box, (Box{{2}, {3}}));
  EXPECT_EQ(back.size_bytes(), 99U);
}

TEST(CheckpointManifest, RefusesWhatIsMissingOrWrong) {
  EXPECT_EQ(refusal([](Json&) {}), "accepted");
  for (const char* key :
       {"format", "save_id", "step", "seed", "model", "model_hash", "layout", "extra", "files", "tensors"}) {
    EXPECT_THAT(refusal([&](Json& json) { json.erase(key); }), HasSubstr(std::string("has no '") + key + "'"));
    EXPECT_NE(refusal([&](Json& json) { json[key] = -1.5; }), "accepted") << key;
  }
  EXPECT_THAT(refusal([](Json& json) { json = Json::array(); }), HasSubstr("not an object"));
  EXPECT_THAT(refusal([](Json& json) { json["format"] = 2; }), HasSubstr("unknown checkpoint format"));
  EXPECT_THAT(refusal([](Json& json) { json["step"] = -1; }), HasSubstr("'step' is not a whole number"));
  EXPECT_THAT(refusal([](Json& json) { json["model"]["hidden_size"] = 6; }), HasSubstr("'model_hash' does not fit"));
  EXPECT_THAT(refusal([](Json& json) { json["files"][0]["name"] = "../x"; }), HasSubstr("no plain file name"));
  EXPECT_THAT(refusal([](Json& json) { json["files"][0]["header_xxh64"] = "12"; }), HasSubstr("16 hexadecimal digits"));
}

TEST(CheckpointManifest, RefusesShardsThatDoNotMakeTheirTensor) {
  const auto shard = [](Json& json) -> Json& { return json["tensors"][0]["shards"][1]; };
  EXPECT_THAT(refusal([&](Json& json) { shard(json)["offset"][0] = 1; }), HasSubstr("overlap"));
  EXPECT_THAT(refusal([&](Json& json) { shard(json)["size"][0] = 2; }), HasSubstr("cover 4 of 5"));
  EXPECT_EQ(refusal([&](Json& json) { shard(json)["size"][0] = 2; }, /*partial=*/true), "accepted");
  EXPECT_THAT(refusal([&](Json& json) { shard(json)["size"][0] = 9; }), HasSubstr("does not fit"));
  EXPECT_THAT(refusal([&](Json& json) { shard(json)["file"] = 1; }), HasSubstr("file that is not listed"));
  EXPECT_THAT(refusal([&](Json& json) { shard(json)["offset"] = Json::array(); }), HasSubstr("dims"));
  EXPECT_THAT(refusal([](Json& json) { json["tensors"][0]["dtype"] = "F33"; }), HasSubstr("unknown dtype 'F33'"));
  EXPECT_THAT(refusal([](Json& json) { json["tensors"][0]["shape"] = {5, INT64_MAX, 4}; }), HasSubstr("overflows"));
  EXPECT_THAT(refusal([](Json& json) { json["tensors"][1]["name"] = "model.w"; }), HasSubstr("'model.w' twice"));
}

TEST(CheckpointManifest, NamesTheDifferencesOfTwoModelsInOneFinding) {
  const Json wanted = {{"hidden_size", 64}, {"rope", {{"base", 10000.0}}}, {"bias", false}};
  EXPECT_TRUE(
      compare_fingerprints(wanted, {{"bias", false}, {"rope", {{"base", 10000}}}, {"hidden_size", 64}}, "c").empty());
  const Json found = {{"hidden_size", 128}, {"rope", {{"base", 500000.0}}}, {"qk_norm", true}};
  const Diagnostics differences = compare_fingerprints(wanted, found, "run/checkpoints/step_5");
  ASSERT_EQ(differences.size(), 1U);
  const std::string text = render(differences);
  for (const char* part : {"run/checkpoints/step_5", "another model", "hidden_size: 64 here, 128", "rope/base",
                           "bias: false here, absent", "qk_norm: absent here, true"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  Json many = Json::object();
  for (int i = 0; i < 30; ++i) many["key" + std::to_string(i)] = i;
  EXPECT_THAT(render(compare_fingerprints(many, Json::object(), "c")), HasSubstr("and 22 more"));
}

}  // namespace
}  // namespace primus::hub
