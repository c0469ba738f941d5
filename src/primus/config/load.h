// From an experiment file to its final parameters: extends, presets, overrides, command line. Nothing on disk is
// changed.
#pragma once

#include <string>
#include <vector>

#include "primus/base/env.h"
#include "primus/base/fs.h"
#include "primus/base/result.h"
#include "primus/config/value.h"

namespace primus::config {

class FileCache;

struct LoadOptions {
  std::string path;                                 // the experiment file, as the user typed it
  std::vector<std::string> command_line_overrides;  // tokens: "--lr", "3e-5", "--lr=3e-5", "lr=3e-5", "--flag", "a.b=1"
  Environment environment = process_environment();  // what ${NAME} sees
  fs::path presets_root;                            // folder that holds primus/configs and examples
  bool prefer_presets_tree = false;  // --presets was given: "examples/..." means that tree's, not the working folder's
  std::string module;                // the module that the command line changes; empty: the only one, or pre_trainer
  FileCache* cache = nullptr;        // file_cache.h: presets are read once for all loads that share it
};

struct Meta {
  std::string work_group, user_name, exp_name, workspace;
  Value values;  // the same four as a map, with their origins

  // <workspace>/<work_group>/<user_name>/<exp_name>
  fs::path folder() const;
};

struct Module {
  std::string name;                       // "pre_trainer"
  std::string framework;                  // "megatron"
  std::string config;                     // module preset as written: "pre_trainer.yaml"
  std::string model;                      // model preset as written: "llama3.1_8B.yaml"
  Place place;                            // of the module's name
  std::vector<std::string> config_chain;  // files of the module preset, itself first, then its parents as they are met
  std::vector<std::string> model_chain;   // likewise; both empty when the file was already resolved (`params:`)
  Value params;  // a map; holds `model` (the preset's name) unless the model preset has a key of that name
  Value extras;  // a map: trainer_class
};

struct Experiment {
  std::string file;                // as shown to users
  std::vector<std::string> chain;  // the experiment file, then the files it extends
  Meta meta;
  std::string platform_config;  // "platform_azure.yaml"
  Value platform;               // a map
  Value env;                    // a map of texts: variables to set before a run
  std::vector<Module> modules;

  // By name; pre_trainer and post_trainer stand in for each other. Null when there is none.
  const Module* find_module(std::string_view name) const;
  Module* find_module(std::string_view name);
  // The module that `train` runs when nothing is named: pre_trainer, post_trainer, or the first.
  const Module& main_module() const;
};

// Errors: every finding of the experiment and its presets together, each with file:line:col. A good result carries
// warnings and notes (a model value that the module preset hides, a key spelt with dashes, ...).
Result<Experiment> load_experiment(const LoadOptions& options);

// The preset names (without .yaml) of a framework: `kind` is "models" or "modules". Sorted; empty when there is none.
std::vector<std::string> list_presets(const fs::path& presets_root, const std::string& kind,
                                      const std::string& framework);

}  // namespace primus::config
