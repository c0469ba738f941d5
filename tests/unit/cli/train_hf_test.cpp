// init_from and export_every before anything is started: what fits, what is refused and how that is said.
#include "primus/cli/train_hf.h"

#include "unit/cli/config_fixture.h"

namespace primus::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const fs::path kLlama = "tests/golden/hf_models/llama_bias_llama3";

class TrainHf : public ConfigFixture {
 protected:
  // An experiment with the model of kLlama, as config import-hf says it.
  std::string llama(const std::string& more = "") {
    const Outcome preset = run({"import-hf", kLlama.string()});
    EXPECT_EQ(preset.code, 0) << preset.err;
    std::string text =
        "work_group: a\nuser_name: b\nexp_name: c\nworkspace: " + (folder_ / "output").string() +
        "\nmodules:\n  pre_trainer:\n    framework: megatron\n    config: pre_trainer.yaml\n    model: "
        "language_model.yaml\n    overrides:\n      mock_data: true\n      tokenizer_type: NullTokenizer\n      "
        "seq_length: 16\n      train_iters: 2\n      lr_warmup_iters: 0\n      micro_batch_size: 1\n      "
        "global_batch_size: 1\n      eval_iters: 0\n";
    std::istringstream lines(preset.out);
    for (std::string line; std::getline(lines, line);) {
      const bool is_key = !line.empty() && std::islower(static_cast<unsigned char>(line[0])) != 0;
      if (is_key && !line.starts_with("extends")) text += "      " + line + "\n";
    }
    return write("llama.yaml", text + more);
  }
  ResolvedRun resolve(const std::vector<std::string>& overrides) {
    request_ = {};
    request_.config = llama();
    request_.overrides = overrides;
    context_.environment = environment_of({});
    context_.out = context_.err = &said_;
    context_.install_root = fs::current_path();
    return resolve_run(request_, context_, 1);
  }
  std::string refusal(const std::vector<std::string>& overrides) {
    try {
      const ResolvedRun resolved = resolve(overrides);
      check_hugging_face(request_, resolved, context_);
    } catch (const InputError& error) {
      return error.what();
    }
    ADD_FAILURE() << "was accepted";
    return "";
  }
  static std::vector<std::string> from(const fs::path& folder, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"vocab_size=98", "init_from=" + fs::absolute(folder).string()});
    return more;
  }

  TrainRequest request_;
  Context context_;
  std::ostringstream said_;
};

TEST_F(TrainHf, TakesTheFolderOfTheSameModel) {
  const ResolvedRun resolved = resolve(from(kLlama, {"export_every=2"}));
  EXPECT_EQ(resolved.spec.checkpoint.init_from, fs::absolute(kLlama).string());
  EXPECT_EQ(resolved.spec.checkpoint.export_every_steps, 2);
  check_hugging_face(request_, resolved, context_);
  Diagnostics notes;
  spec::RunSpec run = resolved.spec;
  const InitialWeights initial = open_initial_weights(run, notes);
  EXPECT_EQ(initial.family, "llama");
  EXPECT_THAT(initial.weights.report().missing, IsEmpty());
  EXPECT_THAT(notes, IsEmpty());
}

TEST_F(TrainHf, OffUnlessAskedFor) {
  const ResolvedRun resolved = resolve({"vocab_size=98"});
  EXPECT_EQ(resolved.spec.checkpoint.init_from, "");
  EXPECT_EQ(resolved.spec.checkpoint.export_every_steps, 0);
  check_hugging_face(request_, resolved, context_);
}

TEST_F(TrainHf, NamesEveryDifferenceWithBothValues) {
  const std::string text = refusal(from(kLlama, {"ffn_hidden_size=33", "layernorm_epsilon=1.0e-7"}));
  EXPECT_THAT(text, HasSubstr("the experiment's model is not the one of this folder"));
  EXPECT_THAT(text, HasSubstr("ffn_size: 33 here, "));
  EXPECT_THAT(text, HasSubstr("1e-07 here, "));
  EXPECT_THAT(text, HasSubstr("in the folder"));
  EXPECT_THAT(text, HasSubstr("config import-hf"));
  EXPECT_THAT(text, Not(HasSubstr("hidden_size: ")));
}

TEST_F(TrainHf, LongerSequencesAreNoOtherModel) {
  const ResolvedRun resolved = resolve(from(kLlama, {"max_position_embeddings=200", "seq_length=200"}));
  check_hugging_face(request_, resolved, context_);
}

TEST_F(TrainHf, ASmallerVocabularyGrowsToTheFoldersAndALargerOneIsRefused) {
  ResolvedRun resolved = resolve(from(kLlama, {"vocab_size=50"}));
  check_hugging_face(request_, resolved, context_);
  EXPECT_EQ(resolved.spec.model.vocab_size, 51);
  Diagnostics notes;
  open_initial_weights(resolved.spec, notes);
  EXPECT_EQ(resolved.spec.model.vocab_size, 99);
  const std::string text = refusal(from(kLlama, {"vocab_size=99", "padded_vocab_size=100"}));
  EXPECT_THAT(text, HasSubstr("more token ids than the folder's model has rows"));
  EXPECT_THAT(text, HasSubstr("100 ids"));
  EXPECT_THAT(text, HasSubstr("at most 99"));
}

TEST_F(TrainHf, RefusesFoldersThatHoldNoModel) {
  EXPECT_THAT(refusal(from(folder_ / "nowhere")), HasSubstr("no such folder"));
  fs::create_directories(folder_ / "empty");
  EXPECT_THAT(refusal(from(folder_ / "empty")), HasSubstr("there is no config.json in it"));
  fs::copy_file(kLlama / "config.json", folder_ / "empty/config.json");
  EXPECT_THAT(refusal(from(folder_ / "empty")), HasSubstr("safetensors"));
}

TEST_F(TrainHf, RefusesACheckpointBesideIt) {
  EXPECT_THAT(refusal(from(kLlama, {"load=elsewhere"})),
              HasSubstr("both from a Hugging Face folder and from a checkpoint"));
}

TEST_F(TrainHf, AProxyStartsFromFreshWeights) {
  ResolvedRun resolved = resolve(from(kLlama));
  const auto changes = value_or_throw(dialect::apply_proxy(resolved.experiment));
  EXPECT_THAT(dialect::render_proxy(changes), HasSubstr("those weights have other sizes"));
  const config::Value* left = resolved.experiment.main_module().params.find("init_from");
  ASSERT_NE(left, nullptr);
  EXPECT_TRUE(left->is_null());
}

TEST_F(TrainHf, RefusesAnExportThatNoFamilyHolds) {
  const std::string text = refusal({"vocab_size=98", "export_every=1", "logit_multiplier=0.5"});
  EXPECT_THAT(text, HasSubstr("cannot be exported"));
  EXPECT_THAT(text, HasSubstr("logit_multiplier"));
  EXPECT_THAT(refusal({"vocab_size=98", "export_every=0"}), HasSubstr("export_every"));
}

TEST_F(TrainHf, AResumedRunHasTheVocabularyOfItsCheckpoint) {
  spec::RunSpec run;
  run.model.vocab_size = 51;
  take_vocabulary(run, Json{{"vocab_size", 99}});
  EXPECT_EQ(run.model.vocab_size, 51);  // it did not start from a folder
  run.checkpoint.init_from = "there";
  take_vocabulary(run, Json{{"vocab_size", 99}});
  EXPECT_EQ(run.model.vocab_size, 99);
}

}  // namespace
}  // namespace primus::cli
