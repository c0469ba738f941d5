#include "primus/dialect/torchtitan.h"

namespace primus::dialect {

std::vector<std::span<const Parameter>> torchtitan_rows() {
  return {titan_model_rows(),      titan_argument_rows(), titan_train_rows(),    titan_parallel_rows(),
          titan_checkpoint_rows(), titan_other_rows(),    titan_quantize_rows(), titan_old_rows()};
}

void torchtitan_to_spec(Translation& t) {
  titan_parallel(t);
  titan_batch(t);
  titan_schedules(t);
  titan_optimizer(t);
  titan_data(t);
  const std::optional<TitanModel> model = titan_selected_model(t);
  if (model) {
    titan_expand_model(t, *model);
    titan_check_model(t, *model);
    titan_check_layout(t, *model);
  }
  titan_precision(t);
  titan_recompute(t);
  titan_validation(t);
  titan_checkpoint(t);
  titan_check_checkpoint(t);
  titan_logging(t);
}

}  // namespace primus::dialect
