// Megatron-LM: an argument list for pretrain_gpt.py, with what Primus derives before it starts that program.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "primus/base/strings.h"
#include "primus/dialect/dialects.h"
#include "primus/dialect/export_forms.h"
#include "primus/dialect/export_megatron_flags.h"
#include "primus/dialect/megatron.h"

namespace primus::dialect {

namespace {

using Form = MegatronFlag::Form;

// Fields of the model's config that Primus reaches by attribute; the command line has no flag for them.
constexpr std::array<std::string_view, 9> kConfigOnly = {"original_max_position_embeddings",
                                                         "beta_fast",
                                                         "beta_slow",
                                                         "softmax_scale",
                                                         "yarn_correction_range_round_to_int",
                                                         "yarn_beta_fast",
                                                         "yarn_beta_slow",
                                                         "yarn_original_max_position_embeddings",
                                                         "decoupled_weight_decay"};

// Names of Primus for the one class that upstream has.
constexpr std::array<std::string_view, 9> kTokenizers = {
    "Llama2Tokenizer",     "Llama3Tokenizer",     "Llama4Tokenizer", "MixtralTokenizer", "DeepSeekV2Tokenizer",
    "DeepSeekV3Tokenizer", "DeepSeekV4Tokenizer", "KimiK2Tokenizer", "Lfm2Tokenizer"};

constexpr std::array<std::string_view, 10> kDataPaths = {
    "data_path",          "train_data_path",      "valid_data_path",
    "test_data_path",     "data_args_path",       "per_split_data_args_path",
    "data_cache_path",    "train_data_args_path", "valid_data_args_path",
    "test_data_args_path"};

template <class Names>
bool among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class MegatronExport {
 public:
  MegatronExport(const ExportSource& source, LaunchForm& form) : source_(source), form_(form) {}

  void run() {
    choose_program();
    derive();
    for (const auto rows : table_parts(*find_dialect("megatron")))
      for (const Parameter& row : rows) parameter(row);
  }

 private:
  bool flag(const char* key) const {
    const Parameter* row = find_parameter("megatron", key);
    return (source_.typed(*row) ? text(key) : std::string(row->default_text)) == "true";
  }
  // Empty when null or absent.
  std::string text(std::string_view key) const {
    const Parameter* row = find_parameter("megatron", key);
    const auto value = row == nullptr ? std::nullopt : source_.typed(*row);
    return !value || value->is_null() ? "" : plain_text(*value);
  }
  static std::string plain_text(const TypedValue& value) {
    if (const auto* words = std::get_if<std::string>(&value.data)) return *words;
    return value.to_text();
  }

  void note(std::string words) { form_.notes.push_back(std::move(words)); }

  // Overrides what the experiment says; no value: the key is left out.
  void set(const std::string& key, std::optional<std::string> value, std::string why) {
    derived_[key] = std::move(value);
    if (!why.empty()) note(std::move(why));
  }

  void choose_program() {
    const std::string type = text("model_type");
    form_.program = {type == "mamba" ? "pretrain_mamba.py" : "pretrain_gpt.py"};
    if (!type.empty() && type != "gpt" && type != "mamba")
      form_.not_carried.push_back({"model_type", type, "the models of that kind are Primus' own"});
    if (const std::string stage = text("stage"); !stage.empty() && stage != "pretrain")
      form_.not_carried.push_back({"stage", stage, "this stage is Primus' own; pretrain_gpt.py pre-trains"});
    done_ = {"model_type", "stage"};
  }

  void derive() {
    const std::string root = source_.experiment.meta.folder().string();
    if (!text("save").empty()) set("save", root + "/checkpoints", "save: Primus saves below the run's folder");
    derive_trackers(root);
    derive_data();
    const auto sizes = text("tensor_model_parallel_size");
    if (flag("sequence_parallel") && (sizes.empty() || sizes == "1"))
      set("sequence_parallel", "false", "sequence_parallel: off, since there is no tensor parallelism");
    const std::string replicas = text("data_parallel_replicate_degree");
    if (!replicas.empty() && replicas != "1")
      set("num_distributed_optimizer_instances", replicas,
          "data_parallel_replicate_degree becomes num_distributed_optimizer_instances");
    done_.insert(done_.end(), {"data_parallel_replicate_degree", "disable_tensorboard", "disable_wandb"});
    if (const std::string type = text("tokenizer_type"); among(kTokenizers, type) && !flag("mock_data"))
      set("tokenizer_type", "HuggingFaceTokenizer", "tokenizer_type: " + type + " is Primus' name for it");
  }

  void derive_trackers(const std::string& root) {
    const bool profiled = flag("profile");
    if (!flag("disable_tensorboard") || profiled)
      set("tensorboard_dir", root + "/tensorboard",
          profiled ? "tensorboard_dir: profile turns TensorBoard on" : "tensorboard_dir: below the run's folder");
    else
      set("tensorboard_dir", std::nullopt, "");
    const bool wandb = !flag("disable_wandb");
    const config::Meta& meta = source_.experiment.meta;
    const auto otherwise = [this](const char* key, const std::string& value) {
      const std::string given = text(key);
      set(key, given.empty() ? value : given, "");
    };
    if (wandb) {
      set("wandb_save_dir", root + "/wandb", "wandb_save_dir: below the run's folder");
      otherwise("wandb_project", meta.work_group + "_" + meta.user_name);
      otherwise("wandb_exp_name", meta.exp_name);
    } else {
      for (const char* key : {"wandb_save_dir", "wandb_project", "wandb_exp_name", "wandb_entity"})
        set(key, std::nullopt, "");
    }
  }

  void derive_data() {
    if (!flag("mock_data")) return;
    for (const std::string_view key : kDataPaths)
      if (key != "data_cache_path" && !text(key).empty())
        set(std::string(key), std::nullopt, std::string(key) + ": none, since mock_data is on");
    const std::string type = text("tokenizer_type");
    set("tokenizer_type", "NullTokenizer",
        type == "NullTokenizer" || type.empty() ? "" : "tokenizer_type: NullTokenizer, since mock_data is on");
    set("tokenizer_model", std::nullopt, "");
    if (text("vocab_size").empty()) set("vocab_size", "131072", "vocab_size: 131072, since mock_data is on");
  }

  void parameter(const Parameter& row) {
    if (among(done_, row.name)) return;
    const MegatronFlag* known = find_megatron_flag(row.name);
    const auto derived = derived_.find(row.name);
    if (derived != derived_.end()) {
      if (derived->second && known != nullptr) write(*known, {*derived->second});
      return;
    }
    const auto value = source_.typed(row);
    if (!value) return;
    const TypedValue upstream_default = table_value(row, row.default_text);
    const bool is_default = value->same_as(upstream_default) || (value->is_null() && row.default_text == "[]");
    if (known == nullptr) {
      if (!is_default && !means_default(row, *value)) lose(row, *value);
      return;
    }
    if (value->is_null() || (is_default && !known->always_written)) {
      const bool off = row.type == Type::Bool && row.default_text == "false";  // null counts as false
      if (value->is_null() && !is_default && !off && row.name != "iterations_to_skip")
        form_.not_carried.push_back({std::string(row.name), "null",
                                     "a flag cannot say null; upstream's default is " + upstream_default.to_text()});
      return;
    }
    write(*known, words_of(row, *known, *value));
  }

  void lose(const Parameter& row, const TypedValue& value) {
    std::string reason = among(kConfigOnly, row.name)
                             ? "a field of the model's config without a flag: upstream's command line cannot set it"
                             : reason_of(row, "Megatron-LM");
    form_.not_carried.push_back({std::string(row.name), value.to_text(), std::move(reason)});
  }

  std::vector<std::string> words_of(const Parameter& row, const MegatronFlag& known, const TypedValue& value) const {
    if (const auto* words = std::get_if<std::vector<std::string>>(&value.data)) return *words;
    if (known.form == Form::Many) {
      if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value.data)) {
        std::vector<std::string> words;
        for (const int64_t number : *numbers) words.push_back(std::to_string(number));
        return words;
      }
      std::string text = plain_text(value);
      std::replace_if(text.begin(), text.end(), [](char c) { return c == '[' || c == ']' || c == ','; }, ' ');
      return split_whitespace(text);
    }
    const auto* number = std::get_if<double>(&value.data);
    if (known.whole_number && number != nullptr && *number == std::floor(*number))
      return {std::to_string(static_cast<int64_t>(*number))};
    std::string text = plain_text(value);
    // Patterns are read without blanks, a window without brackets.
    if (text.starts_with('[') || text.starts_with('(')) std::erase(text, ' ');
    if (row.name == "window_size") std::erase_if(text, [](char c) { return c == '[' || c == ']'; });
    return {std::move(text)};
  }

