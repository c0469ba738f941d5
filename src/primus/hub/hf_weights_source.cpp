#include "primus/hub/hf_weights_source.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <set>

#include "primus/base/check.h"
#include "primus/base/json_file.h"
#include "primus/base/strings.h"
#include "primus/hub/hf_weights_naming.h"

namespace primus::hub {

namespace {

constexpr size_t kMostFindings = 40;
constexpr int64_t kTileRows = 64;
constexpr int64_t kRun = 4096;

struct Quantisation {
  std::string method;  // empty: none
  int64_t block_rows = 128, block_cols = 128;
};

Result<Quantisation> read_quantisation(const fs::path& folder) {
  const fs::path file = folder / "config.json";
  Quantisation found;
  std::error_code code;
  if (!fs::exists(file, code)) return found;
  auto config = read_json_file(file);
  if (!config.ok()) return config.diagnostics();
  const auto block = config->is_object() ? config->find("quantization_config") : config->end();
  if (!config->is_object() || block == config->end() || !block->is_object()) return found;
  const auto method = block->find("quant_method");
  if (method != block->end() && method->is_string()) found.method = method->get<std::string>();
  const auto refuse = [&](const std::string& what, std::string got, std::string expected) {
    Diagnostic finding = error_at({file.string()}, what);
    finding.key = "quantization_config";
    finding.found = std::move(got);
    finding.expected = std::move(expected);
    finding.suggestion = "take the checkpoint that is not quantised";
    return finding;
  };
  if (found.method != "fp8" && found.method != "mxfp4")
    return refuse("weights of this quantisation are not read", found.method, "fp8, mxfp4");
  const auto size = block->find("weight_block_size");
  if (size == block->end() || size->is_null()) return found;
  const auto is_size = [](const Json& n) { return n.is_number_integer() && n.get<int64_t>() > 0; };
  if (!size->is_array() || size->size() != 2 || !is_size((*size)[0]) || !is_size((*size)[1]))
    return refuse("'weight_block_size' is no pair of sizes", dump_json(*size), "[128, 128]");
  found.block_rows = (*size)[0].get<int64_t>();
  found.block_cols = (*size)[1].get<int64_t>();
  return found;
}

int64_t blocks(int64_t size, int64_t block) {
  return size / block + (size % block != 0 ? 1 : 0);
}

// Calls copy(first element, count, elements from out) along the faster of the part's two directions.
// Reads of a tile of rows at a time keep the output of a turned part in the cache.
template <class T, class Read>
void gather_group(const WeightPart& part, int64_t start, int64_t rows, std::span<T> out, const Read& read) {
  const int64_t cols = part.cols();
  if (rows == 0 || cols == 0) return;
  const bool is_dense = cols == 1 ? part.row_stride == 1 : part.col_stride == 1 && part.row_stride == cols;
  if (is_dense) return read(start, out.first(static_cast<size_t>(rows * cols)));
  std::vector<T> run(kRun);
  // `count` elements, `stride` apart, to places `to_stride` apart.
  const auto line = [&](int64_t from, int64_t count, int64_t stride, T* to, int64_t to_stride) {
    if (stride == 1 && to_stride == 1) return read(from, std::span<T>(to, static_cast<size_t>(count)));
    const int64_t most = std::max<int64_t>(1, (kRun - 1) / stride + 1);
    for (int64_t done = 0; done < count; done += most) {
      const int64_t some = std::min(most, count - done);
      read(from + done * stride, std::span<T>(run.data(), static_cast<size_t>((some - 1) * stride + 1)));
      for (int64_t i = 0; i < some; ++i) to[(done + i) * to_stride] = run[static_cast<size_t>(i * stride)];
    }
  };
  const bool along_columns = cols > 1 && part.col_stride <= part.row_stride;
  if (along_columns) {
    for (int64_t r = 0; r < rows; ++r) line(start + r * part.row_stride, cols, part.col_stride, &out[r * cols], 1);
    return;
  }
  for (int64_t tile = 0; tile < rows; tile += kTileRows)
    for (int64_t c = 0; c < cols; ++c)
      line(start + tile * part.row_stride + c * part.col_stride, std::min(kTileRows, rows - tile), part.row_stride,
           &out[tile * cols + c], cols);
}

template <class T, class Read>
void gather(const WeightPart& part, int64_t begin, int64_t end, std::span<T> out, const Read& read) {
  const int64_t of_group = part.group_rows > 0 ? part.group_rows : std::max<int64_t>(1, end);
  for (int64_t at = begin; at < end;) {
    const int64_t rows = std::min(end, (at / of_group + 1) * of_group) - at;
    gather_group(part, part.row_start(at), rows, out.subspan(static_cast<size_t>((at - begin) * part.cols())), read);
    at += rows;
  }
}

template <class T>
void scatter(const WeightPart& part, const std::byte* from, std::byte* to) {
  for (int64_t tile = 0; tile < part.rows(); tile += kTileRows)
    for (int64_t c = 0; c < part.cols(); ++c)
      for (int64_t r = tile; r < std::min(tile + kTileRows, part.rows()); ++r)
        std::memcpy(to + (part.row_start(r) + c * part.col_stride) * static_cast<int64_t>(sizeof(T)),
                    from + (r * part.cols() + c) * static_cast<int64_t>(sizeof(T)), sizeof(T));
}

}  // namespace

// The comparison of a folder with what a model wants.
class WeightCheck {
 public:
  WeightCheck(WeightSource& source, const spec::Model& model, std::string_view family, const Quantisation& quantisation)
      : source_(source), model_(model), family_(family), quantisation_(quantisation) {}

