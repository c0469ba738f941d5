// The torchtitan dialect: table and translation, by topic. Private to the room.
// Source: pytorch/torchtitan v0.2.2 (73a0e697), and what Primus adds to it.
#pragma once

#include "primus/dialect/rows.h"
#include "primus/dialect/torchtitan_flavors.h"
#include "primus/dialect/translation.h"

namespace primus::dialect {

// The flavor with the overrides of `model.<argument>`; nothing, and errors, when it does not exist.
std::optional<TitanModel> titan_selected_model(Translation& t);
// Architecture and first weights. Source: models/*/model/model.py and args.py of upstream.
void titan_expand_model(Translation& t, const TitanModel& model);

void titan_parallel(Translation& t);
void titan_batch(Translation& t);
void titan_schedules(Translation& t);
void titan_optimizer(Translation& t);
void titan_precision(Translation& t);
void titan_recompute(Translation& t);
void titan_data(Translation& t);
void titan_validation(Translation& t);
void titan_checkpoint(Translation& t);
void titan_logging(Translation& t);

// What upstream refuses when it starts: combinations of keys, and of keys with the model.
void titan_check_layout(Translation& t, const TitanModel& model);
void titan_check_model(Translation& t, const TitanModel& model);
void titan_check_checkpoint(Translation& t);

std::span<const Parameter> titan_model_rows();
std::span<const Parameter> titan_argument_rows();
std::span<const Parameter> titan_train_rows();
std::span<const Parameter> titan_parallel_rows();
std::span<const Parameter> titan_checkpoint_rows();
std::span<const Parameter> titan_other_rows();
std::span<const Parameter> titan_quantize_rows();
std::span<const Parameter> titan_old_rows();

std::vector<std::span<const Parameter>> torchtitan_rows();
// All topics, in the order in which they need each other.
void torchtitan_to_spec(Translation& t);

}  // namespace primus::dialect
