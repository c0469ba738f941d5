#include "primus/hub/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <numeric>
#include <tuple>

#include "primus/base/check.h"
#include "primus/base/json.h"

namespace primus::hub {

SafetensorsFile::SafetensorsFile(MappedFile file, SafetensorsHeader header)
    : file_(std::move(file)), header_(std::move(header)) {
  for (size_t i = 0; i < header_.entries.size(); ++i) by_name_.emplace(header_.entries[i].name, i);
}

Result<SafetensorsFile> SafetensorsFile::open(const fs::path& path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file) return file.diagnostics();
  Result<SafetensorsHeader> header = parse_safetensors(file->bytes(), path.string());
  if (!header) return header.diagnostics();
  return SafetensorsFile(std::move(file).value(), std::move(header).value());
}

const TensorEntry* SafetensorsFile::find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? nullptr : &header_.entries[found->second];
}

std::span<const std::byte> SafetensorsFile::data(const TensorEntry& entry) const {
  return file_.bytes().subspan(header_.header_bytes + entry.begin, entry.end - entry.begin);
}

namespace {

std::vector<size_t> reference_order(const std::vector<TensorInfo>& tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return std::tie(tensors[b].dtype, tensors[a].name) < std::tie(tensors[a].dtype, tensors[b].name);
  });
  return order;
}

// A JSON object is put together by hand: the library's ordered object is quadratic in the number of names.
std::string build_header(const std::vector<TensorInfo>& tensors, const std::vector<size_t>& order,
                         const SafetensorsMetadata& metadata, uint64_t& data_bytes) {
  std::string text = "{";
  if (!metadata.empty()) text += "\"__metadata__\":" + dump_json(Json(metadata));
  uint64_t begin = 0;
  for (const size_t index : order) {
    const TensorInfo& tensor = tensors[index];
    const std::optional<int64_t> size_bytes = num_bytes(tensor.dtype, tensor.shape);
    PRIMUS_CHECK(size_bytes.has_value(), fmt::format("tensor '{}' has an impossible shape", tensor.name));
    const uint64_t end = begin + static_cast<uint64_t>(*size_bytes);
    if (text.size() > 1) text += ',';
    text += fmt::format(R"({}:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", dump_json(Json(tensor.name)),
                        to_string(tensor.dtype), dump_json(Json(tensor.shape)), begin, end);
    begin = end;
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  PRIMUS_CHECK(text.size() <= kMaxSafetensorsHeaderBytes, "the header would exceed the format's limit");
  data_bytes = begin;
  const uint64_t length = text.size();
  std::string prefix(sizeof(length), '\0');
  std::memcpy(prefix.data(), &length, sizeof(length));
  return prefix + text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const fs::path& target, std::vector<TensorInfo> tensors,
                                     const SafetensorsMetadata& metadata)
    : order_(reference_order(tensors)), header_(build_header(tensors, order_, metadata, data_bytes_)), file_(target) {
  std::vector<std::string_view> names{"__metadata__"};
  for (const TensorInfo& tensor : tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  PRIMUS_CHECK(twice == names.end(), fmt::format("tensor name '{}' is given twice", *twice));
  file_.write(header_);
}

void SafetensorsWriter::append(std::span<const std::byte> bytes) {
  PRIMUS_CHECK(bytes.size() <= data_bytes_ - appended_bytes_, "more data than the header announces");
  if (bytes.empty()) return;
  file_.write(bytes.data(), bytes.size());
  appended_bytes_ += bytes.size();
}

void SafetensorsWriter::close() {
  PRIMUS_CHECK(appended_bytes_ == data_bytes_,
               fmt::format("{} of {} bytes of data were given", appended_bytes_, data_bytes_));
  file_.close();
}

}  // namespace primus::hub