  Diagnostics run(const WeightSourceOptions& options) {
    for (size_t i = 0; i < source_.tensors_.size(); ++i) take(i);
    if (!source_.report_.missing.empty()) report_missing();
    look_at_rest(options);
    if (findings_.size() > kMostFindings) {
      const size_t more = findings_.size() - kMostFindings;
      findings_.resize(kMostFindings);
      findings_.push_back(error_at(here(), fmt::format("{} more tensors do not fit", more)));
    }
    return std::move(findings_);
  }

 private:
  Place here() const { return {source_.folder_.path().string(), 0, 0}; }

  Diagnostic& complain(const HfEntry& entry, std::string message, std::string found, std::string wanted) {
    Diagnostic finding = error_at({entry.file->string()}, std::move(message));
    finding.key = entry.info->name;
    finding.found = std::move(found);
    finding.expected = std::move(wanted);
    findings_.push_back(std::move(finding));
    return findings_.back();
  }

  const HfEntry* get(const std::string& name) {
    const HfEntry* entry = source_.folder_.find(name);
    if (entry == nullptr) {
      source_.report_.missing.push_back(name);
      return nullptr;
    }
    used_.insert(name);
    source_.report_.loaded.push_back(name);
    source_.report_.loaded_bytes += entry->bytes.size();
    return entry;
  }

  void take(size_t index) {
    const HfTensor& tensor = source_.tensors_[index];
    StoredNumbers& numbers = source_.numbers_[index];
    if (tensor.storage == HfStorage::Mxfp4) {
      source_.dtypes_[index] = Dtype::F4;
      return take_mxfp4(tensor, numbers);
    }
    const HfEntry* entry = get(tensor.name);
    if (entry == nullptr) return;
    const Dtype dtype = source_.dtypes_[index] = entry->info->dtype;
    numbers.dtype = dtype;
    numbers.bytes = entry->bytes;
    const std::string named = "'" + tensor.name + "'";
    if (entry->info->shape != tensor.shape) {
      Diagnostic& finding =
          complain(*entry, named + " has another shape", format_shape(entry->info->shape), format_shape(tensor.shape));
      std::vector<int64_t> turned = entry->info->shape;
      std::reverse(turned.begin(), turned.end());
      if (turned.size() > 1 && turned == tensor.shape) finding.suggestion = "the tensor is transposed";
      return;
    }
    if (dtype == Dtype::F8E4M3) return take_fp8(tensor, *entry, numbers);
    if (!is_plain_float(dtype))
      complain(*entry, named + " holds no floats", std::string(to_string(dtype)), "F32, BF16, F16, F64, F8_E4M3");
  }

  void take_fp8(const HfTensor& tensor, const HfEntry& entry, StoredNumbers& numbers) {
    const std::string scale_name = tensor.name + "_scale_inv";
    if (tensor.shape.size() != 2) {
      complain(entry, "'" + tensor.name + "' is fp8 and no matrix", format_shape(tensor.shape), "[rows, columns]");
      return;
    }
    const HfEntry* scale = get(scale_name);
    if (scale == nullptr) return;
    const std::vector<int64_t> wanted = {blocks(tensor.shape[0], quantisation_.block_rows),
                                         blocks(tensor.shape[1], quantisation_.block_cols)};
    if (scale->info->dtype != Dtype::F32 || scale->info->shape != wanted) {
      complain(*scale, "'" + scale_name + "' does not fit its weight",
               std::string(to_string(scale->info->dtype)) + " " + format_shape(scale->info->shape),
               "F32 " + format_shape(wanted));
      return;
    }
    numbers.form = StoredNumbers::Form::BlockFp8;
    numbers.scales = scale->bytes;
    numbers.cols = tensor.shape[1];
    numbers.block_rows = quantisation_.block_rows;
    numbers.block_cols = quantisation_.block_cols;
  }

