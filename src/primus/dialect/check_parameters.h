// Every key of a module against the table: unknown names, wrong kinds, and what each status demands.
#pragma once

#include "primus/base/diagnostic.h"
#include "primus/config/load.h"

namespace primus::dialect {

struct CheckOptions {
  bool for_training = true;               // false: what is not built yet is a note instead of an error
  bool allow_precision_fallback = false;  // fp8 and fp4 become a warning: the run computes in bf16
};

// All findings together, in the order of the keys. Errors: unknown key, wrong kind, word or range, a refused value,
// one that is not built yet. Warnings: keys that look effective and are not. Notes: the user set a key that has no
// effect here.
Diagnostics check_parameters(const config::Module& module, const CheckOptions& options = {});

}  // namespace primus::dialect
