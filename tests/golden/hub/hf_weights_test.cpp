// Names and shapes against transformers (make_names.py), and its own tiny checkpoints in and out (../hf_models).
#include "primus/hub/hf_weights.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "support/hf_golden.h"

#include "primus/base/hash.h"
#include "primus/hub/hf_config.h"
#include "primus/hub/hf_folder.h"
#include "primus/hub/hf_weights_source.h"

namespace primus::hub {
namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;

Shapes shapes_of(const std::vector<HfTensor>& tensors) {
  Shapes shapes;
  for (const HfTensor& tensor : tensors) shapes.emplace(tensor.name, tensor.shape);
  return shapes;
}

TEST(HfWeightsGolden, NamesAndShapesOfEveryPublishedAndTinyConfigurationAreThoseOfTransformers) {
  const Json names =
      value_or_throw(parse_json(value_or_throw(read_text_file("tests/golden/hub/names.json")), "names.json"));
  size_t giants = 0;
  for (const Json& one : names) {
    const auto name = one.at("name").get<std::string>();
    const HfModel hf =
        value_or_throw(read_hf_config(one.contains("config") ? one.at("config") : test::golden_config(name), name));
    const Shapes shapes = shapes_of(value_or_throw(hf_weights(hf.model, hf.family)));
    std::vector<std::string> lines;
    for (const auto& [tensor, shape] : shapes) lines.push_back(fmt::format("{} {}\n", tensor, format_shape(shape)));
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (const std::string& line : lines) text += line;
    EXPECT_EQ(shapes.size(), one.at("tensors").get<size_t>()) << name;
    EXPECT_EQ(sha256_hex(text), one.at("sha256").get<std::string>()) << name;
    giants += shapes.size() > 40'000 ? 1 : 0;
  }
  EXPECT_GT(names.size(), 140U);
  EXPECT_GE(giants, 2U);
}

std::vector<fs::path> checkpoints() {
  std::vector<fs::path> folders;
  for (const auto& item : fs::directory_iterator("tests/golden/hf_models"))
    if (fs::exists(item.path() / "expected.safetensors")) folders.push_back(item.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

// As transformers saves it: not quantised, and not the half of a multimodal model.
bool is_saved_form(const fs::path& folder) {
  const Json config = value_or_throw(parse_json(value_or_throw(read_text_file(folder / "config.json")), "config.json"));
  return !config.contains("quantization_config") && !config.contains("text_config");
}

TEST(HfWeightsGolden, TinyCheckpointsHoldExactlyTheTensorsThatWeName) {
  std::set<std::string> families;
  for (const fs::path& folder : checkpoints()) {
    if (!is_saved_form(folder)) continue;
    const HfModel hf = value_or_throw(read_hf_config(folder));
    families.insert(hf.family);
    const HfFolder stored = value_or_throw(HfFolder::open(folder));
    Shapes wanted;
    for (const std::string& name : stored.names()) wanted.emplace(name, stored.find(name)->info->shape);
    EXPECT_EQ(shapes_of(value_or_throw(hf_weights(hf.model, hf.family))), wanted) << folder;
  }
  EXPECT_EQ(families.size(), hf_families().size());
}

TEST(HfWeightsGolden, GradientsAreNamedAsTheTensorsThatAreNoBuffers) {
  for (const fs::path& folder : checkpoints()) {
    const HfModel hf = value_or_throw(read_hf_config(folder));
    const auto expected = value_or_throw(SafetensorsFile::open(folder / "expected.safetensors"));
    Shapes wanted;
    for (const TensorEntry& entry : expected.entries())
      if (entry.name.starts_with("grad.")) wanted.emplace(entry.name.substr(5), entry.shape);
    if (wanted.empty() || !is_saved_form(folder)) continue;
    std::vector<HfTensor> tensors = value_or_throw(hf_weights(hf.model, hf.family));
    std::erase_if(tensors, [](const HfTensor& tensor) { return tensor.buffer; });
    EXPECT_EQ(shapes_of(tensors), wanted) << folder;
  }
}

TEST(HfWeightsGolden, TinyCheckpointsComeBackByteForByte) {
  size_t compared = 0;
  for (const fs::path& folder : checkpoints()) {
    const HfModel hf = value_or_throw(read_hf_config(folder));
    const auto source = WeightSource::open(folder, hf.model, hf.family, {.refuse_unexpected = true});
    ASSERT_TRUE(source.ok()) << folder << "\n" << render(source.diagnostics());
    const HfFolder stored = value_or_throw(HfFolder::open(folder));
    EXPECT_EQ(source->report().loaded.size() + source->report().ignored.size(), stored.names().size());
    for (const HfTensor& tensor : source->tensors()) {
      const HfEntry* entry = stored.find(tensor.name);
      if (tensor.storage != HfStorage::Numbers || !is_export_dtype(entry->info->dtype)) continue;
      const auto bytes = assemble(tensor, entry->info->dtype, [&](const WeightPart& part, std::span<float> out) {
        source->read_rows(part.piece, 0, part.rows(), out);
      });
      ASSERT_TRUE(std::ranges::equal(bytes, entry->bytes)) << folder << " " << tensor.name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 500U);
}

}  // namespace
}  // namespace primus::hub
