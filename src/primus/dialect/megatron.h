// The megatron dialect's translation, by topic. Private to the room.
#pragma once

#include "primus/dialect/translation.h"

namespace primus::dialect {

void megatron_model(Translation& t);
// Parts of megatron_model, in its order.
spec::Attention megatron_attention(Translation& t, int64_t hidden, const spec::Norm& norm, bool bias,
                                   const std::string& positions);
void megatron_layer_kinds(Translation& t);
void megatron_mixers(Translation& t);
void megatron_moe(Translation& t);
void megatron_multi_token_prediction(Translation& t);
// Layers of each pipeline stage, virtual ones in the order in which the model passes them; {all} without a pipeline.
std::vector<int64_t> megatron_stage_sizes(Translation& t);
void megatron_recompute(Translation& t);
void megatron_batch_and_steps(Translation& t);
void megatron_schedules(Translation& t);
void megatron_optimizer(Translation& t);
void megatron_precision(Translation& t);
void megatron_data(Translation& t);
void megatron_tokenizer(Translation& t);
void megatron_evaluation_and_exit(Translation& t);
void megatron_checkpoint(Translation& t);
void megatron_logging(Translation& t);
void megatron_parallel(Translation& t);
void megatron_stages(Translation& t);
void megatron_finetune(Translation& t);

// All topics, in the order in which they need each other.
void megatron_to_spec(Translation& t);

std::span<const Parameter> megatron_model_rows();
std::span<const Parameter> megatron_family_rows();
std::span<const Parameter> megatron_moe_rows();
std::span<const Parameter> megatron_our_rows();
std::span<const Parameter> megatron_train_rows();
std::span<const Parameter> megatron_precision_rows();
std::span<const Parameter> megatron_data_rows();
std::span<const Parameter> megatron_checkpoint_rows();
std::span<const Parameter> megatron_logging_rows();
std::span<const Parameter> megatron_parallel_rows();
std::span<const Parameter> megatron_pipeline_rows();
std::span<const Parameter> megatron_other_rows();
std::vector<std::span<const Parameter>> megatron_rows();

}  // namespace primus::dialect
