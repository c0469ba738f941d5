// Small experiments for the tests of the dialect, written as YAML text of one module's parameters.
#pragma once

#include <gmock/gmock.h>
#include <memory>
#include <string>

#include "primus/base/check.h"
#include "primus/config/load.h"
#include "primus/config/yaml_reader.h"

namespace primus::dialect::testing {

// One megatron module whose parameters are `yaml`, as if written in overrides.
inline config::Experiment experiment(const std::string& yaml, const std::string& framework = "megatron") {
  Diagnostics findings;
  auto params =
      config::read_yaml(yaml, std::make_shared<const std::string>("exp.yaml"), config::Layer::Overrides, findings);
  PRIMUS_CHECK(params.has_value() && !has_errors(findings), render(findings));
  config::Module module;
  module.name = "pre_trainer";
  module.framework = framework;
  module.config = "pre_trainer.yaml";
  module.model = "shouting_7.yaml";
  module.place = {"exp.yaml", 1, 1};
  module.params = *params;
  config::Experiment result;
  result.file = "exp.yaml";
  result.meta.work_group = "amd";
  result.meta.user_name = "root";
  result.meta.exp_name = "odd-name";
  result.meta.workspace = "./output";
  result.modules.push_back(std::move(module));
  return result;
}

// A complete little Llama with odd sizes, mock data; extra lines override nothing: give each key once.
inline std::string little(const std::string& more = "") {
  return "num_layers: 3\nhidden_size: 96\nnum_attention_heads: 6\nmax_position_embeddings: 40\nseq_length: 40\n"
         "micro_batch_size: 3\nglobal_batch_size: 12\ntrain_iters: 70\nlr: 0.003\nmin_lr: 0.0003\nmock_data: true\n"
         "bf16: true\nswiglu: true\nadd_bias_linear: false\nposition_embedding_type: rope\nnormalization: RMSNorm\n"
         "hidden_dropout: 0.0\nattention_dropout: 0.0\nuntie_embeddings_and_output_weights: true\neval_iters: 0\n" +
         more;
}

// The same without the key (its line is dropped).
inline std::string without(const std::string& yaml, const std::string& key) {
  std::string out;
  size_t begin = 0;
  while (begin < yaml.size()) {
    const size_t end = yaml.find('\n', begin) + 1;
    const std::string line = yaml.substr(begin, end - begin);
    if (!line.starts_with(key + ":")) out += line;
    begin = end;
  }
  return out;
}
inline std::string replaced(const std::string& yaml, const std::string& key, const std::string& value) {
  return without(yaml, key) + key + ": " + value + "\n";
}

// An experiment of the repository (tests run in its root).
inline config::Experiment shipped(const std::string& path, std::vector<std::string> overrides = {}) {
  config::LoadOptions options;
  options.path = path;
  options.presets_root = ".";
  options.command_line_overrides = std::move(overrides);
  options.environment = environment_of({});
  auto loaded = config::load_experiment(options);
  PRIMUS_CHECK(loaded.ok(), render(loaded.diagnostics()));
  return *loaded;
}

}  // namespace primus::dialect::testing
