#include "primus/train/trainer.h"

namespace primus::train {

namespace {

parallel::DataParallelOptions data_parallel_options(const spec::RunSpec& spec) {
  return {.overlap = spec.parallel.overlap_grad_reduce,
          .deterministic = spec.parallel.deterministic,
          .shard_optimizer = spec.optimizer.shard_state,
          .bucket_elements = spec.parallel.bucket_elements,
          .reduce_dtype = nn::to_torch(spec.precision.grad_reduce)};
}

}  // namespace

Trainer::Trainer(spec::RunSpec run, dist::Group& ranks, Logger& logger, Machine chosen)
    : spec(std::move(run)),
      group(ranks),
      log(logger),
      machine(std::move(chosen)),
      model(spec.model, spec.precision.compute, spec.recompute, spec.precision.stored),
      router_report([&ranks](at::Tensor& values) { ranks.all_reduce_sum(values)->wait(); }, ranks.size()),
      loss_scaler(spec.precision) {
  model.initialise(static_cast<uint64_t>(spec.seed));
  const std::vector<nn::Parameter*> parameters = model.parameters();
  data_parallel = std::make_unique<parallel::DataParallel>(parameters, model.gradient_contributions(), group,
                                                           data_parallel_options(spec));
  for (size_t i = 0; i < parameters.size(); ++i) {
    const parallel::RowRange rows = data_parallel->owned(i);
    parameters[i]->keep_owned_rows(rows.begin, rows.end);
  }
  optimizer = std::make_unique<optim::Optimizer>(parameters, spec.optimizer);
}

nn::Context Trainer::context(bool training) const {
  nn::Context context;
  context.routes = &machine.routes;
  context.training = training;
  context.seed = static_cast<uint64_t>(spec.seed);
  context.step = state.step + 1;
  return context;
}

}  // namespace primus::train
