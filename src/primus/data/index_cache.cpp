#include "primus/data/index_cache.h"

#include <fmt/format.h>

#include "primus/base/error.h"
#include "primus/base/hash.h"
#include "primus/base/json.h"

namespace primus::data {

namespace {

std::string file_state(const fs::path& path) {
  std::error_code code;
  const auto size = fs::file_size(path, code);
  const auto time = fs::last_write_time(path, code).time_since_epoch().count();
  return fmt::format("{} {} {}", fs::absolute(path, code).string(), size, time);
}

std::string dataset_key(const IndexedDataset& dataset) {
  return file_state(idx_path(dataset.prefix())) + "\n" + file_state(bin_path(dataset.prefix()));
}

std::string index_key(const IndexedDataset& dataset, const GptIndexRequest& request) {
  return fmt::format("gpt index 1\n{}\ndocuments {} {}\nsamples {}\nlength {}\nseed {}\nkeep last {}",
                     dataset_key(dataset), request.first_document, request.end_document,
                     request.num_samples.value_or(-1), request.sequence_length, request.seed,
                     request.keep_last_partial);
}

}  // namespace

fs::path IndexCache::folder_for(const IndexedDataset& dataset) const {
  if (!folder_.empty()) return folder_;
  return fs::path(dataset.prefix()).parent_path() / "cache";
}

fs::path IndexCache::index_file(const IndexedDataset& dataset, const GptIndexRequest& request,
                                const std::string& name) const {
  const std::string digest = sha256_hex(index_key(dataset, request)).substr(0, 16);
  const std::string base = fs::path(dataset.prefix()).filename().string();
  return folder_for(dataset) / fmt::format("{}-{}-{}.index", base, name, digest);
}

template <class F>
void IndexCache::try_to_save(const fs::path& file, F&& save) {
  try {
    create_folders(file.parent_path());
    save();
  } catch (const RunError& error) {
    if (!notes_.empty()) return;
    Diagnostic note = warning_at({file.parent_path().string()},
                                 "the index cache cannot be written; indices are built in memory at every start");
    note.found = error.what();
    note.suggestion = "set data_cache_path to a folder that can be written";
    notes_.push_back(std::move(note));
  }
}

GptIndex IndexCache::index(const IndexedDataset& dataset, const GptIndexRequest& request, const std::string& name) {
  const fs::path file = index_file(dataset, request, name);
  const std::string key = index_key(dataset, request);
  last_was_built_ = false;
  // Every reason not to use an entry (absent, damaged, another key) has the same cure.
  Result<GptIndex> kept = GptIndex::load(file.string(), key);
  if (kept.ok()) return std::move(kept).value();
  last_was_built_ = true;
  GptIndex built = GptIndex::build(dataset.lengths(), request);
  try_to_save(file, [&] { built.save(file.string(), key); });
  return built;
}

IdRange IndexCache::id_range(const IndexedDataset& dataset) {
  const std::string key = sha256_hex("id range 1\n" + dataset_key(dataset));
  const std::string base = fs::path(dataset.prefix()).filename().string();
  const fs::path file = folder_for(dataset) / fmt::format("{}-ids-{}.json", base, key.substr(0, 16));
  if (const Result<std::string> text = read_text_file(file)) {
    const Result<Json> json = parse_json(*text, file.string());
    if (json && json->is_object() && json->value("key", "") == key && json->contains("min") && json->contains("max") &&
        (*json)["min"].is_number_integer() && (*json)["max"].is_number_integer()) {
      return {(*json)["min"].get<int64_t>(), (*json)["max"].get<int64_t>()};
    }
  }
  const IdRange range = dataset.id_range();
  const Json json = {{"key", key}, {"min", range.min}, {"max", range.max}};
  try_to_save(file, [&] { write_file_atomic(file, dump_json(json) + "\n"); });
  return range;
}

}  // namespace primus::data