  bool may_say(const MegatronFlag& known, const std::vector<std::string>& words) {
    const std::vector<std::string> choices = table_words(known.choices);
    for (const std::string& word : words) {
      if (choices.empty() || among(choices, word)) continue;
      form_.not_carried.push_back({std::string(known.dest), word, "the parser takes only " + join(choices, ", ")});
      return false;
    }
    return true;
  }

  void write(const MegatronFlag& known, const std::vector<std::string>& words) {
    const bool is_bare = known.form == Form::On || known.form == Form::Off;
    if (is_bare) {
      const bool wanted = !words.empty() && words[0] == "true";
      if (wanted != (known.form == Form::On)) return;
    } else if (words.empty() || !may_say(known, words)) {
      return;
    }
    form_.arguments.push_back(known.flag);
    if (!is_bare) form_.arguments.insert(form_.arguments.end(), words.begin(), words.end());
    if (!known.accepted) form_.unproven.push_back(known.flag);
  }

  const ExportSource& source_;
  LaunchForm& form_;
  std::map<std::string, std::optional<std::string>, std::less<>> derived_;
  std::vector<std::string_view> done_;
};

// "dest=a|b dest=..." of one key.
std::string_view choices_of(std::string_view dest) {
  std::string_view words = megatron_choices();
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    const std::string_view word = words.substr(0, end);
    words.remove_prefix(std::min(end + 1, words.size()));
    const size_t equals = word.find('=');
    if (word.substr(0, equals) == dest) return word.substr(equals + 1);
  }
  return {};
}

