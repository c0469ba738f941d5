// A run as JSON and the fields in which two runs differ, made from the list of fields in visit.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "primus/base/json.h"
#include "primus/spec/run_spec.h"

namespace primus::spec {

// Fields by name in the order of their declaration; enumerators by name ("MicroBatchMean"), what is absent as null.
// model.layers is a list of {"at": "0-31", ...}: equal layers stand together, "at" says which they are (from 0).
Json to_json(const RunSpec& run);

struct FieldDifference {
  std::string field;  // "lr.max_lr", "model.layers[0-31].attention.rope.base"
  Json before, after;
};

// In the order of the fields; layers with the same difference are one entry.
std::vector<FieldDifference> compare(const RunSpec& before, const RunSpec& after);

// The value of a field as parameter tables name it ("lr.max_lr", "model.layers.attention.head_dim"); of layers that
// differ a list of their values, each once. Nothing when there is no such field.
std::optional<Json> field_value(const RunSpec& run, std::string_view field);

// Indexes as text: {0, 1, 2, 5} -> "0-2, 5".
std::string index_ranges(const std::vector<size_t>& indexes);

}  // namespace primus::spec
