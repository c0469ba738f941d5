#include "primus/hub/checkpoint_manifest.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "primus/base/hash.h"
#include "primus/base/strings.h"

namespace primus::hub {

namespace {

std::string hex(uint64_t value) {
  return fmt::format("{:016x}", value);
}

// Numbers from a text are unsigned where they can be; numbers of ours may be signed ones.
bool is_count(const Json& value) {
  return value.is_number_unsigned() || (value.is_number_integer() && value.get<int64_t>() >= 0);
}

// Takes fields out of one JSON object and remembers what was wrong.
class FieldReader {
 public:
  FieldReader(const Json& object, std::string where, const std::string& file, Diagnostics& findings)
      : object_(object), where_(std::move(where)), file_(file), findings_(findings) {
    if (!object.is_object()) bad("is not an object");
  }

  const Json* get(const char* key) {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(key);
    if (found != object_.end()) return &*found;
    bad(fmt::format("has no '{}'", key));
    return nullptr;
  }

  std::string text(const char* key) {
    const Json* value = get(key);
    if (value == nullptr) return "";
    if (value->is_string()) return value->get<std::string>();
    bad(fmt::format("'{}' is not text", key));
    return "";
  }

  uint64_t count(const char* key) {
    const Json* value = get(key);
    if (value == nullptr) return 0;
    if (is_count(*value)) return value->get<uint64_t>();
    bad(fmt::format("'{}' is not a whole number of 0 or more", key));
    return 0;
  }

  int64_t signed_count(const char* key) {
    const uint64_t value = count(key);
    if (value <= INT64_MAX) return static_cast<int64_t>(value);
    bad(fmt::format("'{}' is too large", key));
    return 0;
  }

  uint64_t checksum(const char* key) {
    const std::string digits = text(key);
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() == 16 && error == std::errc() && end == digits.data() + digits.size()) return value;
    bad(fmt::format("'{}' is not a checksum of 16 hexadecimal digits", key));
    return 0;
  }

  std::vector<int64_t> sizes(const char* key) {
    std::vector<int64_t> values;
    for (const Json& item : list(key)) {
      if (!is_count(item) || item.get<uint64_t>() > INT64_MAX) {
        bad(fmt::format("'{}' holds something else than sizes", key));
        return {};
      }
      values.push_back(item.get<int64_t>());
    }
    return values;
  }

  const Json& list(const char* key) {
    static const Json kEmpty = Json::array();
    const Json* value = get(key);
    if (value == nullptr) return kEmpty;
    if (value->is_array()) return *value;
    bad(fmt::format("'{}' is not a list", key));
    return kEmpty;
  }

  Json object(const char* key) {
    const Json* value = get(key);
    if (value != nullptr && value->is_object()) return *value;
    if (value != nullptr) bad(fmt::format("'{}' is not an object", key));
    return Json::object();
  }

  void bad(const std::string& what) { findings_.push_back(error_at({file_}, where_ + " " + what)); }

 private:
  const Json& object_;
  std::string where_;
  const std::string& file_;
  Diagnostics& findings_;
};

bool is_plain_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

Json shard_to_json(const CheckpointShard& shard) {
  return {{"file", shard.file},
          {"name", shard.name_in_file},
          {"offset", shard.box.offset},
          {"size", shard.box.size},
          {"xxh64", hex(shard.xxh64)}};
}

CheckpointShard shard_from_json(FieldReader reader) {
  return {.file = reader.count("file"),
          .name_in_file = reader.text("name"),
          .box = {.offset = reader.sizes("offset"), .size = reader.sizes("size")},
          .xxh64 = reader.checksum("xxh64")};
}

CheckpointTensor tensor_from_json(const Json& json, size_t num_files, const std::string& file, bool partial,
                                  Diagnostics& findings) {
  const size_t before = findings.size();
  FieldReader reader(json, "a tensor", file, findings);
  CheckpointTensor tensor{.name = reader.text("name"), .shape = reader.sizes("shape")};
  const std::string where = fmt::format("tensor '{}'", printable_ascii(tensor.name));
  const std::string dtype_name = reader.text("dtype");
  const std::optional<Dtype> dtype = parse_dtype(dtype_name);
  if (!dtype) reader.bad(fmt::format("has the unknown dtype '{}'", printable_ascii(dtype_name)));
  tensor.dtype = dtype.value_or(Dtype::U8);
  std::vector<Box> boxes;
  for (const Json& item : reader.list("shards")) {
    tensor.shards.push_back(shard_from_json(FieldReader(item, "a shard of " + where, file, findings)));
    boxes.push_back(tensor.shards.back().box);
    if (tensor.shards.back().file >= num_files)
      findings.push_back(error_at({file}, where + " names a file that is not listed"));
  }
  if (findings.size() > before) return tensor;
  std::string fault;
  if (!num_bytes(tensor.dtype, tensor.shape)) {
    fault = "the size overflows";
  } else if (!partial) {
    fault = tiling_fault(tensor.shape, boxes);
  }
  if (!fault.empty())
    findings.push_back(error_at({file}, fmt::format("{} of shape {}: {}", where, format_shape(tensor.shape), fault)));
  return tensor;
}

CheckpointState state_from_json(FieldReader& reader) {
  return {.step = reader.signed_count("step"),
          .consumed_samples = reader.signed_count("consumed_samples"),
          .consumed_tokens = reader.signed_count("consumed_tokens"),
          .seed = reader.count("seed"),
          .model = reader.object("model"),
          .layout = reader.object("layout"),
          .extra = reader.object("extra"),
          .precision = reader.text("precision"),
          .gemm_route = reader.text("gemm_route"),
          .torch_version = reader.text("torch_version")};
}

}  // namespace

