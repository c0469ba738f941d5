#include "primus/dialect/maxtext.h"

namespace primus::dialect {

std::vector<std::span<const Parameter>> maxtext_rows() {
  return {maxtext_model_rows(),    maxtext_attention_rows(), maxtext_moe_rows(),   maxtext_train_rows(),
          maxtext_parallel_rows(), maxtext_data_rows(),      maxtext_files_rows(), maxtext_other_rows()};
}

void maxtext_to_spec(Translation& t) {
  const config::Module settings = maxtext_settings(t);
  Reader keys(settings);
  Translation topic{keys, t.run, t.out, t.options};
  maxtext_parallel(topic);
  maxtext_model(topic);
  maxtext_batch(topic);
  maxtext_schedule(topic);
  maxtext_optimizer(topic);
  maxtext_precision(topic);
  maxtext_recompute(topic);
  maxtext_data(topic);
  maxtext_run(topic);
  // What was read of the settings counts as read of the module.
  for (const std::string& key : keys.taken()) (void)t.keys.map(key);
}

}  // namespace primus::dialect
