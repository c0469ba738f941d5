// config list: what there is to choose from, searchable.
#include "primus/cli/config_list.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <ostream>

#include "primus/base/strings.h"
#include "primus/cli/config_actions.h"
#include "primus/cli/config_request.h"
#include "primus/cli/model_catalogue.h"
#include "primus/cli/models_page.h"
#include "primus/cli/presets_root.h"
#include "primus/config/read_file.h"
#include "primus/config/yaml_reader.h"
#include "primus/dialect/dialects.h"
#include "primus/dialect/parameter_table.h"

namespace primus::cli {
namespace {

std::vector<std::string> all_frameworks() {
  std::vector<std::string> names;
  for (const dialect::Dialect& one : dialect::all_dialects()) names.emplace_back(one.framework);
  return names;
}

const std::string* text_at(const config::Value* value, std::string_view key) {
  const config::Value* found = value == nullptr ? nullptr : value->find(key);
  return found != nullptr && found->is_string() ? &found->as_string() : nullptr;
}

struct ExampleWords {
  std::string framework, model;
};

// An experiment's own words about its module, else those of the files that it builds on; no preset is read.
std::optional<ExampleWords> example_words(const fs::path& file, int depth = 0) {
  constexpr int kMostFiles = 8;
  const Result<std::string> text = config::read_config_file(file);
  const auto has = [&text](const std::string& key) {
    return text->starts_with(key) || text->find("\n" + key) != std::string::npos;
  };
  if (!text || depth > kMostFiles || !(has("modules:") || has("extends:"))) return std::nullopt;
  Diagnostics ignored;
  const auto name = std::make_shared<const std::string>(file.string());
  const auto tree = config::read_yaml(*text, name, config::Layer::Experiment, ignored);
  if (!tree) return std::nullopt;
  ExampleWords words;
  const config::Value* modules = tree->find("modules");
  if (modules != nullptr && modules->is_map() && !modules->as_map().empty()) {
    const config::Value& module = modules->as_map().begin()->value;
    if (const std::string* framework = text_at(&module, "framework")) words.framework = *framework;
    if (const std::string* model = text_at(&module, "model")) words.model = *model;
  }
  const config::Value* extends = tree->find("extends");
  if (extends != nullptr && extends->is_list() && !extends->as_list().empty()) extends = &extends->as_list().back();
  if (extends == nullptr || !extends->is_string() || (!words.framework.empty() && !words.model.empty())) return words;
  if (const auto below = example_words(file.parent_path() / extends->as_string(), depth + 1)) {
    if (words.framework.empty()) words.framework = below->framework;
    if (words.model.empty()) words.model = below->model;
  }
  return words;
}

std::optional<ListRow> example_row(const fs::path& file, const fs::path& root) {
  std::optional<ExampleWords> words = example_words(file);
  if (!words || words->framework.empty()) return std::nullopt;
  std::string model = words->model.empty() ? "-" : words->model;
  if (model.ends_with(".yaml")) model.resize(model.size() - 5);
  return ListRow{
      {words->framework, file.parent_path().filename().string(), model, file.lexically_relative(root).string()}};
}

ListTable examples_table(const fs::path& root, const std::vector<std::string>& frameworks) {
  ListTable table{{"framework", "device", "model", "experiment"}, {}, {}};
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator entry(root / "examples", error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".yaml" || entry->path().extension() == ".yml") files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    auto row = example_row(file, root);
    if (row && std::find(frameworks.begin(), frameworks.end(), row->cells[0]) != frameworks.end())
      table.rows.push_back(std::move(*row));
  }
  return table;
}

ListTable modules_table(const fs::path& root, const std::vector<std::string>& frameworks) {
  ListTable table{{"framework", "module preset"}, {}, {}};
  for (const std::string& framework : frameworks)
    for (const std::string& name : config::list_presets(root, "modules", framework))
      table.rows.push_back({{framework, name}});
  return table;
}

ListTable keys_table(const std::vector<std::string>& frameworks) {
  ListTable table{{"framework", "key", "type", "default", "status", "what"}, {}, {}};
  for (const std::string& framework : frameworks) {
    for (const dialect::Parameter& row : dialect::all_parameters(framework)) {
      std::string type(to_string(row.type));
      if (!row.choices.empty()) type = join(split(row.choices, '|'), "|");
      table.rows.push_back({{framework, std::string(row.name), type, std::string(row.default_text),
                             std::string(to_string(row.status)), std::string(row.doc)}});
    }
  }
  return table;
}

ListTable topics_table(const fs::path& root, const std::vector<std::string>& frameworks) {
  ListTable table{{"framework", "models", "module presets", "examples", "keys"}, {}, {}};
  const ListTable examples = examples_table(root, frameworks);
  for (const std::string& framework : frameworks) {
    const auto is_own = [&framework](const ListRow& row) { return row.cells[0] == framework; };
    table.rows.push_back({{framework, std::to_string(config::list_presets(root, "models", framework).size()),
                           std::to_string(config::list_presets(root, "modules", framework).size()),
                           std::to_string(std::count_if(examples.rows.begin(), examples.rows.end(), is_own)),
                           std::to_string(dialect::all_parameters(framework).size())}});
  }
  table.closing = "config list models|examples|modules|flavors|keys WORDS ... searches one of them";
  return table;
}

// Every word must be in some cell, whatever the case, or be the kind of a model (moe, dense).
bool holds_words(const ListRow& row, const std::vector<std::string>& words) {
  const auto kind = row.facts.find("kind");
  return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
    const std::string wanted = to_lower(word);
    if (kind != row.facts.end() && *kind == wanted) return true;
    return std::any_of(row.cells.begin(), row.cells.end(),
                       [&wanted](const std::string& cell) { return to_lower(cell).find(wanted) != std::string::npos; });
  });
}