uint64_t Manifest::size_bytes() const {
  uint64_t sum = 0;
  for (const CheckpointFile& file : files) sum += file.size_bytes;
  return sum;
}

std::string fingerprint_hash(const Json& model) {
  return sha256_hex(dump_json(model));
}

Diagnostics compare_fingerprints(const Json& wanted, const Json& found, const fs::path& place) {
  std::vector<std::string> differences;
  const auto flat = [](const Json& json) { return json.empty() ? Json::object() : json.flatten(); };
  const Json wanted_flat = flat(wanted), found_flat = flat(found);
  const auto short_name = [](const std::string& pointer) { return pointer.empty() ? pointer : pointer.substr(1); };
  for (const auto& [key, value] : wanted_flat.items()) {
    const auto other = found_flat.find(key);
    if (other == found_flat.end()) {
      differences.push_back(fmt::format("{}: {} here, absent in the checkpoint", short_name(key), dump_json(value)));
    } else if (*other != value) {
      differences.push_back(
          fmt::format("{}: {} here, {} in the checkpoint", short_name(key), dump_json(value), dump_json(*other)));
    }
  }
  for (const auto& [key, value] : found_flat.items()) {
    if (wanted_flat.find(key) == wanted_flat.end()) {
      differences.push_back(fmt::format("{}: absent here, {} in the checkpoint", short_name(key), dump_json(value)));
    }
  }
  if (differences.empty()) return {};
  constexpr size_t kMostShown = 8;
  const size_t num_more = differences.size() - std::min(differences.size(), kMostShown);
  differences.resize(differences.size() - num_more);
  Diagnostic finding = error_at({place.string()}, "this is the checkpoint of another model");
  finding.found = join(differences, "; ") + (num_more > 0 ? fmt::format("; and {} more", num_more) : "");
  finding.expected = "a checkpoint of the model that is being trained";
  finding.suggestion = "give this experiment another exp_name, or restore the model's settings";
  return {finding};
}

Json to_json(const Manifest& manifest) {
  const CheckpointState& state = manifest.state;
  Json json = {{"format", kCheckpointFormat},
               {"save_id", manifest.save_id},
               {"created", manifest.created},
               {"world_size", manifest.world_size},
               {"step", state.step},
               {"consumed_samples", state.consumed_samples},
               {"consumed_tokens", state.consumed_tokens},
               {"seed", state.seed},
               {"precision", state.precision},
               {"gemm_route", state.gemm_route},
               {"torch_version", state.torch_version},
               {"model_hash", fingerprint_hash(state.model)},
               {"model", state.model},
               {"layout", state.layout},
               {"extra", state.extra}};
  Json files = Json::array();
  for (const CheckpointFile& file : manifest.files) {
    files.push_back({{"name", file.name}, {"size_bytes", file.size_bytes}, {"header_xxh64", hex(file.header_xxh64)}});
  }
  json["files"] = std::move(files);
  Json tensors = Json::array();
  for (const CheckpointTensor& tensor : manifest.tensors) {
    Json shards = Json::array();
    for (const CheckpointShard& shard : tensor.shards) shards.push_back(shard_to_json(shard));
    tensors.push_back({{"name", tensor.name},
                       {"dtype", to_string(tensor.dtype)},
                       {"shape", tensor.shape},
                       {"shards", std::move(shards)}});
  }
  json["tensors"] = std::move(tensors);
  return json;
}

Result<Manifest> manifest_from_json(const Json& json, const std::string& file, bool partial) {
  Diagnostics findings;
  FieldReader reader(json, "the manifest", file, findings);
  const uint64_t format = reader.count("format");
  if (findings.empty() && format != static_cast<uint64_t>(kCheckpointFormat)) {
    Diagnostic finding = error_at({file}, "unknown checkpoint format");
    finding.found = fmt::format("format {}", format);
    finding.expected = fmt::format("format {}", kCheckpointFormat);
    finding.suggestion = "read it with the version of primus that wrote it";
    return finding;
  }
  if (!findings.empty()) return findings;
  Manifest manifest{.save_id = reader.text("save_id"), .created = reader.text("created")};
  manifest.world_size = static_cast<int>(std::min<uint64_t>(reader.count("world_size"), INT32_MAX));
  manifest.state = state_from_json(reader);
  if (reader.text("model_hash") != fingerprint_hash(manifest.state.model))
    reader.bad("'model_hash' does not fit 'model'");
  for (const Json& item : reader.list("files")) {
    FieldReader fields(item, "a file", file, findings);
    manifest.files.push_back({.name = fields.text("name"),
                              .size_bytes = fields.count("size_bytes"),
                              .header_xxh64 = fields.checksum("header_xxh64")});
    if (!is_plain_file_name(manifest.files.back().name)) fields.bad("has a name that is no plain file name");
  }
  for (const Json& item : reader.list("tensors")) {
    manifest.tensors.push_back(tensor_from_json(item, manifest.files.size(), file, partial, findings));
    if (findings.size() > 16) break;
  }
  std::ranges::sort(manifest.tensors, {}, &CheckpointTensor::name);
  const auto twice = std::ranges::adjacent_find(manifest.tensors, {}, &CheckpointTensor::name);
  if (twice != manifest.tensors.end())
    reader.bad(fmt::format("names the tensor '{}' twice", printable_ascii(twice->name)));
  if (!findings.empty()) return findings;
  return manifest;
}

Result<Manifest> read_manifest(const fs::path& checkpoint_folder) {
  const fs::path path = checkpoint_folder / kManifestName;
  Result<std::string> text = read_text_file(path);
  if (!text) return text.diagnostics();
  Result<Json> json = parse_json(*text, path.string());
  if (!json) return json.diagnostics();
  return manifest_from_json(*json, path.string());
}

}  // namespace primus::hub
