// One YAML file as a tree of values with their places: libyaml's scanner, PyYAML's meaning, our limits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "primus/base/diagnostic.h"
#include "primus/config/value.h"

namespace primus::config {

inline constexpr int kMostDepth = 256;
inline constexpr size_t kMostNodes = 100'000;  // after aliases are expanded

// The document's root map; nothing when the text cannot be used. Findings are appended to `diagnostics`: syntax (with
// tabs named), keys given twice (both places), keys that are not text, unknown tags, several documents, a root that is
// no map, an empty file, alias cycles, more than kMostDepth levels or kMostNodes nodes. A byte-order mark and CRLF are
// fine.
std::optional<Value> read_yaml(std::string_view text, std::shared_ptr<const std::string> file, Layer layer,
                               Diagnostics& diagnostics);

}  // namespace primus::config
