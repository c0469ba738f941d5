// Reading the header of a safetensors file: a streaming JSON reader (a hostile header may hold millions of names), then
// the checks of the layout. Nothing here allocates more than a small multiple of the header's size.
#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <unordered_set>

#include "primus/base/json.h"
#include "primus/base/strings.h"
#include "primus/hub/safetensors.h"

namespace primus::hub {

namespace {

constexpr size_t kMaxFindings = 16;  // a damaged header is damaged everywhere: the first findings tell the story
constexpr uint64_t kLengthBytes = 8;

class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  HeaderReader(const std::string& file, SafetensorsHeader& header) : file_(file), header_(header) {}

  Diagnostics take_findings() { return std::move(findings_); }

  bool null() override { return scalar("null"); }
  bool boolean(bool value) override { return scalar(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return scalar(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return scalar(text); }
  bool binary(binary_t&) override { return scalar("binary"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (state_ == State::Shape && value <= INT64_MAX) return entry_.shape.push_back(static_cast<int64_t>(value)), true;
    if (state_ == State::Offsets) return offsets_.push_back(value), true;
    return scalar(std::to_string(value));
  }

  bool string(string_t& value) override {
    if (state_ == State::Metadata) {
      if (!header_.metadata.emplace(key_, value).second) return stop("metadata key occurs twice", key_);
      return true;
    }
    if (state_ != State::Entry || key_ != "dtype") return scalar("\"" + value + "\"");
    const std::optional<Dtype> dtype = parse_dtype(value);
    if (!dtype) return bad("unknown dtype", value, "one of " + join(dtype_names(), ", "));
    entry_.dtype = *dtype;
    return true;
  }

  bool start_object(size_t) override {
    if (state_ == State::Start) return state_ = State::Top, true;
    if (state_ != State::Top) return stop("an object where none belongs", "");
    state_ = key_ == "__metadata__" ? State::Metadata : State::Entry;
    entry_ = TensorEntry{};
    entry_.name = key_;
    offsets_.clear();
    fields_.clear();
    return true;
  }

  bool key(string_t& value) override {
    key_ = value;
    if (state_ == State::Top) {
      name_ = value;
      if (!names_.insert(value).second) return stop("the name occurs twice", "");
    }
    if (state_ != State::Entry) return true;
    if (value != "dtype" && value != "shape" && value != "data_offsets") {
      return stop("unknown field in a tensor's entry", value, "dtype, shape and data_offsets");
    }
    if (std::ranges::find(fields_, value) != fields_.end()) return stop("a field occurs twice", value);
    fields_.push_back(value);
    return true;
  }

  bool end_object() override {
    if (state_ == State::Entry) finish_entry();
    state_ = state_ == State::Top ? State::Done : State::Top;
    return findings_.size() < kMaxFindings;
  }

  bool start_array(size_t) override {
    if (state_ != State::Entry || key_ == "dtype") return stop("a list where none belongs", "");
    state_ = key_ == "shape" ? State::Shape : State::Offsets;
    return true;
  }

  bool end_array() override {
    state_ = State::Entry;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const Json::exception& error) override {
    std::string reason = error.what();
    if (const size_t at = reason.find("syntax error"); at != std::string::npos) reason = reason.substr(at);
    name_.clear();
    return stop(
        fmt::format("the header is not valid JSON (byte {}): {}", kLengthBytes + position, printable_ascii(reason)),
        "");
  }

 private:
  enum class State { Start, Top, Metadata, Entry, Shape, Offsets, Done };

  // Always true, so that the findings of one header come together.
  bool bad(const std::string& message, const std::string& found = "", const std::string& expected = "") {
    Diagnostic finding = error_at({file_}, message);
    finding.key = printable_ascii(name_);
    finding.found = printable_ascii(found);
    finding.expected = expected;
    findings_.push_back(std::move(finding));
    return true;
  }

  bool stop(const std::string& message, const std::string& found, const std::string& expected = "") {
    bad(message, found, expected);
    return false;
  }

  bool scalar(const std::string& text) {
    switch (state_) {
      case State::Start:
        return stop("the header is not a JSON object", text);
      case State::Top:
        return bad(name_ == "__metadata__" ? "the metadata is not an object" : "a tensor's entry is not an object",
                   text);
      case State::Metadata:
        return bad(fmt::format("metadata '{}' is not text", printable_ascii(key_)), text, "text");
      case State::Shape:
        return bad("the shape holds something else than sizes", text, "whole numbers, 0 or more");
      case State::Offsets:
        return bad("data_offsets hold something else than positions", text, "whole numbers, 0 or more");
      default:
        return bad(fmt::format("'{}' has a value of a wrong kind", printable_ascii(key_)), text);
    }
  }

  void finish_entry() {
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      if (std::ranges::find(fields_, field) == fields_.end()) bad(fmt::format("the entry has no '{}'", field));
    }
    if (fields_.size() == 3 && offsets_.size() != 2) {
      bad("data_offsets are not a pair", fmt::format("{} numbers", offsets_.size()), "[begin, end]");
    }
    if (!findings_.empty()) return;  // the sizes of a broken entry say nothing
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    const std::optional<int64_t> size_bytes = num_bytes(entry_.dtype, entry_.shape);
    const std::string what = fmt::format("{} of shape {}", to_string(entry_.dtype), format_shape(entry_.shape));
    if (!size_bytes) {
      bad("the tensor's size overflows or is no whole number of bytes", what);
    } else if (entry_.end < entry_.begin || entry_.end - entry_.begin != static_cast<uint64_t>(*size_bytes)) {
      bad("data_offsets do not fit the shape", fmt::format("[{}, {}]", entry_.begin, entry_.end),
          fmt::format("{} bytes for {}", *size_bytes, what));
    }
    header_.entries.push_back(entry_);
  }

  const std::string& file_;
  SafetensorsHeader& header_;
  Diagnostics findings_;
  State state_ = State::Start;
  std::unordered_set<std::string> names_;
  std::string name_;  // of the top-level key that is being read
  std::string key_;
  TensorEntry entry_;
  std::vector<uint64_t> offsets_;
  std::vector<std::string> fields_;
};

// The data must be the tensors one after another: no gap, no overlap, nothing left at the end.
Diagnostics layout_faults(const std::vector<TensorEntry>& entries, uint64_t data_bytes, const std::string& file) {
  Diagnostics findings;
  uint64_t next = 0;
  for (const TensorEntry& entry : entries) {
    if (entry.begin == next) {
      next = entry.end;
      continue;
    }
    Diagnostic finding = error_at({file}, entry.begin < next ? "the tensor's data overlaps another tensor's"
                                                             : "there is a gap before the tensor's data");
    finding.key = printable_ascii(entry.name);
    finding.found = fmt::format("data from byte {}", entry.begin);
    finding.expected = fmt::format("data from byte {}", next);
    findings.push_back(std::move(finding));
    if (findings.size() == kMaxFindings) return findings;
    next = std::max(next, entry.end);
  }
  if (next != data_bytes) {
    Diagnostic finding =
        error_at({file}, next > data_bytes ? "the file is cut short: data of the last tensors is missing"
                                           : "there are bytes after the last tensor");
    finding.found = fmt::format("{} bytes of data", data_bytes);
    finding.expected = fmt::format("{} bytes of data", next);
    findings.push_back(std::move(finding));
  }
  return findings;
}

Diagnostic header_fault(const std::string& file, std::string message, std::string found, std::string expected) {
  Diagnostic finding = error_at({file}, std::move(message));
  finding.found = std::move(found);
  finding.expected = std::move(expected);
  finding.suggestion = "this is no safetensors file, or it was cut while it was copied";
  return finding;
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors(std::span<const std::byte> bytes, const std::string& file) {
  static_assert(std::endian::native == std::endian::little);
  if (bytes.size() < kLengthBytes) {
    return header_fault(file, "the file is too short for a header", fmt::format("{} bytes", bytes.size()),
                        "at least 8 bytes");
  }
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > kMaxSafetensorsHeaderBytes) {
    return header_fault(file, "the header is longer than the format allows", fmt::format("{} bytes", length),
                        fmt::format("at most {} bytes", kMaxSafetensorsHeaderBytes));
  }
  if (length > bytes.size() - kLengthBytes) {
    return header_fault(file, "the header is longer than the file", fmt::format("a header of {} bytes", length),
                        fmt::format("at most {} bytes after the length field", bytes.size() - kLengthBytes));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  if (!text.starts_with('{')) {
    return header_fault(file, "the header does not start with '{'", printable_ascii(text.substr(0, 8)),
                        "a JSON object");
  }
  SafetensorsHeader header;
  header.header_bytes = kLengthBytes + length;
  HeaderReader reader(file, header);
  Json::sax_parse(text.begin(), text.end(), &reader);
  if (Diagnostics findings = reader.take_findings(); !findings.empty()) return findings;
  // Empty tensors sort before the one that starts at the same byte.
  std::ranges::sort(header.entries, {}, [](const TensorEntry& entry) { return std::pair(entry.begin, entry.end); });
  Diagnostics findings = layout_faults(header.entries, bytes.size() - header.header_bytes, file);
  if (!findings.empty()) return findings;
  return header;
}

}  // namespace primus::hub
