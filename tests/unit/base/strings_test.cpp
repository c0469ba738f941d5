#include "primus/base/strings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace primus {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Split, KeepsEmptyParts) {
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split("one", ','), ElementsAre("one"));
}

TEST(SplitWhitespace, DropsEmptyParts) {
  EXPECT_THAT(split_whitespace(" \t one\r\n two\v\fthree "), ElementsAre("one", "two", "three"));
  EXPECT_THAT(split_whitespace(" \n "), IsEmpty());
  EXPECT_THAT(split_whitespace(""), IsEmpty());
}

TEST(Join, PutsTheSeparatorBetweenParts) {
  EXPECT_EQ(join({"a", "", "b"}, ", "), "a, , b");
  EXPECT_EQ(join({"a"}, ", "), "a");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(Trim, TakesWhitespaceFromBothEndsOnly) {
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim(" \n\t"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(ToLower, ChangesAsciiOnly) {
  EXPECT_EQ(to_lower("AZ[az09_\xC3\x84"), "az[az09_\xC3\x84");
}

TEST(StartsWithCi, IgnoresCase) {
  EXPECT_TRUE(starts_with_ci("PRIMUS_TEAM", "primus_"));
  EXPECT_TRUE(starts_with_ci("abc", ""));
  EXPECT_FALSE(starts_with_ci("prim", "primus"));
  EXPECT_FALSE(starts_with_ci("xprimus", "primus"));
}

TEST(ParseInt, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_int("0"), 0);
  EXPECT_EQ(parse_int("+17"), 17);
  EXPECT_EQ(parse_int("-007"), -7);
  EXPECT_EQ(parse_int("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(parse_int("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  for (const char* text :
       {"", "+", "-", "+-1", "--1", "1 ", " 1", "1.0", "1e3", "0x10", "9223372036854775808", "1_000"}) {
    EXPECT_FALSE(parse_int(text)) << text;
  }
}

TEST(ParseDouble, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_double("3"), 3.0);
  EXPECT_EQ(parse_double("+.5"), 0.5);
  EXPECT_EQ(parse_double("-2.5E-3"), -0.0025);
  EXPECT_EQ(parse_double("1e-05"), 1e-5);
  for (const char* text : {"", "+", "+-1", "e5", ".", "inf", "nan", "0x1p3", "1e999", "1.5 ", "1,5", "1.2.3"}) {
    EXPECT_FALSE(parse_double(text)) << text;
  }
}

TEST(FormatDouble, IsTheShortestTextThatReadsBack) {
  EXPECT_EQ(format_double(0.1), "0.1");
  EXPECT_EQ(format_double(3), "3.0");
  EXPECT_EQ(format_double(-0.0), "-0.0");
  EXPECT_EQ(format_double(1.5e-7), "1.5e-07");
  EXPECT_EQ(format_double(std::numeric_limits<double>::infinity()), ".inf");
  EXPECT_EQ(format_double(-std::numeric_limits<double>::infinity()), "-.inf");
  EXPECT_EQ(format_double(std::numeric_limits<double>::quiet_NaN()), ".nan");
  for (const double value : {1e-5, 0.1 + 0.2, 1.0 / 3, 6.02214076e23, 5e-324, 1.7976931348623157e308, 123456789.0}) {
    EXPECT_EQ(parse_double(format_double(value)), value) << value;
  }
}

TEST(FormatDouble, GivesExponentsThePointThatYamlWants) {
  EXPECT_EQ(format_double(1e-5), "1.0e-05");
  EXPECT_EQ(format_double(1e22), "1.0e+22");
}

TEST(FormatThousands, SetsCommas) {
  EXPECT_EQ(format_thousands(0), "0");
  EXPECT_EQ(format_thousands(999), "999");
  EXPECT_EQ(format_thousands(1000), "1,000");
  EXPECT_EQ(format_thousands(-1234567), "-1,234,567");
  EXPECT_EQ(format_thousands(std::numeric_limits<int64_t>::max()), "9,223,372,036,854,775,807");
  EXPECT_EQ(format_thousands(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(FormatCount, ChoosesTheUnit) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1.00 k");
  EXPECT_EQ(format_count(124439808), "124.44 M");
  EXPECT_EQ(format_count(8030261248), "8.03 B");
  EXPECT_EQ(format_count(-1.5e13), "-15.00 T");
}

TEST(FormatBytes, ChoosesTheBinaryUnit) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(1.5 * 1024 * 1024 * 1024), "1.50 GiB");
  EXPECT_EQ(format_bytes(0x1p41), "2.00 TiB");
}

TEST(FormatDuration, ShowsTwoUnits) {
  EXPECT_EQ(format_duration(0.4), "0 s");
  EXPECT_EQ(format_duration(59.4), "59 s");
  EXPECT_EQ(format_duration(59.6), "1 min 00 s");
  EXPECT_EQ(format_duration(3599), "59 min 59 s");
  EXPECT_EQ(format_duration(3720), "1 h 02 min");
  EXPECT_EQ(format_duration(100 * 3600), "100 h 00 min");
}

TEST(EditDistance, CountsAnAdjacentSwapAsOne) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("hidden_size", "hiden_size"), 1);
  EXPECT_EQ(edit_distance("lr_decay", "rl_decay"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("ca", "abc"), 3);  // no edit inside a swapped pair
  EXPECT_EQ(edit_distance("abc", "ca"), edit_distance("ca", "abc"));
}

TEST(Nearest, ListsTheClosestFirstAndNothingFar) {
  const std::vector<std::string> keys = {"num_layers", "num_layer", "hidden_size", "NUM_LAYERS", "seed"};
  EXPECT_THAT(nearest("num_layrs", keys), ElementsAre("NUM_LAYERS", "num_layers", "num_layer"));
  EXPECT_THAT(nearest("num_layrs", keys, 1), ElementsAre("NUM_LAYERS"));
  EXPECT_THAT(nearest("zzzzzzzz", keys), IsEmpty());
  EXPECT_THAT(nearest("sd", keys), ElementsAre("seed"));  // two edits are always allowed
  EXPECT_THAT(nearest("lr", {"lr", "lr"}), ElementsAre("lr"));
}

TEST(DidYouMean, SpellsOutTheChoices) {
  EXPECT_EQ(did_you_mean("aaaax", {"zzzzz"}), "");
  EXPECT_EQ(did_you_mean("trainn", {"train"}), "did you mean 'train'?");
  EXPECT_EQ(did_you_mean("abcd", {"abcx", "abcy"}), "did you mean 'abcx' or 'abcy'?");
  EXPECT_EQ(did_you_mean("abcd", {"abcx", "abcy", "abcz"}), "did you mean 'abcx', 'abcy' or 'abcz'?");
}

TEST(NamesASecret, KnowsSecretsInEverySpelling) {
  for (const char* name : {"hf_token",
                           "HF_TOKEN",
                           "hfToken",
                           "--hf-token",
                           "token",
                           "wandb_key",
                           "WANDB_API_KEY",
                           "key",
                           "db_password",
                           "DB_PASSWORD_FILE",
                           "dbpassword",
                           "hf_access_token",
                           "access_token_of_hub",
                           "api_key",
                           "api_keys",
                           "apikey",
                           "client_secret",
                           "AWS_SECRET_ACCESS_KEY",
                           "aws_credentials",
                           "HUGGING_FACE_HUB_TOKEN",
                           "modules.hf_token"}) {
    EXPECT_TRUE(names_a_secret(name)) << name;
  }
}

TEST(NamesASecret, LetsTrainingWordsThrough) {
  for (const char* name : {"",
                           "lr",
                           "moe_token_dispatcher_type",
                           "moe_token_drop_policy",
                           "tiktoken_pattern",
                           "calculate_per_token_loss",
                           "tokenizer_model",
                           "TOKENIZERS_PARALLELISM",
                           "num_nodes_env_key",
                           "db_password_env_key",
                           "eod_token",
                           "bos_token",
                           "image_start_token",
                           "loss_per_token",
                           "max_tokens_to_oom",
                           "tokens",
                           "monkey",
                           "query_key",
                           "key_value_heads",
                           "json_keys",
                           "sort_key",
                           "keyring_size",
                           "_"}) {
    EXPECT_FALSE(names_a_secret(name)) << name;
  }
}

TEST(Utf8, RefusesWhatIsNotWellFormed) {
  EXPECT_TRUE(is_valid_utf8(""));
  EXPECT_TRUE(is_valid_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82"));
  EXPECT_TRUE(is_valid_utf8("\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF"));  // around the surrogates, and the last one
  for (const char* text : {"\x80", "\xC3", "\xC3(", "\xC0\xAF", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82",
                           "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "a\xE2\x82z"}) {
    EXPECT_FALSE(is_valid_utf8(text)) << testing::PrintToString(std::string(text));
  }
}

TEST(Utf8, CountsCodePoints) {
  EXPECT_EQ(num_code_points(""), 0U);
  EXPECT_EQ(num_code_points("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82"), 4U);
}

TEST(WithoutControls, HoldsNothingThatATerminalWouldObey) {
  EXPECT_EQ(without_controls("a\tb\nc \xC3\xA9 \xE4\xB8\xAD"), "a\tb\nc \xC3\xA9 \xE4\xB8\xAD");
  const std::string unknown = "\xEF\xBF\xBD";
  for (const std::string& control : {std::string("\x1b"), std::string("\x07"), std::string("\r"), std::string("\x7f"),
                                     std::string(1, '\0'), std::string("\xC2\x9B"), std::string("\xC2\x80")})
    EXPECT_EQ(without_controls("x" + control + "[2J"), "x" + unknown + "[2J");
  EXPECT_EQ(without_controls("\xC2\xA0"), "\xC2\xA0");
}

TEST(PrintableAscii, KeepsOneLine) {
  EXPECT_EQ(first_ascii_line("refused\nframe 0: x"), "refused");
  EXPECT_EQ(printable_ascii("a\nb\tc\rd"), "a b c d");
  EXPECT_EQ(printable_ascii("~ \x7F\x01\xC3\xA9"), "~ ????");
}

}  // namespace
}  // namespace primus
