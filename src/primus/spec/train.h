// Everything about a run that is not the architecture. Plain data; units in the names; samples = sequences.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace primus::spec {

// ---------------------------------------------------------------- batch and length
struct BatchRampup {
  int64_t start_samples = 0, increment_samples = 0, ramp_samples = 0;
};

struct Batch {
  int64_t micro_batch_size = 1;
  int64_t global_batch_size = 1;
  std::optional<BatchRampup> rampup;
  bool decrease_if_needed = false;  // round the global batch down to what divides, instead of refusing
};

// ---------------------------------------------------------------- schedules
enum class LrDecay { Constant, Linear, Cosine, InverseSquareRoot, WarmupStableDecay };
enum class WsdDecay { Exponential, Linear, Cosine, MinusSqrt };

// Unit: samples. The counter n of a step is the number of samples consumed by successful updates before it.
struct LrSchedule {
  LrDecay decay = LrDecay::Linear;
  double max_lr = 0, min_lr = 0, warmup_init_lr = 0;
  double warmup_samples = 0;  // may be fractional: lr_warmup_fraction * decay length
  double decay_samples = 0;
  WsdDecay wsd_decay = WsdDecay::Exponential;
  double wsd_samples = 0;
  bool warmup_counts_this_step = false;  // "nemo aligned": n + global batch instead of n during warm-up
  bool warmup_ends_at_peak = false;      // (n + global batch) / warm-up: its last step has the full rate
  bool ends_at_last_step = false;        // the last step of the decay has min_lr; behind it the rate is 0
};

enum class WeightDecayRamp { Constant, Linear, Cosine };
struct WeightDecaySchedule {
  double start = 0, end = 0;
  WeightDecayRamp ramp = WeightDecayRamp::Constant;
  double ramp_samples = 0;
};

// ---------------------------------------------------------------- optimizer
enum class OptimizerKind { Adam, Sgd };

enum class Dtype { Float32, BFloat16, Float16 };

struct Optimizer {
  OptimizerKind kind = OptimizerKind::Adam;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double momentum = 0.9;  // sgd
  bool decoupled_weight_decay = true;
  bool decay_vectors = false;                                              // biases and norm gains decay too
  bool decay_query_key_norms = false;                                      // of the vectors, these decay
  double clip_grad_norm = 0;                                               // 0: no clipping
  std::optional<double> embedding_and_head_lr, embedding_and_head_min_lr;  // megatron's decoupled_lr
  bool shard_state = false;                                                // ZeRO-1 over the data-parallel ranks
  double eps_root = 0;                                                     // adam: added under the root
  bool clip_exactly = false;  // gradients times max / norm; otherwise max / (norm + 1e-6)
  // What the state is stored in between steps, and what summed gradients are rounded to before one.
  Dtype first_moment = Dtype::Float32, second_moment = Dtype::Float32, gradients = Dtype::Float32;
};

// ---------------------------------------------------------------- loss, precision, recompute
enum class LossNormalisation { MicroBatchMean, GlobalTokenMean };

struct LossScale {
  std::optional<double> constant;  // otherwise dynamic
  double initial = 4294967296.0, minimum = 1;
  int64_t window_steps = 1000, hysteresis = 2;
};

struct Precision {
  Dtype compute = Dtype::Float32;
  Dtype grad_reduce = Dtype::Float32;
  Dtype stored = Dtype::Float32;  // weights and optimizer state between steps
  std::string low_precision;      // products in fewer bits: "fp8", "fp4", "int8"; empty: none
  LossScale loss_scale;           // read when compute is Float16
};

enum class RecomputeKind { None, Full, Selective };
struct Recompute {
  RecomputeKind kind = RecomputeKind::None;
  std::vector<int64_t> layer_ids;    // Full: 0-based layers that are run again in backward
  int64_t layers_per_block = 1;      // Full: neighbours of layer_ids that share one saved input
  std::vector<std::string> modules;  // Selective: core_attn, layernorm, mla_up_proj, mlp, moe, moe_act, shared_experts
};

// ---------------------------------------------------------------- data
enum class LoaderOrder { Single, Cyclic };

struct DataFile {
  double weight = 1;
  std::string prefix;
};
struct DataBlend {
  std::vector<DataFile> files;
  bool weighted = false;  // weights were given (one weighted file is a blend too)
  bool empty() const { return files.empty(); }
};

struct PrepareData {                // text from which missing data files are made before the run
  std::vector<std::string> inputs;  // .txt, .txt.gz, .jsonl, .jsonl.gz
  double valid_fraction = 0;        // last part of the text goes to the validation file
  std::string json_key = "text";
  std::string document = "file";           // text files: file, paragraph, line
  int64_t train_tokenizer_vocab_size = 0;  // > 0: train a byte-level BPE into tokenizer_model when it is missing
};

