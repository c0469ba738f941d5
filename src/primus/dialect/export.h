// What an upstream trainer would be started with, in the experiment's own dialect: files, arguments, and what upstream
// has no form for. Bytes of a form are the same for the same experiment.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "primus/base/json.h"
#include "primus/base/result.h"
#include "primus/config/load.h"

namespace primus::dialect {

struct NotCarried {
  std::string key, value;  // as the experiment has them
  std::string reason;
};

struct LaunchFile {
  std::string name;  // "llama3.1_8B.toml"
  std::string text;
};

struct LaunchForm {
  std::string framework;
  std::string experiment;              // file, and the module's name
  std::string upstream;                // "NVIDIA/Megatron-LM d3528a21 (core 0.16.0rc0)"
  std::string package;                 // what Python imports: "megatron.training"
  std::vector<std::string> program;    // {"pretrain_gpt.py"} or {"-m", "torchtitan.train"}
  std::vector<std::string> arguments;  // behind the program
  std::vector<LaunchFile> files;       // arguments name them
  bool by_torchrun = true;             // false: one process a node (jax)
  std::vector<NotCarried> not_carried;
  std::vector<std::string> notes;     // what was changed on the way, and why
  std::string accepted;               // which real parser knows this form; empty: none was asked
  std::vector<std::string> unproven;  // parts that no real parser has accepted
};

struct ExportOptions {
  std::string folder;         // where the files will lie; empty: beside the reader
  bool show_secrets = false;  // true for the program that is started; texts for people have "***"
};

// Errors: what is wrong with the experiment; a framework without a form.
Result<LaunchForm> export_launch(const config::Experiment& experiment, std::string_view module_name = {},
                                 const ExportOptions& options = {});

// For people: the form's main file or argument list, headed by a comment with upstream's revision and what is lost.
std::string launch_text(const LaunchForm& form);
Json launch_json(const LaunchForm& form);

// A word of a shell command, quoted where needed.
std::string shell_quoted(const std::string& word);

}  // namespace primus::dialect
