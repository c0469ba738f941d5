#include "primus/train/step.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "primus/spec/schedule_values.h"
#include "primus/train/batch.h"

namespace primus::train {

namespace {

struct LossSum {
  double loss = 0;
  double num_tokens = 0;
};

std::vector<data::MicroBatch> fetch(Trainer& trainer, data::BatchLoader& loader, int64_t num_micro_batches) {
  std::vector<data::MicroBatch> batches;
  for (int64_t i = 0; i < num_micro_batches; ++i) {
    std::optional<data::MicroBatch> batch = loader.next();
    if (!batch) {
      throw RunError(fmt::format("the training data ends at step {}: {} samples were consumed", trainer.state.step + 1,
                                 trainer.state.consumed_samples));
    }
    batches.push_back(std::move(*batch));
  }
  return batches;
}

// Every rank's (loss, tokens) per micro-batch, added in the order of the global batch: micro-batch g lies on rank
// g % size, so the reported loss does not depend on how many ranks there are.
LossSum total(Trainer& trainer, const std::vector<LossSum>& own) {
  const auto num_ranks = static_cast<size_t>(trainer.group.size());
  std::vector<at::Tensor> parts(num_ranks);
  for (at::Tensor& part : parts) part = at::empty({static_cast<int64_t>(own.size()), 2}, at::kDouble);
  auto mine = parts[static_cast<size_t>(trainer.group.rank())].accessor<double, 2>();
  for (size_t i = 0; i < own.size(); ++i) {
    mine[static_cast<int64_t>(i)][0] = own[i].loss;
    mine[static_cast<int64_t>(i)][1] = own[i].num_tokens;
  }
  trainer.group.all_gather(parts)->wait();
  LossSum sum;
  for (int64_t i = 0; i < static_cast<int64_t>(own.size()); ++i) {
    for (const at::Tensor& part : parts) {
      sum.loss += part[i][0].item<double>();
      sum.num_tokens += part[i][1].item<double>();
    }
  }
  return sum;
}

double global_loss_tokens(Trainer& trainer, const std::vector<data::MicroBatch>& batches) {
  const at::Tensor count = at::zeros({1}, at::kDouble);
  for (const data::MicroBatch& batch : batches) count.add_(static_cast<double>(batch.num_loss_tokens));
  trainer.group.all_reduce_sum(count)->wait();
  return count.item<double>();
}

// What auxiliary losses of one micro-batch count in the step's loss. They are means over all its tokens, those without
// a loss too, so with one mean over the step they count by these: else the cut of the batch would change the gradient
// of a loss per sequence. (For that one Megatron counts the tokens of one sequence, whatever the micro-batch.)
double auxiliary_scale(const Trainer& trainer, const data::MicroBatch& batch, size_t num_batches,
                       double num_loss_tokens) {
  const double scale = trainer.loss_scaler.scale();
  if (trainer.spec.loss == spec::LossNormalisation::GlobalTokenMean)
    return num_loss_tokens > 0 ? scale * static_cast<double>(batch.tokens.size()) / num_loss_tokens : 0;
  return scale / static_cast<double>(num_batches * static_cast<size_t>(trainer.group.size()));
}

// Depth by depth: sums over micro-batches and ranks.
void report_depths(Trainer& trainer, const std::vector<models::DepthLoss>& losses, StepResult& result) {
  const auto num_depths = static_cast<int64_t>(trainer.spec.model.mtp ? trainer.spec.model.mtp->depth : 0);
  if (num_depths == 0) return;
  const at::Tensor sums = at::zeros({num_depths, 2}, at::kDouble);
  auto sum = sums.accessor<double, 2>();
  for (size_t i = 0; i < losses.size(); ++i) {
    const int64_t depth = static_cast<int64_t>(i) % num_depths;
    sum[depth][0] += losses[i].loss;
    sum[depth][1] += losses[i].num_tokens;
  }
  trainer.group.all_reduce_sum(sums)->wait();
  for (int64_t depth = 0; depth < num_depths; ++depth)
    result.extra.emplace_back(fmt::format("mtp_{} loss", depth + 1), sum[depth][0] / std::max(1.0, sum[depth][1]));
}

// Loads and losses of the routers over all ranks, and the moves of their score biases.
void finish_routers(Trainer& trainer, StepResult& result) {
  const std::vector<nn::MoeLayer*> layers = trainer.model.moe_layers();
  if (layers.empty()) return;
  trainer.router_report.sum_over_ranks();
  for (const auto& [loss, value] : trainer.router_report.mean_losses())
    result.extra.emplace_back(nn::to_string(loss), value);
  double dropped = 0, routed = 0;
  at::Tensor load;
  for (const auto& [index, layer] : trainer.router_report.layers()) {
    if (trainer.spec.logging.router_losses_per_layer) {
      for (const auto& [loss, value] : layer.losses)
        result.extra.emplace_back(fmt::format("moe/{}_layer_{}", nn::to_string(loss), index),
                                  value / std::max(1.0, layer.num_micro_batches));
    }
    result.extra.emplace_back(fmt::format("moe/layer_{}/max_violation", index), layer.max_violation());
    dropped += layer.num_dropped;
    routed += layer.counts.sum().item<double>();
    if (!load.defined()) load = at::zeros_like(layer.counts);
    if (load.numel() == layer.counts.numel()) load.add_(layer.counts);
  }
  result.extra.emplace_back("moe/dropped", routed > 0 ? dropped / routed : 0);
  if (!load.defined() || load.sum().item<double>() == 0) return;
  const at::Tensor share = load / load.sum();
  for (int64_t expert = 0; expert < share.numel(); ++expert)
    result.extra.emplace_back(fmt::format("moe/expert_{}/load", expert), share[expert].item<double>());
}

void move_score_biases(Trainer& trainer) {
  for (nn::MoeLayer* layer : trainer.model.moe_layers()) {
    const at::Tensor taken = trainer.router_report.taken(layer->layer_index());
    if (taken.defined()) layer->update_expert_bias(taken);
  }
}

LossSum forward_backward(Trainer& trainer, const std::vector<data::MicroBatch>& batches, StepResult& result) {
  const spec::LossNormalisation rule = trainer.spec.loss;
  const double num_loss_tokens =
      rule == spec::LossNormalisation::GlobalTokenMean ? global_loss_tokens(trainer, batches) : 0;
  const std::vector<double> weights = loss_weights(batches, rule, trainer.group.size(), num_loss_tokens);
  std::vector<LossSum> sums;
  std::vector<models::DepthLoss> depth_losses;
  trainer.router_report.begin_step();
  trainer.data_parallel->begin_step(static_cast<int64_t>(batches.size()));
  for (size_t i = 0; i < batches.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    models::MicroBatch batch = tensors_of(batches[i]);
    const at::Tensor mask = batch.weights;
    batch.weights = mask * weights[i];
    batch.mean_of_its_own = rule == spec::LossNormalisation::MicroBatchMean;
    nn::Context context = trainer.context(/*training=*/true);
    describe_samples(batches[i], trainer.spec.data, context);
    context.auxiliary_loss_scale = auxiliary_scale(trainer, batches[i], batches.size(), num_loss_tokens);
    context.router_report = &trainer.router_report;
    trainer.data_parallel->begin_micro_batch(index);
    const at::Tensor token_loss =
        trainer.model.forward_backward(batch, context, trainer.loss_scaler.scale(), &depth_losses);
    trainer.data_parallel->end_micro_batch(index);
    sums.push_back(
        {(token_loss.to(at::kDouble) * mask).sum().item<double>(), static_cast<double>(batches[i].num_loss_tokens)});
  }
  report_depths(trainer, depth_losses, result);
  return total(trainer, sums);
}

[[noreturn]] void fail_on_nan(const Trainer& trainer, const StepResult& result,
                              const std::vector<data::MicroBatch>& batches) {
  std::vector<int64_t> samples;
  for (const data::MicroBatch& batch : batches)
    samples.insert(samples.end(), batch.sample_indices.begin(), batch.sample_indices.end());
  if (samples.size() > 16) samples.resize(16);
  throw RunError(fmt::format(
      "step {}: loss {} and gradient norm {} are not finite (samples of this rank: {}). The last checkpoint is "
      "untouched; "
      "set check_for_nan_in_loss_and_grad: false to skip such steps, or iterations_to_skip: [{}] to leave this one out",
      trainer.state.step + 1, result.loss, result.grad_norm, fmt::join(samples, " "), trainer.state.step + 1));
}

int64_t batch_size_of_step(const Trainer& trainer) {
  const spec::Batch& rule = trainer.spec.batch;
  const int64_t wanted = spec::global_batch_size(rule, trainer.state.consumed_samples);
  // What does not divide was refused at the start, unless the run may round down.
  return rule.decrease_if_needed ? wanted - wanted % (rule.micro_batch_size * trainer.group.size()) : wanted;
}

bool asked_to_skip(const Trainer& trainer) {
  const std::vector<int64_t>& steps = trainer.spec.exit.steps_to_skip;
  return std::find(steps.begin(), steps.end(), trainer.state.step + 1) != steps.end();
}

double head_lr(const Trainer& trainer, double lr, double consumed_samples, double batch_samples) {
  const spec::Optimizer& rules = trainer.spec.optimizer;
  if (!rules.embedding_and_head_lr) return lr;
  spec::LrSchedule own = trainer.spec.lr;
  own.max_lr = *rules.embedding_and_head_lr;
  own.min_lr = rules.embedding_and_head_min_lr.value_or(own.min_lr);
  return spec::learning_rate(own, consumed_samples, batch_samples);
}

}  // namespace

StepResult train_step(Trainer& trainer, data::BatchLoader& loader) {
  const spec::RunSpec& spec = trainer.spec;
  TrainState& state = trainer.state;
  trainer.group.set_step(state.step + 1);
  const auto schedule_samples = static_cast<double>(state.schedule_samples);
  StepResult result;
  result.global_batch_size = batch_size_of_step(trainer);
  const auto batch_samples = static_cast<double>(result.global_batch_size);
  result.num_tokens = result.global_batch_size * spec.data.sequence_length;
  result.lr = spec::learning_rate(spec.lr, schedule_samples, batch_samples);
  result.weight_decay = spec::weight_decay(spec.weight_decay, schedule_samples);
  result.loss_scale = trainer.loss_scaler.scale();

  // 1 fetch: before anything else, since normalisation needs the token count of the whole step.
  const int64_t num_micro_batches = result.global_batch_size / (spec.batch.micro_batch_size * trainer.group.size());
  const std::vector<data::MicroBatch> batches = fetch(trainer, loader, num_micro_batches);
  const bool skip = asked_to_skip(trainer);
  if (!skip) {
    // 2 forward and backward
    const LossSum sum = forward_backward(trainer, batches, result);
    result.loss = sum.loss / std::max(1.0, sum.num_tokens);
    // 3 reduce
    trainer.data_parallel->finish_reduction();
    finish_routers(trainer, result);
    // 4 finite check
    const optim::GradientNorm norm = optim::gradient_norm(trainer.model.parameters(), 1 / result.loss_scale);
    result.grad_norm = norm.norm;
    result.finite = norm.finite && std::isfinite(result.loss);
    // A dynamic loss scale expects overflows now and then; elsewhere they are what the user wants to hear of.
    if (!result.finite && spec.exit.fail_on_nan && !trainer.loss_scaler.is_dynamic())
      fail_on_nan(trainer, result, batches);
    if (result.finite) {
      // 5 clip, 6 update
      const double clip =
          optim::clip_coefficient(result.grad_norm, spec.optimizer.clip_grad_norm, spec.optimizer.clip_exactly);
      trainer.optimizer->update({.lr = result.lr,
                                 .embedding_and_head_lr = head_lr(trainer, result.lr, schedule_samples, batch_samples),
                                 .weight_decay = result.weight_decay,
                                 .gradient_scale = clip / result.loss_scale});
      trainer.data_parallel->gather_updated_rows();
      move_score_biases(trainer);
      result.updated = true;
    }
    trainer.loss_scaler.update(result.finite);
  }
  // 7 publish
  ++state.step;
  state.consumed_samples += result.global_batch_size;
  state.consumed_tokens += result.num_tokens;
  state.num_nan += !std::isfinite(result.loss);
  if (result.updated) {
    state.schedule_samples += result.global_batch_size;
  } else {
    ++state.num_skipped;
  }
  return result;
}

}  // namespace primus::train
