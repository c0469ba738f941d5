// Texts, tokenizer, validation, checkpoints, logging.
#include <algorithm>

#include "primus/base/fs.h"
#include "primus/base/strings.h"
#include "primus/dialect/torchtitan.h"

namespace primus::dialect {

namespace {

// torch's own start value: what upstream broadcasts when nobody gives a seed.
constexpr int64_t kTorchSeed = 67280421310721;

constexpr std::string_view kDatasets = "c4, c4_test, c4_validation";

bool is_dataset(const std::string& name) {
  const std::string lower = to_lower(name);
  return lower == "c4" || lower == "c4_test" || lower == "c4_validation";
}

void check_dataset(Translation& t, const char* key, const std::string& name) {
  if (!is_dataset(name))
    t.error(key, "TorchTitan v0.2.2 has no data set '" + name + "'", std::string(kDatasets),
            did_you_mean(name, {"c4", "c4_test", "c4_validation"}));
}

// Only a run needs the texts themselves.
void need_local_texts(Translation& t, const char* key, const std::string& dataset, const std::string& path) {
  if (!t.options.for_training || !path.empty()) return;
  t.error(key, "'" + dataset + "' is downloaded from the Hugging Face hub by upstream, and no run downloads here",
          "a local copy of the texts", "set " + std::string(key) + "_path to it, or training.mock_data: true");
}

}  // namespace

void titan_data(Translation& t) {
  spec::Data& data = t.run.data;
  data.sequence_length = t.keys.integer("training.seq_len");
  t.run.seed = t.keys.maybe_integer("debug.seed").value_or(kTorchSeed);
  data.seed = t.run.seed;
  spec::TextStream texts;
  texts.random_integers = t.keys.flag("training.mock_data");
  texts.dataset = t.keys.text("training.dataset");
  texts.train_path = t.keys.text("training.dataset_path");
  check_dataset(t, "training.dataset", texts.dataset);
  if (!texts.random_integers) need_local_texts(t, "training.dataset", texts.dataset, texts.train_path);
  if (texts.random_integers) texts.train_path.clear();  // upstream's mock takes the place of whatever is named
  data.texts = texts;

  spec::Tokenizer& tokenizer = t.run.tokenizer;
  tokenizer.type = "HuggingFaceTokenizer";
  tokenizer.model = t.keys.text("model.hf_assets_path");
  tokenizer.preset_name = tokenizer.type + " " + tokenizer.model;
}

void titan_validation(Translation& t) {
  spec::Evaluation& e = t.run.evaluation;
  const bool on = t.keys.flag("validation.enable");
  const int64_t interval = t.keys.integer("validation.freq"), steps = t.keys.integer("validation.steps");
  const int64_t batch = t.keys.integer("validation.local_batch_size"), length = t.keys.integer("validation.seq_len");
  const std::string dataset = t.keys.text("validation.dataset"), path = t.keys.text("validation.dataset_path");
  if (!on) return;
  const std::string family = t.keys.text("model.name");
  if (family == "deepseek_v3" || family == "gpt_oss")
    t.error("validation.enable", "upstream has no validation for " + family, "false");
  if (steps == 0 || steps < -1)
    t.error("validation.steps", "upstream refuses this number of batches", "greater than 0, or -1 for all data");
  if (steps == -1 && t.options.for_training)
    t.error("validation.steps", "'validation.steps: -1' (all data) is not built yet", "a number of batches");
  check_dataset(t, "validation.dataset", dataset);
  const bool mock = t.run.data.texts && t.run.data.texts->random_integers;
  if (!mock) need_local_texts(t, "validation.dataset", dataset, path);
  if (t.run.data.texts && !mock) t.run.data.texts->valid_path = path;
  e.interval_steps = interval;
  e.num_batches = std::max<int64_t>(1, steps);
  e.after_first_step = interval > 1;
  if (batch != t.keys.integer("training.local_batch_size")) e.micro_batch_size = batch;
  if (length != t.run.data.sequence_length) e.sequence_length = length;
}

void titan_checkpoint(Translation& t) {
  spec::Checkpoint& c = t.run.checkpoint;
  const bool on = t.keys.flag("checkpoint.enable"), load_only = t.keys.flag("checkpoint.load_only");
  const std::string load = t.keys.text("checkpoint.initial_load_path");
  const bool weights_only = t.keys.flag("checkpoint.initial_load_model_only");
  const std::vector<std::string> excluded = t.keys.texts("checkpoint.exclude_from_loading");
  c.save = on && !load_only;
  c.save_at_end = c.save;
  c.interval_steps = t.keys.integer("checkpoint.interval");
  c.keep_last = t.keys.integer("checkpoint.keep_latest_k");
  c.asynchronous = t.keys.text("checkpoint.async_mode") != "disabled";
  if (!on) return;
  c.resume_by_default = true;  // the newest step of its own folder
  c.load_folder = load;
  c.load_weights_only = weights_only;
  for (const std::string& what : excluded) {
    if (what == "optimizer")
      c.load_optimizer = false;
    else if (t.options.for_training)
      t.error("checkpoint.exclude_from_loading", "leaving out '" + what + "' is not built yet", "optimizer");
  }
}

void titan_logging(Translation& t) {
  spec::Logging& log = t.run.logging;
  log.interval_steps = t.keys.integer("metrics.log_freq");
  log.tensorboard = t.keys.flag("metrics.enable_tensorboard");
  // Upstream's default is the run's own folder here; any other name leads to a folder below it.
  const fs::path dump = fs::path(t.keys.text("job.dump_folder")).lexically_normal();
  const bool climbs = !dump.empty() && *dump.begin() == "..";
  if (dump.is_absolute() || climbs)
    return t.error("job.dump_folder", "a run writes below its own folder only, and '" + dump.string() + "' leads out",
                   "a relative path", "set workspace in the experiment to write elsewhere");
  std::string& folder = t.run.identity.run_folder;
  if (dump != "outputs" && dump != "." && !dump.empty()) folder = (fs::path(folder) / dump).lexically_normal().string();
  while (folder.ends_with('/')) folder.pop_back();
}

}  // namespace primus::dialect
