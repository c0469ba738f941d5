// config new: a commented experiment from a framework, a model and a device.
#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <ostream>
#include <poll.h>
#include <unistd.h>

#include "primus/base/strings.h"
#include "primus/cli/config_actions.h"
#include "primus/cli/config_request.h"
#include "primus/cli/model_catalogue.h"
#include "primus/cli/presets_root.h"
#include "primus/config/preset.h"
#include "primus/dialect/dialects.h"
#include "primus/dialect/parameter_table.h"

namespace primus::cli {
namespace {

struct Wishes {
  std::string framework, model, device, name, output, work_group = "amd", user_name = "root";
  bool overwrite = false;
};

// One line of `overrides`; the comment comes from the parameter table.
struct Line {
  const char* topic;  // a heading when it changes
  const char* key;    // dotted
  const char* value;
  const char* small_value;  // on a CPU
};

constexpr Line kMegatron[] = {
    {"How long, and in which portions", "train_iters", "100", "20"},
    {"", "micro_batch_size", "2", "1"},
    {"", "global_batch_size", "128", "4"},
    {"", "seq_length", "4096", "512"},
    {"Learning rate and optimizer", "lr", "1.0e-4", "1.0e-4"},
    {"", "min_lr", "1.0e-5", "1.0e-5"},
    {"", "lr_decay_style", "cosine", "cosine"},
    {"", "lr_warmup_iters", "10", "2"},
    {"", "weight_decay", "0.1", "0.1"},
    {"", "clip_grad", "1.0", "1.0"},
    {"Data: true trains on random tokens; then set train_data_path", "mock_data", "true", "true"},
    {"Evaluation and checkpoints", "eval_interval", "1000", "1000"},
    {"", "eval_iters", "0", "0"},
    {"", "save", "checkpoints", "checkpoints"},
    {"", "save_interval", "1000", "1000"},
    {"", "auto_continue_train", "true", "true"},
};
constexpr Line kTorchTitan[] = {
    {"How long, and in which portions", "training.steps", "100", "20"},
    {"", "training.local_batch_size", "2", "1"},
    {"", "training.seq_len", "4096", "512"},
    {"", "training.mock_data", "true", "true"},
    {"Learning rate and optimizer", "optimizer.lr", "3.0e-4", "3.0e-4"},
    {"", "lr_scheduler.warmup_steps", "10", "2"},
    {"Logs", "metrics.log_freq", "1", "1"},
};
constexpr Line kMaxText[] = {
    {"How long, and in which portions", "steps", "100", "20"},
    {"", "per_device_batch_size", "2", "1"},
    {"", "max_target_length", "4096", "512"},
    {"Data: synthetic trains on random tokens", "dataset_type", "synthetic", "synthetic"},
    {"Learning rate and optimizer", "learning_rate", "3.0e-4", "3.0e-4"},
    {"Checkpoints", "enable_checkpointing", "false", "false"},
};
constexpr Line kBridge[] = {
    {"How long, and in which portions", "train_iters", "100", "20"},
    {"", "micro_batch_size", "1", "1"},
    {"", "global_batch_size", "128", "4"},
    {"", "seq_length", "2048", "512"},
    {"Learning rate", "lr_warmup_iters", "10", "2"},
    {"Parallel layout", "tensor_model_parallel_size", "1", "1"},
    {"", "pipeline_model_parallel_size", "1", "1"},
    {"Precision", "precision_config", "bf16_mixed", "bf16_mixed"},
};

std::span<const Line> lines_of(std::string_view framework) {
  if (framework == "torchtitan") return kTorchTitan;
  if (framework == "maxtext") return kMaxText;
  if (framework == "megatron_bridge") return kBridge;
  return kMegatron;
}

std::string doc_of(const std::string& framework, const char* key) {
  const dialect::Parameter* row = dialect::find_parameter(framework, key);
  if (row == nullptr) return {};
  std::string text(row->doc);
  if (text.ends_with('.')) text.pop_back();
  if (!row->unit.empty()) text += fmt::format(" ({})", row->unit);
  constexpr size_t kMost = 70;
  if (text.size() <= kMost) return text;
  const size_t end = text.find_last_of(";:,", kMost);  // its first part
  return end == std::string::npos ? std::string() : text.substr(0, end);
}

// A dotted key's lines: sections are opened as they change.
class Overrides {
 public:
  explicit Overrides(std::string framework) : framework_(std::move(framework)) {}