  void take_mxfp4(const HfTensor& tensor, StoredNumbers& numbers) {
    const HfEntry* packed = get(tensor.name + "_blocks");
    const HfEntry* scales = get(tensor.name + "_scales");
    if (packed == nullptr || scales == nullptr) return;
    const int64_t width = tensor.shape.back();
    std::vector<int64_t> wanted = tensor.shape;
    wanted.back() = width / 32;
    const auto check = [&](const HfEntry& entry, const std::vector<int64_t>& shape) {
      if (width % 32 == 0 && entry.info->dtype == Dtype::U8 && entry.info->shape == shape) return;
      complain(entry, "'" + entry.info->name + "' does not fit",
               std::string(to_string(entry.info->dtype)) + " " + format_shape(entry.info->shape),
               "U8 " + format_shape(shape));
    };
    check(*scales, wanted);
    wanted.push_back(16);
    check(*packed, wanted);
    numbers.form = StoredNumbers::Form::Mxfp4;
    numbers.bytes = packed->bytes;
    numbers.scales = scales->bytes;
  }

  void report_missing() {
    const std::vector<std::string>& names = source_.report_.missing;
    Diagnostic finding = error_at(here(), fmt::format("{} tensor{} missing: {}", names.size(),
                                                      names.size() == 1 ? " is" : "s are", first_names(names)));
    for (const std::string& name : names)
      if (name.ends_with("lm_head.weight"))
        finding.suggestion = "config.json says that the head is not tied to the embedding (tie_word_embeddings)";
    findings_.push_back(std::move(finding));
  }

  void look_at_rest(const WeightSourceOptions& options) {
    const HasTensor has = [&](const std::string& name) { return source_.folder_.has(name); };
    for (const std::string& name : source_.folder_.names()) {
      if (used_.contains(name)) continue;
      const auto extra = hf_extra(model_, family_, name, has);
      if (extra) {
        source_.report_.ignored.push_back(name);
        if (!extra->copy_of.empty()) compare_copy(name, *extra);
      } else {
        source_.report_.unexpected.push_back(name);
      }
    }
    const std::vector<std::string>& names = source_.report_.unexpected;
    if (names.empty()) return;
    Diagnostic finding = error_at(here(), fmt::format("{} tensor{} not of this model: {}", names.size(),
                                                      names.size() == 1 ? " is" : "s are", first_names(names)));
    if (!options.refuse_unexpected) finding.severity = Severity::Warning;
    findings_.push_back(std::move(finding));
  }

  void compare_copy(const std::string& name, const HfExtra& extra) {
    const HfEntry* copy = source_.folder_.find(name);
    const auto* place = source_.find(extra.copy_of);
    if (place == nullptr) return;
    const std::string& of = source_.tensors_[place->tensor].name;
    const HfEntry* original = source_.folder_.find(of);
    if (original == nullptr) return;
    const bool same = copy->info->dtype == original->info->dtype && copy->info->shape == original->info->shape &&
                      std::ranges::equal(copy->bytes, original->bytes);
    if (same) return;
    Diagnostic& finding = complain(*copy, fmt::format("'{}' is not the copy of '{}' that it should be", name, of),
                                   "other bytes", extra.reason);
    if (name.ends_with("lm_head.weight"))
      finding.suggestion = "if this head is the right one, set tie_word_embeddings to false in config.json";
  }

