// Files with `extends`, and where presets lie.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "primus/base/env.h"
#include "primus/base/fs.h"
#include "primus/config/value.h"

namespace primus::config {

class FileCache;

// How a file is named to users: relative to the working folder when it lies below it.
std::string shown_path(const fs::path& path);

class FileLoader {
 public:
  // `cache` may be null; experiments themselves are never stored.
  FileLoader(const Environment& environment, Diagnostics& diagnostics, FileCache* cache = nullptr)
      : environment_(environment), diagnostics_(diagnostics), cache_(cache) {}

  struct Request {
    fs::path path;
    Layer layer = Layer::Experiment;
    bool is_experiment = false;  // its `env`, `params` and identity keys have rules of their own
    Place asked_at;              // who names this file; for "no such file"
  };

  // The file over its parents, placeholders substituted, `extends` gone. `chain` gets this file and its parents, as
  // met. Nothing when a file is missing, unreadable, or part of a cycle; the findings are recorded either way.
  std::optional<Value> load(const Request& request, std::vector<std::string>& chain);

 private:
  std::optional<Value> read(const Request& request, std::vector<std::string>& chain);
  std::optional<Value> load_parents(const Value& extends, const Request& request, std::vector<std::string>& chain);
  bool refuse_cycle(const fs::path& path, const Place& asked_at);
  void substitute(Value& root, bool is_experiment);

  const Environment& environment_;
  Diagnostics& diagnostics_;
  FileCache* cache_;
  std::vector<fs::path> open_;  // files being read, outermost first
};

// primus/configs/<kind>/<framework>/<name>, with .yaml or .yml added when needed. An error when it would leave
// primus/configs, or names no file (with the nearest names). `framework` is empty for platforms.
std::optional<fs::path> find_preset(const fs::path& presets_root, const std::string& kind, const std::string& framework,
                                    const Value& name, Diagnostics& diagnostics);

// Checks the framework's name against the folders of presets; an error with the nearest names when there is none.
bool check_framework(const fs::path& presets_root, const Value& framework, Diagnostics& diagnostics);

// Names of the YAML files of a folder, sorted, with their suffix.
std::vector<std::string> yaml_files_in(const fs::path& folder);

// "did you mean ...?", or the first few names when nothing is near.
std::string suggest_names(std::string_view word, const std::vector<std::string>& names);

}  // namespace primus::config
