// Contract 2: every parameter of a dialect, once, as a plain data row. Checks, translation, documents and export read
// it.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace primus::dialect {

enum class Type : uint8_t { Bool, Int, Float, Text, IntList, FloatList, TextList, Map, Any };

enum class Status : uint8_t {
  Honoured,  // sets spec_field
  NoEffect,  // upstream's one-device losses and files would not change either; `reason` says why
  NotBuilt,  // the default (and what means the same) is accepted, any other value refuses the run; `reason`: what is
             // missing
  Refused,   // wrong at this revision of upstream too, or harmful; `reason` says why
};

struct Parameter {
  std::string_view name;
  Type type = Type::Any;
  bool nullable = false;
  std::string_view default_text;  // upstream's own default as YAML text: "null", "0.02", "[1, 2]"
  std::string_view doc;
  Status status = Status::NoEffect;
  std::string_view reason;
  std::string_view spec_field;  // Honoured: "lr.max_lr"; several fields are separated by a space
  std::string_view unit;
  std::string_view choices;          // "adam|sgd"; empty: any
  std::string_view unbuilt_choices;  // known to upstream, refused here: "muon|dist_muon"
  std::string_view harmless;         // further values that mean the default: "0|false"
  std::string_view only_with;        // read only while that key has a value other than its default
  std::string_view needs;            // a value other than the default needs that key to be on
  std::string_view instead;          // the key to write instead of this one
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool any_case = false;  // choices are compared without case
  bool ours = false;      // an addition of this project, unknown to upstream

  // For the rows of the tables: "this row, and ...".
  constexpr Parameter in(std::string_view words) const { return with(&Parameter::choices, words); }
  constexpr Parameter not_yet(std::string_view words) const { return with(&Parameter::unbuilt_choices, words); }
  constexpr Parameter also(std::string_view words) const { return with(&Parameter::harmless, words); }
  constexpr Parameter under(std::string_view key) const { return with(&Parameter::only_with, key); }
  constexpr Parameter requires_key(std::string_view key) const { return with(&Parameter::needs, key); }
  constexpr Parameter use(std::string_view key) const { return with(&Parameter::instead, key); }
  constexpr Parameter in_unit(std::string_view words) const { return with(&Parameter::unit, words); }
  constexpr Parameter at_least(double bound) const { return with(&Parameter::minimum, bound); }
  constexpr Parameter at_most(double bound) const { return with(&Parameter::maximum, bound); }
  constexpr Parameter of_ours() const { return with(&Parameter::ours, true); }
  constexpr Parameter in_any_case() const { return with(&Parameter::any_case, true); }

 private:
  constexpr Parameter with(std::string_view Parameter::* field, std::string_view value) const {
    Parameter copy = *this;
    copy.*field = value;
    return copy;
  }
  constexpr Parameter with(double Parameter::* field, double value) const {
    Parameter copy = *this;
    copy.*field = value;
    return copy;
  }
  constexpr Parameter with(bool Parameter::* field, bool value) const {
    Parameter copy = *this;
    copy.*field = value;
    return copy;
  }
};

std::string_view to_string(Type type);      // "true/false", "integer", "number", "text", "list of integers", ...
std::string_view to_string(Status status);  // "honoured", "no effect here", "not built yet", "refused"

// All rows of a framework ("megatron"), sorted by name; empty for a framework without a table yet.
std::span<const Parameter> all_parameters(std::string_view framework);
// Null when the framework has no such key.
const Parameter* find_parameter(std::string_view framework, std::string_view key);
// True when keys lie below this one ("training" of "training.steps").
bool is_section(std::string_view framework, std::string_view key);
// Names nearest to a misspelt one, as "did you mean ...?"; empty when nothing is near.
std::string suggest_parameter(std::string_view framework, std::string_view key);

// The table as a Markdown page (docs/parameters/<framework>.md): counts per status, then the rows by status.
std::string parameters_page(std::string_view framework);

}  // namespace primus::dialect
