// The maxtext dialect: table and translation, by topic. Private to the room.
#pragma once

#include "primus/dialect/rows.h"
#include "primus/dialect/translation.h"

namespace primus::dialect {

std::vector<std::span<const Parameter>> maxtext_rows();
std::span<const Parameter> maxtext_model_rows();
std::span<const Parameter> maxtext_attention_rows();
std::span<const Parameter> maxtext_moe_rows();
std::span<const Parameter> maxtext_train_rows();
std::span<const Parameter> maxtext_parallel_rows();
std::span<const Parameter> maxtext_data_rows();
std::span<const Parameter> maxtext_files_rows();
std::span<const Parameter> maxtext_other_rows();

void maxtext_to_spec(Translation& t);

// What MaxText would train with: the module's keys, under those that model_name sets, under override_model. Errors: a
// model_name that does not exist, an override that is unknown, nested, or not allowed. Warnings: keys of the module
// that model_name replaces. `t.keys` is the module as written.
config::Module maxtext_settings(Translation& t);

// The topics; `t.keys` are the settings from here on.
void maxtext_parallel(Translation& t);
void maxtext_model(Translation& t);  // needs maxtext_parallel
void maxtext_batch(Translation& t);  // needs maxtext_parallel
void maxtext_schedule(Translation& t);
void maxtext_optimizer(Translation& t);
void maxtext_precision(Translation& t);
void maxtext_recompute(Translation& t);  // needs maxtext_model
void maxtext_data(Translation& t);
void maxtext_run(Translation& t);  // evaluation, checkpoints, logs, exit

// The sizes after global_parameter_scale.
struct MaxtextSizes {
  int64_t hidden = 0, heads = 0, kv_heads = 0, ffn = 0, expert_ffn = 0, layers = 0;
};
MaxtextSizes maxtext_sizes(Translation& t);

// The mixture of experts that the keys ask for; layers choose where it stands.
std::optional<spec::Moe> maxtext_moe(Translation& t, const MaxtextSizes& sizes, const std::string& block,
                                     const spec::Mlp& mlp);

}  // namespace primus::dialect
