#include "primus/hub/hf_import.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <map>

#include "primus/base/check.h"
#include "primus/base/xxh64.h"
#include "primus/hub/new_folder.h"
#include "primus/hub/safetensors.h"
#include "primus/spec/fingerprint.h"

namespace primus::hub {

namespace {

constexpr int64_t kCopiedAtOnce = int64_t{1} << 20;
constexpr int64_t kTurnedRows = 64;  // turned pieces are read so many rows at a time
constexpr const char* kOriginKey = "hugging_face";

struct Planned {
  TensorInfo info;  // "master.<piece>"
  std::string piece;
  uint64_t size_bytes = 0;
};

std::vector<Planned> plan(const WeightSource& source, Dtype dtype) {
  std::vector<Planned> all;
  for (const HfTensor& tensor : source.tensors()) {
    for (const WeightPart& part : tensor.parts) {
      const Dtype stored = tensor.buffer ? Dtype::F32 : dtype;
      const auto size = num_bytes(stored, part.shape);
      PRIMUS_CHECK(size.has_value(), "piece '" + part.piece + "' has an impossible shape");
      all.push_back({{(tensor.buffer ? "buffer." : "master.") + part.piece, stored, part.shape},
                     part.piece,
                     static_cast<uint64_t>(*size)});
    }
  }
  return all;
}

std::vector<std::vector<Planned>> cut_into_files(std::vector<Planned> all, uint64_t max_file_bytes) {
  std::vector<std::vector<Planned>> files(1);
  uint64_t file_bytes = 0;
  for (Planned& tensor : all) {
    if (!files.back().empty() && file_bytes + tensor.size_bytes > max_file_bytes) {
      files.emplace_back();
      file_bytes = 0;
    }
    file_bytes += tensor.size_bytes;
    files.back().push_back(std::move(tensor));
  }
  return files;
}

class Importer {
 public:
  Importer(const WeightSource& source, fs::path folder, const ImportOptions& options, uint64_t total_bytes)
      : source_(source), folder_(std::move(folder)), options_(options), total_bytes_(total_bytes) {}

  void write_file(const std::vector<Planned>& tensors) {
    std::vector<TensorInfo> infos;
    for (const Planned& tensor : tensors) infos.push_back(tensor.info);
    const size_t index = manifest_.files.size();
    const std::string name = fmt::format("weights-{:05}.safetensors", index);
    SafetensorsWriter writer(folder_ / name, infos, {{"format", "pt"}});
    manifest_.files.push_back({name, writer.size_bytes(), xxh64(std::as_bytes(std::span(writer.header())))});
    for (const size_t i : writer.order()) {
      const TensorInfo& info = tensors[i].info;
      const uint64_t checksum =
          info.dtype == Dtype::BF16 ? copy<uint16_t>(tensors[i].piece, writer) : copy<float>(tensors[i].piece, writer);
      const Box box{std::vector<int64_t>(info.shape.size(), 0), info.shape};
      manifest_.tensors.push_back({info.name, info.dtype, info.shape, {{index, info.name, box, checksum}}});
    }
    writer.close();
  }

  Manifest finish(const CheckpointState& state) {
    const auto now = std::chrono::system_clock::now();
    manifest_.save_id = fmt::format("import-{:x}", now.time_since_epoch().count());
    manifest_.created = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
    manifest_.state = state;
    std::ranges::sort(manifest_.tensors, {}, &CheckpointTensor::name);
    return std::move(manifest_);
  }

 private:
  // The whole piece, some rows at a time. Returns the checksum of its bytes.
  template <class T>
  uint64_t copy(const std::string& piece, SafetensorsWriter& writer) {
    const std::vector<int64_t>& shape = source_.shape(piece);
    const int64_t rows = shape[0], cols = shape.size() > 1 ? shape[1] : 1;
    const int64_t tiles = std::max<int64_t>(1, kCopiedAtOnce / std::max<int64_t>(1, cols) / kTurnedRows);
    Xxh64 checksum;
    std::vector<T> values;
    for (int64_t begin = 0; begin < rows; begin += tiles * kTurnedRows) {
      const int64_t end = std::min(rows, begin + tiles * kTurnedRows);
      values.resize(static_cast<size_t>((end - begin) * cols));
      source_.read_rows(piece, begin, end, std::span<T>(values));
      const auto bytes = std::as_bytes(std::span<const T>(values));
      checksum.update(bytes);
      writer.append(bytes);
      done_bytes_ += bytes.size();
      if (options_.progress) options_.progress(done_bytes_, total_bytes_);
    }
    return checksum.value();
  }

