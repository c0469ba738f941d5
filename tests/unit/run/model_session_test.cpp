// What `model logits | grads | generate` read: tokens, and models of runs and experiments that are not there.
#include "primus/run/model_session.h"

#include <fstream>
#include <gmock/gmock.h>
#include <sstream>
#include <unistd.h>

#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/run/commands.h"

namespace primus::run {
namespace {

using testing::HasSubstr;

constexpr const char* kLlama = "tests/golden/hf_models/llama_tied_linear";

class ModelSessionTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("primus_model_session_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    model_.vocab_size = 10;
    model_.max_positions = 4;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& text) const {
    const std::string file = (folder_ / "tokens.json").string();
    std::ofstream(file) << text;
    return file;
  }
  template <class Body>
  static std::string refusal(const Body& body) {
    try {
      body();
    } catch (const InputError& error) {
      return error.what();
    }
    ADD_FAILURE() << "was accepted";
    return "";
  }
  std::string refused_tokens(const std::string& text) const {
    const std::string file = write(text);
    return refusal([&] { read_token_rows(file, model_); });
  }
  std::string refused_words(const std::vector<std::string>& words) const {
    std::ostringstream out;
    cli::Context context{.out = &out, .err = &out};
    context.arguments = words;
    context.install_root = fs::current_path();
    return refusal([&] { run_model_computation(context); });
  }

  fs::path folder_;
  spec::Model model_;
};

TEST_F(ModelSessionTest, ReadsRowsOfTokens) {
  const at::Tensor rows = read_token_rows(write(R"({"input_ids": [[1, 2, 3], [9, 0, 5]], "note": "x"})"), model_);
  EXPECT_TRUE(at::equal(rows, at::tensor({1, 2, 3, 9, 0, 5}, at::kLong).view({2, 3})));
  const models::MicroBatch batch = next_token_batch(rows);
  EXPECT_TRUE(at::equal(batch.labels.narrow(1, 0, 2), rows.narrow(1, 1, 2)));
  EXPECT_TRUE(at::equal(batch.weights, at::tensor({.25f, .25f, 0.f, .25f, .25f, 0.f}).view({2, 3})));
}

TEST_F(ModelSessionTest, RefusesTokensThatAreNone) {
  EXPECT_THAT(refused_tokens("[[1, 2]]"), HasSubstr("no token ids"));
  EXPECT_THAT(refused_tokens(R"({"input_ids": []})"), HasSubstr("no token ids"));
  EXPECT_THAT(refused_tokens(R"({"input_ids": [1, 2]})"), HasSubstr("a row that is no list of token ids"));
  EXPECT_THAT(refused_tokens(R"({"input_ids": [[1]]})"), HasSubstr("a row without a next token has no loss"));
  EXPECT_THAT(refused_tokens(R"({"input_ids": [[1, 2], [3, 4, 5]]})"), HasSubstr("rows of 2 and of 3 tokens"));
  EXPECT_THAT(refused_tokens(R"({"input_ids": [[1, 10]]})"), HasSubstr("outside of the vocabulary of 10"));
  EXPECT_THAT(refused_tokens(R"({"input_ids": [[1, -1]]})"), HasSubstr("outside"));
  EXPECT_THAT(refused_tokens(R"({"input_ids": [[1, 2.0]]})"), HasSubstr("no whole number"));
  EXPECT_THAT(refused_tokens(R"({"input_ids": [[1, true]]})"), HasSubstr("no whole number"));
  EXPECT_THAT(refused_tokens(R"({"input_ids": [[1, 2, 3, 4, 5]]})"), HasSubstr("longer than the model's 4 positions"));
  EXPECT_THAT(refused_tokens("{"), HasSubstr("tokens.json"));
  EXPECT_THAT(refusal([&] { read_token_rows((folder_ / "none.json").string(), model_); }), HasSubstr("none.json"));
}

TEST_F(ModelSessionTest, RefusesModelsThatAreNotThere) {
  const std::string tokens = write(R"({"input_ids": [[1, 2, 3]]})");
  const std::vector<std::string> rest = {"--tokens", tokens, "--output", (folder_ / "out.safetensors").string()};
  const auto words = [&](const std::string& option, const std::string& value) {
    std::vector<std::string> all = {"logits", option, value};
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  };
  EXPECT_THAT(refused_words(words("--run", folder_.string())), HasSubstr("this is no run folder"));
  EXPECT_THAT(refused_words(words("--hf", folder_.string())), HasSubstr("config.json"));
  EXPECT_THAT(refused_words(words("--config", "none.yaml")), HasSubstr("none.yaml"));
  fs::create_directories(folder_ / "config");
  std::ofstream(folder_ / "config/resolved.yaml") << "modules: {}\n";
  EXPECT_THAT(refused_words(words("--run", folder_.string())), HasSubstr("checkpoint"));
  EXPECT_FALSE(fs::exists(rest.back()));
}

TEST_F(ModelSessionTest, TextDoesNotSteerATerminal) {
  const std::string file = (folder_ / "bytes.yaml").string();
  std::ofstream(file) << R"(work_group: amd
user_name: root
exp_name: bytes
workspace: unused
modules:
  pre_trainer:
    framework: megatron
    config: pre_trainer.yaml
    model: llama3.2_1B.yaml
    overrides: {num_layers: 1, hidden_size: 16, ffn_hidden_size: 24, num_attention_heads: 2, num_query_groups: 1,
                kv_channels: null, seq_length: 64, max_position_embeddings: 64, tokenizer_type: ByteTokenizer,
                tokenizer_model: null, train_data_path: none, micro_batch_size: 1, global_batch_size: 1}
)";
  const auto text = [&](bool terminal) {
    std::ostringstream out, err;
    cli::Context context{.out = &out, .err = &err};
    context.arguments = {"generate", "--config", file, "--prompt", "x", "--max-new-tokens", "60", "--temperature", "1"};
    context.install_root = fs::current_path();
    context.out_is_terminal = terminal;
    EXPECT_EQ(run_model_computation(context), ExitCode::Ok);
    return out.str();
  };
  const std::string raw = text(false);
  EXPECT_NE(raw, without_controls(raw)) << "no control character among random bytes: the test sees nothing";
  EXPECT_EQ(text(true), without_controls(raw));
}

TEST_F(ModelSessionTest, TextNeedsATokenizer) {
  const std::string text = refused_words({"generate", "--hf", kLlama, "--prompt", "x"});
  EXPECT_THAT(text, HasSubstr("tokenizer"));
}

}  // namespace
}  // namespace primus::run
