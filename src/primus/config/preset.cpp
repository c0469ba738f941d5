#include "primus/config/preset.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "primus/base/strings.h"
#include "primus/config/file_cache.h"
#include "primus/config/load.h"
#include "primus/config/merge.h"
#include "primus/config/placeholder.h"
#include "primus/config/read_file.h"
#include "primus/config/secret.h"
#include "primus/config/yaml_reader.h"

namespace primus::config {

std::string shown_path(const fs::path& path) {
  if (path.is_relative()) return path.lexically_normal().string();
  std::error_code ignored;
  const std::string here = fs::current_path(ignored).string() + "/";
  std::string text = path.lexically_normal().string();
  if (here.size() > 1 && text.starts_with(here)) text.erase(0, here.size());
  return text;
}

std::vector<std::string> yaml_files_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string suffix = entry->path().extension().string();
    if (suffix == ".yaml" || suffix == ".yml") names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string suggest_names(std::string_view word, const std::vector<std::string>& names) {
  if (std::string near = did_you_mean(word, names); !near.empty()) return near;
  if (names.empty()) return {};
  constexpr size_t kMost = 8;
  std::vector<std::string> first(names.begin(),
                                 names.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, names.size())));
  const std::string more = names.size() > kMost ? fmt::format(", ... ({} in all)", names.size()) : "";
  return "there are: " + join(first, ", ") + more;
}

// ---- files and `extends`

bool FileLoader::refuse_cycle(const fs::path& path, const Place& asked_at) {
  const auto first = std::find(open_.begin(), open_.end(), path);
  constexpr size_t kMostFiles = 64;  // links on disk can hide a cycle from the comparison of names
  if (first == open_.end() && open_.size() < kMostFiles) return false;
  std::string chain;
  for (auto file = first == open_.end() ? open_.begin() : first; file != open_.end(); ++file) {
    chain += shown_path(*file) + " -> ";
  }
  Diagnostic found = error_at(asked_at, "'extends' goes in a circle");
  found.found = chain + shown_path(path);
  found.suggestion = "take one of these out";
  diagnostics_.push_back(std::move(found));
  return true;
}

std::optional<Value> FileLoader::load(const Request& request, std::vector<std::string>& chain) {
  if (cache_ == nullptr || request.is_experiment) return read(request, chain);
  const std::string name = request.path.string();
  if (const FileCache::Entry* known = cache_->find(name, request.layer)) {
    chain.insert(chain.end(), known->chain.begin(), known->chain.end());
    diagnostics_.insert(diagnostics_.end(), known->findings.begin(), known->findings.end());
    return known->root;
  }
  const auto num_findings = static_cast<std::ptrdiff_t>(diagnostics_.size());
  std::vector<std::string> own_chain;
  std::optional<Value> root = read(request, own_chain);
  chain.insert(chain.end(), own_chain.begin(), own_chain.end());
  Diagnostics findings(diagnostics_.begin() + num_findings, diagnostics_.end());
  if (root && !has_errors(findings))
    cache_->store(name, request.layer, {*root, std::move(own_chain), std::move(findings)});
  return root;
}

std::optional<Value> FileLoader::read(const Request& request, std::vector<std::string>& chain) {
  std::error_code error;
  const fs::path path = fs::absolute(request.path, error).lexically_normal();
  if (refuse_cycle(path, request.asked_at)) return std::nullopt;
  const std::string shown = request.path.is_relative() ? request.path.string() : shown_path(path);
  Result<std::string> text = read_config_file(request.path);
  if (!text) {
    Diagnostic found = error_at(request.asked_at, fmt::format("cannot read {}", shown));
    found.found = fs::exists(path, error) ? text.diagnostics().front().message : "no such file";
    if (!fs::exists(path, error))
      found.suggestion = suggest_names(path.filename().string(), yaml_files_in(path.parent_path()));
    diagnostics_.push_back(std::move(found));
    return std::nullopt;
  }
  chain.push_back(shown);
  std::optional<Value> root = read_yaml(*text, std::make_shared<const std::string>(shown), request.layer, diagnostics_);
  if (!root) return std::nullopt;
  if (request.is_experiment) {
    mark_secrets_of_file(*root);
  } else {
    mark_secrets(*root);
  }
  substitute(*root, request.is_experiment);
  const Value* extends = root->find("extends");
  if (extends == nullptr) return root;
  open_.push_back(path);
  std::optional<Value> base = load_parents(*extends, request, chain);
  open_.pop_back();
  if (!base) return std::nullopt;
  root->as_map().erase("extends");
  base->origin() = root->origin();
  deep_merge(base->as_map(), std::move(root->as_map()));
  return base;
}

std::optional<Value> FileLoader::load_parents(const Value& extends, const Request& request,
                                              std::vector<std::string>& chain) {
  const List parents = extends.is_list() ? extends.as_list() : List{extends};
  Value base{Map()};
  bool complete = true;
  for (const Value& parent : parents) {
    if (!parent.is_string() || parent.as_string().empty()) {
      Diagnostic found = error_at(parent.place(), "'extends' takes a file name or a list of them");
      found.found = describe(parent);
      diagnostics_.push_back(std::move(found));
      complete = false;
      continue;
    }
    Request next = request;
    next.path = (request.path.parent_path() / parent.as_string()).lexically_normal();
    next.asked_at = parent.place();
    std::optional<Value> tree = load(next, chain);
    complete = complete && tree.has_value();
    if (tree) deep_merge(base.as_map(), std::move(tree->as_map()));
  }
  if (!complete) return std::nullopt;
  return base;
}