  const WeightSource& source_;
  fs::path folder_;
  const ImportOptions& options_;
  Manifest manifest_;
  uint64_t done_bytes_ = 0, total_bytes_;
};

}  // namespace

Result<ImportReport> import_weights(const WeightSource& source, const CheckpointState& state, const fs::path& target,
                                    const ImportOptions& options) {
  PRIMUS_CHECK(options.dtype == Dtype::F32 || options.dtype == Dtype::BF16, "weights are imported as F32 or BF16");
  Result<NewFolder> folder = NewFolder::create(target, options.replace, kManifestName);
  if (!folder) return folder.diagnostics();
  std::vector<Planned> tensors = plan(source, options.dtype);
  uint64_t total_bytes = 0;
  for (const Planned& tensor : tensors) total_bytes += tensor.size_bytes;
  require_space(target, total_bytes);
  Importer importer(source, folder->path(), options, total_bytes);
  for (const std::vector<Planned>& file : cut_into_files(std::move(tensors), options.max_file_bytes))
    importer.write_file(file);
  const Manifest manifest = importer.finish(state);
  write_file_atomic(folder->path() / kManifestName, dump_json(to_json(manifest), 1) + "\n");
  folder->commit();
  return ImportReport{manifest.tensors.size(), total_bytes};
}

CheckpointState import_state(const spec::Model& model, const ImportOrigin& origin, const std::string& precision) {
  CheckpointState state;
  state.model = spec::model_fingerprint(model);
  state.precision = precision;
  Json config = origin.config;
  config.erase("quantization_config");  // how the folder stored its weights
  state.extra = {
      {"weights_only", true},
      {kOriginKey, {{"family", origin.family}, {"config", std::move(config)}, {"folder", origin.folder.string()}}}};
  return state;
}

std::string stored_precision(const WeightSource& source) {
  std::map<std::string, int64_t> elements;
  for (const HfTensor& tensor : source.tensors()) {
    if (tensor.buffer || tensor.parts.empty()) continue;
    const Dtype dtype = source.stored_dtype(tensor.parts.front().piece);
    int64_t count = 1;
    for (const int64_t size : tensor.shape) count *= size;
    elements[dtype == Dtype::F32 || dtype == Dtype::F64 ? "fp32" : dtype == Dtype::F16 ? "fp16" : "bf16"] += count;
  }
  const auto most = std::ranges::max_element(elements, {}, [](const auto& entry) { return entry.second; });
  return most == elements.end() ? "fp32" : most->first;
}

Result<std::optional<ImportOrigin>> origin_of(const FoundCheckpoint& checkpoint) {
  const Json& extra = checkpoint.manifest.state.extra;
  const auto found = extra.is_object() ? extra.find(kOriginKey) : extra.end();
  if (!extra.is_object() || found == extra.end()) return std::optional<ImportOrigin>();
  const auto text = [&](const char* key) {
    return found->is_object() && found->contains(key) && (*found)[key].is_string() ? (*found)[key].get<std::string>()
                                                                                   : std::string();
  };
  ImportOrigin origin{.family = text("family"), .folder = text("folder")};
  if (!origin.family.empty() && found->contains("config") && (*found)["config"].is_object()) {
    origin.config = (*found)["config"];
    return std::optional(std::move(origin));
  }
  return error_at({(checkpoint.path / kManifestName).string()},
                  fmt::format("'extra.{}' does not say what the model is", kOriginKey));
}

HfTokenIds token_ids_of(const Json& config) {
  HfTokenIds ids;
  if (!config.is_object()) return ids;
  const auto take = [&](const char* key) -> std::vector<int64_t> {
    const auto found = config.find(key);
    if (found == config.end()) return {};
    std::vector<int64_t> values;
    const Json list = found->is_array() ? *found : Json::array({*found});
    for (const Json& item : list)
      if (item.is_number_integer()) values.push_back(item.get<int64_t>());
    return values;
  };
  if (const auto bos = take("bos_token_id"); !bos.empty()) ids.bos = bos.front();
  if (const auto pad = take("pad_token_id"); !pad.empty()) ids.pad = pad.front();
  ids.eos = take("eos_token_id");
  return ids;
}

}  // namespace primus::hub
