#include "primus/cli/completion.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <sstream>

#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/cli/app.h"
#include "primus/cli/completion_scripts.h"
#include "primus/config/load.h"
#include "primus/config/read_file.h"
#include "primus/config/yaml_reader.h"
#include "primus/dialect/dialects.h"
#include "primus/dialect/parameter_table.h"

namespace primus::cli {
namespace {

// The help page of a command; empty when it has none.
std::string help_of(const Context& context, std::vector<std::string> command) {
  std::ostringstream out, err;
  Context quiet = context;
  quiet.out = &out;
  quiet.err = &err;
  quiet.colour = false;
  command.emplace_back("--help");
  try {
    run_app(quiet, command);
  } catch (const Error&) {
    return {};
  }
  return out.str();
}

struct HelpPage {
  std::map<std::string, std::vector<std::string>> options;  // name -> values that the page lists
  std::vector<std::string> flags;                           // options that take no value
  std::vector<std::string> commands;
};

bool is_name(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
}

// "--format TEXT:{text,json}   text or json": name, values, and whether it takes one at all.
void read_option_line(std::string_view line, HelpPage& page) {
  const std::string_view declaration = line.substr(0, std::min(line.find("   ", 2), line.size()));
  std::vector<std::string> values;
  const size_t open = declaration.find('{'), close = declaration.find('}');
  if (open != std::string_view::npos && close != std::string_view::npos && open < close)
    values = split(declaration.substr(open + 1, close - open - 1), ',');
  const std::vector<std::string> words = split_whitespace(declaration);
  const bool takes_value = words.size() > 1;
  for (std::string& name : split(words.empty() ? "" : words[0], ',')) {
    if (!name.starts_with("--")) continue;
    if (!takes_value) page.flags.push_back(name);
    page.options[name] = values;
  }
}

HelpPage read_help(const std::string& text, const std::string& command) {
  HelpPage page;
  bool positionals = false;
  for (const std::string& line : split(text, '\n')) {
    if (!line.starts_with("  ") || line.starts_with("   ")) {
      if (line.ends_with(':')) positionals = line == "Positionals:";
      continue;
    }
    const std::vector<std::string> words = split_whitespace(line);
    if (words.empty()) continue;
    if (words[0].starts_with("-")) {
      read_option_line(line, page);
    } else if (words.size() > 1 && words[0] == command && is_name(words[1])) {
      page.commands.push_back(words[1]);
    } else if (!positionals && words.size() > 1 && is_name(words[0]) && line.find("  ", 2) != std::string::npos) {
      page.commands.push_back(words[0]);
    }
  }
  if (text.find("train pretrain") != std::string::npos && command == "train") page.commands.emplace_back("pretrain");
  return page;
}

// The value behind `--name`, in either spelling; empty when it is not there.
std::string option_value(const std::vector<std::string>& words, const std::string& name) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == name) return words[i + 1];
    if (words[i].starts_with(name + "=")) return words[i].substr(name.size() + 1);
  }
  return {};
}

std::vector<std::string> frameworks() {
  std::vector<std::string> names;
  for (const dialect::Dialect& one : dialect::all_dialects()) names.emplace_back(one.framework);
  return names;
}

// --framework, else what the experiment of --config says, else megatron.
std::string framework_of(const std::vector<std::string>& words) {
  if (std::string given = option_value(words, "--framework"); !given.empty()) return given;
  const Result<std::string> text = config::read_config_file(option_value(words, "--config"));
  if (!text) return "megatron";
  Diagnostics ignored;
  const auto tree =
      config::read_yaml(*text, std::make_shared<const std::string>("-"), config::Layer::Experiment, ignored);
  const config::Value* modules = tree ? tree->find("modules") : nullptr;
  if (modules == nullptr || !modules->is_map() || modules->as_map().empty()) return "megatron";
  const config::Value* framework = modules->as_map().begin()->value.find("framework");
  return framework != nullptr && framework->is_string() ? framework->as_string() : "megatron";
}

std::vector<std::string> keys_of(const std::string& framework, const std::string& before, const std::string& behind) {
  std::vector<std::string> keys;
  for (const dialect::Parameter& row : dialect::all_parameters(framework))
    keys.push_back(before + std::string(row.name) + behind);
  return keys;
}

// What a key of the table may hold, when that is a few words.
std::vector<std::string> values_of_key(const std::string& framework, std::string_view key) {
  const dialect::Parameter* row = dialect::find_parameter(framework, key);
  if (row == nullptr) return {};
  if (row->type == dialect::Type::Bool) return {"false", "true"};
  return row->choices.empty() ? std::vector<std::string>() : split(row->choices, '|');
}

// Values of an option whose help lists none.
std::vector<std::string> values_of(const Context& context, const std::string& option,
                                   const std::vector<std::string>& words) {
  if (option == "--framework" || option == "--to" || option == "--from") return frameworks();
  if (option == "--model") return config::list_presets(context.install_root, "models", framework_of(words));
  if (option == "--device") return {"CPU", "MI300X", "MI325X", "MI355X"};
  if (option == "--only") return keys_of(framework_of(words), "", "");
  return {kFileNames};
}

bool takes_overrides(const std::string& command, const std::string& sub_command) {
  if (command == "train") return true;
  static const std::vector<std::string> names = {"show", "explain", "check", "schedule", "export", "diff"};
  return command == "config" && std::find(names.begin(), names.end(), sub_command) != names.end();
}

