// Keeps built sample indices, and the range of ids of a file, in a folder. Several jobs may build the same entry at
// once: each writes under a name of its own and renames, so an entry is whole or absent. A folder that cannot be
// written, or an entry that is damaged, only costs the time of building again.
#pragma once

#include <cstdint>
#include <string>

#include "primus/base/fs.h"
#include "primus/base/result.h"
#include "primus/data/gpt_index.h"
#include "primus/data/indexed_dataset.h"

namespace primus::data {

class IndexCache {
 public:
  // folder: empty means `cache` beside each data file.
  explicit IndexCache(std::string folder) : folder_(std::move(folder)) {}

  // The index of this request on this file; `name` is the split's and becomes part of the file name.
  GptIndex index(const IndexedDataset& dataset, const GptIndexRequest& request, const std::string& name);
  // Reads the whole file only when the cache does not know it.
  IdRange id_range(const IndexedDataset& dataset);

  // What index() built (false: found) last, for reports.
  bool last_was_built() const { return last_was_built_; }
  // The file of the entry that index() would use.
  fs::path index_file(const IndexedDataset& dataset, const GptIndexRequest& request, const std::string& name) const;
  // At most one warning: the cache cannot be written.
  const Diagnostics& notes() const { return notes_; }

 private:
  fs::path folder_for(const IndexedDataset& dataset) const;
  template <class F>
  void try_to_save(const fs::path& file, F&& save);

  std::string folder_;
  bool last_was_built_ = false;
  Diagnostics notes_;
};

}  // namespace primus::data
