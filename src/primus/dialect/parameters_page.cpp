#include <array>

#include "primus/base/strings.h"
#include "primus/dialect/parameter_table.h"

namespace primus::dialect {

namespace {

// A pipe would end a cell.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string words(std::string_view choices) {
  std::vector<std::string> parts = split(choices, '|');
  return join(parts, ", ");
}

std::string kind(const Parameter& row) {
  std::string text(to_string(row.type));
  if (!row.choices.empty()) text += ": " + words(row.choices);
  if (row.nullable) text += ", or null";
  return text;
}

std::string remark(const Parameter& row) {
  switch (row.status) {
    case Status::Honoured: {
      std::string text = "sets `" + std::string(row.spec_field) + "`";
      if (!row.unbuilt_choices.empty()) text += "; not built yet: " + words(row.unbuilt_choices);
      if (row.ours) text += "; an addition of this project";
      return text;
    }
    case Status::NotBuilt: {
      std::string text = std::string(row.reason);
      if (!row.only_with.empty()) text += "; only read with `" + std::string(row.only_with) + "`";
      return text;
    }
    default: {
      std::string text = std::string(row.reason);
      if (!row.instead.empty()) text += "; write `" + std::string(row.instead) + "`";
      return text;
    }
  }
}

constexpr std::array kStatuses{Status::Honoured, Status::NoEffect, Status::NotBuilt, Status::Refused};
constexpr std::array<std::string_view, 4> kMeaning{
    "sets a field of the run", "upstream's one-device losses and files would not change either",
    "the default is accepted, any other value refuses the run", "wrong in upstream too, or harmful"};

}  // namespace

std::string parameters_page(std::string_view framework) {
  const auto rows = all_parameters(framework);
  std::string page = "# Parameters of " + std::string(framework) + "\n\n";
  page += "Made from the parameter table (`src/primus/dialect`) by `primus-cli config parameters " +
          std::string(framework) + "`; do not edit.\n\n| status | keys | meaning |\n| --- | ---: | --- |\n";
  for (size_t i = 0; i < kStatuses.size(); ++i) {
    size_t count = 0;
    for (const Parameter& row : rows) count += row.status == kStatuses[i];
    page += "| " + std::string(to_string(kStatuses[i])) + " | " + std::to_string(count) + " | " +
            std::string(kMeaning[i]) + " |\n";
  }
  for (const Status status : kStatuses) {
    page += "\n## " + std::string(to_string(status)) +
            "\n\n| key | value | default | what | |\n| --- | --- | --- | --- | --- |\n";
    for (const Parameter& row : rows) {
      if (row.status != status) continue;
      std::string what(row.doc);
      if (!row.unit.empty()) what += " Unit: " + std::string(row.unit) + ".";
      page += "| `" + std::string(row.name) + "` | " + cell(kind(row)) + " | `" + std::string(row.default_text) +
              "` | " + cell(what) + " | " + cell(remark(row)) + " |\n";
    }
  }
  return page;
}

}  // namespace primus::dialect
