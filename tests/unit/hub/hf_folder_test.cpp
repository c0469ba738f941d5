// Folders of weights: shards, indexes from strangers, and writing that leaves a whole folder or none.
#include "primus/hub/hf_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hf_sample.h"
#include "temp_folder.h"

#include "primus/hub/hf_folder_writer.h"

namespace primus::hub {
namespace {

using test::raw;
using ::testing::HasSubstr;

constexpr const char* kIndex = "model.safetensors.index.json";

std::string errors_of(const fs::path& folder) {
  const auto opened = HfFolder::open(folder);
  return opened.ok() ? "" : render(opened.diagnostics());
}

std::vector<TensorInfo> three_tensors() {
  return {{"a", Dtype::F32, {5}}, {"b", Dtype::BF16, {3, 1}}, {"c", Dtype::F32, {2}}, {"empty", Dtype::F32, {0, 4}}};
}

void fill(HfFolderWriter& writer) {
  while (const TensorInfo* tensor = writer.next())
    writer.append(std::vector<std::byte>(static_cast<size_t>(*num_bytes(tensor->dtype, tensor->shape)),
                                         static_cast<std::byte>(tensor->name[0])));
}

size_t num_items(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(HfFolder, ShardsAreFoundThroughTheIndex) {
  const auto temp = test::TempFolder::in_memory();
  auto writer = value_or_throw(HfFolderWriter::create(temp / "hf", three_tensors(), {.max_shard_bytes = 26}));
  fill(writer);
  writer.finish();
  EXPECT_EQ(writer.num_shards(), 2U);
  EXPECT_TRUE(fs::exists(temp / "hf/model-00001-of-00002.safetensors"));
  const auto index = value_or_throw(parse_json(value_or_throw(read_text_file(temp / "hf" / kIndex)), kIndex));
  EXPECT_EQ(index.at("metadata").at("total_size"), 34);
  EXPECT_EQ(index.at("weight_map").at("c"), "model-00002-of-00002.safetensors");
  auto opened = HfFolder::open(temp / "hf");
  ASSERT_TRUE(opened.ok()) << render(opened.diagnostics());
  EXPECT_TRUE(opened.diagnostics().empty());
  const HfFolder folder = std::move(opened).value();
  EXPECT_EQ(folder.names().size(), 4U);
  EXPECT_EQ(folder.size_bytes(), 34U);
  EXPECT_EQ(folder.find("b")->bytes.size(), 6U);
  EXPECT_EQ(folder.find("b")->bytes[5], std::byte{'b'});
  EXPECT_EQ(folder.find("d"), nullptr);
}

TEST(HfFolder, OneFileHasNoIndex) {
  const auto temp = test::TempFolder::in_memory();
  auto writer = value_or_throw(HfFolderWriter::create(temp / "hf", three_tensors()));
  fill(writer);
  writer.finish();
  EXPECT_TRUE(fs::exists(temp / "hf/model.safetensors"));
  EXPECT_FALSE(fs::exists(temp / "hf" / kIndex));
  EXPECT_EQ(value_or_throw(HfFolder::open(temp / "hf")).find("c")->bytes[0], std::byte{'c'});
}

TEST(HfFolder, MissingShardsAndTensorsAreAllNamed) {
  const auto temp = test::TempFolder::in_memory();
  test::write_file(temp / "x.safetensors", {raw("a", Dtype::U8, {1}, std::vector<uint8_t>{1})});
  write_file_atomic(temp / kIndex,
                    R"({"weight_map": {"a": "x.safetensors", "b": "x.safetensors", "c": "gone.safetensors",
                                       "d": "lost.safetensors"}})");
  const std::string errors = errors_of(temp.path());
  EXPECT_THAT(errors, HasSubstr("gone.safetensors"));
  EXPECT_THAT(errors, HasSubstr("lost.safetensors"));
  EXPECT_THAT(errors, HasSubstr("'b' is not in the shard that the index names"));
}

TEST(HfFolder, AnIndexMustNotPointOutOfItsFolder) {
  const auto temp = test::TempFolder::in_memory();
  for (const char* bad : {R"("../x.safetensors")", R"("/etc/passwd")", R"("..")", R"("")", "7", R"("a\u0000b")"}) {
    write_file_atomic(temp / kIndex, std::string(R"({"weight_map": {"a": )") + bad + "}}");
    EXPECT_THAT(errors_of(temp.path()), HasSubstr("'a' is in no file of this folder")) << bad;
  }
  for (const char* bad : {"[]", "{}", R"({"weight_map": 3})", "{"}) {
    write_file_atomic(temp / kIndex, bad);
    EXPECT_NE(errors_of(temp.path()), "") << bad;
  }
}

TEST(HfFolder, TheIndexDecidesBetweenCopiesAndAWrongTotalWarns) {
  const auto temp = test::TempFolder::in_memory();
  test::write_file(temp / "x.safetensors", {raw("a", Dtype::U8, {1}, std::vector<uint8_t>{1})});
  test::write_file(temp / "y.safetensors", {raw("a", Dtype::U8, {1}, std::vector<uint8_t>{2}),
                                            raw("b", Dtype::U8, {1}, std::vector<uint8_t>{3})});
  write_file_atomic(temp / kIndex, R"({"metadata": {"total_size": 9.0},
                                       "weight_map": {"a": "y.safetensors", "b": "y.safetensors"}})");
  const auto opened = HfFolder::open(temp.path());
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->find("a")->bytes[0], std::byte{2});
  ASSERT_EQ(opened.diagnostics().size(), 1U);
  EXPECT_EQ(opened.diagnostics()[0].found, "9");
  EXPECT_EQ(opened.diagnostics()[0].expected, "2");
}

