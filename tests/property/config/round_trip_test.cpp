// Random trees survive being written and read; random bytes never crash the reader.
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <string>

#include "primus/base/fs.h"
#include "primus/config/dump.h"
#include "primus/config/python_literal.h"
#include "primus/config/yaml_reader.h"

namespace primus::config {
namespace {

class TreeMaker {
 public:
  explicit TreeMaker(uint32_t seed) : random_(seed) {}

  Map map(int depth) {
    Map map;
    const int size = below(6) + 1;
    for (int i = 0; i < size; ++i) map.set(text(), value(depth));
    return map;
  }

  Value value(int depth) {
    switch (below(depth > 0 ? 9 : 6)) {
      case 0:
        return Value();
      case 1:
        return Value(below(2) == 0);
      case 2:
        return Value(static_cast<int64_t>(random_() << 32 | random_()) >> below(63));
      case 3:
        return Value(number());
      case 4:
      case 5: {
        Value made(text());
        made.origin().style = below(2) == 0 ? Style::Plain : Style::Quoted;
        return made;
      }
      case 6:
      case 7: {
        List list;
        for (int i = below(4); i > 0; --i) list.push_back(value(depth - 1));
        return Value(std::move(list));
      }
      default:
        return Value(below(5) == 0 ? Map() : map(depth - 1));
    }
  }

  int below(int limit) { return static_cast<int>(random_() % static_cast<uint32_t>(limit)); }

 private:
  double number() {
    const double candidates[] = {0.0, -0.0,    1.0,      1e16,      1e-5, 1e300,        5e-324,
                                 0.1, 1.0 / 3, INFINITY, -INFINITY, NAN,  123456789.125};
    const double one = candidates[below(13)];
    return below(2) == 0 ? one : one * std::ldexp(static_cast<double>(random_()), below(200) - 100);
  }

  std::string text() {
    static const std::string pieces[] = {"true",
                                         "null",
                                         "1e-3",
                                         "0x1F",
                                         "12:30",
                                         "1_000",
                                         "~",
                                         "yes",
                                         "2024-01-02",
                                         "=",
                                         "<<",
                                         "- ",
                                         "? ",
                                         ": ",
                                         " #",
                                         "#",
                                         "'",
                                         "\"",
                                         "\\",
                                         "\n",
                                         "\t",
                                         "\r\n",
                                         "  ",
                                         "${X:3}",
                                         "&a",
                                         "*a",
                                         "!t",
                                         "%",
                                         "@",
                                         "`",
                                         "[",
                                         "]",
                                         "{",
                                         "}",
                                         ",",
                                         "a",
                                         "lr",
                                         "\xC3\xA9",
                                         "\xE2\x80\xA8",
                                         "\xEF\xBB\xBF",
                                         "\xC2\x85",
                                         "\xF0\x9F\x98\x80",
                                         "\x01",
                                         "\x7F",
                                         "|",
                                         ">",
                                         "---",
                                         "...",
                                         "."};
    std::string made;
    for (int i = below(4); i >= 0; --i) made += pieces[below(static_cast<int>(std::size(pieces)))];
    return below(12) == 0 ? "" : made;
  }

  std::mt19937 random_;
};

std::optional<Value> read(const std::string& text, Diagnostics& findings) {
  return read_yaml(text, std::make_shared<const std::string>("tree.yaml"), Layer::Experiment, findings);
}

TEST(RoundTrip, EveryTreeReadsBackEqualAndIsWrittenTheSameAgain) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    const Value tree(TreeMaker(seed).map(4));
    const std::string first = yaml_block(tree);
    Diagnostics findings;
    const std::optional<Value> back = read(first, findings);
    ASSERT_TRUE(back && !has_errors(findings)) << "seed " << seed << "\n" << first << render(findings);
    ASSERT_TRUE(back->same_data(tree)) << "seed " << seed << "\n" << first << describe(*back, 2000);
    ASSERT_EQ(yaml_block(*back), first) << "seed " << seed;
  }
}

TEST(RoundTrip, DamagedFilesAreReadOrRefusedButNeverCrash) {
  const auto text = read_text_file("examples/megatron/configs/MI300X/llama3.1_8B-BF16-pretrain.yaml");
  ASSERT_TRUE(text.ok());
  const std::string alphabet = "\t\n -:?#&*!|>'\"%@`{}[],~=<\\a1.\xC3\xEF\xBB\xBF";
  size_t num_refused = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    TreeMaker random(seed);
    std::string damaged = text->substr(0, 600);
    for (int i = random.below(8); i >= 0; --i) {
      const auto at = static_cast<size_t>(random.below(static_cast<int>(damaged.size())));
      const char letter = alphabet[static_cast<size_t>(random.below(static_cast<int>(alphabet.size())))];
      if (random.below(3) == 0)
        damaged.erase(at, 1);
      else
        damaged.insert(at, 1, letter);
    }
    Diagnostics findings;
    const std::optional<Value> tree = read(damaged, findings);
    ASSERT_TRUE(tree || has_errors(findings)) << damaged;
    num_refused += !tree;
    for (const Diagnostic& found : findings) ASSERT_GT(found.place.line, 0) << found.message;
    (void)read_python_literal(damaged);
  }
  EXPECT_GT(num_refused, 500u);
}

}  // namespace
}  // namespace primus::config