struct Query {
  const Context& context;
  std::string command, sub_command;
  std::vector<std::string> words;  // command first, the partial one last
  HelpPage page;

  const std::string& partial() const { return words.back(); }
  bool overrides() const { return takes_overrides(command, sub_command); }
};

std::vector<std::string> plain_words(const Query& query) {
  const std::string& sub_command = query.sub_command;
  if (query.command == "train") return {};
  if (query.command == "completion") return {"bash", "zsh", "fish"};
  if (query.command != "config") return {kFileNames};
  if (sub_command == "show" || sub_command == "schedule") return {};
  if (sub_command == "list") return {"models", "examples", "modules", "flavors", "keys"};
  if (sub_command == "parameters") return frameworks();
  if (sub_command == "explain") return keys_of(framework_of(query.words), "", "");
  return {kFileNames};
}

// Values behind "--name " or "name=", of options and of keys; nothing when no value is being typed.
std::optional<std::vector<std::string>> typed_value(const Query& query) {
  const std::string& partial = query.partial();
  const std::string& previous = query.words[query.words.size() - 2];
  const std::string framework = framework_of(query.words);
  const auto values_behind = [&](const std::string& name) -> std::optional<std::vector<std::string>> {
    const auto option = query.page.options.find(name);
    if (option == query.page.options.end()) {
      if (!query.overrides()) return std::nullopt;
      return values_of_key(framework, std::string_view(name).substr(name.starts_with("--") ? 2 : 0));
    }
    const std::vector<std::string>& flags = query.page.flags;
    if (std::find(flags.begin(), flags.end(), name) != flags.end()) return std::nullopt;
    return option->second.empty() ? values_of(query.context, name, query.words) : option->second;
  };
  if (const size_t equals = partial.find('='); equals != std::string::npos) {
    auto values = values_behind(partial.substr(0, equals)).value_or(std::vector<std::string>());
    for (std::string& value : values)
      if (value != kFileNames) value.insert(0, partial.substr(0, equals + 1));
    return values;
  }
  if (!previous.starts_with("--") || partial.starts_with("-")) return std::nullopt;
  auto values = values_behind(previous);
  // A key without listed values: the word is free, or the next override.
  if (values && values->empty()) return std::nullopt;
  return values;
}

std::vector<std::string> candidates(const Query& query) {
  if (auto values = typed_value(query)) return std::move(*values);
  const std::string framework = framework_of(query.words);
  std::vector<std::string> all;
  const auto add = [&all](const std::vector<std::string>& more) { all.insert(all.end(), more.begin(), more.end()); };
  if (query.partial().starts_with("-")) {
    for (const auto& [name, values] : query.page.options) all.push_back(name);
    if (query.overrides() && query.partial().starts_with("--")) add(keys_of(framework, "--", ""));
    return all;
  }
  add(plain_words(query));
  const bool key_follows = query.overrides() && query.sub_command != "explain" && !query.partial().empty();
  if (key_follows) add(keys_of(framework, "", "="));
  return all;
}

// Those that go on from what is typed, sorted, each once.
std::vector<std::string> going_on(std::vector<std::string> all, const std::string& start) {
  std::erase_if(all, [&start](const std::string& one) { return one != kFileNames && !one.starts_with(start); });
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

std::vector<std::string> complete(const Context& context, const std::vector<std::string>& given) {
  std::vector<std::string> words = given;
  if (words.empty()) words.emplace_back();
  // "direct ... --" in front changes nothing.
  if (words.size() > 1 && words[0] == "direct") {
    const auto bar = std::find(words.begin(), words.end() - 1, "--");
    words.erase(words.begin(), bar != words.end() - 1 ? bar + 1 : words.begin() + 1);
  }
  const std::string partial = words.back();
  if (words.size() == 1) {
    std::vector<std::string> names = {"direct", "--help", "--version"};
    for (const Command& command : command_table()) names.emplace_back(command.name);
    return going_on(std::move(names), partial);
  }
  Query query{context, words[0], "", words, read_help(help_of(context, {words[0]}), words[0])};
  if (!query.page.commands.empty()) {
    if (words.size() == 2) return going_on(query.page.commands, partial);
    query.sub_command = words[1];
    query.page = read_help(help_of(context, {query.command, query.sub_command}), query.sub_command);
  }
  return going_on(candidates(query), partial);
}

ExitCode run_completion(Context& context) {
  const std::vector<std::string>& words = context.arguments;
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    *context.out << "completion bash|zsh|fish: prints a script that completes commands, options, keys and presets\n"
                    "  bash: source <(primus-cli completion bash)\n"
                    "  zsh:  source <(primus-cli completion zsh)\n"
                    "  fish: primus-cli completion fish | source\n";
    return ExitCode::Ok;
  }
  if (words[0] == "query") {
    for (const std::string& one : complete(context, {words.begin() + 1, words.end()})) *context.out << one << '\n';
    return ExitCode::Ok;
  }
  const std::string program = (context.program_folder / "primus").string();
  if (words[0] == "bash") {
    *context.out << bash_script(program);
  } else if (words[0] == "zsh") {
    *context.out << zsh_script(program);
  } else if (words[0] == "fish") {
    *context.out << fish_script(program);
  } else {
    Diagnostic unknown =
        error_at({.file = "command line"}, fmt::format("no completion for '{}'", printable_ascii(words[0])));
    unknown.suggestion = "bash, zsh or fish";
    throw InputError(unknown);
  }
  return ExitCode::Ok;
}

}  // namespace primus::cli
