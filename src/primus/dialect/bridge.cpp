// Data, fine-tuning, tokenizer, checkpoints, logging, and the order of the topics.
#include "primus/dialect/bridge.h"

#include <algorithm>
#include <cctype>

#include "primus/base/strings.h"
#include "primus/dialect/bridge_config.h"
#include "primus/dialect/megatron_words.h"

namespace primus::dialect {

namespace {

void pretrain_data(Translation& t, BridgeConfig& config) {
  spec::Data& data = t.run.data;
  data.mock = config.mock;
  data.split = config.text("dataset.split");
  data.seed = config.integer("dataset.random_seed");
  data.reset_position_ids = config.flag("dataset.reset_position_ids");
  data.reset_attention_mask = config.flag("dataset.reset_attention_mask");
  data.mask_loss_at_eod = config.flag("dataset.eod_mask_loss");
  data.drop_last_partial_validation_sample = config.flag("dataset.drop_last_partial_validation_sequence");
  if (data.mock) return;
  data.blend = data_blend(t, "data_paths", config.argument_texts("data_paths"));
  spec::DataBlend train = data_blend(t, "train_data_path", config.argument_texts("train_data_path")),
                  valid = data_blend(t, "valid_data_path", config.argument_texts("valid_data_path"));
  spec::DataBlend test = data_blend(t, "test_data_path", config.argument_texts("test_data_path"));
  const bool per_split = !train.empty() || !valid.empty() || !test.empty();
  if (!data.blend.empty()) {
    if (per_split)
      t.warning("data_paths", "data are given whole and per split; upstream takes the whole ones", "drop one of them");
    return;
  }
  data.train = std::move(train);
  data.valid = std::move(valid);
  data.test = std::move(test);
}

void finetune(Translation& t, BridgeConfig& config) {
  spec::Finetune tune;
  spec::Data& data = t.run.data;
  data.seed = config.integer("dataset.seed");
  tune.dataset = config.text("dataset.dataset_name");
  if (config.argument("dataset_type") != nullptr && config.argument_text("dataset_type") != "squad") {
    const std::string packed = config.argument_text("packed_train_data_path");
    tune.dataset = packed.empty() ? "/data/train.npy" : packed;
  }
  if (tune.dataset.empty()) tune.dataset = "squad";
  data.train.files = data.valid.files = {{1, tune.dataset}};  // what is trained on, also where only names are listed
  tune.packed_sequences = config.packed;
  const auto checkpoint = config.maybe_text("checkpoint.pretrained_checkpoint");
  const bool converts = t.keys.maybe_text("hf_path").has_value();  // the hook before a run converts that model
  tune.pretrained_folder = checkpoint.value_or(converts ? config.hf_path : "");
  if (tune.pretrained_folder.empty() && !config.adapter.empty())
    t.error("pretrained_checkpoint", "adapters need weights to adapt, and neither a checkpoint nor hf_path is given",
            "pretrained_checkpoint, or hf_path");
  else if (tune.pretrained_folder.empty())
    t.warning("pretrained_checkpoint",
              "fine-tuning starts from random weights: neither a checkpoint nor hf_path is given",
              "add pretrained_checkpoint or hf_path");
  if (!config.adapter.empty()) {
    spec::Adapter adapter;
    adapter.kind = config.adapter == "dora" ? spec::AdapterKind::DoRA : spec::AdapterKind::LoRA;
    adapter.rank = config.adapter_rank;
    adapter.alpha = config.adapter_alpha;
    adapter.dropout = config.adapter_dropout;
    adapter.targets = config.adapter_targets;
    tune.adapter = std::move(adapter);
  }
  t.run.finetune = std::move(tune);
}

// Combinations that upstream's validation refuses.
void check_combinations(Translation& t, BridgeConfig& config) {
  const spec::RunSpec& run = t.run;
  const int64_t model_length = run.model.max_positions, data_length = run.data.sequence_length;
  if (model_length != data_length)
    t.error("dataset.seq_length",
            "model and data differ in the length of a sequence: " + format_thousands(model_length) + " and " +
                format_thousands(data_length),
            "equal lengths", "write seq_length, which sets both");
  const int64_t context = run.parallel.context;
  if (context > 1 && data_length % (2 * context) != 0)
    t.error("context_parallel_size",
            "sequences of " + format_thousands(data_length) + " tokens cannot be cut for " + std::to_string(context) +
                " ranks",
            "a length that " + std::to_string(2 * context) + " divides");
  if (run.finetune && context > 1 && run.loss != spec::LossNormalisation::GlobalTokenMean)
    t.error("context_parallel_size", "fine-tuning over several context ranks needs a loss per token",
            "model.calculate_per_token_loss: true");
  if (run.finetune && run.finetune->packed_sequences && run.batch.micro_batch_size > 1) {
    const int64_t micro = run.batch.micro_batch_size, global = run.batch.global_batch_size;
    t.error("micro_batch_size", "packed sequences come one at a time, not " + std::to_string(micro), "1",
            "write micro_batch_size: 1, global_batch_size: " + std::to_string(std::max<int64_t>(1, global / micro)) +
                " and seq_length: " + std::to_string(data_length * micro) + ", which is as much work");
  }
  const spec::Parallel& p = run.parallel;
  const spec::LayerSpec& layer = run.model.layers.front();
  const auto divides = [&](int64_t what, int64_t ranks, const char* key, const std::string& name) {
    if (ranks > 1 && what % ranks != 0)
      t.error(key, std::to_string(what) + " " + name + " cannot be shared out over " + std::to_string(ranks) + " ranks",
              "a divisor of " + std::to_string(what));
  };
  const bool attends = spec::attends(layer);
  if (attends) divides(layer.attention.num_heads, p.tensor, "tensor_model_parallel_size", "heads");
  const int64_t groups = layer.attention.num_kv_heads;
  if (attends && p.tensor > 1 && groups % p.tensor != 0 && p.tensor % groups != 0)
    t.error("tensor_model_parallel_size",
            std::to_string(groups) + " key/value heads and " + std::to_string(p.tensor) + " ranks do not fit",
            "a divisor or a multiple of " + std::to_string(groups));
  if (layer.moe) divides(layer.moe->num_experts, p.expert, "expert_model_parallel_size", "experts");
  // An embedding and a head may count as layers.
  const bool embedding = config.value("model.account_for_embedding_in_pipeline_split").same_as({true});
  const bool head = config.value("model.account_for_loss_in_pipeline_split").same_as({true});
  const auto layers = static_cast<int64_t>(run.model.layers.size()) + embedding + head;
  divides(layers, p.pipeline * p.stages_per_rank, "pipeline_model_parallel_size", "layers");
  if (!layer.other_mixer.empty() && p.stages_per_rank > 1)
    t.error("virtual_pipeline_model_parallel_size", "mamba layers allow one stage per rank", "null");
}

void tokenizer(Translation& t, BridgeConfig& config) {
  spec::Tokenizer& tokenizer = t.run.tokenizer;
  tokenizer.type = config.text("tokenizer.tokenizer_type");
  tokenizer.model = config.text("tokenizer.tokenizer_model");
  const auto ids = config.maybe_integer("tokenizer.vocab_size");
  tokenizer.preset_name = tokenizer.type;
  spec::Model& model = t.run.model;
  if (tokenizer.type == "NullTokenizer") {
    tokenizer.model.clear();
    if (!ids) return t.error("tokenizer.vocab_size", "NullTokenizer needs to know how many ids there are", "a number");
    tokenizer.vocab_size = *ids - 1;  // here the last id, which ends documents, is counted
    if (model.vocab_size > 0 && model.vocab_size < *ids)
      t.error("model.vocab_size",
              "the data hold " + format_thousands(*ids) + " ids, the model " + format_thousands(model.vocab_size),
              "at least " + std::to_string(*ids));
    if (model.vocab_size > 0) return;
    model.vocab_size = *ids;
    model.padded_vocab_size = padded_vocab_size(model.vocab_size, model.vocab_divisor, t.run.parallel.tensor);
    return;
  }
  if (!tokenizer.model.empty()) tokenizer.preset_name += " " + tokenizer.model;
  if (!t.run.data.mock || model.vocab_size > 0) return;
  // A run on made-up data loads no tokenizer, and nothing else knows how many ids there are.
  model.vocab_size = kNullTokenizerIds;
  model.padded_vocab_size = padded_vocab_size(model.vocab_size, model.vocab_divisor, t.run.parallel.tensor);
  t.warning("tokenizer.tokenizer_model",
            "made-up data need no tokenizer, so that its size is not known: " + format_thousands(kNullTokenizerIds) +
                " ids, as with use_null_tokenizer",
            "set use_null_tokenizer: true to say so");
}

void checkpoint(Translation& t, BridgeConfig& config) {
  spec::Checkpoint& c = t.run.checkpoint;
  c.save = config.maybe_text("checkpoint.save").has_value();
  c.interval_steps = config.integer("checkpoint.save_interval");
  if (c.save && c.interval_steps == 0) c.interval_steps = std::max<int64_t>(1, t.run.exit.train_steps);  // at the end
  const int64_t keep = config.integer("checkpoint.most_recent_k");
  c.keep_last = std::max<int64_t>(0, keep);
  // The recipes load from the folder that they save in: a run goes on where it stopped.
  const bool loads = config.maybe_text("checkpoint.load").has_value();
  c.resume_by_default = loads && c.save;
  c.load_optimizer = config.flag("checkpoint.load_optim");
  c.load_weights_only = config.flag("checkpoint.finetune");
  c.missing_load_is_error = config.flag("checkpoint.exit_on_missing_checkpoint");
  c.asynchronous = config.flag("checkpoint.async_save");
  c.override_schedule = config.flag("scheduler.override_opt_param_scheduler");
  c.use_checkpoint_schedule = config.flag("scheduler.use_checkpoint_opt_param_scheduler");
}

void logging(Translation& t, BridgeConfig& config) {
  spec::Logging& log = t.run.logging;
  log.interval_steps = config.integer("logger.log_interval");
  log.log_params_norm = config.flag("logger.log_params_norm");
  log.tensorboard = config.maybe_text("logger.tensorboard_dir").has_value();
}

}  // namespace

void bridge_data(Translation& t, BridgeConfig& config) {
  spec::Data& data = t.run.data;
  data.sequence_length = config.integer("dataset.seq_length");
  data.order =
      config.text("dataset.dataloader_type") == "cyclic" ? spec::LoaderOrder::Cyclic : spec::LoaderOrder::Single;
  data.shard_per_rank = config.flag("dataset.data_sharding");
  t.run.seed = config.integer("rng.seed");
  if (config.recipe->builder->finetunes)
    finetune(t, config);
  else
    pretrain_data(t, config);
}

void bridge_rest(Translation& t, BridgeConfig& config) {
  tokenizer(t, config);
  checkpoint(t, config);
  logging(t, config);
  check_combinations(t, config);
}

void bridge_to_spec(Translation& t) {
  BridgeConfig config(t);
  resolve_bridge(t, config);
  bridge_parallel(t, config);
  bridge_model(t, config);
  bridge_train(t, config);
  bridge_data(t, config);
  bridge_rest(t, config);
}

std::vector<std::span<const Parameter>> bridge_rows() {
  return {bridge_argument_rows(), bridge_primus_rows(), bridge_model_rows(),      bridge_model_family_rows(),
          bridge_train_rows(),    bridge_data_rows(),   bridge_checkpoint_rows(), bridge_system_rows()};
}

}  // namespace primus::dialect
