// config diff: two experiments, an experiment against a run folder or against another tree, as keys or as runs.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <ostream>

#include "primus/base/strings.h"
#include "primus/cli/config_actions.h"
#include "primus/cli/config_request.h"
#include "primus/cli/presets_root.h"
#include "primus/config/diff.h"
#include "primus/config/dump.h"
#include "primus/dialect/parameter_table.h"
#include "primus/spec/to_json.h"

namespace primus::cli {
namespace {

struct Side {
  std::string file, presets;
};

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// "examples/..." of a path that lies in such a folder; empty otherwise.
std::string path_in_tree(const std::string& file) {
  std::error_code error;
  const std::string text = fs::absolute(file, error).lexically_normal().string();
  const size_t at = text.rfind("/examples/");
  return at == std::string::npos ? "" : text.substr(at + 1);
}

// The file that a word of the command line means: itself; what a run in this folder was; or the mate of `other` in this
// tree of presets.
Side side_of(const std::string& word, const std::string& presets, const std::string& other) {
  std::error_code error;
  if (!fs::is_directory(word, error)) return {word, presets};
  for (const char* inside : {"config/resolved.yaml", "resolved.yaml"})
    if (is_file(fs::path(word) / inside)) return {(fs::path(word) / inside).string(), presets};
  const std::string relative = path_in_tree(other);
  if (is_file(fs::path(word) / relative))
    return {(fs::path(word) / relative).string(), presets.empty() ? word : presets};
  Diagnostic odd = error_at({.file = word}, "this folder is no run and holds no experiment to compare with");
  odd.expected = "a run folder (with config/resolved.yaml)";
  odd.expected += relative.empty() ? "" : ", or a tree with " + relative;
  throw InputError(std::move(odd));
}

// ---- topics of keys

// In the order in which a reader asks.
constexpr std::array kSectionTopics = {"model",     "tokenizer",    "data",       "batch",         "exit",
                                       "lr",        "weight_decay", "optimizer",  "loss",          "precision",
                                       "recompute", "parallel",     "checkpoint", "evaluation",    "logging",
                                       "finetune",  "seed",         "other keys", "not built yet", "no effect here"};

std::string topic_of(std::string_view framework, std::string key) {
  const dialect::Parameter* row = dialect::find_parameter(framework, key);
  while (row == nullptr && key.find('.') != std::string::npos) {
    key.resize(key.rfind('.'));
    row = dialect::find_parameter(framework, key);
  }
  if (row == nullptr) return "other keys";
  if (row->spec_field.empty()) return row->status == dialect::Status::NotBuilt ? "not built yet" : "no effect here";
  const std::string section(row->spec_field.substr(0, row->spec_field.find_first_of(". ")));
  // Tables name parts of a layer by themselves: "attention.num_heads", "rope.base".
  return std::find(kSectionTopics.begin(), kSectionTopics.end(), section) != kSectionTopics.end() ? section : "model";
}

size_t rank_of(const std::string& topic) {
  return static_cast<size_t>(std::find(kSectionTopics.begin(), kSectionTopics.end(), topic) - kSectionTopics.begin());
}

// The group that a difference belongs to, and the key inside it.
struct Placed {
  size_t rank = 0;
  std::string group, key;
};

Placed place_of(const std::string& key, const config::Experiment& experiment) {
  for (size_t i = 0; i < experiment.modules.size(); ++i) {
    const config::Module& module = experiment.modules[i];
    if (!key.starts_with(module.name + '.')) continue;
    std::string name = key.substr(module.name.size() + 1);
    const bool is_head = name == "framework" || name == "config" || name == "trainer_class" ||
                         (name == "model" && !module.params.find_path("model.name"));
    const std::string topic = is_head ? "" : topic_of(module.framework, name);
    const size_t rank = 10 + 100 * i + (is_head ? 0 : 1 + rank_of(topic));
    return {rank, is_head ? module.name : module.name + ": " + topic, std::move(name)};
  }
  const size_t dot = key.find('.');
  const std::string front = key.substr(0, dot);
  if (dot != std::string::npos && (front == "platform" || front == "env"))
    return {front == "platform" ? 1U : 2U, front, key.substr(dot + 1)};
  return {0, "experiment", key};
}

// ---- printing

std::string shown(const config::Value& value) {
  return value.is_scalar() ? config::yaml_scalar(value) : config::describe(value, 100);
}

std::string line_of(const config::Difference& one, const std::string& key, const Context& context) {
  if (one.before == nullptr) return painted(context, "32", fmt::format("  + {}: {}", key, shown(*one.after))) + '\n';
  if (one.after == nullptr) return painted(context, "31", fmt::format("  - {}: {}", key, shown(*one.before))) + '\n';
  return painted(context, "33", fmt::format("  ~ {}: {} -> {}", key, shown(*one.before), shown(*one.after))) + '\n';
}

void print_grouped(const std::vector<config::Difference>& differences, const config::Experiment& before,
                   const config::Experiment& after, const Context& context) {
  std::map<std::pair<size_t, std::string>, std::string> groups;
  for (const config::Difference& one : differences) {
    const Placed place = place_of(one.key, one.before == nullptr ? after : before);
    groups[{place.rank, place.group}] += line_of(one, place.key, context);
  }
  for (const auto& [group, lines] : groups) *context.out << painted(context, "1", group.second) << '\n' << lines;
}

std::string short_text(const Json& value) {
  std::string text = dump_json(value);
  constexpr size_t kMost = 160;
  if (text.size() > kMost) text = text.substr(0, kMost - 3) + "...";
  return text;
}

ExitCode diff_specs(const ConfigRequest& request, const config::Experiment& before, const config::Experiment& after,
                    Context& context) {
  const spec::RunSpec a = value_or_throw(describe_run(before, request.module));
  const spec::RunSpec b = value_or_throw(describe_run(after, request.module));
  std::vector<spec::FieldDifference> differences = spec::compare(a, b);
  // Names and folders: two experiments always differ in them.
  std::erase_if(differences, [](const spec::FieldDifference& one) { return one.field.starts_with("identity."); });
  for (spec::FieldDifference& one : differences) {
    mask_secrets(one.before, before);
    mask_secrets(one.after, after);
  }
  if (request.json()) {
    Json list = Json::array();
    for (const auto& one : differences)
      list.push_back({{"field", one.field}, {"before", one.before}, {"after", one.after}});
    *context.out << dump_json({{"differences", std::move(list)}}, 1) << '\n';
  } else {
    for (const auto& one : differences)
      *context.out << painted(context, "33",
                              fmt::format("{}: {} -> {}", one.field, short_text(one.before), short_text(one.after)))
                   << '\n';
    if (differences.empty()) *context.out << "no differences\n";
  }
  return differences.empty() ? ExitCode::Ok : ExitCode::CheckFailed;
}

}  // namespace

ExitCode run_config_diff(Context& context) {
  ConfigOptions options("diff", "A B [--as spec] [--presets DIR] [--presets-b DIR] | A overrides",
                        "compare two experiments, resolved files, run folders or trees; exit code 4 when they differ");
  std::string presets_b;
  options.overrides().presets().formats({"text", "json"}).as_spec();
  options.text("--presets-b", presets_b, "presets of B; default: those of --presets, or of B's own tree");
  options.text("--module", options.request().module, "the module that is compared with --as spec");
  if (!options.read(context)) return ExitCode::Ok;
  ConfigRequest request = options.request();
  const std::vector<std::string> words = request.words;
  const bool with_overrides = words.size() == 1 && !request.overrides.empty();
  if (words.size() != 2 && !with_overrides) throw bad_words("config diff takes two files", "config diff A B");
  if (words.size() == 2 && !request.overrides.empty())
    throw bad_words(fmt::format("'{}' is no option of config diff", printable_ascii(request.overrides[0])),
                    "with one file: config diff A key=value");
  const std::vector<std::string> overrides = std::exchange(request.overrides, {});
  const Side a = side_of(words[0], request.presets, words.back());
  request.presets = a.presets;
  const config::Experiment before = load_or_throw(request, context, a.file);
  const Side b = side_of(words.back(), presets_b.empty() ? options.request().presets : presets_b, words[0]);
  request.presets = b.presets;
  request.overrides = overrides;
  const config::Experiment after = load_or_throw(request, context, b.file);
  if (request.as == "spec") return diff_specs(request, before, after, context);
  const std::vector<config::Difference> differences = config::compare(before, after);
  if (request.json()) {
    *context.out << dump_json(config::to_json(differences), 1) << '\n';
  } else if (differences.empty()) {
    *context.out << "no differences\n";
  } else {
    print_grouped(differences, before, after, context);
  }
  return differences.empty() ? ExitCode::Ok : ExitCode::CheckFailed;
}

}  // namespace primus::cli
