// Reading one YAML file: places, styles, and everything that is refused.
#include "primus/config/yaml_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

namespace primus::config {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Reading {
  std::optional<Value> root;
  Diagnostics findings;
  std::string text() const { return render(findings); }
  std::string at(const std::string& path) const {
    const Value* value = root ? root->find_path(path) : nullptr;
    return value == nullptr ? "absent" : describe(*value);
  }
};

Reading read(const std::string& text) {
  Reading reading;
  reading.root = read_yaml(text, std::make_shared<const std::string>("f.yaml"), Layer::Experiment, reading.findings);
  return reading;
}

// B002
TEST(YamlReader, KeepsQuotedTextsTextWhateverTheyLookLike) {
  const Reading found = read("exp_name: \"0042\"\ntag: '1e3'\nnote: \"true\"\nblank: \"\"\n");
  EXPECT_EQ(found.at("exp_name"), "'0042'");
  EXPECT_EQ(found.at("tag"), "'1e3'");
  EXPECT_EQ(found.at("note"), "'true'");
  EXPECT_EQ(found.at("blank"), "''");
  EXPECT_EQ(found.root->find("tag")->origin().style, Style::Quoted);
}

TEST(YamlReader, KnowsLineAndColumnOfEveryKeyAndValueInCodePoints) {
  const Reading found = read("a: 1\nb:\n  \xC3\xA9\xC3\xA9: [x, yy]\n");
  const Value& list = *found.root->find_path("b.\xC3\xA9\xC3\xA9");
  EXPECT_EQ(list.place().to_string(), "f.yaml:3:7");
  EXPECT_EQ(list.origin().key_place().to_string(), "f.yaml:3:3");
  EXPECT_EQ(list.as_list()[1].place().to_string(), "f.yaml:3:11");
}

// B007
TEST(YamlReader, NamesBothLinesOfAKeyThatIsGivenTwiceAndGoesOn) {
  const Reading found = read("o: {train_iters: 50, lr: 1.0e-4, train_iters: 5000}\nlr: 1\nx: 2\nlr: 3\n");
  EXPECT_THAT(found.text(), HasSubstr("f.yaml:1:34: error: the key 'train_iters' is given twice"));
  EXPECT_THAT(found.text(), HasSubstr("first at line 1, column 5"));
  EXPECT_THAT(found.text(), HasSubstr("f.yaml:4:1: error: the key 'lr' is given twice"));
  EXPECT_THAT(found.text(), HasSubstr("first at line 2, column 1"));
}

// B009
TEST(YamlReader, MergesSeveralSourcesEarlierFirstAndRefusesTwoMergeKeys) {
  const std::string anchors = "a: &a {p: 1, q: 1}\nb: &b {q: 2, s: 2}\n";
  const Reading list = read(anchors + "x: {<<: [*a, *b], z: 1, s: 7}\n");
  EXPECT_EQ(list.at("x.p"), "1");
  EXPECT_EQ(list.at("x.q"), "1");
  EXPECT_EQ(list.at("x.s"), "7");
  EXPECT_EQ(list.at("x.z"), "1");
  ASSERT_EQ(list.root->find_path("x.s")->hidden().size(), 1u);
  EXPECT_EQ(list.root->find_path("x.s")->hidden()[0].place().to_string(), "f.yaml:2:17");
  EXPECT_THAT(read(anchors + "x:\n  <<: *a\n  <<: *b\n").text(),
              HasSubstr("f.yaml:5:3: error: the key '<<' is given twice"));
  EXPECT_THAT(read("x: {<<: 3}\n").text(), HasSubstr("'<<' takes a map"));
  EXPECT_EQ(read("x: {\"<<\": 3}\n").at("x.<<"), "3");
}

// B010
TEST(YamlReader, SaysTabWhenATabIndents) {
  const Reading indented = read("a: 1\n\tlr: 1.0\n");
  EXPECT_FALSE(indented.root.has_value());
  EXPECT_THAT(indented.text(), HasSubstr("f.yaml:2:1: error: a tab"));
  EXPECT_EQ(read("lr:\t1.0\n").at("lr"), "1.0");
  EXPECT_EQ(read("name: 'a\tb'\n").root->find("name")->as_string(), "a\tb");
}

// B011
TEST(YamlReader, TakesOneByteOrderMarkAndWindowsLineEnds) {
  const Reading found = read("\xEF\xBB\xBFwork_group: amd\r\nlr: 1.5\r\nname: x\r\n");
  EXPECT_EQ(found.at("work_group"), "'amd'");
  EXPECT_EQ(found.at("lr"), "1.5");
  EXPECT_EQ(found.at("name"), "'x'");
  EXPECT_EQ(found.root->find("work_group")->place().to_string(), "f.yaml:1:13");
  EXPECT_THAT(read("\xEF\xBB\xBF\xEF\xBB\xBF"
                   "a: 1\n")
                  .text(),
              HasSubstr("byte-order mark"));
}

// B146
TEST(YamlReader, StopsAtTheDepthLimit) {
  std::string maps;
  for (int i = 0; i < 100000; ++i) maps += "{a: ";
  EXPECT_THAT(read(maps).text(), HasSubstr("256 levels"));
  EXPECT_THAT(read("a: " + std::string(100000, '[')).text(), HasSubstr("256 levels"));
  EXPECT_FALSE(read("[:\n").root.has_value());
  std::string block;
  for (int i = 0; i < 400; ++i) block += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  EXPECT_THAT(read(block).text(), HasSubstr("256 levels"));
  std::string fits = "a: " + std::string(250, '[') + std::string(250, ']') + "\n";
  EXPECT_TRUE(read(fits).root.has_value());
}

// B147
TEST(YamlReader, StopsAtAliasCyclesAndBombs) {
  EXPECT_THAT(read("a: &x [*x]\n").text(), HasSubstr("f.yaml:1:8: error: the alias *x stands inside the value"));
  EXPECT_THAT(read("a: &x {b: {c: *x}}\n").text(), HasSubstr("stands inside"));
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i <= 9; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += (k ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  EXPECT_THAT(read(bomb).text(), HasSubstr("100000 values"));
  EXPECT_THAT(read("a: *nope\nb: *neither\n").text(), HasSubstr("no anchor &neither"));
}

TEST(YamlReader, RefusesWhatIsNoMapOfTextKeys) {
  EXPECT_THAT(read("").text(), HasSubstr("the file is empty"));
  EXPECT_THAT(read("# nothing\n").text(), HasSubstr("the file is empty"));
  EXPECT_THAT(read("~\n").text(), HasSubstr("the file is empty"));
  EXPECT_THAT(read("- 1\n- 2\n").text(), HasSubstr("holds a list at its top"));
  EXPECT_THAT(read("word\n").text(), HasSubstr("holds a text at its top"));
  EXPECT_THAT(read("a: 1\n---\nb: 2\n").text(), HasSubstr("f.yaml:2:1: error: a second document"));
  EXPECT_TRUE(read("---\na: 1\n...\n").root.has_value());
  EXPECT_THAT(read("on: 1\n").text(), HasSubstr("the key 'on' is read as true/false"));
  EXPECT_THAT(read("1: x\n").text(), HasSubstr("the key '1' is read as integer"));
  EXPECT_THAT(read("2024-01-02: x\n").text(), HasSubstr("a date"));
  EXPECT_THAT(read("? [1, 2]\n: x\n").text(), HasSubstr("a list or map stands where a key is expected"));
}

TEST(YamlReader, ReadsStandardTagsAndRefusesOthers) {
  const Reading found = read("a: !!str 5\nb: !!float 5\nc: !!int '7'\nd: !!map {x: 1}\ne: ! yes\nf: !!null ''\n");
  EXPECT_EQ(found.at("a"), "'5'");
  EXPECT_EQ(found.at("b"), "5.0");
  EXPECT_EQ(found.at("c"), "7");
  EXPECT_EQ(found.at("d.x"), "1");
  EXPECT_EQ(found.at("e"), "'yes'");
  EXPECT_EQ(found.at("f"), "null");
  EXPECT_TRUE(found.findings.empty()) << found.text();
  EXPECT_THAT(
      read("a: !!python/object:os.system x\nb: !foo [1]\n").text(),
      testing::AllOf(HasSubstr("f.yaml:1:4: error: unknown tag"), HasSubstr("f.yaml:2:4: error: unknown tag '!foo'")));
  EXPECT_THAT(read("a: !!int x\n").text(), HasSubstr("'x' is no !!int"));
}

TEST(YamlReader, ShowsTheLineOfASyntaxErrorButNeverASecret) {
  EXPECT_THAT(read("a: 1\nb: [1, 2\nc: 3\n").text(), HasSubstr("f.yaml:3:"));
  EXPECT_THAT(read("a: ${X: 3}\n").text(), testing::AllOf(HasSubstr("f.yaml:1:7"), HasSubstr("quotes")));
  EXPECT_THAT(read("a: [${X:3}, 4]\n").text(), HasSubstr("${...}"));
  const std::string secret = read("hf_token: s3cr3t-value: x\n").text();
  EXPECT_THAT(secret, HasSubstr("f.yaml:1:23"));
  EXPECT_THAT(secret, Not(HasSubstr("s3cr3t")));
  EXPECT_THAT(read("a: b\xC3\n").text(), HasSubstr("not readable"));
  EXPECT_THAT(read(std::string("a: \x01\n")).text(), HasSubstr("f.yaml:1:4"));
}

}  // namespace
}  // namespace primus::config
