#include "primus/dialect/module_keys.h"

#include <algorithm>
#include <cctype>

namespace primus::dialect {

namespace {

constexpr std::string_view kLevels = "TRACE|DEBUG|INFO|SUCCESS|WARNING|ERROR|CRITICAL";

constexpr Parameter kModuleRows[] = {
    no_effect("trainable", kBool, "false", "Whether a module is trained.",
              "the module that the sub-command selects is trained whatever it says, as upstream does"),
    honoured("sink_level", kMaybeText, "null", "Level of console and log file; null: the two keys below.",
             "logging.console_level logging.file_level")
        .in(kLevels)
        .in_any_case(),
    honoured("file_sink_level", kText, "DEBUG", "Level of the log files.", "logging.file_level")
        .in(kLevels)
        .in_any_case(),
    honoured("stderr_sink_level", kText, "INFO", "Level of the console.", "logging.console_level")
        .in(kLevels)
        .in_any_case(),
};

}  // namespace

std::span<const Parameter> module_rows() {
  return kModuleRows;
}

void module_to_spec(Translation& t) {
  const auto both = t.keys.maybe_text("sink_level");
  // Both other keys are read even when sink_level replaces them.
  const std::string console = t.keys.text("stderr_sink_level"), file = t.keys.text("file_sink_level");
  const auto level = [&both](const std::string& own) {
    std::string word = both.value_or(own);
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::toupper(c); });
    return word;
  };
  t.run.logging.console_level = level(console);
  t.run.logging.file_level = level(file);
}

}  // namespace primus::dialect
