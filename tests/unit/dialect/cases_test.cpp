// Runs tests/cases/dialect/*.case. Each case starts from the little Llama of experiment.h:
//   case NAME                     a sentence
//   set KEY: YAML                 replaces the key
//   drop KEY
//   ranks N                       world size
//   expect error|warning|note KEY: part of the message, hint or expectation
//   expect ok                     no error
// A case with expected errors must show these and no others.
#include <filesystem>
#include <gtest/gtest.h>

#include "experiment.h"

#include "primus/base/fs.h"
#include "primus/base/strings.h"
#include "primus/dialect/to_spec.h"

namespace primus::dialect {
namespace {

struct Expected {
  Severity severity;
  std::string key, text;
};

struct Case {
  std::string file, name, yaml = testing::little();
  int64_t ranks = 1;
  bool ok = false;
  std::vector<Expected> expected;
};

std::vector<Case> read_cases() {
  std::vector<Case> cases;
  for (const auto& entry : std::filesystem::directory_iterator("tests/cases/dialect")) {
    if (entry.path().extension() != ".case") continue;
    for (const std::string& raw : split(*read_text_file(entry.path()), '\n')) {
      const std::string line(trim(raw));
      const size_t space = line.find(' ');
      if (line.empty() || line[0] == '#' || space == std::string::npos) continue;
      const std::string word = line.substr(0, space), rest = line.substr(space + 1);
      const size_t colon = rest.find(": ");
      if (word == "case")
        cases.push_back({entry.path().filename().string(), rest});
      else if (word == "set")
        cases.back().yaml = testing::replaced(cases.back().yaml, rest.substr(0, colon), rest.substr(colon + 2));
      else if (word == "drop")
        cases.back().yaml = testing::without(cases.back().yaml, rest);
      else if (word == "ranks")
        cases.back().ranks = *parse_int(rest);
      else if (rest == "ok")
        cases.back().ok = true;
      else {
        const std::string kind = rest.substr(0, rest.find(' '));
        const Severity severity = kind == "error"     ? Severity::Error
                                  : kind == "warning" ? Severity::Warning
                                                      : Severity::Note;
        cases.back().expected.push_back(
            {severity, rest.substr(kind.size() + 1, colon - kind.size() - 1), rest.substr(colon + 2)});
      }
    }
  }
  return cases;
}

TEST(DialectCases, SayExactlyWhatIsExpected) {
  const std::vector<Case> cases = read_cases();
  EXPECT_GT(cases.size(), 50U);
  for (const Case& c : cases) {
    const auto run = to_spec(testing::experiment(c.yaml), {}, {.world_size = c.ranks});
    const std::string shown = c.file + ": " + c.name + "\n" + render(run.diagnostics());
    if (c.ok) {
      EXPECT_TRUE(run.ok()) << shown;
    }
    size_t num_errors = 0;
    for (const Expected& e : c.expected) {
      num_errors += e.severity == Severity::Error;
      bool seen = false;
      for (const Diagnostic& d : run.diagnostics())
        seen = seen ||
               (d.severity == e.severity && d.key == e.key &&
                (d.message + "|" + d.found + "|" + d.expected + "|" + d.suggestion).find(e.text) != std::string::npos);
      EXPECT_TRUE(seen) << shown << "\nwanted: " << e.key << ": " << e.text;
    }
    size_t got_errors = 0;
    for (const Diagnostic& d : run.diagnostics()) {
      got_errors += d.severity == Severity::Error;
      if (d.severity == Severity::Error) {
        EXPECT_EQ(d.place.file, "exp.yaml") << shown;
      }
    }
    EXPECT_EQ(got_errors, num_errors) << shown;
  }
}

}  // namespace
}  // namespace primus::dialect
