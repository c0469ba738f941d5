// How the table files write their rows: kinds of value and one maker per status. Private to the room.
#pragma once

#include <span>

#include "primus/dialect/parameter_table.h"

namespace primus::dialect {

struct ValueKind {
  Type type;
  bool nullable;
};
inline constexpr ValueKind kBool{Type::Bool, false}, kMaybeBool{Type::Bool, true};
inline constexpr ValueKind kInt{Type::Int, false}, kMaybeInt{Type::Int, true};
inline constexpr ValueKind kFloat{Type::Float, false}, kMaybeFloat{Type::Float, true};
inline constexpr ValueKind kText{Type::Text, false}, kMaybeText{Type::Text, true};
inline constexpr ValueKind kInts{Type::IntList, false}, kMaybeInts{Type::IntList, true};
inline constexpr ValueKind kMaybeFloats{Type::FloatList, true};
inline constexpr ValueKind kTexts{Type::TextList, false}, kMaybeTexts{Type::TextList, true};
inline constexpr ValueKind kMap{Type::Map, false}, kMaybeMap{Type::Map, true}, kAny{Type::Any, true};

constexpr Parameter row(std::string_view name, ValueKind kind, std::string_view default_text, std::string_view doc,
                        Status status, std::string_view reason, std::string_view field) {
  Parameter parameter;
  parameter.name = name;
  parameter.type = kind.type;
  parameter.nullable = kind.nullable;
  parameter.default_text = default_text;
  parameter.doc = doc;
  parameter.status = status;
  parameter.reason = reason;
  parameter.spec_field = field;
  return parameter;
}
constexpr Parameter honoured(std::string_view name, ValueKind kind, std::string_view default_text, std::string_view doc,
                             std::string_view field) {
  return row(name, kind, default_text, doc, Status::Honoured, {}, field);
}
constexpr Parameter no_effect(std::string_view name, ValueKind kind, std::string_view default_text,
                              std::string_view doc, std::string_view reason) {
  return row(name, kind, default_text, doc, Status::NoEffect, reason, {});
}
constexpr Parameter not_built(std::string_view name, ValueKind kind, std::string_view default_text,
                              std::string_view doc, std::string_view what) {
  return row(name, kind, default_text, doc, Status::NotBuilt, what, {});
}
constexpr Parameter refused(std::string_view name, ValueKind kind, std::string_view default_text, std::string_view doc,
                            std::string_view reason) {
  return row(name, kind, default_text, doc, Status::Refused, reason, {});
}

// Reasons that many rows share.
inline constexpr std::string_view kUnread = "upstream reads this key nowhere";
inline constexpr std::string_view kKernel = "chooses a GPU kernel of upstream; the numbers are the same up to rounding";
inline constexpr std::string_view kComm = "tunes communication on GPU clusters; the numbers do not change";
inline constexpr std::string_view kOtherProgram =
    "belongs to another program of upstream, never read by GPT pre-training";
inline constexpr std::string_view kInference = "read by upstream's inference only, never by training";
inline constexpr std::string_view kLogOnly = "changes upstream's log lines only";
inline constexpr std::string_view kMemory = "moves upstream's GPU memory around; the numbers do not change";

// Not built yet, but described: sets a field that the engine refuses (spec/engine_limits.h).
constexpr Parameter described(std::string_view name, ValueKind kind, std::string_view default_text,
                              std::string_view doc, std::string_view field, std::string_view what) {
  return row(name, kind, default_text, doc, Status::NotBuilt, what, field);
}

}  // namespace primus::dialect
