#include "primus/dialect/megatron.h"

namespace primus::dialect {

void megatron_to_spec(Translation& t) {
  megatron_parallel(t);
  megatron_batch_and_steps(t);
  megatron_schedules(t);
  megatron_optimizer(t);
  megatron_precision(t);
  megatron_model(t);
  megatron_stages(t);
  megatron_recompute(t);
  megatron_data(t);
  megatron_tokenizer(t);
  megatron_evaluation_and_exit(t);
  megatron_checkpoint(t);
  megatron_logging(t);
  megatron_finetune(t);
}

std::vector<std::span<const Parameter>> megatron_rows() {
  return {megatron_model_rows(),     megatron_family_rows(),   megatron_moe_rows(),        megatron_train_rows(),
          megatron_precision_rows(), megatron_data_rows(),     megatron_checkpoint_rows(), megatron_logging_rows(),
          megatron_parallel_rows(),  megatron_pipeline_rows(), megatron_other_rows(),      megatron_our_rows()};
}

}  // namespace primus::dialect
