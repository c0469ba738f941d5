#include "primus/dialect/proxy_file.h"

#include <fmt/format.h>
#include <map>

#include "primus/base/fs.h"
#include "primus/base/strings.h"
#include "primus/config/dump.h"

namespace primus::dialect {

namespace {

using config::Map;
using config::Value;

// The changes as a tree, in the order in which they were made.
void put(Map& tree, std::string_view key, const Value& value) {
  const size_t dot = key.find('.');
  const std::string head(key.substr(0, dot));
  if (dot == std::string_view::npos) {
    tree.set(head, value);
    return;
  }
  Value* inner = tree.find(head);
  if (inner == nullptr) inner = &tree.set(head, Value(Map()));
  put(inner->as_map(), key.substr(dot + 1), value);
}

using Rules = std::map<std::string, std::string, std::less<>>;

// Lines of the tree; each key's rule stands behind its value, or behind its name where the value has lines of its own.
std::string lines_of(const Map& tree, const std::string& prefix, const Rules& rules, int indent) {
  std::string text;
  for (const config::MapEntry& entry : tree) {
    const std::string key = prefix + entry.key;
    const auto rule = rules.find(key);
    if (entry.value.is_map() && !entry.value.as_map().empty() && rule == rules.end()) {
      text += fmt::format("{}{}:\n", std::string(static_cast<size_t>(indent), ' '), entry.key);
      text += lines_of(entry.value.as_map(), key + '.', rules, indent + 2);
      continue;
    }
    Map one;
    one.set(entry.key, entry.value);
    std::string lines = config::yaml_block(Value(std::move(one)), indent);
    if (rule != rules.end() && !rule->second.empty()) lines.insert(lines.find('\n'), "  # " + rule->second);
    text += lines;
  }
  return text;
}

}  // namespace

Result<std::string> proxy_file(const config::Experiment& experiment, const ProxyFile& file,
                               const ProxyOptions& options) {
  const auto changes = proxy_changes(experiment, {}, options);
  if (!changes) return changes.diagnostics();
  Map tree;
  Rules rules;
  for (const config::Override& given : file.given) {
    const std::string key = join(given.path, ".");
    put(tree, key, given.value);
    rules[key] = "";
  }
  for (const ProxyChange& change : *changes) {
    put(tree, change.key, change.new_value);
    rules[change.key] = change.rule;
  }
  const config::Module& module = experiment.main_module();
  // Neither the source's folder nor that of the same model in another dialect.
  const std::string name = fs::path(file.output).stem().string() + "-" + module.framework + "-cpu";
  const std::string source =
      fs::absolute(file.source).lexically_relative(fs::absolute(file.output).parent_path()).string();
  std::string text = fmt::format("# {}, shrunk for two CPU cores. Written by this command, which a test repeats:\n",
                                 fs::path(file.source).stem().string());
  text += fmt::format("#   {}\n", file.command);
  text +=
      fmt::format("extends: {}\n\nexp_name: ${{PRIMUS_EXP_NAME:{}}}\n\nmodules:\n  {}:\n", source, name, module.name);
  const std::string lines = lines_of(tree, "", rules, 6);
  text += lines.empty() ? "    overrides: {}\n" : "    overrides:\n" + lines;
  return text;
}

}  // namespace primus::dialect