// Texts in their order, each with BOS and EOS, joined and cut into pieces of sequence_length + 1 tokens that do not
// overlap (a token at a cut is a label or an input, never both). Data-parallel ranks own contiguous parts of the texts.
struct TextStream {
  bool random_integers = false;        // 256 texts of 8192 numbers below 32000 (numpy default_rng(42)) instead of files
  std::string dataset;                 // as the dialect names it
  std::string train_path, valid_path;  // a file or folder of texts; empty: only to be had by download
};

struct Data {
  bool mock = false;
  DataBlend blend;               // cut by `split`
  std::string split;             // "969, 30, 1"
  DataBlend train, valid, test;  // per-split files; then `blend` is empty
  int64_t sequence_length = 0;
  int64_t seed = 1234;
  LoaderOrder order = LoaderOrder::Single;
  bool shard_per_rank = true;  // cyclic: each rank owns a contiguous part of the pass
  bool reset_position_ids = false, reset_attention_mask = false, mask_loss_at_eod = false;
  bool drop_last_partial_validation_sample = true;
  std::string index_cache_folder;  // empty: beside the data
  std::optional<PrepareData> prepare;
  std::optional<TextStream> texts;  // instead of all files above
  bool one_batch = false;           // with mock: random tokens of all ids, the same batch every step
};

struct Tokenizer {
  std::string type;  // as the dialect names it
  std::string model, vocab_file, merge_file;
  std::string preset_name;            // what the header line shows
  std::optional<int64_t> vocab_size;  // NullTokenizer
};

// ---------------------------------------------------------------- evaluation, checkpoints, logging, exit
struct Evaluation {
  int64_t interval_steps = 0;  // 0: never
  int64_t num_batches = 0;     // global batches a round; 0: never
  bool at_start = false;
  bool after_first_step = false;
  int64_t micro_batch_size = 0, sequence_length = 0;  // 0: those of training
};

struct Checkpoint {
  bool save = false;
  std::string load_folder;         // continue from another run's checkpoints; empty: none
  bool load_weights_only = false;  // "finetune": step 0, no optimizer, no random state
  bool load_optimizer = true;
  bool missing_load_is_error = true;
  std::optional<int64_t> load_step;
  std::string init_from;  // Hugging Face folder whose weights a run that is not resumed starts from; empty: none
  int64_t export_every_steps = 0;  // Hugging Face folders of the weights, also at the end; 0: never
  int64_t interval_steps = 0;      // 0: only at the end
  bool save_at_end = true;
  bool asynchronous = true;
  int64_t keep_last = 0;           // 0: keep all
  bool resume_by_default = false;  // auto_continue_train
  bool override_schedule = false;  // schedule of the configuration instead of the checkpoint's
  bool use_checkpoint_schedule = false;
};

struct Logging {
  int64_t interval_steps = 1;
  std::string console_level = "INFO", file_level = "DEBUG";
  bool tensorboard = false;
  bool log_params_norm = false, log_num_zeros = false;
  bool router_losses_per_layer = false;
  bool device_memory_every_step = false;
  std::vector<int64_t> device_memory_steps;
};

struct Exit {
  int64_t train_steps = 0;
  std::optional<double> duration_minutes;
  std::optional<int64_t> interval_steps;
  std::vector<int64_t> steps_to_skip;  // data consumed, no update
  bool fail_on_nan = true;
};

struct Parallel {
  int64_t tensor = 1, pipeline = 1, context = 1, expert = 1, expert_tensor = 1;
  int64_t stages_per_rank = 1;  // virtual pipeline stages
  int64_t weight_shards = 1;    // FSDP: ranks that share one copy of the weights; 0: all data-parallel ranks
  bool overlap_grad_reduce = false;
  int64_t bucket_elements = 40'000'000;
  double timeout_minutes = 10;
  bool deterministic = false;  // one canonical pairwise sum over micro-batches and ranks
};

// ---------------------------------------------------------------- post-training
enum class AdapterKind { LoRA, DoRA };

struct Adapter {
  AdapterKind kind = AdapterKind::LoRA;
  int64_t rank = 32;
  double alpha = 32, dropout = 0;
  std::vector<std::string> targets;
};

// Supervised fine-tuning instead of pre-training.
struct Finetune {
  std::string dataset;            // as the dialect names it
  std::string pretrained_folder;  // where the weights come from
  bool packed_sequences = false;
  std::optional<Adapter> adapter;  // nothing: all weights are trained
};

}  // namespace primus::spec