  void add(const Line& line, bool is_small) {
    const std::vector<std::string> parts = split(line.key, '.');
    const std::vector<std::string> section(parts.begin(), parts.end() - 1);
    if (*line.topic != '\0') text_ += fmt::format("{}      # {}\n", text_.empty() ? "" : "\n", line.topic);
    size_t depth = 6;
    for (size_t i = 0; i < section.size(); ++i, depth += 2)
      if (i >= open_.size() || open_[i] != section[i]) text_ += std::string(depth, ' ') + section[i] + ":\n";
    open_ = section;
    std::string written =
        fmt::format("{}{}: {}", std::string(depth, ' '), parts.back(), is_small ? line.small_value : line.value);
    const std::string doc = doc_of(framework_, line.key);
    text_ += doc.empty() ? written + '\n' : fmt::format("{:<44}# {}\n", written, doc);
  }
  const std::string& text() const { return text_; }

 private:
  std::string framework_, text_;
  std::vector<std::string> open_;
};

std::string experiment_text(const Wishes& wishes, const fs::path& root) {
  const UsualModule usual = usual_module(root, wishes.framework, wishes.model);
  const bool is_small = to_lower(wishes.device) == "cpu";
  std::string text = fmt::format("# {} with {} on {}.\n", wishes.model, wishes.framework, wishes.device);
  text += fmt::format(
      "# primus-cli config check --config {0}    what is wrong, if anything\n"
      "# primus-cli config show --config {0}     every value that results\n"
      "# primus-cli config list keys WORDS --framework {1}\n\n",
      wishes.output == "-" ? wishes.name + ".yaml" : wishes.output, wishes.framework);
  text += fmt::format("work_group: ${{PRIMUS_TEAM:{}}}   # the run folder is workspace/work_group/user_name/exp_name\n",
                      wishes.work_group);
  text +=
      fmt::format("user_name: ${{PRIMUS_USER:{}}}\nexp_name: ${{PRIMUS_EXP_NAME:{}}}\n", wishes.user_name, wishes.name);
  text += "workspace: ${PRIMUS_WORKSPACE:./output}\n\nmodules:\n";
  text += fmt::format("  {}:\n    framework: {}\n", usual.name, wishes.framework);
  text += fmt::format("    config: {:<28}# how to train\n", usual.preset);
  text += fmt::format("    model: {:<29}# the architecture and its tokenizer\n", wishes.model + ".yaml");
  text += "    overrides:\n";
  Overrides overrides(wishes.framework);
  for (const Line& line : lines_of(wishes.framework))
    if (dialect::find_parameter(wishes.framework, line.key) != nullptr) overrides.add(line, is_small);
  return text + overrides.text();
}

// ---- asking

// A terminal, or answers that somebody has already written into a pipe or a file. A silent pipe is never waited for.
bool somebody_answers() {
  if (::isatty(STDIN_FILENO) == 1) return true;
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  constexpr int kPatienceMs = 100;
  return ::poll(&input, 1, kPatienceMs) == 1 && (input.revents & POLLIN) != 0 && std::cin.peek() != EOF;
}

std::string ask(const char* question, const std::vector<std::string>& choices, const std::string& usual,
                Context& context) {
  if (!choices.empty()) *context.err << fmt::format("  {}\n", join(choices, ", "));
  *context.err << question << (usual.empty() ? "" : " [" + usual + "]") << ": " << std::flush;
  std::string answer;
  if (!std::getline(std::cin, answer)) return usual;
  answer = std::string(trim(answer));
  return answer.empty() ? usual : answer;
}

void ask_for_missing(Wishes& wishes, const fs::path& root, const std::vector<std::string>& frameworks,
                     Context& context) {
  if (wishes.framework.empty()) wishes.framework = ask("framework", frameworks, "megatron", context);
  if (wishes.model.empty())
    wishes.model = ask("model", config::list_presets(root, "models", wishes.framework), "", context);
  if (wishes.device.empty()) wishes.device = ask("device", {"MI300X", "MI325X", "MI355X", "CPU"}, "MI300X", context);
  if (wishes.name.empty()) wishes.name = ask("name of the experiment", {}, wishes.model + "-pretrain", context);
}

void check_wishes(Wishes& wishes, const fs::path& root, const std::vector<std::string>& frameworks) {
  Diagnostics findings;
  const auto refuse = [&findings](const std::string& message, const std::string& suggestion) {
    findings.push_back(error_at({.file = "command line"}, message));
    findings.back().suggestion = suggestion;
  };
  if (std::find(frameworks.begin(), frameworks.end(), wishes.framework) == frameworks.end()) {
    refuse(wishes.framework.empty() ? "no framework is given"
                                    : fmt::format("unknown framework '{}'", printable_ascii(wishes.framework)),
           config::suggest_names(wishes.framework, frameworks));
    throw InputError(findings);
  }
  if (wishes.model.ends_with(".yaml")) wishes.model.resize(wishes.model.size() - 5);
  const std::vector<std::string> models = config::list_presets(root, "models", wishes.framework);
  if (std::find(models.begin(), models.end(), wishes.model) == models.end())
    refuse(wishes.model.empty()
               ? "no model is given"
               : fmt::format("no model preset '{}' for {}", printable_ascii(wishes.model), wishes.framework),
           config::suggest_names(wishes.model, models));
  for (const auto& [option, text] : {std::pair{"--name", &wishes.name},
                                     {"--user", &wishes.user_name},
                                     {"--team", &wishes.work_group},
                                     {"--device", &wishes.device}}) {
    const bool odd = text->find_first_of("{}$:#\"'\\\n/ ") != std::string::npos || text->starts_with("..");
    if (odd) refuse(fmt::format("{} '{}' is no plain name", option, printable_ascii(*text)), "letters, digits, . _ -");
  }
  if (!findings.empty()) throw InputError(findings);
}

}  // namespace

ExitCode run_config_new(Context& context) {
  ConfigOptions options("new", "--framework F --model M [--device D] [--name N] [--output FILE]",
                        "write a commented experiment; asks for what is missing");
  Wishes wishes;
  options.presets();
  options.text("--framework", wishes.framework, "megatron, torchtitan, maxtext or megatron_bridge");
  options.text("--model", wishes.model, "a model preset; config list models shows them");
  options.text("--device", wishes.device, "MI300X, MI355X, CPU, ...: CPU gives small numbers");
  options.text("--name", wishes.name, "exp_name, the last part of the run folder");
  options.text("--team", wishes.work_group, "work_group");
  options.text("--user", wishes.user_name, "user_name");
  options.text("--output", wishes.output, "the file; - prints it. Default: <name>.yaml here");
  options.flag("--overwrite", wishes.overwrite, "replace the file");
  if (!options.read(context)) return ExitCode::Ok;
  const ConfigRequest& request = options.request();
  if (!request.words.empty()) throw bad_words("config new takes options only", "config new --help");
  const fs::path root = request.presets.empty() ? context.install_root : presets_tree(request.presets);
  std::vector<std::string> frameworks;
  for (const dialect::Dialect& one : dialect::all_dialects()) frameworks.emplace_back(one.framework);
  const bool complete = !wishes.framework.empty() && !wishes.model.empty();
  const bool may_ask = context.out == &std::cout && (complete ? ::isatty(STDIN_FILENO) == 1 : somebody_answers());
  if (may_ask) ask_for_missing(wishes, root, frameworks, context);
  if (wishes.device.empty()) wishes.device = "MI300X";
  check_wishes(wishes, root, frameworks);
  if (wishes.name.empty()) wishes.name = wishes.model + "-pretrain";
  if (wishes.output.empty()) wishes.output = wishes.name + ".yaml";
  const std::string text = experiment_text(wishes, root);
  if (wishes.output == "-") {
    *context.out << text;
    return ExitCode::Ok;
  }
  std::error_code error;
  if (fs::exists(wishes.output, error) && !wishes.overwrite)
    throw bad_words(fmt::format("{} is there already", wishes.output), "--overwrite, or another --output");
  if (const fs::path folder = fs::path(wishes.output).parent_path(); !folder.empty()) create_folders(folder);
  write_file_atomic(wishes.output, text);
  *context.out << "wrote " << wishes.output << '\n';
  return ExitCode::Ok;
}

}  // namespace primus::cli
