// What a dialect's translation works with. Private to the room.
#pragma once

#include "primus/dialect/reader.h"
#include "primus/dialect/to_spec.h"

namespace primus::dialect {

// What every topic needs: the keys, the spec to fill, the findings.
struct Translation {
  Reader& keys;
  spec::RunSpec& run;
  Diagnostics& out;
  const ToSpecOptions& options;

  void error(std::string_view key, std::string message, std::string expected = {}, std::string suggestion = {}) {
    add(Severity::Error, key, std::move(message), std::move(expected), std::move(suggestion));
  }
  void warning(std::string_view key, std::string message, std::string suggestion = {}) {
    add(Severity::Warning, key, std::move(message), {}, std::move(suggestion));
  }
  // The key's value; an error and `otherwise` when it is null or absent.
  int64_t needed(std::string_view key, int64_t otherwise);
  // `layers`, at most spec::kMostLayers; an error of `key` beyond.
  int64_t limited_layers(std::string_view key, int64_t layers);

 private:
  void add(Severity severity, std::string_view key, std::string message, std::string expected, std::string suggestion) {
    out.push_back({severity,
                   keys.place(key),
                   std::string(key),
                   std::move(message),
                   {},
                   std::move(expected),
                   std::move(suggestion)});
  }
};

}  // namespace primus::dialect