void print_table(const ListTable& table, std::ostream& out) {
  std::vector<size_t> widths;
  constexpr size_t kWidest = 44;
  for (size_t column = 0; column < table.columns.size(); ++column) {
    size_t width = table.columns[column].size();
    for (const ListRow& row : table.rows) width = std::max(width, std::min(kWidest, row.cells[column].size()));
    widths.push_back(width);
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (size_t column = 0; column < cells.size(); ++column) {
      const bool last = column + 1 == cells.size();
      text += last ? cells[column] : fmt::format("{:<{}}  ", cells[column], widths[column]);
    }
    return text + '\n';
  };
  out << line(table.columns);
  for (const ListRow& row : table.rows) out << line(row.cells);
  if (!table.closing.empty()) out << table.closing << '\n';
}

Json table_json(const ListTable& table) {
  Json list = Json::array();
  for (const ListRow& row : table.rows) {
    Json one = Json::object();
    for (size_t column = 0; column < table.columns.size(); ++column) one[table.columns[column]] = row.cells[column];
    one.update(row.facts);
    list.push_back(std::move(one));
  }
  return list;
}

constexpr std::array kListTopics = {"models", "examples", "modules", "flavors", "keys"};

ListTable table_of(const std::string& topic, const fs::path& root, const std::vector<std::string>& frameworks,
                   const Context& context) {
  if (topic.empty()) return topics_table(root, frameworks);
  if (topic == "models") return models_table(root, frameworks, context.environment);
  if (topic == "examples") return examples_table(root, frameworks);
  if (topic == "modules") return modules_table(root, frameworks);
  if (topic == "flavors") return flavors_table(frameworks);
  if (topic == "keys") return keys_table(frameworks);
  const std::vector<std::string> topics(kListTopics.begin(), kListTopics.end());
  const std::string near = did_you_mean(topic, topics);
  throw bad_words(fmt::format("nothing to list is called '{}'", printable_ascii(topic)),
                  near.empty() ? "there are: " + join(topics, ", ") : near);
}

}  // namespace

ExitCode run_config_list(Context& context) {
  ConfigOptions options("list", "[models|examples|modules|flavors|keys] [WORDS ...] [--framework F] [--presets DIR]",
                        "what there is to choose from; rows that hold all WORDS");
  std::string framework;
  options.presets().formats({"text", "json", "markdown"});
  options.text("--framework", framework, "of this framework only");
  if (!options.read(context)) return ExitCode::Ok;
  const ConfigRequest& request = options.request();
  std::vector<std::string> frameworks = all_frameworks();
  if (!framework.empty()) {
    if (std::find(frameworks.begin(), frameworks.end(), framework) == frameworks.end()) {
      const std::string near = did_you_mean(framework, frameworks);
      throw bad_words(fmt::format("unknown framework '{}'", printable_ascii(framework)),
                      near.empty() ? "there are: " + join(frameworks, ", ") : near);
    }
    frameworks = {framework};
  }
  const fs::path root = request.presets.empty() ? context.install_root : presets_tree(request.presets);
  std::vector<std::string> words = request.words;
  const std::string topic = words.empty() ? "" : words[0];
  if (!words.empty()) words.erase(words.begin());
  if (request.format == "markdown") {
    if (topic != "models" || !words.empty() || !framework.empty())
      throw bad_words("--format markdown prints the page of all models", "config list models --format markdown");
    *context.out << models_page(root, context.environment);
    return ExitCode::Ok;
  }
  ListTable table = table_of(topic, root, frameworks, context);
  std::erase_if(table.rows, [&words](const ListRow& row) { return !holds_words(row, words); });
  if (request.json()) {
    *context.out << dump_json(Json{{topic.empty() ? "frameworks" : topic, table_json(table)}}, 1) << '\n';
    return ExitCode::Ok;
  }
  if (table.rows.empty()) {
    *context.out << "nothing found\n";
  } else {
    print_table(table, *context.out);
  }
  return ExitCode::Ok;
}

}  // namespace primus::cli
