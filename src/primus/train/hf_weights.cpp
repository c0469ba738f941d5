#include "primus/train/hf_weights.h"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>

#include "primus/base/check.h"
#include "primus/base/error.h"

namespace primus::train {

namespace {

// A piece where it lies: rows [begin, begin + rows) of a parameter, or a buffer.
struct Place {
  nn::Parameter* parameter = nullptr;
  at::Tensor buffer;
  int64_t begin = 0, rows = 0;
};

std::unordered_map<std::string, Place> places(models::Decoder& decoder) {
  std::unordered_map<std::string, Place> all;
  for (nn::Parameter* parameter : decoder.parameters()) {
    int64_t begin = 0;
    for (const nn::Piece& piece : parameter->pieces()) {
      all[piece.name] = {.parameter = parameter, .buffer = {}, .begin = begin, .rows = piece.num_rows};
      begin += piece.num_rows;
    }
  }
  for (const models::Buffer& buffer : decoder.buffers()) {
    all[buffer.name] = {.parameter = nullptr, .buffer = buffer.values, .begin = 0, .rows = buffer.values.size(0)};
  }
  return all;
}

std::span<float> numbers_of(const at::Tensor& values) {
  return {values.mutable_data_ptr<float>(), static_cast<size_t>(values.numel())};
}

// The rows of one piece that this rank owns.
void read_piece(const std::string& name, const Place& place, const hub::WeightSource& source) {
  if (!place.parameter) {
    source.read_rows(name, 0, place.rows, numbers_of(place.buffer));
    return;
  }
  nn::Parameter& parameter = *place.parameter;
  const int64_t begin = std::max(place.begin, parameter.owned_begin());
  const int64_t end = std::min(place.begin + place.rows, parameter.owned_end());
  if (begin >= end) return;
  const at::Tensor rows = parameter.owned_master().narrow(0, begin - parameter.owned_begin(), end - begin);
  if (rows.scalar_type() == at::kFloat && rows.is_contiguous()) {
    source.read_rows(name, begin - place.begin, end - place.begin, numbers_of(rows));
    return;
  }
  const at::Tensor wide = at::empty(rows.sizes(), at::kFloat);
  source.read_rows(name, begin - place.begin, end - place.begin, numbers_of(wide));
  rows.copy_(wide);
}

}  // namespace

void read_hf_weights(models::Decoder& decoder, const hub::WeightSource& source) {
  const at::NoGradGuard no_grad;
  Diagnostics missing;
  for (const auto& [name, place] : places(decoder)) {
    if (!source.has(name)) {
      missing.push_back(error_at({}, fmt::format("the checkpoint's family has no tensor for {}", name)));
      continue;
    }
    PRIMUS_CHECK(source.shape(name).front() == place.rows, "a weight of another shape: " + name);
    read_piece(name, place, source);
  }
  if (!missing.empty()) {
    std::sort(missing.begin(), missing.end(),
              [](const Diagnostic& a, const Diagnostic& b) { return a.message < b.message; });
    throw InputError(missing);
  }
  for (nn::Parameter* parameter : decoder.parameters()) parameter->refresh_compute();
}

hub::FetchPiece piece_values(models::Decoder& decoder, PieceValues values) {
  return [all = places(decoder), values](const hub::WeightPart& part, std::span<float> out) {
    const auto found = all.find(part.piece);
    PRIMUS_CHECK(found != all.end(), "no weight of the name " + part.piece);
    const Place& place = found->second;
    at::Tensor from = place.buffer;
    if (place.parameter) {
      const at::Tensor& whole =
          values == PieceValues::Gradients ? place.parameter->main_grad : place.parameter->compute;
      from = whole.narrow(0, place.begin, place.rows);
    }
    PRIMUS_CHECK(static_cast<size_t>(from.numel()) == out.size(), "a weight of another shape: " + part.piece);
    const at::Tensor wide = from.to(at::kFloat).contiguous();
    std::copy_n(wide.const_data_ptr<float>(), out.size(), out.data());
  };
}

}  // namespace primus::train
