#include "primus/models/decoder.h"

#include <algorithm>
#include <fmt/format.h>

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

kernels::RopeOptions rope_options(const spec::Attention& attention, int64_t max_positions) {
  const spec::Rope& rope = *attention.rope;
  const int64_t width = attention.latent ? attention.latent->rope_head_dim : attention.head_dim;
  kernels::RopeOptions options{.num_positions = max_positions,
                               .rotary_dim = static_cast<int64_t>(static_cast<double>(width) * rope.fraction),
                               .base = rope.base,
                               .position_divisor = rope.position_divisor};
  if (rope.llama3) {
    options.scaling = kernels::RopeScaling::Llama3;
    options.factor = rope.llama3->factor;
    options.low_frequency_factor = rope.llama3->low_freq_factor;
    options.high_frequency_factor = rope.llama3->high_freq_factor;
    options.original_positions = rope.llama3->original_max_positions;
  }
  if (rope.yarn) {
    options.scaling = kernels::RopeScaling::Yarn;
    options.factor = rope.yarn->factor;
    options.beta_fast = rope.yarn->beta_fast;
    options.beta_slow = rope.yarn->beta_slow;
    options.original_positions = rope.yarn->original_max_positions;
    options.whole_bounds = rope.yarn->whole_bounds;
    // A norm without weights behind the rotation takes the amplitude out again, but for its epsilon (SelfAttention).
    const bool taken_out = attention.qk_norm && attention.qk_norm->after_rope;
    options.amplitude = taken_out ? 1 : rope.yarn->cos_sin_factor;
  }
  return options;
}

// Tables of the layers so far: one for all layers that turn alike.
class RopeTables {
 public:
  explicit RopeTables(int64_t max_positions) : max_positions_(max_positions) {}

  nn::RopeTable of(const spec::Attention& attention) {
    if (!attention.rope) return {};
    const kernels::RopeOptions options = rope_options(attention, max_positions_);
    for (const auto& [made, table] : tables_) {
      if (made == options) return table;
    }
    return tables_.emplace_back(options, nn::RopeTable(options)).second;
  }

 private:
  int64_t max_positions_;
  std::vector<std::pair<kernels::RopeOptions, nn::RopeTable>> tables_;
};

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
    options.recompute_norms = contains(recompute.modules, "layernorm");
    options.recompute_attention_core = contains(recompute.modules, "core_attn");
    options.recompute_up_projection = contains(recompute.modules, "mla_up_proj");
    options.recompute_mlp = contains(recompute.modules, "mlp");
    options.recompute_moe = contains(recompute.modules, "moe");
    options.recompute_shared_experts = contains(recompute.modules, "shared_experts");
  }
  RopeTables ropes(model.max_positions);
  const auto num_layers = static_cast<int64_t>(model.layers.size());
  for (int64_t i = 0; i < num_layers; ++i) {
    const spec::LayerSpec& layer = model.layers[static_cast<size_t>(i)];
    blocks_.push_back(
        std::make_unique<nn::Block>(layer, fmt::format("layer.{}", i), i, model, ropes.of(layer.attention), options));
  }
  for (int64_t d = 0; model.mtp && d < model.mtp->depth; ++d) {
    depths_.push_back(std::make_unique<MtpDepth>(model, fmt::format("mtp.{}", d), num_layers + d,
                                                 ropes.of(model.layers.back().attention), options,
                                                 is_recomputed(num_layers + d)));
  }
  final_norm_ = nn::norm_gain(model.final_norm, "final_norm", h);
  final_norm_bias_ = nn::norm_bias(model.final_norm, "final_norm", h);
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
  for (auto& depth : depths_) {
    for (Parameter* parameter : depth->parameters()) all.push_back(parameter);
  }
  return all;
}

