// Every field of every struct of a Model, once, with its name: JSON, comparison and documents are made from this
// list. tests/unit/spec/visit_test.cpp fails when a struct has a field that is not here.
#pragma once

#include "primus/spec/model.h"
#include "primus/spec/visit_mixers.h"

namespace primus::spec {

template <class V, FieldsOf<Llama3RopeScaling> S>
void visit(V&& v, S& s) {
  v("factor", s.factor), v("low_freq_factor", s.low_freq_factor), v("high_freq_factor", s.high_freq_factor),
      v("original_max_positions", s.original_max_positions);
}

template <class V, FieldsOf<YarnRopeScaling> S>
void visit(V&& v, S& s) {
  v("factor", s.factor), v("beta_fast", s.beta_fast), v("beta_slow", s.beta_slow),
      v("original_max_positions", s.original_max_positions), v("whole_bounds", s.whole_bounds),
      v("cos_sin_factor", s.cos_sin_factor);
}

template <class V, FieldsOf<Rope> S>
void visit(V&& v, S& s) {
  v("base", s.base), v("fraction", s.fraction), v("interleaved", s.interleaved),
      v("position_divisor", s.position_divisor), v("llama3", s.llama3), v("yarn", s.yarn);
}

template <class V, FieldsOf<LatentAttention> S>
void visit(V&& v, S& s) {
  v("q_lora_rank", s.q_lora_rank), v("kv_lora_rank", s.kv_lora_rank), v("nope_head_dim", s.nope_head_dim),
      v("rope_head_dim", s.rope_head_dim), v("v_head_dim", s.v_head_dim), v("norm_latents", s.norm_latents),
      v("latent_norm_eps", s.latent_norm_eps);
}

template <class V, FieldsOf<QkNorm> S>
void visit(V&& v, S& s) {
  v("norm", s.norm), v("has_gain", s.has_gain), v("scope", s.scope), v("after_rope", s.after_rope);
}

template <class V, FieldsOf<TemperatureTuning> S>
void visit(V&& v, S& s) {
  v("scale", s.scale), v("floor_scale", s.floor_scale), v("log_length", s.log_length);
}

template <class V, FieldsOf<Attention> S>
void visit(V&& v, S& s) {
  v("num_heads", s.num_heads), v("num_kv_heads", s.num_kv_heads), v("head_dim", s.head_dim), v("qkv_bias", s.qkv_bias),
      v("out_bias", s.out_bias), v("softmax_scale", s.softmax_scale), v("dropout", s.dropout), v("rope", s.rope),
      v("latent", s.latent), v("qk_norm", s.qk_norm), v("window_keys", s.window_keys), v("chunk_size", s.chunk_size),
      v("sink", s.sink), v("logit_soft_cap", s.logit_soft_cap), v("temperature", s.temperature),
      v("output_gate", s.output_gate), v("values_are_keys", s.values_are_keys), v("value_norm", s.value_norm);
}

template <class V, FieldsOf<Mlp> S>
void visit(V&& v, S& s) {
  v("ffn_size", s.ffn_size), v("activation", s.activation), v("gated", s.gated), v("bias", s.bias), v("clamp", s.clamp),
      v("up_offset", s.up_offset);
}

template <class V, FieldsOf<GroupLimit> S>
void visit(V&& v, S& s) {
  v("num_groups", s.num_groups), v("top_groups", s.top_groups), v("score", s.score), v("sum_of", s.sum_of);
}

template <class V, FieldsOf<ExpertBias> S>
void visit(V&& v, S& s) {
  v("update_rate", s.update_rate), v("centred", s.centred);
}

template <class V, FieldsOf<BalanceLoss> S>
void visit(V&& v, S& s) {
  v("scope", s.scope), v("coefficient", s.coefficient);
}

template <class V, FieldsOf<Router> S>
void visit(V&& v, S& s) {
  v("score", s.score), v("normalise_over_all", s.normalise_over_all), v("renormalise", s.renormalise),
      v("sum_floor", s.sum_floor), v("scale", s.scale), v("bias", s.bias), v("groups", s.groups),
      v("expert_bias", s.expert_bias), v("balance_losses", s.balance_losses), v("sinkhorn", s.sinkhorn),
      v("z_loss", s.z_loss), v("input_jitter", s.input_jitter), v("logit_soft_cap", s.logit_soft_cap),
      v("dtype", s.dtype), v("forced_balance", s.forced_balance), v("weight_on_input", s.weight_on_input);
}

template <class V, FieldsOf<Capacity> S>
void visit(V&& v, S& s) {
  v("factor", s.factor), v("pad", s.pad), v("policy", s.policy), v("per_sequence", s.per_sequence);
}

template <class V, FieldsOf<Moe> S>
void visit(V&& v, S& s) {
  v("num_experts", s.num_experts), v("top_k", s.top_k), v("expert", s.expert), v("latent_size", s.latent_size),
      v("shared_ffn_size", s.shared_ffn_size), v("shared_gate", s.shared_gate),
      v("output_multiplier", s.output_multiplier), v("router", s.router), v("capacity", s.capacity),
      v("plain_router", s.plain_router), v("plain_experts", s.plain_experts);
}

template <class V, FieldsOf<LayerInit> S>
void visit(V&& v, S& s) {
  v("qkv_std", s.qkv_std), v("attention_out_std", s.attention_out_std), v("mlp_gate_std", s.mlp_gate_std),
      v("mlp_up_std", s.mlp_up_std), v("mlp_down_std", s.mlp_down_std), v("router_std", s.router_std),
      v("bias_std", s.bias_std), v("sink_std", s.sink_std), v("query_std", s.query_std), v("mlp_cut", s.mlp_cut);
}

template <class V, FieldsOf<LayerSpec> S>
void visit(V&& v, S& s) {
  v("norms_in_front", s.norms_in_front), v("input_norm", s.input_norm), v("attention", s.attention),
      v("short_conv", s.short_conv), v("gated_delta", s.gated_delta), v("mamba2", s.mamba2),
      v("post_attention_norm", s.post_attention_norm), v("mlp", s.mlp), v("moe", s.moe), v("has_mixer", s.has_mixer),
      v("has_mlp", s.has_mlp), v("attention_output_norm", s.attention_output_norm),
      v("mlp_output_norm", s.mlp_output_norm), v("hidden_dropout", s.hidden_dropout), v("other_mixer", s.other_mixer),
      v("init", s.init), v("other_parameters", s.other_parameters);
}

template <class V, FieldsOf<Init> S>
void visit(V&& v, S& s) {
  v("law", s.law), v("std", s.std), v("embedding_std", s.embedding_std),
      v("residual_output_std", s.residual_output_std), v("layer_cut", s.layer_cut), v("head_std", s.head_std),
      v("head_cut", s.head_cut);
}

template <class V, FieldsOf<MultiTokenPrediction> S>
void visit(V&& v, S& s) {
  v("depth", s.depth), v("loss_scale", s.loss_scale);
}

template <class V, FieldsOf<Model> S>
void visit(V&& v, S& s) {
  v("hidden_size", s.hidden_size), v("vocab_size", s.vocab_size), v("padded_vocab_size", s.padded_vocab_size),
      v("vocab_divisor", s.vocab_divisor), v("max_positions", s.max_positions),
      v("learned_positions", s.learned_positions), v("tied_embeddings", s.tied_embeddings),
      v("embedding_multiplier", s.embedding_multiplier), v("logit_multiplier", s.logit_multiplier),
      v("logit_soft_cap", s.logit_soft_cap), v("embedding_dropout", s.embedding_dropout), v("padding_id", s.padding_id),
      v("fp32_residual", s.fp32_residual), v("layers", s.layers), v("final_norm", s.final_norm), v("mtp", s.mtp),
      v("init", s.init), v("flops_formula", s.flops_formula);
}

}  // namespace primus::spec
