// Which tensors a Hugging Face checkpoint of a family holds, and where in them our own weights lie.
//
// A weight of ours is a piece ("layer.3.attn.q.weight", rows = outputs). A stored tensor may be several pieces side by
// side (fused q, k, v), turned (inputs first), interleaved or stacked over experts: each is a strided view of it.
// The order of rotary rows is never changed: spec::Rope::interleaved says which one the weights have.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "primus/base/result.h"
#include "primus/spec/model.h"

namespace primus::hub {

// Element (r, c) of the piece is element row_start(r) + c * col_stride of the stored tensor. Rows may stand in groups
// of equal distance (the queries of every head, with the gate of the head between them).
struct WeightPart {
  std::string piece;
  std::vector<int64_t> shape;  // [rows] or [rows, cols]
  int64_t offset = 0, row_stride = 0, col_stride = 0;
  int64_t group_rows = 0, group_stride = 0;  // 0 rows: all in one group

  int64_t row_start(int64_t r) const {
    if (group_rows == 0) return offset + r * row_stride;
    return offset + r / group_rows * group_stride + r % group_rows * row_stride;
  }

  int64_t rows() const { return shape[0]; }
  int64_t cols() const { return shape.size() > 1 ? shape[1] : 1; }
};

enum class HfStorage {
  Numbers,  // one tensor of its name: floats, or fp8 with "<name>_scale_inv" beside it
  Mxfp4     // "<name>_blocks" and "<name>_scales"; `shape` is the one of the numbers
};

struct HfTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<WeightPart> parts;  // cover it exactly once
  bool buffer = false;            // f32 whatever the weights are stored in, and without a gradient
  HfStorage storage = HfStorage::Numbers;
};

// All tensors of a saved checkpoint of this family (one of hf_families()), named as transformers 5.24 writes them,
// layer by layer. Predictions of further tokens have names in deepseek_v3, kimi_k2 and glm4_moe only; elsewhere they
// are left out. Errors, all together: an unknown family, and parts of the model that the family has no name for.
// Source: transformers 5.24.0 (modeling_*.py, conversion_mapping.py); grok-1: the converted checkpoint's remote code;
// grok-2: sglang, models/grok.py.
Result<std::vector<HfTensor>> hf_weights(const spec::Model& model, std::string_view family);

// The same as one checkpoint spells it; `has` says whether it holds a tensor of that name. Understood beyond the saved
// form: no "model." or "transformer." in front, "language_model." in front, experts stacked in one tensor
// (mlp.experts.gate_up_proj [E, 2f, h]), MXFP4.
using HasTensor = std::function<bool(const std::string& name)>;
Result<std::vector<HfTensor>> hf_weights_in(const spec::Model& model, std::string_view family, const HasTensor& has);

// A stored tensor that is no weight of its own.
struct HfExtra {
  std::string reason;
  std::string copy_of;  // piece whose stored bytes it must equal; empty: not looked at
};
// Nothing for a tensor that ought not to be there.
std::optional<HfExtra> hf_extra(const spec::Model& model, std::string_view family, const std::string& name,
                                const HasTensor& has);

// Empty when every element of the tensor is in exactly one part; otherwise what is wrong. Cost: one byte an element.
std::string coverage_fault(const HfTensor& tensor);

}  // namespace primus::hub
