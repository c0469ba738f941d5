// Real weights: logits and greedy text of transformers, with and without the cache. The folders are made by
// tests/golden/hf_models/make_real.py, which needs Python with transformers: PRIMUS_HF_REAL names where they lie.
#include <algorithm>
#include <cstdlib>
#include <gmock/gmock.h>
#include <sstream>

#include "support/tiny_run.h"

#include "primus/run/commands.h"
#include "primus/run/model_session.h"

namespace primus::run {
namespace {

const Json& recorded() {
  static const Json json =
      value_or_throw(parse_json(value_or_throw(read_text_file("tests/golden/hf_models/real.json")), "real.json"));
  return json;
}

struct Printed {
  std::string out, err;
};

class RealWeights : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const char* folders = std::getenv("PRIMUS_HF_REAL");
    if (folders == nullptr)
      GTEST_SKIP() << "PRIMUS_HF_REAL names no folder; tests/golden/hf_models/make_real.py --output DIR makes it";
    folder_ = fs::path(folders) / GetParam();
  }
  static Printed run_model_words(const std::vector<std::string>& words) {
    std::ostringstream out, err;
    cli::Context context{.out = &out, .err = &err};
    context.arguments = words;
    EXPECT_EQ(run_model_computation(context), ExitCode::Ok) << err.str();
    return {out.str(), err.str()};
  }
  std::vector<std::string> generate(const std::string& prompt, const std::string& count) const {
    return {"generate", "--hf", folder_.string(), "--prompt", prompt, "--max-new-tokens", count};
  }
  fs::path folder_;
};

TEST_P(RealWeights, HaveTheLogitsOfTheReference) {
  const fs::path work = testing::TempDir();
  for (const Json& text : recorded().at(GetParam()).at("texts")) {
    const std::string tokens = (work / "real_tokens.json").string(), output = (work / "real.safetensors").string();
    write_file_atomic(tokens, dump_json({{"input_ids", Json::array({text.at("prompt_ids")})}}));
    run_model_words({"logits", "--hf", folder_.string(), "--tokens", tokens, "--output", output});
    const std::map<std::string, at::Tensor> found = test::read_safetensors(output);
    EXPECT_NEAR(found.at("loss").item<double>(), text.at("loss").get<double>(), 1e-4);
    const at::Tensor last = found.at("logits")[0][-1];
    const double largest = text.at("last_logits_max").get<double>();
    EXPECT_NEAR(last.max().item<double>(), largest, 1e-4 * largest);
    EXPECT_EQ(last.argmax().item<int64_t>(), text.at("last_logits_argmax").get<int64_t>());
    const auto first = text.at("last_logits_first_8").get<std::vector<double>>();
    for (size_t i = 0; i < first.size(); ++i)
      EXPECT_NEAR(last[static_cast<int64_t>(i)].item<double>(), first[i], 1e-4 * largest) << i;
  }
}

// The record goes on behind the end of an answer, which is where we stop.
Json up_to_the_end(Json text) {
  const auto ids = text.at("greedy_ids").get<std::vector<int64_t>>();
  const std::string written = text.at("greedy_text").get<std::string>();
  const size_t end = written.find("<|im_end|>");
  if (end == std::string::npos) return text;
  constexpr int64_t kImEnd = 2;
  text["greedy_ids"] = std::vector<int64_t>(ids.begin(), std::ranges::find(ids, kImEnd));
  text["greedy_text"] = written.substr(0, end);
  return text;
}

TEST_P(RealWeights, WriteTheGreedyTextOfTheReference) {
  for (const Json& whole : recorded().at(GetParam()).at("texts")) {
    const Json text = up_to_the_end(whole);
    const std::string prompt = text.at("prompt").get<std::string>();
    std::vector<std::string> words = generate(prompt, std::to_string(whole.at("greedy_ids").size()));
    words.insert(words.end(), {"--temperature", "0"});
    const std::string streamed = run_model_words(words).out;
    EXPECT_EQ(streamed, prompt + text.at("greedy_text").get<std::string>() + "\n");
    words.insert(words.end(), {"--format", "json"});
    const Json cached = value_or_throw(parse_json(run_model_words(words).out, "cached"));
    EXPECT_EQ(cached.at("prompt_ids"), text.at("prompt_ids"));
    EXPECT_EQ(cached.at("ids"), text.at("greedy_ids"));
    EXPECT_EQ(cached.at("text"), text.at("greedy_text"));
    words.emplace_back("--no-cache");
    EXPECT_EQ(value_or_throw(parse_json(run_model_words(words).out, "uncached")), cached);
  }
}

TEST_P(RealWeights, WriteTheSameTextForTheSameSeed) {
  const auto text_of = [this](const std::string& seed, bool cache) {
    std::vector<std::string> words = generate("Once upon", "12");
    words.insert(words.end(), {"--seed", seed, "--temperature", "1.3", "--top-p", "0.95"});
    if (!cache) words.emplace_back("--no-cache");
    return run_model_words(words).out;
  };
  const std::string first = text_of("5", true);
  EXPECT_EQ(text_of("5", true), first);
  EXPECT_EQ(text_of("5", false), first);
  EXPECT_NE(text_of("6", true), first);
}

INSTANTIATE_TEST_SUITE_P(Models, RealWeights, testing::Values("glassllm", "smollm2"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace primus::run
