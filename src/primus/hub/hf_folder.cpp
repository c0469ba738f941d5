#include "primus/hub/hf_folder.h"

#include <fmt/format.h>
#include <set>

#include "primus/base/json.h"
#include "primus/base/strings.h"

namespace primus::hub {

namespace {

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

struct Index {
  std::map<std::string, std::string> owners;  // tensor -> file
  std::optional<uint64_t> total_bytes;
};

// A file of this very folder: an index from a stranger must not point elsewhere.
bool is_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of("/\\") == std::string::npos &&
         name.find('\0') == std::string::npos;
}

Result<Index> read_index(const fs::path& path) {
  auto text = read_text_file(path);
  if (!text.ok()) return text.diagnostics();
  auto json = parse_json(*text, path.string());
  if (!json.ok()) return json.diagnostics();
  const auto map = json->is_object() ? json->find("weight_map") : json->end();
  if (!json->is_object() || map == json->end() || !map->is_object()) {
    Diagnostic finding = error_at({path.string()}, "the index has no 'weight_map'");
    finding.expected = R"({"weight_map": {"<tensor>": "<file>"}})";
    return finding;
  }
  Index index;
  Diagnostics errors;
  for (const auto& [name, file] : map->items()) {
    const bool fits = file.is_string() && is_file_name(file.get_ref<const std::string&>());
    if (fits) {
      index.owners.emplace(name, file.get<std::string>());
      continue;
    }
    Diagnostic finding = error_at({path.string()}, fmt::format("'{}' is in no file of this folder", name));
    finding.found = dump_json(file);
    finding.expected = "the name of a file beside the index";
    if (errors.size() < 20) errors.push_back(std::move(finding));
  }
  if (!errors.empty()) return errors;
  const auto metadata = json->find("metadata");
  if (metadata != json->end() && metadata->is_object()) {
    const auto total = metadata->find("total_size");
    if (total != metadata->end() && total->is_number() && total->get<double>() >= 0 && total->get<double>() < 1e18)
      index.total_bytes = static_cast<uint64_t>(total->get<double>());
  }
  return index;
}

Diagnostic nothing_here(const fs::path& folder) {
  std::error_code code;
  Diagnostic finding = error_at({folder.string()}, "no weights in this folder");
  finding.expected = fmt::format("{}, or {} and its shards", kSingle, kIndex);
  if (!fs::is_directory(folder, code)) {
    finding.message = "this is no folder";
    finding.expected = "a folder with config.json and " + std::string(kSingle);
    return finding;
  }
  for (const auto& item : fs::directory_iterator(folder, code)) {
    const std::string name = item.path().filename().string();
    if (name.ends_with(".bin") || name.ends_with(".pt") || name.ends_with(".pth") || name.ends_with(".ckpt")) {
      finding.found = name;
      finding.suggestion =
          "pickled weights can run code when they are read and are not opened here; convert them to "
          "safetensors";
    } else if (name.ends_with(".safetensors") && finding.suggestion.empty()) {
      finding.found = name;
      finding.suggestion = fmt::format("one file: call it {}; several: their index is missing", kSingle);
    }
  }
  return finding;
}

}  // namespace

void HfFolder::take(const SafetensorsFile& file, const std::map<std::string, std::string>* owners) {
  const std::string own_name = file.path().filename().string();
  for (const TensorEntry& entry : file.entries()) {
    if (owners != nullptr) {
      const auto owner = owners->find(entry.name);
      if (owner != owners->end() && owner->second != own_name) continue;
    }
    const bool is_new = entries_.emplace(entry.name, HfEntry{&entry, file.data(entry), &file.path()}).second;
    if (!is_new) continue;
    names_.push_back(entry.name);
    size_bytes_ += entry.end - entry.begin;
  }
}

Status HfFolder::open_shards(const fs::path& index_path) {
  auto index = read_index(index_path);
  if (!index.ok()) return index.diagnostics();
  std::set<std::string> shards;
  for (const auto& [name, file] : index->owners) shards.insert(file);
  Diagnostics findings;
  std::set<std::string> broken;
  for (const std::string& shard : shards) {
    auto file = SafetensorsFile::open(path_ / shard);
    if (file.ok()) {
      files_.push_back(std::move(file).value());
      continue;
    }
    broken.insert(shard);
    for (Diagnostic finding : file.diagnostics()) {
      if (finding.suggestion.empty()) finding.suggestion = fmt::format("{} names this shard", kIndex);
      findings.push_back(std::move(finding));
    }
  }
  for (const SafetensorsFile& file : files_) take(file, &index->owners);
  size_t absent = 0;
  for (const auto& [name, file] : index->owners) {
    if (broken.contains(file) || entries_.contains(name)) continue;
    if (++absent > 20) continue;
    Diagnostic finding =
        error_at({index_path.string()}, fmt::format("'{}' is not in the shard that the index names", name));
    finding.expected = file;
    findings.push_back(std::move(finding));
  }
  if (absent > 20)
    findings.push_back(
        error_at({index_path.string()}, fmt::format("{} more tensors are not in their shards", absent - 20)));
  if (has_errors(findings)) return findings;
  if (index->total_bytes && *index->total_bytes != size_bytes_) {
    Diagnostic finding = warning_at({index_path.string()}, "'total_size' is not the size of the tensors");
    finding.found = std::to_string(*index->total_bytes);
    finding.expected = std::to_string(size_bytes_);
    findings.push_back(std::move(finding));
  }
  return {Done{}, findings};
}

Result<HfFolder> HfFolder::open(const fs::path& folder) {
  HfFolder opened;
  opened.path_ = folder;
  std::error_code code;
  if (fs::exists(folder / kIndex, code)) {
    Status status = opened.open_shards(folder / kIndex);
    if (!status.ok()) return status.diagnostics();
    return {std::move(opened), status.diagnostics()};
  }
  if (!fs::exists(folder / kSingle, code)) return nothing_here(folder);
  auto file = SafetensorsFile::open(folder / kSingle);
  if (!file.ok()) return file.diagnostics();
  opened.files_.push_back(std::move(file).value());
  opened.take(opened.files_.front(), nullptr);
  return opened;
}

const HfEntry* HfFolder::find(std::string_view name) const {
  const auto found = entries_.find(std::string(name));
  return found == entries_.end() ? nullptr : &found->second;
}

}  // namespace primus::hub
