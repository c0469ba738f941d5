#include "primus/cli/config_import_hf.h"

#include <fmt/format.h>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/strings.h"
#include "primus/cli/config_request.h"
#include "primus/config/dump.h"
#include "primus/dialect/preset_from_model.h"
#include "primus/hub/hf_config.h"
#include "primus/spec/model_size.h"

namespace primus::cli {
namespace {

constexpr const char* kDecision = "{} = {}: {}\n";

// What a preset of each dialect still needs.
const char* what_is_missing(const std::string& framework) {
  if (framework == "torchtitan") return "Add model.hf_assets_path, and use it as `model:` of an experiment.";
  if (framework == "maxtext") return "Add tokenizer_path, and use it as `model:` of an experiment.";
  if (framework == "megatron_bridge") return "Use it as `model:` of an experiment.";
  return "Add tokenizer_type and tokenizer_model, and use it as `model:` of an experiment.";
}

std::vector<std::string> head_comment(const hub::HfModel& read, const std::string& path, const std::string& framework) {
  const spec::ModelSize size = spec::count_parameters(read.model, /*padded=*/false);
  return {fmt::format("{} model of {}: {} parameters, {} active.", read.family, printable_ascii(path),
                      format_thousands(size.total()), format_thousands(size.active())),
          what_is_missing(framework)};
}

Json as_json(const hub::HfModel& read, const dialect::ModelPreset& preset, const std::string& framework) {
  Json decisions = Json::array(), ours = Json::array();
  for (const dialect::PresetLine& line : preset.lines)
    if (line.ours) ours.push_back(line.key);
  for (const hub::HfDecision& d : read.decisions)
    decisions.push_back({{"field", d.field}, {"value", d.value}, {"reason", d.reason}});
  for (const dialect::PresetDecision& d : preset.decisions)
    decisions.push_back({{"field", d.field}, {"value", d.value}, {"reason", d.reason}});
  return {{"family", read.family},
          {"framework", framework},
          {"extends", preset.extends},
          {"params", config::to_json(config::Value(dialect::preset_params(preset)))},
          {"additions", ours},
          {"decisions", decisions},
          {"parameters", spec::count_parameters(read.model, false).total()}};
}

}  // namespace

ExitCode run_config_import_hf(Context& context) {
  std::string framework = "megatron", output;
  ConfigOptions options("import-hf", "PATH [--framework F] [--output FILE]",
                        "a Hugging Face config.json (or its folder) as a model preset; the reason of every decision");
  options.formats({"text", "json"});
  options.text("--framework", framework, "megatron (default), torchtitan, maxtext or megatron_bridge");
  options.text("--output", output, "write the preset into this file");
  if (!options.read(context)) return ExitCode::Ok;
  const ConfigRequest& request = options.request();
  if (request.words.size() != 1)
    throw bad_words("config import-hf takes one config.json, or one folder that holds it", "config import-hf PATH");
  const hub::HfModel read = value_or_throw(hub::read_hf_config(fs::path(request.words[0])));
  const dialect::ModelPreset preset = value_or_throw(dialect::preset_from_model(read.model, framework));
  if (request.json()) {
    *context.out << dump_json(as_json(read, preset, framework), 1) << '\n';
    return ExitCode::Ok;
  }
  for (const hub::HfDecision& d : read.decisions)
    *context.err << fmt::format(kDecision, d.field, printable_ascii(d.value), printable_ascii(d.reason));
  for (const dialect::PresetDecision& d : preset.decisions)
    *context.err << fmt::format(kDecision, d.field, printable_ascii(d.value), d.reason);
  const std::string text = dialect::preset_text(preset, head_comment(read, request.words[0], framework));
  if (output.empty()) {
    *context.out << text;
  } else {
    write_file_atomic(output, text);
    *context.err << "written: " << output << '\n';
  }
  return ExitCode::Ok;
}

}  // namespace primus::cli
