// Our weights out of a Hugging Face folder, rows at a time, and Hugging Face's tensors out of our weights, one at a
// time. Memory: the map of the files and a few KiB; whoever reads only its own rows needs only those.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "primus/base/fs.h"
#include "primus/base/result.h"
#include "primus/hub/dequantise.h"
#include "primus/hub/hf_folder.h"
#include "primus/hub/hf_weights.h"

namespace primus::hub {

// Names of stored tensors.
struct LoadReport {
  std::vector<std::string> loaded, missing, unexpected;
  std::vector<std::string> ignored;  // known to hold no weight, or a copy of one
  // "loaded 291 tensors (268.0 MiB), missing 0, unexpected 1: score.weight, ignored 1: lm_head.weight"
  std::string summary() const;
  uint64_t loaded_bytes = 0;
};

struct WeightSourceOptions {
  bool refuse_unexpected = false;  // otherwise a warning
};

class WeightSource {
 public:
  // Opens the folder and compares every tensor with what the model wants; reads no numbers, except of tensors that must
  // be copies of others (a stored head of a tied model). Errors, all together, one for each tensor: missing, another
  // shape (wanted and found), a type that holds no floats, fp8 or MXFP4 whose scales do not fit, a copy that differs, a
  // quantisation that is not read (config.json's quantization_config). Unexpected tensors warn.
  static Result<WeightSource> open(const fs::path& folder, const spec::Model& model, std::string_view family,
                                   const WeightSourceOptions& options = {});

  const LoadReport& report() const { return report_; }
  const std::vector<HfTensor>& tensors() const { return tensors_; }  // as this checkpoint spells them
  std::vector<std::string> pieces() const;                           // in the order of the tensors
  bool has(std::string_view piece) const { return find(piece) != nullptr; }
  // [rows] or [rows, cols]. Throws InternalError for a piece that the model does not have, as do the functions below.
  const std::vector<int64_t>& shape(std::string_view piece) const;
  Dtype stored_dtype(std::string_view piece) const;  // F8E4M3 and F4 for the quantised forms

  // Rows [begin, end) of the piece (elements of a vector), row-major, as f32 or as bf16 bits (exact where bf16 is
  // stored, to the nearest elsewhere). out holds (end - begin) * cols numbers. Threads: any number at once.
  void read_rows(std::string_view piece, int64_t begin, int64_t end, std::span<float> out) const;
  void read_rows(std::string_view piece, int64_t begin, int64_t end, std::span<uint16_t> out) const;

 private:
  struct Place {
    size_t tensor, part;
  };
  explicit WeightSource(HfFolder folder) : folder_(std::move(folder)) {}
  const Place* find(std::string_view piece) const;
  const Place& place_of(std::string_view piece) const;
  template <class T>
  void read(std::string_view piece, int64_t begin, int64_t end, std::span<T> out) const;
  friend class WeightCheck;

  HfFolder folder_;
  std::vector<HfTensor> tensors_;
  std::vector<StoredNumbers> numbers_;  // of the tensors
  std::vector<Dtype> dtypes_;
  std::unordered_map<std::string, Place> places_;
  LoadReport report_;
};

// Fills `out` with the values of a whole piece, row-major.
using FetchPiece = std::function<void(const WeightPart& part, std::span<float> out)>;

// The bytes of one stored tensor (plain form, dtype F32, BF16 or F16) from the values of its pieces. Memory: the tensor
// and its largest piece in f32. Throws RunError when F16 cannot hold a value.
std::vector<std::byte> assemble(const HfTensor& tensor, Dtype dtype, const FetchPiece& fetch);

// What the file says of it: buffers stay F32.
TensorInfo tensor_info(const HfTensor& tensor, Dtype dtype);

}  // namespace primus::hub
