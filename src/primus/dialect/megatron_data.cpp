// Data, tokenizer, checkpoints, logging. Source: Megatron-LM d3528a21 and the patches Primus puts on it.
#include <algorithm>
#include <cmath>

#include "primus/base/strings.h"
#include "primus/dialect/megatron.h"
#include "primus/dialect/megatron_words.h"

namespace primus::dialect {

namespace {

constexpr int64_t kMockVocabSize = 131072;

std::optional<spec::PrepareData> prepare(Translation& t) {
  const config::Value* map = t.keys.map("prepare_data");
  if (map == nullptr) return std::nullopt;
  spec::PrepareData prepare;
  const auto wrong = [&](const config::MapEntry& entry, std::string expected) {
    Diagnostic finding =
        error_at(entry.value.place(), "'prepare_data." + entry.key + "' has a value of the wrong kind");
    finding.key = "prepare_data." + entry.key;
    finding.found = config::describe(entry.value);
    finding.expected = std::move(expected);
    t.out.push_back(std::move(finding));
  };
  for (const config::MapEntry& entry : map->as_map()) {
    const config::Value& value = entry.value;
    if (entry.key == "input") {
      if (value.is_string()) prepare.inputs = split_whitespace(value.as_string());
      if (value.is_list())
        for (const config::Value& item : value.as_list())
          prepare.inputs.push_back(item.is_string() ? item.as_string() : "");
      if (prepare.inputs.empty() || std::count(prepare.inputs.begin(), prepare.inputs.end(), "") > 0)
        wrong(entry, "a path, or a list of paths, of text or JSON lines");
    } else if (entry.key == "valid_fraction") {
      const bool number = value.is_int() || value.is_double();
      if (!number || value.as_double() < 0 || value.as_double() >= 1)
        wrong(entry, "a number from 0 to less than 1");
      else
        prepare.valid_fraction = value.as_double();
    } else if (entry.key == "json_key") {
      if (value.is_string())
        prepare.json_key = value.as_string();
      else
        wrong(entry, "text");
    } else if (entry.key == "document") {
      const std::string word = value.is_string() ? value.as_string() : "";
      if (word == "file" || word == "paragraph" || word == "line")
        prepare.document = word;
      else
        wrong(entry, "file, paragraph or line");
    } else if (entry.key == "train_tokenizer_vocab_size") {
      if (value.is_int() && value.as_int() >= 0)
        prepare.train_tokenizer_vocab_size = value.as_int();
      else
        wrong(entry, "an integer, at least 0");
    } else {
      Diagnostic finding = error_at(value.origin().key_place(), "unknown key 'prepare_data." + entry.key + "'");
      finding.key = "prepare_data." + entry.key;
      finding.suggestion =
          did_you_mean(entry.key, {"input", "valid_fraction", "json_key", "document", "train_tokenizer_vocab_size"});
      t.out.push_back(std::move(finding));
    }
  }
  if (prepare.inputs.empty() && map->find("input") == nullptr)
    t.error("prepare_data", "prepare_data does not say from what", "input: a path of text or JSON lines");
  return prepare;
}

}  // namespace

void megatron_data(Translation& t) {
  spec::Data& data = t.run.data;
  data.mock = t.keys.flag("mock_data");
  spec::DataBlend whole = data_blend(t, "data_path", t.keys.texts("data_path")),
                  train = data_blend(t, "train_data_path", t.keys.texts("train_data_path"));
  spec::DataBlend valid = data_blend(t, "valid_data_path", t.keys.texts("valid_data_path")),
                  test = data_blend(t, "test_data_path", t.keys.texts("test_data_path"));
  const auto split = t.keys.maybe_text("split");
  if (!data.mock) {
    data.blend = std::move(whole);
    data.train = std::move(train);
    data.valid = std::move(valid);
    data.test = std::move(test);
    data.split = split.value_or(data.blend.empty() ? "" : "969, 30, 1");
    data.prepare = prepare(t);
  } else {
    data.split = "1,1,1";  // upstream's mock data ignore what the file says
    (void)prepare(t);      // checked all the same
  }
  data.sequence_length = t.needed("seq_length", 0);
  data.seed = t.keys.integer("seed");
  data.order = t.keys.text("dataloader_type") == "cyclic" ? spec::LoaderOrder::Cyclic : spec::LoaderOrder::Single;
  data.shard_per_rank = t.keys.flag("data_sharding");
  data.reset_position_ids = t.keys.flag("reset_position_ids");
  data.reset_attention_mask = t.keys.flag("reset_attention_mask");
  data.mask_loss_at_eod = t.keys.flag("eod_mask_loss");
  data.index_cache_folder = t.keys.text("data_cache_path");
  t.run.seed = data.seed;
}

void megatron_tokenizer(Translation& t) {
  spec::Tokenizer& tokenizer = t.run.tokenizer;
  tokenizer.type = t.keys.text("tokenizer_type");
  tokenizer.model = t.keys.text("tokenizer_model");
  tokenizer.vocab_file = t.keys.text("vocab_file");
  tokenizer.merge_file = t.keys.text("merge_file");
  tokenizer.vocab_size = t.keys.maybe_integer("vocab_size");
  tokenizer.preset_name = tokenizer.type.empty() ? "none" : tokenizer.type;
  if (!tokenizer.model.empty()) tokenizer.preset_name += " " + tokenizer.model;
  spec::Model& model = t.run.model;
  if (t.run.data.mock) {
    tokenizer.type = "NullTokenizer";
    if (!tokenizer.vocab_size) tokenizer.vocab_size = kMockVocabSize;
  }
  if (tokenizer.type != "NullTokenizer") return;  // its size is known when it is loaded: finish_vocabulary
  if (!tokenizer.vocab_size)
    return t.error("vocab_size", "NullTokenizer needs to know how many ids there are", "vocab_size");
  model.vocab_size = *tokenizer.vocab_size + 1;  // the last id ends documents
  if (model.padded_vocab_size == 0)
    model.padded_vocab_size = padded_vocab_size(model.vocab_size, model.vocab_divisor, t.run.parallel.tensor);
}

void megatron_checkpoint(Translation& t) {
  spec::Checkpoint& c = t.run.checkpoint;
  c.save = t.keys.maybe_text("save").has_value();
  c.interval_steps = t.keys.maybe_integer("save_interval").value_or(0);
  if (c.save && !t.keys.maybe_integer("save_interval"))
    t.error("save_interval", "save is given, and not how often", "a number of steps",
            "set save_interval, or save: null");
  c.load_folder = t.keys.text("load");
  c.load_weights_only = t.keys.flag("finetune");
  c.load_optimizer = !t.keys.flag("no_load_optim");
  c.missing_load_is_error = t.keys.flag("exit_on_missing_checkpoint");
  c.load_step = t.keys.maybe_integer("ckpt_step");
  c.save_at_end = !t.keys.flag("disable_last_saving");
  c.asynchronous = t.keys.maybe_flag("async_save").value_or(true);
  c.keep_last = t.keys.integer("keep_last");
  c.resume_by_default = t.keys.flag("auto_continue_train");
  c.override_schedule = t.keys.flag("override_opt_param_scheduler");
  c.use_checkpoint_schedule = t.keys.flag("use_checkpoint_opt_param_scheduler");
  if (c.load_step && c.load_folder.empty())
    t.error("ckpt_step", "ckpt_step needs a folder to load from", "load: a folder of checkpoints");
}

void megatron_logging(Translation& t) {
  spec::Logging& log = t.run.logging;
  log.interval_steps = t.keys.integer("log_interval");
  log.tensorboard = !t.keys.flag("disable_tensorboard");
  log.log_params_norm = t.keys.flag("log_params_norm");
  log.router_losses_per_layer = t.keys.flag("moe_per_layer_logging");
  log.log_num_zeros = t.keys.flag("log_num_zeros_in_grad");
  log.device_memory_every_step = t.keys.flag("use_rocm_mem_info");
  log.device_memory_steps = t.keys.integers("use_rocm_mem_info_iters");
}

}  // namespace primus::dialect