TEST(HfFolder, OtherFormatsAreNamed) {
  const auto temp = test::TempFolder::in_memory();
  EXPECT_THAT(errors_of(temp / "nowhere"), HasSubstr("this is no folder"));
  EXPECT_THAT(errors_of(temp.path()), HasSubstr("no weights in this folder"));
  write_file_atomic(temp / "pytorch_model.bin", "x");
  EXPECT_THAT(errors_of(temp.path()), HasSubstr("convert them to safetensors"));
}

TEST(HfFolderWriter, NothingIsThereBeforeTheEndAndNothingStaysWithoutIt) {
  const auto temp = test::TempFolder::in_memory();
  {
    auto writer = value_or_throw(HfFolderWriter::create(temp / "hf", three_tensors(), {.max_shard_bytes = 20}));
    writer.append(std::vector<std::byte>(20));
    writer.write_json("config.json", {{"model_type", "llama"}});
    EXPECT_FALSE(fs::exists(temp / "hf"));
    EXPECT_THROW(writer.finish(), InternalError);
  }
  EXPECT_EQ(num_items(temp.path()), 0U);
}

TEST(HfFolderWriter, AFaultAtAnyStepLeavesTheOldFolder) {
  const auto temp = test::TempFolder::in_memory();
  create_folders(temp / "hf");
  write_file_atomic(temp / "hf/mark", "old");
  write_file_atomic(temp / "hf/config.json", "{}");
  int steps = 0;
  for (int at = 0;; ++at) {
    int count = 0;
    set_fault_hook([&](std::string_view, const fs::path&) {
      if (count++ == at) throw RunError("fault");
    });
    bool failed = false;
    try {
      auto writer = value_or_throw(
          HfFolderWriter::create(temp / "hf", three_tensors(), {.max_shard_bytes = 20, .replace = true}));
      fill(writer);
      writer.write_json("config.json", {{"model_type", "llama"}});
      writer.finish();
    } catch (const RunError&) {
      failed = true;
    }
    set_fault_hook({});
    steps = at;
    if (!failed) break;
    const bool is_old = fs::exists(temp / "hf/mark");
    const bool is_new = fs::exists(temp / "hf/config.json") && HfFolder::open(temp / "hf").ok();
    ASSERT_TRUE(is_old != is_new) << "step " << at;
    if (is_new) break;
  }
  EXPECT_GT(steps, 15);
  EXPECT_FALSE(fs::exists(temp / "hf/mark"));
}

TEST(HfFolderWriter, AFolderWithContentIsRefusedUnlessItIsToBeReplaced) {
  const auto temp = test::TempFolder::in_memory();
  create_folders(temp / "hf");
  EXPECT_TRUE(HfFolderWriter::create(temp / "hf", {}).ok());
  write_file_atomic(temp / "hf/mark", "old");
  const auto refused = HfFolderWriter::create(temp / "hf", {});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.diagnostics()[0].message, HasSubstr("not empty"));
  EXPECT_FALSE(HfFolderWriter::create(temp / "hf/mark", {}, {.replace = true}).ok());
  EXPECT_FALSE(HfFolderWriter::create(temp / "hf", {}, {.replace = true}).ok());  // it may hold anything
  write_file_atomic(temp / "hf/config.json", "{}");
  auto writer = value_or_throw(HfFolderWriter::create(temp / "hf/", three_tensors(), {.replace = true}));
  fill(writer);
  writer.finish();
  EXPECT_FALSE(fs::exists(temp / "hf/mark"));
  EXPECT_EQ(num_items(temp.path()), 1U);
}