std::vector<MegatronFlag> read_flags() {
  std::vector<MegatronFlag> all;
  const std::vector<std::string> always = split_whitespace(megatron_always_written());
  const std::vector<std::string> whole = split_whitespace(megatron_whole_numbers());
  for (const MegatronFlagList& list : megatron_flag_lists()) {
    std::string_view words = list.words;
    while (!words.empty()) {
      const size_t end = std::min(words.find(' '), words.size());
      const std::string_view word = words.substr(0, end);
      words.remove_prefix(std::min(end + 1, words.size()));
      const size_t equals = word.find('=');
      MegatronFlag flag;
      flag.dest = word.substr(0, equals);
      flag.form = list.form;
      flag.accepted = list.accepted;
      flag.always_written = among(always, flag.dest);
      flag.whole_number = among(whole, flag.dest);
      flag.choices = choices_of(flag.dest);
      flag.flag = std::string(flag.dest);
      std::replace(flag.flag.begin(), flag.flag.end(), '_', '-');
      flag.flag = (list.form == Form::Off ? "--no-" : "--") + flag.flag;
      if (equals != std::string_view::npos) flag.flag = word.substr(equals + 1);
      all.push_back(std::move(flag));
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.dest < b.dest; });
  return all;
}

}  // namespace

const std::vector<MegatronFlag>& megatron_flags() {
  static const std::vector<MegatronFlag> flags = read_flags();
  return flags;
}

const MegatronFlag* find_megatron_flag(std::string_view dest) {
  const auto& flags = megatron_flags();
  const auto at =
      std::lower_bound(flags.begin(), flags.end(), dest, [](const auto& flag, auto name) { return flag.dest < name; });
  return at == flags.end() || at->dest != dest ? nullptr : &*at;
}

void export_megatron(const ExportSource& source, LaunchForm& form) {
  form.upstream = "NVIDIA/Megatron-LM d3528a21 (core 0.16.0rc0)";
  form.package = "megatron.training";
  form.accepted = "Flags were checked with the argument parser of megatron-core 0.19.2, the nearest one that PyPI has.";
  MegatronExport(source, form).run();
  form.notes.emplace_back("Primus turns Python's garbage collection off while it trains; --manual-gc is the nearest");
}

}  // namespace primus::dialect
