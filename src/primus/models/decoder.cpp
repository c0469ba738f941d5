#include "primus/models/decoder.h"

#include <algorithm>
#include <tuple>

#include "primus/base/check.h"
#include "primus/kernels/embedding.h"
#include "primus/kernels/rope.h"

namespace primus::models {

using nn::Context;
using nn::InitKind;
using nn::Parameter;

namespace {

bool contains(const std::vector<std::string>& list, const char* word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

nn::RopeTable rope_table(const spec::Attention& attention, int64_t max_positions) {
  if (!attention.rope) return {};
  const spec::Rope& rope = *attention.rope;
  kernels::RopeOptions options{
      .num_positions = max_positions,
      .rotary_dim = static_cast<int64_t>(static_cast<double>(attention.head_dim) * rope.fraction),
      .base = rope.base};
  if (rope.llama3) {
    options.scaling = kernels::RopeScaling::Llama3;
    options.factor = rope.llama3->factor;
    options.low_frequency_factor = rope.llama3->low_freq_factor;
    options.high_frequency_factor = rope.llama3->high_freq_factor;
    options.original_positions = rope.llama3->original_max_positions;
  }
  auto [cos, sin] = kernels::rope_table(options);
  return {cos, sin};
}

// Whether both layers can read one table.
bool same_rope(const spec::Attention& a, const spec::Attention& b) {
  if (!a.rope || !b.rope) return a.rope.has_value() == b.rope.has_value();
  const auto bands = [](const spec::Rope& rope) {
    const spec::Llama3RopeScaling s = rope.llama3.value_or(spec::Llama3RopeScaling{});
    return std::tuple(rope.llama3.has_value(), s.factor, s.low_freq_factor, s.high_freq_factor,
                      s.original_max_positions);
  };
  return a.head_dim == b.head_dim && a.rope->base == b.rope->base && a.rope->fraction == b.rope->fraction &&
         bands(*a.rope) == bands(*b.rope);
}

// Of the output layer, or of the table tied to it.
nn::Spread head_spread(const spec::Init& init, double otherwise) {
  return {init.head_std > 0 ? init.head_std : otherwise, init.head_cut};
}

at::Tensor rows_of(const at::Tensor& table, const at::Tensor& ids, at::ScalarType dtype) {
  std::vector<int64_t> shape = ids.sizes().vec();
  shape.push_back(table.size(1));
  const at::Tensor rows = at::empty(shape, dtype);
  kernels::embedding_forward(rows, table, ids);
  return rows;
}

}  // namespace

Decoder::Decoder(const spec::Model& model, spec::Dtype compute_dtype, const spec::Recompute& recompute,
                 spec::Dtype stored)
    : model_(model), compute_dtype_(compute_dtype), stored_(stored), recompute_(recompute) {
  const int64_t h = model.hidden_size;
  embedding_ = std::make_unique<Parameter>(
      "embed.weight", std::vector<int64_t>{model.vocab_size, h}, InitKind::Normal,
      model.tied_embeddings ? head_spread(model.init, model.init.embedding_std) : nn::Spread(model.init.embedding_std));
  embedding_->is_embedding_or_head = true;
  if (model.learned_positions) {
    positions_ = std::make_unique<Parameter>("embed.position.weight", std::vector<int64_t>{model.max_positions, h},
                                             InitKind::Normal, model.init.embedding_std);
  }
  nn::BlockOptions options{.fp32_residual = model.fp32_residual, .compute_dtype = nn::to_torch(compute_dtype)};
  if (recompute.kind == spec::RecomputeKind::Selective) {
    options.recompute_attention_core = contains(recompute.modules, "core_attn");
    options.recompute_mlp = contains(recompute.modules, "mlp");
  }
  nn::RopeTable rope;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (i == 0 || !same_rope(model.layers[i].attention, model.layers[i - 1].attention)) {
      rope = rope_table(model.layers[i].attention, model.max_positions);
    }
    blocks_.push_back(std::make_unique<nn::Block>(model.layers[i], static_cast<int64_t>(i), model, rope, options));
  }
  final_norm_ = std::make_unique<Parameter>("final_norm.weight", std::vector<int64_t>{h},
                                            model.final_norm.zero_centered_gain ? InitKind::Zeros : InitKind::Ones);
  if (model.final_norm.kind == spec::NormKind::LayerNorm) {
    final_norm_bias_ = std::make_unique<Parameter>("final_norm.bias", std::vector<int64_t>{h}, InitKind::Zeros);
  }
  if (!model.tied_embeddings) {
    head_ = std::make_unique<Parameter>("head.weight", std::vector<int64_t>{model.vocab_size, h}, InitKind::Normal,
                                        head_spread(model.init, model.init.std));
    head_->is_embedding_or_head = true;
  }
}

void Decoder::initialise(uint64_t seed) {
  for (Parameter* parameter : parameters()) parameter->initialise(seed, compute_dtype_, stored_);
}

std::vector<Parameter*> Decoder::parameters() {
  std::vector<Parameter*> all = {embedding_.get()};
  if (positions_) all.push_back(positions_.get());
  for (auto& block : blocks_) {
    for (Parameter* parameter : block->parameters()) all.push_back(parameter);
  }
  all.push_back(final_norm_.get());
  if (final_norm_bias_) all.push_back(final_norm_bias_.get());
  if (head_) all.push_back(head_.get());
  return all;
}

std::vector<int> Decoder::gradient_contributions() {
  std::vector<int> counts(parameters().size(), 1);
  if (model_.tied_embeddings) counts.front() = 2;
  return counts;
}

at::Tensor Decoder::embed(const at::Tensor& tokens, const Context& context) {
  const at::NoGradGuard no_grad;
  const auto dtype = model_.fp32_residual ? at::kFloat : nn::to_torch(compute_dtype_);
  at::Tensor embedded = rows_of(embedding_->compute, tokens, dtype);
  if (model_.embedding_multiplier != 1) embedded.mul_(model_.embedding_multiplier);
  if (positions_) {
    const int64_t t = tokens.size(1);
    const at::Tensor rows = context.positions.defined() ? rows_of(positions_->compute, context.positions, dtype)
                                                        : positions_->compute.narrow(0, 0, t).unsqueeze(0).to(dtype);
    embedded = embedded + rows;
  }
  return nn::dropout(embedded, model_.embedding_dropout, "embed.dropout", context);
}

// The embedding has no differentiable input: its output is a leaf whose gradient is taken to the table by hand.
void Decoder::embed_backward(const at::Tensor& tokens, const at::Tensor& d_embedded, const Context& context) {
  const at::NoGradGuard no_grad;
  const at::Tensor d = nn::dropout(d_embedded, model_.embedding_dropout, "embed.dropout", context);
  if (positions_) {
    const at::Tensor rows = context.positions.defined()
                                ? context.positions
                                : at::arange(tokens.size(1), at::kLong).expand_as(tokens).contiguous();
    kernels::embedding_backward(positions_->main_grad, d, rows);
    positions_->gradient_written();
  }
  const double scale = model_.embedding_multiplier;
  kernels::embedding_backward(embedding_->main_grad, scale == 1 ? d : d * scale, tokens);
  embedding_->gradient_written();
}

void Decoder::run_layers(nn::Stream& stream, const Context& context) {
  if (recompute_.kind != spec::RecomputeKind::Full) {
    for (auto& block : blocks_) block->forward(stream, context);
    return;
  }
  const auto sum = [](const nn::Stream& s) {
    return s.branch_bth.defined() ? s.residual_bth + s.branch_bth : s.residual_bth;
  };
  const auto is_recomputed = [this](size_t layer) {
    return std::find(recompute_.layer_ids.begin(), recompute_.layer_ids.end(), static_cast<int64_t>(layer)) !=
           recompute_.layer_ids.end();
  };
  size_t layer = 0;
  while (layer < blocks_.size()) {
    if (!is_recomputed(layer)) {
      blocks_[layer++]->forward(stream, context);
      continue;
    }
    size_t end = layer + 1;
    while (end < blocks_.size() && is_recomputed(end) &&
           static_cast<int64_t>(end - layer) < recompute_.layers_per_block)
      ++end;
    // Inside a recomputed segment the stream starts and ends summed: one tensor is kept per segment.
    const auto segment = [this, layer, end, context, sum](const at::Tensor& x) {
      nn::Stream inner{x, {}};
      for (size_t i = layer; i < end; ++i) blocks_[i]->forward(inner, context);
      return sum(inner);
    };
    stream = {nn::recompute(segment, sum(stream)), {}};
    layer = end;
  }
}

at::Tensor Decoder::hidden_states(const at::Tensor& embedded_bth, const Context& context) {
  nn::Stream stream{embedded_bth, {}};
  run_layers(stream, context);
  const at::Tensor x_bth = nn::advance(stream, *final_norm_, final_norm_bias_.get(), model_.final_norm,
                                       model_.fp32_residual, nn::to_torch(compute_dtype_));
  // Scaled logits: the head is linear, so its input is scaled instead of a tensor as wide as the vocabulary.
  return model_.logit_multiplier == 1 ? x_bth : x_bth * model_.logit_multiplier;
}

at::Tensor Decoder::forward_backward(const MicroBatch& batch, const Context& context, double loss_scale) {
  at::Tensor embedded = embed(batch.tokens, context).detach().requires_grad_(true);
  const at::Tensor x_bth = hidden_states(embedded, context);
  at::Tensor token_loss;
  const at::Tensor weights = loss_scale == 1 ? batch.weights : batch.weights * loss_scale;
  const at::Tensor loss = nn::head_loss(x_bth, head(), batch.labels, weights, token_loss, context);
  loss.backward();
  embed_backward(batch.tokens, embedded.grad(), context);
  return token_loss;
}

at::Tensor Decoder::token_losses(const MicroBatch& batch, const Context& context) {
  const at::NoGradGuard no_grad;
  return nn::head_token_losses(hidden_states(embed(batch.tokens, context), context), head(), batch.labels, context);
}

at::Tensor Decoder::last_logits(const at::Tensor& tokens, const Context& context) {
  const at::NoGradGuard no_grad;
  const at::Tensor x_bth = hidden_states(embed(tokens, context), context);
  const at::Tensor last_bh = x_bth.select(1, tokens.size(1) - 1).contiguous();
  return kernels::linear_forward(context.routes->gemm, last_bh, head().compute).to(at::kFloat);
}

}  // namespace primus::models
