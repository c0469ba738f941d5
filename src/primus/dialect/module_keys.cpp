#include "primus/dialect/module_keys.h"

#include <algorithm>
#include <cctype>

#include "primus/dialect/translate_writers.h"

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
    honoured("init_from", kMaybeText, "null",
             "Hugging Face folder whose weights the run starts from (also --init-from); a resume does not read it.",
             "checkpoint.init_from")
        .of_ours(),
    honoured(
        "export_every", kMaybeInt, "null",
        "Steps between Hugging Face folders of the weights in <run folder>/exports, also one at the end; null: none.",
        "checkpoint.export_every_steps")
        .at_least(1)
        .in_unit("steps")
        .of_ours(),
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
  t.run.checkpoint.init_from = t.keys.text("init_from");
  t.run.checkpoint.export_every_steps = t.keys.maybe_integer("export_every").value_or(0);
}

void write_module(const spec::RunSpec& run, KeyWriter& keys) {
  const spec::Checkpoint& c = run.checkpoint;
  if (!c.init_from.empty()) keys.set("init_from", c.init_from);
  if (c.export_every_steps > 0) keys.set("export_every", c.export_every_steps);
}

}  // namespace primus::dialect
