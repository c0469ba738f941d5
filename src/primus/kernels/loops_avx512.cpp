// Compiled for AVX-512 (CMakeLists.txt): includes nothing that would leave code behind which others could call.
#include "primus/kernels/loops_table.h"

namespace primus::kernels::simd {

constinit const LoopTables kAvx512Loops = make_tables();

}  // namespace primus::kernels::simd