  WeightSource& source_;
  const spec::Model& model_;
  std::string_view family_;
  const Quantisation& quantisation_;
  std::set<std::string> used_;
  Diagnostics findings_;
};

std::string LoadReport::summary() const {
  std::string text = fmt::format("loaded {} tensors ({}), missing {}", loaded.size(),
                                 format_bytes(static_cast<double>(loaded_bytes)), missing.size());
  if (!missing.empty()) text += ": " + first_names(missing);
  text += fmt::format(", unexpected {}", unexpected.size());
  if (!unexpected.empty()) text += ": " + first_names(unexpected);
  if (!ignored.empty()) text += fmt::format(", ignored {}: {}", ignored.size(), first_names(ignored));
  return text;
}

Result<WeightSource> WeightSource::open(const fs::path& path, const spec::Model& model, std::string_view family,
                                        const WeightSourceOptions& options) {
  auto folder = HfFolder::open(path);
  if (!folder.ok()) return folder.diagnostics();
  Diagnostics notes = folder.diagnostics();
  auto quantisation = read_quantisation(path);
  if (!quantisation.ok()) return quantisation.diagnostics();
  WeightSource source(std::move(folder).value());
  auto tensors = hf_weights_in(model, family, [&](const std::string& name) { return source.folder_.has(name); });
  if (!tensors.ok()) return tensors.diagnostics();
  source.tensors_ = std::move(tensors).value();
  source.numbers_.resize(source.tensors_.size());
  source.dtypes_.resize(source.tensors_.size());
  for (size_t t = 0; t < source.tensors_.size(); ++t)
    for (size_t p = 0; p < source.tensors_[t].parts.size(); ++p) {
      const bool is_new = source.places_.emplace(source.tensors_[t].parts[p].piece, Place{t, p}).second;
      PRIMUS_CHECK(is_new, "piece '" + source.tensors_[t].parts[p].piece + "' has two places");
    }
  for (Diagnostic& finding : WeightCheck(source, model, family, *quantisation).run(options))
    notes.push_back(std::move(finding));
  if (has_errors(notes)) return notes;
  return {std::move(source), std::move(notes)};
}

std::vector<std::string> WeightSource::pieces() const {
  std::vector<std::string> names;
  for (const HfTensor& tensor : tensors_)
    for (const WeightPart& part : tensor.parts) names.push_back(part.piece);
  return names;
}

const WeightSource::Place* WeightSource::find(std::string_view piece) const {
  const auto found = places_.find(std::string(piece));
  return found == places_.end() ? nullptr : &found->second;
}

const WeightSource::Place& WeightSource::place_of(std::string_view piece) const {
  const Place* place = find(piece);
  PRIMUS_CHECK(place != nullptr, fmt::format("the checkpoint's family has no weight '{}'", piece));
  return *place;
}

const std::vector<int64_t>& WeightSource::shape(std::string_view piece) const {
  const Place& place = place_of(piece);
  return tensors_[place.tensor].parts[place.part].shape;
}

Dtype WeightSource::stored_dtype(std::string_view piece) const {
  return dtypes_[place_of(piece).tensor];
}

template <class T>
void WeightSource::read(std::string_view piece, int64_t begin, int64_t end, std::span<T> out) const {
  const Place& place = place_of(piece);
  const WeightPart& part = tensors_[place.tensor].parts[place.part];
  PRIMUS_CHECK(begin >= 0 && begin <= end && end <= part.rows(),
               fmt::format("rows {} to {} of '{}'", begin, end, piece));
  PRIMUS_CHECK(static_cast<int64_t>(out.size()) == (end - begin) * part.cols(), "a buffer of another size");
  const StoredNumbers& numbers = numbers_[place.tensor];
  gather(part, begin, end, out, [&](int64_t from, std::span<T> to) { numbers.read(from, to); });
}

void WeightSource::read_rows(std::string_view piece, int64_t begin, int64_t end, std::span<float> out) const {
  read(piece, begin, end, out);
}

void WeightSource::read_rows(std::string_view piece, int64_t begin, int64_t end, std::span<uint16_t> out) const {
  read(piece, begin, end, out);
}

std::vector<std::byte> assemble(const HfTensor& tensor, Dtype dtype, const FetchPiece& fetch) {
  PRIMUS_CHECK(tensor.storage == HfStorage::Numbers, "quantised forms are read, not written");
  const auto size = num_bytes(dtype, tensor.shape);
  PRIMUS_CHECK(size.has_value() && is_export_dtype(dtype), "'" + tensor.name + "' cannot be stored so");
  std::vector<std::byte> out(static_cast<size_t>(*size));
  const auto element = static_cast<size_t>(bits_of(dtype)) / 8;
  std::vector<float> values;
  std::vector<std::byte> encoded;
  for (const WeightPart& part : tensor.parts) {
    values.resize(static_cast<size_t>(part.rows() * part.cols()));
    fetch(part, values);
    const bool is_dense =
        part.group_rows == 0 &&
        (part.cols() == 1 ? part.row_stride == 1 : part.col_stride == 1 && part.row_stride == part.cols());
    encoded.resize(is_dense ? 0 : values.size() * element);
    const std::span<std::byte> to =
        is_dense ? std::span(out).subspan(static_cast<size_t>(part.offset) * element, values.size() * element)
                 : std::span<std::byte>(encoded);
    if (!encode(values, dtype, to))
      throw RunError(
          fmt::format("'{}' holds a number that {} cannot: export it as BF16 or F32", part.piece, to_string(dtype)));
    if (is_dense) continue;
    element == 4 ? scatter<uint32_t>(part, encoded.data(), out.data())
                 : scatter<uint16_t>(part, encoded.data(), out.data());
  }
  return out;
}

TensorInfo tensor_info(const HfTensor& tensor, Dtype dtype) {
  return {.name = tensor.name, .dtype = tensor.buffer ? Dtype::F32 : dtype, .shape = tensor.shape};
}

}  // namespace primus::hub
