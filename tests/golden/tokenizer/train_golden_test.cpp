// Training against the tokenizers library's trainer (small/trained.json, made by make_small.py with tokenizers 0.23.3):
// the same text gives the same merges in the same order, and so the same ids.
#include "golden_files.h"

#include "primus/tokenizer/bpe_train.h"
#include "primus/tokenizer/load.h"

namespace primus::tokenizer {
namespace {

TEST(BpeTrainer, JoinsThePairsThatTheReferenceTrainerJoins) {
  const std::string text = value_or_throw(read_text_file(golden_folder() / "train_text.txt"));
  BpeTrainer trainer({.vocab_size = 1000, .show_progress = false});
  trainer.add(text);
  const TrainedBpe trained = value_or_throw(trainer.train());
  ASSERT_EQ(trained.vocab_size(), 1000);
  const Json ours = value_or_throw(parse_json(trained.to_json(), "ours"));
  const Json theirs =
      value_or_throw(parse_json(value_or_throw(read_text_file(golden_folder() / "small" / "trained.json")), "theirs"));
  EXPECT_EQ(ours["model"]["merges"], theirs["model"]["merges"]);
  // The vocabulary is compared without its order.
  EXPECT_EQ(nlohmann::json(ours["model"]["vocab"]), nlohmann::json(theirs["model"]["vocab"]));
  const auto our_tokenizer = value_or_throw(read_tokenizer_json(trained.to_json(), {"ours"}));
  const Json& golden = read_golden("small_goldens.json");
  for (size_t i = 0; i < golden["texts"].size(); ++i) {
    EXPECT_EQ(our_tokenizer->encode(golden["texts"][i].get<std::string>()),
              ids_of(golden["files"]["trained"][i]["ids"]))
        << i;
  }
}

}  // namespace
}  // namespace primus::tokenizer
