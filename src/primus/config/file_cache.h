// Files that were read and put over their parents before, for loading many experiments in one process.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "primus/config/value.h"

namespace primus::config {

// Holds presets whose loading succeeded, with the findings and the chain of files that came with it. The owner sees to
// it that the environment, the working folder and the files stay the same meanwhile. One thread at a time.
class FileCache {
 public:
  struct Entry {
    Value root;
    std::vector<std::string> chain;
    Diagnostics findings;
  };

  // Null when this file was not stored for this layer. The pointer holds until the cache ends.
  const Entry* find(const std::string& path, Layer layer) const {
    const auto found = entries_.find({path, layer});
    return found == entries_.end() ? nullptr : &found->second;
  }
  void store(const std::string& path, Layer layer, Entry entry) {
    entries_.insert_or_assign({path, layer}, std::move(entry));
  }

 private:
  std::map<std::pair<std::string, Layer>, Entry> entries_;
};

}  // namespace primus::config
