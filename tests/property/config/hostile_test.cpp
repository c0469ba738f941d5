// Files that want too much: one error each, and no more memory than the file deserves. Times are not asserted here; a
// reader that is not linear would let these tests run for minutes.
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

#include "primus/base/fs.h"
#include "primus/config/load.h"
#include "primus/config/override.h"
#include "primus/config/placeholder.h"
#include "primus/config/python_literal.h"
#include "primus/config/yaml_reader.h"

namespace primus::config {
namespace {

using testing::HasSubstr;

std::string repeated(const std::string& part, size_t times) {
  std::string text;
  text.reserve(part.size() * times);
  for (size_t i = 0; i < times; ++i) text += part;
  return text;
}

// The findings of reading; "" when the text was read.
std::string refusal(const std::string& text) {
  Diagnostics findings;
  const auto tree = read_yaml(text, std::make_shared<const std::string>("hostile.yaml"), Layer::Experiment, findings);
  if (tree && !has_errors(findings)) return "";
  EXPECT_FALSE(findings.empty());
  EXPECT_LE(findings.size(), 3U);
  const std::string shown = render(findings);
  EXPECT_LT(shown.size(), 2000U);
  return shown;
}

// Most that this process has held so far.
long peak_megabytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

// B146
TEST(Hostile, DeepNestingIsRefusedAtItsPlace) {
  EXPECT_THAT(refusal("a: " + repeated("[", 100'000)), HasSubstr("hostile.yaml:1:"));
  EXPECT_THAT(refusal(repeated("{a: ", 100'000)), HasSubstr("nesting"));
  EXPECT_THAT(refusal("a: " + repeated("[", 100'000) + repeated("]", 100'000)), HasSubstr("nesting"));
  EXPECT_THAT(refusal(repeated("- ", 100'000) + "x\n"), HasSubstr("nesting"));
  EXPECT_NE(refusal("[:\n"), "");
  std::string steps;
  for (size_t depth = 0; depth < 1000; ++depth) steps += std::string(depth, ' ') + "a:\n";
  EXPECT_THAT(refusal(steps), HasSubstr("nesting"));
  EXPECT_FALSE(read_python_literal(repeated("[", 100'000)).has_value());
  EXPECT_FALSE(read_python_literal(repeated("[", 100'000) + repeated("]", 100'000)).has_value());
}

// B147
TEST(Hostile, AliasesNeitherCircleNorGrow) {
  EXPECT_THAT(refusal("a: &x [*x]\n"), HasSubstr("*x"));
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i <= 9; ++i) {
    const std::string older = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + older;
    for (int j = 1; j < 10; ++j) bomb += ", " + older;
    bomb += "]\n";
  }
  EXPECT_THAT(refusal(bomb), HasSubstr("aliases"));
  std::string merges = "a0: &a0 {k: 1}\n";
  for (int i = 1; i <= 40; ++i) {
    const std::string older = "*a" + std::to_string(i - 1);
    merges += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " {x: " + older + ", y: " + older + "}\n";
  }
  EXPECT_THAT(refusal(merges), HasSubstr("aliases"));
}

// What a merge hides is kept, so that it grows like any copy.
TEST(Hostile, MergedMapsDoNotGrow) {
  std::string levels = "x0: &x0 {a: 1}\n";
  for (int i = 1; i <= 30; ++i) {
    const std::string older = ", *x" + std::to_string(i - 1);
    levels += "x" + std::to_string(i) + ": &x" + std::to_string(i) + " {<<: [" + repeated(older, 30).substr(2) +
              "], k" + std::to_string(i) + ": 1}\n";
  }
  EXPECT_THAT(refusal(levels), HasSubstr("aliases"));
  EXPECT_THAT(refusal("a: &a {b: 1}\nc: {<<: [*a" + repeated(", *a", 20'000) + "]}\n"),
              HasSubstr("more than 64 maps merged"));
}

TEST(Hostile, PlaceholdersNeitherNestNorMultiplyWithoutEnd) {
  const Environment environment = environment_of({{"A", std::string(1000, 'x')}});
  for (const std::string& text :
       {repeated("${A}", 1'000'000), repeated("${B}", 1'000'000), repeated("${B:", 100'000) + repeated("}", 100'000)}) {
    const Expansion expansion = expand_placeholders(text, environment);
    EXPECT_TRUE(expansion.too_many);
    EXPECT_LT(expansion.text.size(), 100'000U);
    EXPECT_LE(expansion.missing.size(), kMostPlaceholders);
    Diagnostics findings;
    EXPECT_FALSE(report_expansion(expansion, Value(text), "key", findings));
    EXPECT_EQ(findings.size(), 1U);
  }
  EXPECT_FALSE(expand_placeholders(repeated("${A}", kMostPlaceholders), environment).too_many);
}

TEST(Hostile, OverridesOfManyLevelsAreNoKeys) {
  Diagnostics findings;
  EXPECT_TRUE(parse_overrides({repeated("a.", 30'000) + "b=1"}, findings).empty());
  EXPECT_EQ(findings.size(), 1U);
  EXPECT_LT(render(findings).size(), 400U);
}

TEST(Hostile, AFileFullOfMistakesEndsAfterTwentyFindings) {
  Diagnostics findings;
  (void)read_yaml("a: &a {b: 1}\nc: {" + repeated("<<: *a, ", 50'000) + "}\n",
                  std::make_shared<const std::string>("hostile.yaml"), Layer::Experiment, findings);
  EXPECT_EQ(findings.size(), 21U);
  EXPECT_THAT(render(findings), HasSubstr("20 findings up to here"));
}

TEST(Hostile, BadBytesAreNamed) {
  EXPECT_NE(refusal(std::string("a: 1\0b: 2\n", 10)), "");
  EXPECT_NE(refusal(std::string("\0", 1)), "");
  EXPECT_NE(refusal("a: \xFF\xFE\n"), "");
  EXPECT_NE(refusal("a: \xC3\n"), "");
  EXPECT_NE(refusal("a: \xED\xA0\x80\n"), "");  // half of a surrogate pair
  EXPECT_NE(refusal("\xFF\xFE" + std::string("a\0:\0", 4)), "a: 1");
}

TEST(Hostile, ALongScalarIsAValueLikeAnother) {
  Diagnostics findings;
  const auto tree = read_yaml("a: " + std::string(1'000'000, 'x') + "\nb: \"" + std::string(1'000'000, 'y') + "\"\n",
                              std::make_shared<const std::string>("long.yaml"), Layer::Experiment, findings);
  ASSERT_TRUE(tree) << render(findings);
  EXPECT_EQ(tree->find("a")->as_string().size(), 1'000'000U);
  EXPECT_LT(describe(*tree->find("a")).size(), 100U);
}

TEST(Hostile, AHundredThousandKeysAreTooMany) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "key_" + std::to_string(i) + ": 1\n";
  EXPECT_THAT(refusal(text), HasSubstr("more than 100000 values"));
}

TEST(Hostile, AFileOfFiftyMegabytesIsRefusedUnread) {
  const fs::path file = fs::path(testing::TempDir()) / ("hostile_" + std::to_string(::getpid()) + ".yaml");
  {
    std::ofstream out(file, std::ios::binary);
    const std::string block = repeated("k: [1, 2, 3, 4, 5, 6, 7, 8]\n", 4096);
    for (size_t size = 0; size < 50'000'000; size += block.size()) out << block;
  }
  const long before = peak_megabytes();
  const auto loaded = load_experiment({.path = file.string(),
                                       .command_line_overrides = {},
                                       .environment = environment_of({}),
                                       .presets_root = ".",
                                       .module = {}});
  fs::remove(file);
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(render(loaded.diagnostics()), HasSubstr("MiB"));
  EXPECT_LT(peak_megabytes() - before, 150);
}

}  // namespace
}  // namespace primus::config
