// From a resolved experiment to the RunSpec. The only door: the engine never sees a dialect's key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "primus/base/result.h"
#include "primus/config/load.h"
#include "primus/spec/run_spec.h"

namespace primus::dialect {

struct ToSpecOptions {
  int64_t world_size = 1;    // ranks the run will have; decides a global batch that is not given, and what must divide
  bool cross_checks = true;  // false: rules between fields are left out (something that mends them comes next)
  bool for_training = true;  // false: to describe, count, export; features that the engine lacks are one note
  bool allow_precision_fallback = false;  // fp8 and fp4 become bf16, with a warning, instead of a refusal
};

// `module_name` empty: the module that the sub-command selects (experiment.main_module()).
// Errors: everything wrong together, each with its place: unknown keys, wrong kinds, what is not built yet, missing
// keys, cross-field rules, batch arithmetic for `world_size` ranks. A good result carries warnings and notes.
// model.vocab_size and padded_vocab_size are 0 where the tokenizer decides: finish_vocabulary sets them.
// A framework without a table is refused with one sentence.
Result<spec::RunSpec> to_spec(const config::Experiment& experiment, std::string_view module_name = {},
                              const ToSpecOptions& options = {});

// Keys that a translation of this module reads, sorted (a test compares them with the honoured rows).
std::vector<std::string> keys_read(const config::Experiment& experiment, std::string_view module_name = {});

// Sets the vocabulary from the tokenizer's size (ids 0 .. size-1) and pads it. Nothing to do (and no error) where the
// configuration decided it. Errors: a tokenizer larger than vocab_size or padded_vocab_size allow.
Diagnostics finish_vocabulary(spec::RunSpec& run, int64_t tokenizer_vocab_size);

// Rows of the embedding for a vocabulary: the next multiple of divisor x tensor-parallel ranks.
int64_t padded_vocab_size(int64_t vocab_size, int64_t divisor, int64_t tensor_ranks);

// Whether the batch comes out on this number of ranks, with the dialect's own key names and the nearest values that do.
Diagnostics check_world(const spec::RunSpec& run, int64_t world_size);

}  // namespace primus::dialect
