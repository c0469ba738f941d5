// The decoder once more, in double: what the engine's hand written gradients are held against. Layers are those of
// reference_layers.h.
#pragma once

#include <fmt/format.h>

#include "gradcheck/models/reference_layers.h"

#include "primus/models/decoder.h"

namespace primus::test {

class ReferenceDecoder {
 public:
  ReferenceDecoder(const spec::Model& model, const Weights& weights, const nn::Context& context)
      : model_(model), layers_(weights, context) {}

  // What a step differentiates: weighted losses of the next tokens and of those further ahead, and of the routers.
  at::Tensor total_loss(const models::MicroBatch& batch) {
    at::Tensor hidden = hidden_states(batch.tokens);
    token_losses_ = losses(hidden, batch.labels);
    at::Tensor total = (token_losses_ * batch.weights.to(at::kDouble)).sum();
    for (int64_t d = 0; model_.mtp && d < model_.mtp->depth; ++d) {
      const at::Tensor weights = ahead(batch.weights.to(at::kDouble), d + 1);
      hidden = predicted(hidden, ahead(batch.tokens, d + 1), fmt::format("mtp.{}", d));
      const at::Tensor sum = (losses(hidden, ahead(batch.labels, d + 1)) * weights).sum();
      const at::Tensor kept = batch.weights.to(at::kDouble).sum() / weights.sum();
      total = total + sum * (batch.mean_of_its_own ? kept : at::ones({}, at::kDouble)) * model_.mtp->loss_scale /
                          static_cast<double>(model_.mtp->depth);
    }
    return total + layers_.auxiliary_loss();
  }
  const at::Tensor& token_losses() const { return token_losses_; }  // [b, t], of the last total_loss

  at::Tensor logits(const at::Tensor& tokens) { return head(hidden_states(tokens)); }

 private:
  // Row by row `places` to the left; what comes in behind is zero.
  static at::Tensor ahead(const at::Tensor& x_bt, int64_t places) {
    const int64_t t = x_bt.size(1);
    return at::cat({x_bt.narrow(1, places, t - places), at::zeros({x_bt.size(0), places}, x_bt.options())}, 1);
  }

  static at::Tensor rows(const at::Tensor& table, const at::Tensor& ids) {
    return table.index_select(0, ids.reshape({-1})).view({ids.size(0), ids.size(1), table.size(1)});
  }

  at::Tensor embed(const at::Tensor& tokens) const {
    at::Tensor x = rows(layers_.weight("embed.weight"), tokens);
    if (model_.padding_id) x = at::where((tokens == *model_.padding_id).unsqueeze(-1), x.detach(), x);
    x = x * model_.embedding_multiplier;
    if (model_.learned_positions) {
      x = x + rows(layers_.weight("embed.position.weight"), layers_.positions(tokens.size(0), tokens.size(1)));
    }
    return layers_.drop(x, model_.embedding_dropout, "embed.dropout");
  }

  at::Tensor hidden_states(const at::Tensor& tokens) {
    at::Tensor x = embed(tokens);
    for (size_t i = 0; i < model_.layers.size(); ++i)
      x = layers_.layer(x, model_.layers[i], fmt::format("layer.{}", i));
    return layers_.norm(x, model_.final_norm, "final_norm");
  }

  // arXiv 2412.19437, equations 21 to 23; each depth has a final norm of its own in front of the shared head.
  at::Tensor predicted(const at::Tensor& hidden, const at::Tensor& tokens, const std::string& name) {
    const spec::LayerSpec& layer = model_.layers.back();
    const at::Tensor both = at::cat({layers_.norm(embed(tokens), layer.input_norm, name + ".enorm"),
                                     layers_.norm(hidden, layer.input_norm, name + ".hnorm")},
                                    -1);
    const at::Tensor out = layers_.layer(layers_.linear(both, name + ".proj", false), layer, name + ".layer");
    return layers_.norm(out, model_.final_norm, name + ".final_norm");
  }

  at::Tensor head(const at::Tensor& hidden) const {
    const at::Tensor& table = layers_.weight(model_.tied_embeddings ? "embed.weight" : "head.weight");
    const at::Tensor logits = hidden.matmul(table.t()) * model_.logit_multiplier;
    const double cap = model_.logit_soft_cap;
    return cap == 0 ? logits : cap * at::tanh(logits / cap);
  }

  at::Tensor losses(const at::Tensor& hidden, const at::Tensor& labels) const {
    return -at::log_softmax(head(hidden), -1).gather(-1, labels.unsqueeze(-1)).squeeze(-1);
  }

  const spec::Model& model_;
  ReferenceLayers layers_;
  at::Tensor token_losses_;
};

}  // namespace primus::test