// Every prediction depth reads the embedding and the head once more.
std::vector<int> Decoder::gradient_contributions() {
  const int num_uses = 1 + static_cast<int>(depths_.size());
  std::vector<int> counts;
  for (const Parameter* parameter : parameters()) {
    const bool shared = parameter == embedding_.get() || parameter == positions_.get() || parameter == head_.get();
    counts.push_back(shared ? num_uses : 1);
  }
  if (model_.tied_embeddings) counts.front() *= 2;
  return counts;
}

std::vector<nn::MoeLayer*> Decoder::moe_layers() {
  std::vector<nn::MoeLayer*> all;
  const auto add = [&all](nn::Block& block) {
    if (block.moe()) all.push_back(block.moe());
  };
  for (auto& block : blocks_) add(*block);
  for (auto& depth : depths_) add(depth->block());
  return all;
}

std::vector<Buffer> Decoder::buffers() {
  std::vector<Buffer> all;
  for (nn::MoeLayer* moe : moe_layers()) {
    if (moe->score_bias().defined()) all.push_back({moe->score_bias_name(), moe->score_bias()});
  }
  return all;
}

at::Tensor Decoder::embed(const at::Tensor& tokens, const Context& context) {
  const at::NoGradGuard no_grad;
  const auto dtype = model_.fp32_residual ? at::kFloat : nn::to_torch(compute_dtype_);
  at::Tensor embedded = rows_of(embedding_->compute, tokens, dtype);
  if (model_.embedding_multiplier != 1) embedded.mul_(model_.embedding_multiplier);
  if (positions_) {
    const int64_t t = tokens.size(1);
    const at::Tensor rows = context.positions.defined()
                                ? rows_of(positions_->compute, context.positions, dtype)
                                : positions_->compute.narrow(0, context.start_position, t).unsqueeze(0).to(dtype);
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
  at::Tensor d_rows = scale == 1 ? d : d * scale;
  if (model_.padding_id) d_rows = d_rows.masked_fill((tokens == *model_.padding_id).unsqueeze(-1), 0);
  kernels::embedding_backward(embedding_->main_grad, d_rows, tokens);
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
  const auto num_layers = static_cast<int64_t>(blocks_.size());
  const auto forward = [this](int64_t layer, nn::Stream& stream, const Context& context) {
    blocks_[static_cast<size_t>(layer)]->forward(stream, context);
  };
  int64_t layer = 0;
  while (layer < num_layers) {
    if (!is_recomputed(layer)) {
      forward(layer++, stream, context);
      continue;
    }
    int64_t end = layer + 1;
    while (end < num_layers && is_recomputed(end) && end - layer < recompute_.layers_per_block) ++end;
    // Inside a recomputed segment the stream starts and ends summed: one tensor is kept per segment.
    const auto segment = [forward, layer, end, context, sum](const at::Tensor& x) {
      nn::Stream inner{x, {}};
      for (int64_t i = layer; i < end; ++i) forward(i, inner, context);
      return sum(inner);
    };
    stream = {nn::recompute(segment, sum(stream)), {}};
    layer = end;
  }
}

bool Decoder::is_recomputed(int64_t layer) const {
  return recompute_.kind == spec::RecomputeKind::Full &&
         std::find(recompute_.layer_ids.begin(), recompute_.layer_ids.end(), layer) != recompute_.layer_ids.end();
}

at::Tensor Decoder::hidden_states(const at::Tensor& embedded_bth, const Context& context) {
  nn::Stream stream{embedded_bth, {}};
  run_layers(stream, context);
  return nn::advance(stream, *final_norm_, final_norm_bias_.get(), model_.final_norm, model_.fp32_residual,
                     nn::to_torch(compute_dtype_));
}

// Scaled logits: the head is linear, so its input is scaled instead of a tensor as wide as the vocabulary.
at::Tensor Decoder::head_input(const at::Tensor& x_bth) const {
  return model_.logit_multiplier == 1 ? x_bth : x_bth * model_.logit_multiplier;
}

at::Tensor Decoder::forward_backward(const MicroBatch& batch, const Context& context, double loss_scale,
                                     std::vector<DepthLoss>* depth_losses) {
  const auto leaf = [&](const at::Tensor& tokens) { return embed(tokens, context).detach().requires_grad_(true); };
  std::vector<at::Tensor> embedded = {leaf(batch.tokens)};
  const at::Tensor x_bth = hidden_states(embedded[0], context);
  at::Tensor token_loss;
  const at::Tensor weights = loss_scale == 1 ? batch.weights : batch.weights * loss_scale;
  at::Tensor loss =
      nn::head_loss(head_input(x_bth), head(), batch.labels, weights, token_loss, model_.logit_soft_cap, context);
  if (!depths_.empty()) loss = loss + prediction_losses(batch, x_bth, context, loss_scale, embedded, depth_losses);
  loss.backward();
  at::Tensor tokens = batch.tokens;
  for (const at::Tensor& one : embedded) {
    embed_backward(tokens, one.grad(), context);
    tokens = rolled_left(tokens, 0);
  }
  return token_loss;
}

// The sum of the weighted losses of all depths. Places whose label lies behind the row are masked, so what a depth
// reads there does not matter.
at::Tensor Decoder::prediction_losses(const MicroBatch& batch, const at::Tensor& hidden_bth, const Context& context,
                                      double loss_scale, std::vector<at::Tensor>& embedded,
                                      std::vector<DepthLoss>* depth_losses) {
  MicroBatch ahead = batch;
  at::Tensor hidden = hidden_bth, sum;
  const double factor = model_.mtp->loss_scale / static_cast<double>(depths_.size()) * loss_scale;
  for (auto& depth : depths_) {
    ahead = {rolled_left(ahead.tokens, 0), rolled_left(ahead.labels, 0), rolled_left(ahead.weights, 0)};
    embedded.push_back(embed(ahead.tokens, context).detach().requires_grad_(true));
    hidden = depth->forward(hidden, embedded.back(), context);
    at::Tensor weights = ahead.weights * factor;
    if (batch.mean_of_its_own) {
      const double left = ahead.weights.sum().item<double>();
      weights.mul_(left == 0 ? 0 : batch.weights.sum().item<double>() / left);
    }
    at::Tensor token_loss;
    const at::Tensor loss =
        nn::head_loss(head_input(hidden), head(), ahead.labels, weights, token_loss, model_.logit_soft_cap, context);
    sum = sum.defined() ? sum + loss : loss;
    if (depth_losses) {
      const at::Tensor counted = ahead.weights != 0;
      depth_losses->push_back({(token_loss * counted).sum().item<double>(), counted.sum().item<double>()});
    }
  }
  return sum;
}

at::Tensor Decoder::token_losses(const MicroBatch& batch, const Context& context) {
  const at::NoGradGuard no_grad;
  const at::Tensor x_bth = head_input(hidden_states(embed(batch.tokens, context), context));
  return nn::head_token_losses(x_bth, head(), batch.labels, model_.logit_soft_cap, context);
}

at::Tensor Decoder::head_logits(const at::Tensor& x_bth, const Context& context) {
  const at::Tensor logits =
      kernels::linear_forward(context.routes->gemm, head_input(x_bth), head().compute).to(at::kFloat);
  const double cap = model_.logit_soft_cap;
  return cap == 0 ? logits : logits.div(cap).tanh_().mul_(cap);
}

at::Tensor Decoder::last_logits(const at::Tensor& tokens, const Context& context) {
  const at::NoGradGuard no_grad;
  const at::Tensor x_bth = hidden_states(embed(tokens, context), context);
  return head_logits(x_bth.select(1, tokens.size(1) - 1).contiguous(), context);
}

at::Tensor Decoder::logits(const at::Tensor& tokens, const Context& context) {
  const at::NoGradGuard no_grad;
  return head_logits(hidden_states(embed(tokens, context), context), context);
}

}  // namespace primus::models
