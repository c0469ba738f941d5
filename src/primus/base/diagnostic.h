// One finding for the user, with everything a stranger needs to fix it alone.
#pragma once

#include <string>
#include <vector>

namespace primus {

enum class Severity { Note, Warning, Error };

// Where a finding or a value comes from. Lines and columns count from 1 (columns in code points); 0 = not known.
struct Place {
  std::string file;  // path as the user would type it; "command line" and "environment" for those sources
  int line = 0;
  int column = 0;

  // "file:line:col", without the parts that are not known; empty when nothing is known.
  std::string to_string() const;
  bool operator==(const Place&) const = default;
};

struct Diagnostic {
  Severity severity = Severity::Error;
  Place place;
  std::string key;         // dotted key path where there is one, e.g. "modules.pre_trainer.overrides.lr"
  std::string message;     // one sentence, no trailing period: "unknown key 'train_iter'"
  std::string found;       // what was found, optional
  std::string expected;    // what would be right, optional
  std::string suggestion;  // what to do: "did you mean 'train_iters'?", optional
};

using Diagnostics = std::vector<Diagnostic>;

Diagnostic error_at(Place place, std::string message);
Diagnostic warning_at(Place place, std::string message);

bool has_errors(const Diagnostics& diagnostics);

// One line per part, the first one "place: error: message". No trailing newline. Colour only when asked for.
std::string render(const Diagnostic& diagnostic, bool colour = false);
// All of them in the order given, one after another, and a closing count line when there is more than one.
std::string render(const Diagnostics& diagnostics, bool colour = false);

}  // namespace primus