TEST(HfFolderWriter, TokenizerFilesAreCopiedByteForByteAndIdsAreWritten) {
  const auto temp = test::TempFolder::in_memory();
  create_folders(temp / "from");
  const std::string odd("{\"a\":1}\r\n\0\xff", 12);
  write_file_atomic(temp / "from/tokenizer.json", odd);
  write_file_atomic(temp / "from/merges.txt", "");
  write_file_atomic(temp / "from/model.safetensors", "not this");
  auto writer = value_or_throw(HfFolderWriter::create(temp / "hf", three_tensors()));
  fill(writer);
  EXPECT_THAT(writer.copy_tokenizer(temp / "from"), ::testing::ElementsAre("tokenizer.json", "merges.txt"));
  writer.write_generation_config({.bos = 1, .pad = {}, .eos = {2, 7}});
  writer.finish();
  EXPECT_EQ(value_or_throw(read_text_file(temp / "hf/tokenizer.json")), odd);
  EXPECT_EQ(value_or_throw(read_text_file(temp / "hf/merges.txt")), "");
  const auto ids = value_or_throw(parse_json(value_or_throw(read_text_file(temp / "hf/generation_config.json")), ""));
  EXPECT_EQ(ids.at("bos_token_id"), 1);
  EXPECT_EQ(ids.at("eos_token_id"), Json::array({2, 7}));
  EXPECT_FALSE(ids.contains("pad_token_id"));
}

TEST(HfFolderWriter, ATokenizerFileWithANameOfItsOwnIsCopiedAloneUnderTheUsualName) {
  const auto temp = test::TempFolder::in_memory();
  create_folders(temp / "from");
  const std::string model("\x0a\x05\x00\xff", 4);
  const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
      {"mine.chars.json", "[\"a\", \"b\"]", "characters.json"},
      {"mine.bpe.json", "{\"model\": {}}", "tokenizer.json"},
      {"qwen.tiktoken", "IQ== 0\n", "tiktoken.model"},
      {"spm.model", model, "tokenizer.model"}};
  write_file_atomic(temp / "from/merges.txt", "of another tokenizer");
  for (const auto& [name, content, usual] : cases) {
    write_file_atomic(temp / "from" / name, content);
    auto writer = value_or_throw(HfFolderWriter::create(temp / ("hf" + name), three_tensors()));
    fill(writer);
    EXPECT_THAT(writer.copy_tokenizer(temp / "from" / name), ::testing::ElementsAre(usual));
    writer.finish();
    EXPECT_EQ(value_or_throw(read_text_file(temp / ("hf" + name) / usual)), content);
  }
  write_file_atomic(temp / "from/gpt2-vocab.json", "{\"model\": 1}");
  auto half = value_or_throw(HfFolderWriter::create(temp / "half", three_tensors()));
  fill(half);
  EXPECT_THAT(half.copy_tokenizer(temp / "from/gpt2-vocab.json"), ::testing::IsEmpty());
  half.finish();
  // A usual name: what lies beside it belongs to it.
  write_file_atomic(temp / "from/tokenizer.json", "{}");
  auto writer = value_or_throw(HfFolderWriter::create(temp / "hf", three_tensors()));
  fill(writer);
  EXPECT_THAT(writer.copy_tokenizer(temp / "from/tokenizer.json"),
              ::testing::ElementsAre("tokenizer.json", "merges.txt"));
  writer.finish();
}

TEST(HfFolderWriter, AGenerationConfigIsThereWithoutAKnownIdToo) {
  const auto temp = test::TempFolder::in_memory();
  auto writer = value_or_throw(HfFolderWriter::create(temp / "hf", three_tensors()));
  fill(writer);
  writer.write_generation_config({});
  writer.finish();
  EXPECT_EQ(value_or_throw(parse_json(value_or_throw(read_text_file(temp / "hf/generation_config.json")), "")),
            (Json{{"_from_model_config", true}}));
}

TEST(HfFolderWriter, ATensorLargerThanAShardHasAShardOfItsOwn) {
  const auto temp = test::TempFolder::in_memory();
  auto writer = value_or_throw(HfFolderWriter::create(temp / "hf", three_tensors(), {.max_shard_bytes = 1}));
  EXPECT_EQ(writer.num_shards(), 4U);
  fill(writer);
  writer.finish();
  EXPECT_EQ(value_or_throw(HfFolder::open(temp / "hf")).names().size(), 4U);
}

}  // namespace
}  // namespace primus::hub
