// Small torchtitan experiments for the tests.
#pragma once

#include "experiment.h"

#include "primus/base/strings.h"
#include "primus/config/merge.h"
#include "primus/dialect/to_spec.h"

namespace primus::dialect::testing {

// The debug model of llama3 on mock texts; "a.b.c: YAML" lines are put over it.
inline config::Experiment titan(const std::vector<std::string>& lines = {}) {
  config::Experiment result = experiment(
      "model: {name: llama3, flavor: debugmodel, hf_assets_path: ./assets/shout}\n"
      "training: {mock_data: true, seq_len: 48, local_batch_size: 3, steps: 60, dataset: c4_test}\n"
      "optimizer: {lr: 0.003}\nlr_scheduler: {warmup_steps: 7}\nactivation_checkpoint: {mode: none}\n",
      "torchtitan");
  for (const std::string& line : lines) {
    const size_t colon = line.find(": ");
    std::string yaml, end;
    for (const std::string& part : split(line.substr(0, colon), '.')) {
      yaml += (yaml.empty() ? "" : "{") + part + ": ";
      if (!end.empty() || yaml.find('{') != std::string::npos) end += "}";
    }
    Diagnostics findings;
    auto over = config::read_yaml(yaml + line.substr(colon + 2) + end + "\n",
                                  std::make_shared<const std::string>("exp.yaml"), config::Layer::Overrides, findings);
    PRIMUS_CHECK(over.has_value() && !has_errors(findings), line + render(findings));
    config::deep_merge(result.modules[0].params.as_map(), over->as_map());
  }
  return result;
}

// The described run; fails the test when there is an error.
inline spec::RunSpec described(const std::vector<std::string>& lines = {}, int64_t world_size = 1) {
  auto run = to_spec(titan(lines), {}, {.world_size = world_size, .for_training = false});
  EXPECT_TRUE(run.ok()) << render(run.diagnostics());
  return run.ok() ? *run : spec::RunSpec{};
}

// The errors of one key, joined: message, expectation and suggestion.
inline std::string errors_of(const Diagnostics& diagnostics, const std::string& key) {
  std::string text;
  for (const Diagnostic& d : diagnostics)
    if (d.severity == Severity::Error && d.key == key) text += d.message + "|" + d.expected + "|" + d.suggestion + "\n";
  return text;
}

}  // namespace primus::dialect::testing
