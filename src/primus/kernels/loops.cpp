#include "primus/kernels/loops.h"

#include <cstdlib>

#include "primus/tensor/runtime.h"

namespace primus::kernels::simd {

bool has_avx512() {
  static const bool has = std::getenv("PRIMUS_PORTABLE_KERNELS") == nullptr && tensor::cpu_features().avx512;
  return has;
}

const LoopTables& best_loops() {
  return has_avx512() ? kAvx512Loops : kPortableLoops;
}

}  // namespace primus::kernels::simd
