#include "primus/config/surprises.h"

#include <fmt/format.h>

#include "primus/config/yaml_scalar.h"

namespace primus::config {
namespace {

void note_odd_numbers(const Value& value, const std::string& key, Diagnostics& diagnostics) {
  if (value.is_map()) {
    for (const MapEntry& entry : value.as_map()) note_odd_numbers(entry.value, key + '.' + entry.key, diagnostics);
  } else if (value.is_list()) {
    for (const Value& item : value.as_list()) note_odd_numbers(item, key, diagnostics);
  }
  if (!value.is_int() && !value.is_double()) return;
  const Origin& origin = value.origin();
  const bool from_yaml =
      origin.layer != Layer::CommandLine && origin.placeholder.empty() && origin.style == Style::Plain;
  // Only a text with a leading zero or a colon can be one of them: most values are passed by without another reading.
  const bool may_be_odd =
      origin.raw.size() > 1 && (origin.raw.find(':') != std::string::npos || origin.raw.find('0') <= 1);
  if (!from_yaml || !may_be_odd) return;
  const ScalarReading reading = read_plain_scalar(origin.raw);
  if (!reading.is_octal && !reading.is_sexagesimal) return;
  Diagnostic odd =
      warning_at(value.place(), fmt::format("{} is read as {}: YAML 1.1 takes it as {}", origin.raw, describe(value),
                                            reading.is_octal ? "octal" : "a number to the base of sixty"));
  odd.key = key;
  odd.suggestion =
      reading.is_octal ? "leave out the leading zero, or put it into quotes" : "put it into quotes when it is a text";
  diagnostics.push_back(std::move(odd));
}

void note_lost_model_value(const MapEntry& entry, Diagnostics& diagnostics) {
  if (entry.value.origin().layer != Layer::ModulePreset) return;
  for (const Value& older : entry.value.hidden()) {
    if (older.origin().layer != Layer::ModelPreset) continue;
    if (older.same_data(entry.value)) return;
    Diagnostic lost{.severity = Severity::Note, .place = older.place()};
    lost.message =
        fmt::format("'{}' of the model preset is not used: the module preset sets it too, and wins", entry.key);
    lost.found =
        fmt::format("{} here, {} at {}", describe(older), describe(entry.value), entry.value.place().to_string());
    lost.suggestion = "put the value you want under 'overrides'";
    diagnostics.push_back(std::move(lost));
    return;
  }
}

}  // namespace

void note_surprises(const MapEntry& parameter, Diagnostics& diagnostics) {
  note_lost_model_value(parameter, diagnostics);
  note_odd_numbers(parameter.value, parameter.key, diagnostics);
}

}  // namespace primus::config
