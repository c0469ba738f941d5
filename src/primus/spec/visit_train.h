// Every field of a run outside the architecture, once, with its name; see visit.h.
#pragma once

#include "primus/spec/train.h"
#include "primus/spec/visit_model.h"

namespace primus::spec {

template <class V, FieldsOf<BatchRampup> S>
void visit(V&& v, S& s) {
  v("start_samples", s.start_samples), v("increment_samples", s.increment_samples), v("ramp_samples", s.ramp_samples);
}

template <class V, FieldsOf<Batch> S>
void visit(V&& v, S& s) {
  v("micro_batch_size", s.micro_batch_size), v("global_batch_size", s.global_batch_size), v("rampup", s.rampup),
      v("decrease_if_needed", s.decrease_if_needed);
}

template <class V, FieldsOf<LrSchedule> S>
void visit(V&& v, S& s) {
  v("decay", s.decay), v("max_lr", s.max_lr), v("min_lr", s.min_lr), v("warmup_init_lr", s.warmup_init_lr),
      v("warmup_samples", s.warmup_samples), v("decay_samples", s.decay_samples), v("wsd_decay", s.wsd_decay),
      v("wsd_samples", s.wsd_samples), v("warmup_counts_this_step", s.warmup_counts_this_step),
      v("warmup_ends_at_peak", s.warmup_ends_at_peak), v("ends_at_last_step", s.ends_at_last_step);
}

template <class V, FieldsOf<WeightDecaySchedule> S>
void visit(V&& v, S& s) {
  v("start", s.start), v("end", s.end), v("ramp", s.ramp), v("ramp_samples", s.ramp_samples);
}

template <class V, FieldsOf<Optimizer> S>
void visit(V&& v, S& s) {
  v("kind", s.kind), v("beta1", s.beta1), v("beta2", s.beta2), v("eps", s.eps), v("momentum", s.momentum),
      v("decoupled_weight_decay", s.decoupled_weight_decay), v("decay_vectors", s.decay_vectors),
      v("decay_query_key_norms", s.decay_query_key_norms), v("clip_grad_norm", s.clip_grad_norm),
      v("embedding_and_head_lr", s.embedding_and_head_lr), v("embedding_and_head_min_lr", s.embedding_and_head_min_lr),
      v("shard_state", s.shard_state), v("eps_root", s.eps_root), v("clip_exactly", s.clip_exactly),
      v("first_moment", s.first_moment), v("second_moment", s.second_moment), v("gradients", s.gradients);
}

template <class V, FieldsOf<LossScale> S>
void visit(V&& v, S& s) {
  v("constant", s.constant), v("initial", s.initial), v("minimum", s.minimum), v("window_steps", s.window_steps),
      v("hysteresis", s.hysteresis);
}

template <class V, FieldsOf<Precision> S>
void visit(V&& v, S& s) {
  v("compute", s.compute), v("grad_reduce", s.grad_reduce), v("stored", s.stored), v("low_precision", s.low_precision),
      v("loss_scale", s.loss_scale);
}

template <class V, FieldsOf<Recompute> S>
void visit(V&& v, S& s) {
  v("kind", s.kind), v("layer_ids", s.layer_ids), v("layers_per_block", s.layers_per_block), v("modules", s.modules);
}

template <class V, FieldsOf<DataFile> S>
void visit(V&& v, S& s) {
  v("weight", s.weight), v("prefix", s.prefix);
}

template <class V, FieldsOf<DataBlend> S>
void visit(V&& v, S& s) {
  v("files", s.files), v("weighted", s.weighted);
}

template <class V, FieldsOf<PrepareData> S>
void visit(V&& v, S& s) {
  v("inputs", s.inputs), v("valid_fraction", s.valid_fraction), v("json_key", s.json_key), v("document", s.document),
      v("train_tokenizer_vocab_size", s.train_tokenizer_vocab_size);
}

template <class V, FieldsOf<TextStream> S>
void visit(V&& v, S& s) {
  v("random_integers", s.random_integers), v("dataset", s.dataset), v("train_path", s.train_path),
      v("valid_path", s.valid_path);
}

template <class V, FieldsOf<Data> S>
void visit(V&& v, S& s) {
  v("mock", s.mock), v("blend", s.blend), v("split", s.split), v("train", s.train), v("valid", s.valid),
      v("test", s.test), v("sequence_length", s.sequence_length), v("seed", s.seed), v("order", s.order),
      v("shard_per_rank", s.shard_per_rank), v("reset_position_ids", s.reset_position_ids),
      v("reset_attention_mask", s.reset_attention_mask), v("mask_loss_at_eod", s.mask_loss_at_eod),
      v("drop_last_partial_validation_sample", s.drop_last_partial_validation_sample),
      v("index_cache_folder", s.index_cache_folder), v("prepare", s.prepare), v("texts", s.texts),
      v("one_batch", s.one_batch);
}

template <class V, FieldsOf<Tokenizer> S>
void visit(V&& v, S& s) {
  v("type", s.type), v("model", s.model), v("vocab_file", s.vocab_file), v("merge_file", s.merge_file),
      v("preset_name", s.preset_name), v("vocab_size", s.vocab_size);
}

template <class V, FieldsOf<Evaluation> S>
void visit(V&& v, S& s) {
  v("interval_steps", s.interval_steps), v("num_batches", s.num_batches), v("at_start", s.at_start),
      v("after_first_step", s.after_first_step), v("micro_batch_size", s.micro_batch_size),
      v("sequence_length", s.sequence_length);
}

template <class V, FieldsOf<Checkpoint> S>
void visit(V&& v, S& s) {
  v("save", s.save), v("load_folder", s.load_folder), v("load_weights_only", s.load_weights_only),
      v("load_optimizer", s.load_optimizer), v("missing_load_is_error", s.missing_load_is_error),
      v("load_step", s.load_step), v("init_from", s.init_from), v("export_every_steps", s.export_every_steps),
      v("interval_steps", s.interval_steps), v("save_at_end", s.save_at_end), v("asynchronous", s.asynchronous),
      v("keep_last", s.keep_last), v("resume_by_default", s.resume_by_default),
      v("override_schedule", s.override_schedule), v("use_checkpoint_schedule", s.use_checkpoint_schedule);
}

template <class V, FieldsOf<Logging> S>
void visit(V&& v, S& s) {
  v("interval_steps", s.interval_steps), v("console_level", s.console_level), v("file_level", s.file_level),
      v("tensorboard", s.tensorboard), v("log_params_norm", s.log_params_norm), v("log_num_zeros", s.log_num_zeros),
      v("router_losses_per_layer", s.router_losses_per_layer),
      v("device_memory_every_step", s.device_memory_every_step), v("device_memory_steps", s.device_memory_steps);
}

template <class V, FieldsOf<Exit> S>
void visit(V&& v, S& s) {
  v("train_steps", s.train_steps), v("duration_minutes", s.duration_minutes), v("interval_steps", s.interval_steps),
      v("steps_to_skip", s.steps_to_skip), v("fail_on_nan", s.fail_on_nan);
}

template <class V, FieldsOf<Parallel> S>
void visit(V&& v, S& s) {
  v("tensor", s.tensor), v("pipeline", s.pipeline), v("context", s.context), v("expert", s.expert),
      v("expert_tensor", s.expert_tensor), v("stages_per_rank", s.stages_per_rank), v("weight_shards", s.weight_shards),
      v("overlap_grad_reduce", s.overlap_grad_reduce), v("bucket_elements", s.bucket_elements),
      v("timeout_minutes", s.timeout_minutes), v("deterministic", s.deterministic);
}

template <class V, FieldsOf<Adapter> S>
void visit(V&& v, S& s) {
  v("kind", s.kind), v("rank", s.rank), v("alpha", s.alpha), v("dropout", s.dropout), v("targets", s.targets);
}

template <class V, FieldsOf<Finetune> S>
void visit(V&& v, S& s) {
  v("dataset", s.dataset), v("pretrained_folder", s.pretrained_folder), v("packed_sequences", s.packed_sequences),
      v("adapter", s.adapter);
}

}  // namespace primus::spec
