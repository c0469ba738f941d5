// Data, tokenizer, evaluation, checkpoints, logs. Source: MaxText's input pipeline and checkpointing, 0.2.5.
#include <algorithm>

#include "primus/base/strings.h"
#include "primus/dialect/maxtext.h"

namespace primus::dialect {

namespace {

// Every id of the vocabulary can occur, so the null tokenizer has exactly as many.
void synthetic_data(Translation& t) {
  t.run.data.mock = true;
  t.run.data.one_batch = true;
  t.run.data.split = "1,1,1";
  t.run.tokenizer.type = "NullTokenizer";
  t.run.tokenizer.vocab_size = t.run.model.vocab_size - 1;
}

void other_data(Translation& t, const std::string& type) {
  if (!t.options.for_training) {
    t.run.data.texts = spec::TextStream{.random_integers = false, .dataset = type, .train_path = {}, .valid_path = {}};
    return;
  }
  t.error("dataset_type", "reading 'dataset_type: " + type + "' is not built yet", "synthetic",
          "set dataset_type: synthetic; to train on your own text, prepare it with 'data prepare' and use a megatron "
          "experiment");
}

}  // namespace

void maxtext_data(Translation& t) {
  spec::Data& data = t.run.data;
  data.sequence_length = t.keys.integer("max_target_length");
  data.seed = t.keys.integer("data_shuffle_seed");
  t.run.seed = t.keys.integer("init_weights_seed");
  spec::Tokenizer& tokenizer = t.run.tokenizer;
  const std::string type = t.keys.text("tokenizer_type"), path = t.keys.text("tokenizer_path");
  tokenizer.type = type;
  tokenizer.model = path;
  tokenizer.preset_name = path.empty() ? type : type + " " + path;
  const std::string dataset = t.keys.text("dataset_type");
  if (dataset == "synthetic")
    synthetic_data(t);
  else
    other_data(t, dataset);
}

void maxtext_run(Translation& t) {
  spec::Evaluation& evaluation = t.run.evaluation;
  evaluation.interval_steps = std::max<int64_t>(0, t.keys.integer("eval_interval"));
  const int64_t batches = t.keys.integer("eval_steps");
  if (evaluation.interval_steps > 0 && batches <= 0)
    t.error("eval_steps", "evaluation is on, but not for how many batches", "at least 1",
            "set eval_steps: 10, or eval_interval: -1");
  evaluation.num_batches = evaluation.interval_steps > 0 ? std::max<int64_t>(0, batches) : 0;
  const bool on_nan = t.keys.flag("abort_on_nan_loss"), on_inf = t.keys.flag("abort_on_inf_loss");
  t.run.exit.fail_on_nan = on_nan || on_inf;

  spec::Checkpoint& c = t.run.checkpoint;
  c.save = t.keys.flag("enable_checkpointing");
  c.asynchronous = t.keys.flag("async_checkpointing");
  c.interval_steps = t.keys.integer("checkpoint_period");
  c.keep_last = t.keys.maybe_integer("max_num_checkpoints_to_keep").value_or(0);
  c.save_at_end = t.keys.flag("save_checkpoint_on_completion");
  c.resume_by_default = c.save;  // the newest checkpoint of the run's folder wins over everything
  const std::string weights = t.keys.text("load_parameters_path"), state = t.keys.text("load_full_state_path");
  c.load_folder = weights.empty() ? state : weights;
  c.load_weights_only = !weights.empty();
  if (!weights.empty() && !state.empty())
    t.error("load_full_state_path", "the run is to start from two checkpoints",
            "load_parameters_path or load_full_state_path");
  if (!state.empty() && !c.save)
    t.error("load_full_state_path", "load_full_state_path needs enable_checkpointing: true",
            "enable_checkpointing: true");

  spec::Logging& log = t.run.logging;
  log.interval_steps = 1;
  log.tensorboard = t.keys.flag("enable_tensorboard");
  const config::Value* profiler = find_value(t.keys.module().params, "profiler");
  if (profiler != nullptr && profiler->is_string() && profiler->as_string() == "xplane" && t.options.for_training)
    t.out.push_back({Severity::Note,
                     profiler->place(),
                     "profiler",
                     "no profile is written: profiling is not built yet",
                     {},
                     {},
                     "set profiler: \"\""});
}

}  // namespace primus::dialect