void FileLoader::substitute(Value& root, bool is_experiment) {
  if (!is_experiment) return substitute_placeholders(root, "", environment_, false, diagnostics_);
  for (MapEntry& entry : root.as_map()) {
    if (entry.key == "env") continue;  // read_env expands it
    const bool identity =
        entry.key == "work_group" || entry.key == "user_name" || entry.key == "exp_name" || entry.key == "workspace";
    if ((entry.key != "modules" && entry.key != "platform") || !entry.value.is_map()) {
      substitute_placeholders(entry.value, entry.key, environment_, identity, diagnostics_);
      continue;
    }
    // What stands under `params` was resolved before: a text with ${ there is data.
    std::vector<std::pair<std::string, Value*>> blocks;
    if (entry.key == "platform") blocks.emplace_back("platform", &entry.value);
    if (entry.key == "modules") {
      for (MapEntry& module : entry.value.as_map()) blocks.emplace_back("modules." + module.key, &module.value);
    }
    for (const auto& [key, block] : blocks) {
      if (!block->is_map()) {
        substitute_placeholders(*block, key, environment_, false, diagnostics_);
        continue;
      }
      for (MapEntry& inner : block->as_map()) {
        if (inner.key == "params") continue;
        substitute_placeholders(inner.value, key + '.' + inner.key, environment_, false, diagnostics_);
      }
    }
  }
}

// ---- presets

namespace {

std::vector<std::string> folders_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_below(const fs::path& path, const fs::path& root) {
  const fs::path relative = path.lexically_relative(root);
  return !relative.empty() && *relative.begin() != "..";
}

bool has_yaml_suffix(const std::string& name) {
  return name.ends_with(".yaml") || name.ends_with(".yml");
}

}  // namespace

bool check_framework(const fs::path& presets_root, const Value& framework, Diagnostics& diagnostics) {
  const fs::path modules = presets_root / "primus/configs/modules";
  std::error_code error;
  const std::string& name = framework.as_string();
  const bool plain = !name.empty() && name.find('/') == std::string::npos && name != "." && name != "..";
  if (plain && fs::is_directory(modules / name, error)) return true;
  Diagnostic found = error_at(framework.place(), fmt::format("unknown framework '{}'", printable_ascii(name)));
  const std::vector<std::string> known = folders_in(modules);
  found.suggestion = suggest_names(name, known);
  if (known.empty())
    found.suggestion = fmt::format("no presets at {}: --presets DIR names another place", shown_path(modules));
  diagnostics.push_back(std::move(found));
  return false;
}

std::optional<fs::path> find_preset(const fs::path& presets_root, const std::string& kind, const std::string& framework,
                                    const Value& name, Diagnostics& diagnostics) {
  const fs::path configs = (presets_root / "primus/configs").lexically_normal();
  const fs::path folder = (configs / kind / framework).lexically_normal();
  const std::string& text = name.as_string();
  const fs::path wanted = (folder / text).lexically_normal();
  if (fs::path(text).is_absolute() || !is_below(wanted, configs)) {
    Diagnostic found = error_at(name.place(), fmt::format("'{}' leaves the folder of presets", printable_ascii(text)));
    found.expected = fmt::format("a file below {}", shown_path(folder));
    found.suggestion = "--presets DIR names another tree of presets";
    diagnostics.push_back(std::move(found));
    return std::nullopt;
  }
  std::error_code error;
  if (has_yaml_suffix(text)) {
    if (fs::is_regular_file(wanted, error)) return wanted;
  } else {
    for (const char* suffix : {".yaml", ".yml"}) {
      if (fs::is_regular_file(wanted.string() + suffix, error)) return fs::path(wanted.string() + suffix);
    }
  }
  const char* what = kind == "models" ? "model preset" : kind == "modules" ? "module preset" : "platform preset";
  Diagnostic found = error_at(name.place(), fmt::format("no {} '{}'{}", what, printable_ascii(text),
                                                        framework.empty() ? "" : " for " + framework));
  found.expected =
      fmt::format("a file {}", shown_path(has_yaml_suffix(text) ? wanted : fs::path(wanted.string() + ".yaml")));
  found.suggestion = suggest_names(has_yaml_suffix(text) ? text : text + ".yaml", yaml_files_in(wanted.parent_path()));
  diagnostics.push_back(std::move(found));
  return std::nullopt;
}

std::vector<std::string> list_presets(const fs::path& presets_root, const std::string& kind,
                                      const std::string& framework) {
  std::vector<std::string> names = yaml_files_in(presets_root / "primus/configs" / kind / framework);
  for (std::string& name : names) name = fs::path(name).stem().string();
  return names;
}

}  // namespace primus::config
